"""Writes the folder."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import tictac_env
from tictac_env.games import GAMES, KInARow
from tictac_env.storage import save_text
from tictac_env.web.bundle import plain_script
from tictac_env.web.export.packing import packed_game

STATIC = Path(__file__).parent.parent / "static"
OWN = Path(__file__).parent / "js"
RECORD = "export.json"
"""The file that says that a folder is an export, and which files are its own."""
KIND = "tictac export-page"
PAGE = "index.html"
SHEETS = ("base.css", "board.css")
SCRIPT = "page.js"

CHANGES = (
    (r'^ *<link rel="stylesheet" href="/static/views\.css">\n', ""),
    (r'="/static/', '="'),
    (r'(?<= id="show-thoughts")(?=>)', " checked"),
    (r'(?<= id="show-exact")(?=>)', " checked"),
    (r"Play, watch and train tic-tac-toe and Connect Four agents\.", "Play tic-tac-toe and Connect Four."),
)
"""What the page is like without a server: with other addresses, and values shown from the beginning."""
MODULE = re.compile(r'^( *)<script type="module" src="/static/js/main\.js"></script>$', re.MULTILINE)


def export_page(folder: str | os.PathLike[str]) -> dict[str, int]:
    """Writes the page, so that it opens from `folder` or from any web host, without a server.

    Each file is whole or not there. Files of an earlier export that are no longer needed are removed; others that were
    added to it stay.

    Args:
        folder: made if it is not there; else it must be empty or an earlier export.

    Returns:
        How many bytes each file has, by its name within the folder.

    Raises:
        ValueError: the folder holds something else.
        OSError: it cannot be written.
    """
    target = Path(folder)
    earlier = _earlier(target)
    files = page_files()
    for name, text in files.items():
        save_text(target / name, text)
    for name in sorted(earlier - files.keys()):
        (target / name).unlink(missing_ok=True)
    return {name: len(text.encode()) for name, text in files.items()}


def page_files() -> dict[str, str]:
    """The text of each file by its name, the page last: until it is there, nothing refers to the others."""
    data = {f"data/{name}.js": _data(name, game) for name, game in GAMES.items() if type(game) is KInARow}
    files = {sheet: (STATIC / sheet).read_text(encoding="utf-8") for sheet in (*SHEETS, "icon.svg")}
    files |= data
    files[SCRIPT] = plain_script("main.js", (OWN, STATIC / "js"))
    page = _page([*data, SCRIPT])
    hashes = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in (files | {PAGE: page}).items()}
    record = {"kind": KIND, "version": tictac_env.__version__, "sha256": hashes}
    return files | {RECORD: json.dumps(record, indent=1) + "\n", PAGE: page}


def _data(name: str, game: KInARow) -> str:
    """A script that keeps what the page needs to play a game."""
    return f"(globalThis.TICTAC ??= {{}})[{json.dumps(name)}] = {json.dumps(packed_game(game))};\n"


def _page(scripts: list[str]) -> str:
    """The page of `tictac serve` with plain scripts, which run in this order once the page is read."""
    text = (STATIC / PAGE).read_text(encoding="utf-8")
    plain = "\n".join(rf'\1<script defer src="{one}"></script>' for one in scripts)
    text, found = MODULE.subn(plain, text)
    for pattern, changed in CHANGES:
        text, count = re.subn(pattern, changed, text, flags=re.MULTILINE)
        found = min(found, count)
    if not found:
        raise RuntimeError(f"{STATIC / PAGE} is not what the export was written for")
    return text


def _earlier(folder: Path) -> set[str]:
    """The files that an earlier export has written.

    Raises:
        ValueError: there is something else.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return set()
    if not folder.is_dir():
        raise ValueError(f"{str(folder)!r} is a file; a folder is needed that is new, empty, or an earlier export")
    record: Any = None
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        names = set(record["sha256"]) if record["kind"] == KIND else None
    except (OSError, ValueError, KeyError, TypeError):
        names = None
    if names is None:
        raise ValueError(f"{str(folder)!r} is neither empty nor an earlier export, so nothing was written there")
    return {name for name in names if _is_within(name)}


def _is_within(name: str) -> bool:
    """Whether a name is one of a file in the folder, whatever has been written into the record."""
    return re.fullmatch(r"(data/)?[\w-][\w.-]*", name) is not None
