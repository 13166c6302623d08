"""The files of the page: small, whole, and of this server alone."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from web_client import Client, shared_client  # noqa: F401  # the fixture `client`

from tictac_env.web.app import STATIC

FILES = [path for path in STATIC.rglob("*") if path.is_file()]
REFERENCE = re.compile(r"""(?:src|href|from)[= ]"(?:\./)?([^"#]+)\"""")
ELSEWHERE = re.compile(r"(?:https?:)?//(?!www\.w3\.org/2000/svg)[a-z0-9.-]+\.[a-z]{2,}", re.IGNORECASE)


def test_the_page_is_small() -> None:
    assert sum(path.stat().st_size for path in FILES) < 150_000


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_refer_to_files_that_are_there_and_to_nothing_elsewhere(path: object, client: Client) -> None:
    text = path.read_text(encoding="utf-8")  # type: ignore[attr-defined]
    assert not ELSEWHERE.findall(text)
    for address in REFERENCE.findall(text):
        assert client.http.get(f"/{address}").status_code == 200, address


def test_nothing_in_the_page_is_inline() -> None:
    """The content security policy would not let it run."""
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    assert not re.findall(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon[a-z]+=\"", page)


def test_the_browser_keeps_files_until_they_change(client: Client) -> None:
    first = client.http.get("/base.css")
    assert first.headers["content-type"].startswith("text/css")
    again = client.http.get("/base.css", headers={"if-none-match": first.headers["etag"]})
    assert again.status_code == 304
    assert again.content == b""


def test_the_command_says_where_the_page_is_and_what_is_wrong() -> None:
    """A folder that is not there is told in one line."""
    command = [sys.executable, "-m", "tictac_env", "serve", "--port", "0", "--checkpoints", "no-such-folder"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 2
    assert done.stderr.strip() == "tictac: there is no folder 'no-such-folder' of checkpoints"
