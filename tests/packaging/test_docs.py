"""The examples and commands of README and docs run or can be given as they are, and their links lead somewhere."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.test_extras import EXTRAS
from tests.packaging.test_repository import ROOT, TARGETS
from tictac_apps.cli.main import make_parser
from tools import boards_picture

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = {
    f"{page.relative_to(ROOT)}, example {number}": block
    for page in PAGES
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL), 1)
}
LONG = re.compile(
    r"stable_baselines3|sb3_contrib|\bDQN\b|MaskablePPO|AlphaZero|NTupleTD|ValueTD\.preset|1_000\):|# False: sampled"
)
TRAINING = {name for name, block in EXAMPLES.items() if LONG.search(block) and re.search("learn|sample", block)}
"""Those that train a network, or a table for many games, or sample many."""
LIBRARY = re.compile(
    r"^(?:from|import) (?:tictac_apps\.language_models\.adapters\.)?"
    r"(mcp|openenv|reasoning_gym|skyrl_gym|tinker_cookbook|trl|verifiers)\b",
    re.MULTILINE,
)
"""Those that train language models: their examples run if they are installed."""
SHELL = re.compile(
    r"(?:^<!-- not tested: (?P<reason>[^\n]+) -->\n+)?^```(?:sh|bash|shell|console)\n(?P<lines>.*?)^```",
    re.DOTALL | re.MULTILINE,
)
INSTALLED = [["install", name] for name in (".", *(f"tictac-env[{extra}]" for extra in EXTRAS))]
ELSEWHERE = {"git", "docker", "curl", "ray", "pre-commit"}
"""Programs that are not ours."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in TRAINING else []) for name in EXAMPLES]
)
@pytest.mark.usefixtures("registries")
def test_an_example_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for library in LIBRARY.findall(EXAMPLES[name]):
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    exec(compile(EXAMPLES[name], name, "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    prose = re.sub(r"^```.*?^```$|`[^`\n]+`", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    links = re.findall(r"\]\((?!https?:)([^)#]+)", prose)
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_picture_is_what_the_tool_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["boards_picture.py", "--output", str(tmp_path / "boards.svg")])
    boards_picture.main()
    assert (tmp_path / "boards.svg").read_text() == boards_picture.PICTURE.read_text()


def check(command: str) -> None:
    """Checks that a command can be given, without running it.

    Raises:
        SystemExit: the parser of `tictac` does not know the words; it says which.
        AssertionError: a file or a target is missing, or the program is unknown.
    """
    program, *words = shlex.split(command)
    if program == "tictac":
        parse(words)
    elif [program, *words[:3]] == ["python", "-I", "-m", "tictac_apps"]:
        parse(words[3:])
    elif program in ("python", ".venv/bin/python"):
        assert words[:2] == ["-m", "pytest"] or (ROOT / words[0]).is_file(), f"there is no {words[0]}"
    elif program == "make":
        assert {word for word in words if "=" not in word} <= TARGETS, f"not all of {words} are in the Makefile"
    elif program == "pip":
        assert words in INSTALLED, f"pip {words}"
    else:
        assert program in ELSEWHERE, f"what is {program}?"


def parse(words: list[str]) -> None:
    try:
        make_parser().parse_args(words)
    except SystemExit as end:
        if end.code:  # 0 after --help
            raise


def commands(lines: str) -> Iterator[str]:
    """The commands of a block, without comments and redirections."""
    for line in lines.replace("\\\n", "").splitlines():
        if words := shlex.split(line, comments=True):
            yield shlex.join(words[: words.index(">")] if ">" in words else words)


BLOCKS = [
    (str(page.relative_to(ROOT)), *found.groups()) for page in PAGES for found in SHELL.finditer(page.read_text())
]
COMMANDS = sorted({(page, one) for page, reason, lines in BLOCKS if reason is None for one in commands(lines)})


@pytest.mark.parametrize("page", sorted({page for page, _ in COMMANDS}))
def test_the_commands_of_a_page_can_be_given(page: str) -> None:
    for command in (one for where, one in COMMANDS if where == page):
        check(command)


@pytest.mark.parametrize(
    "command",
    [
        *("tictac solv 4453", "tictac play --sede first", "python -I -m tictac_apps train Sarsas"),
        *("python tools/there_is_none.py", "make coffee", 'pip install "tictac-env[clusters]"', "tictak play"),
    ],
)
def test_a_wrong_command_is_noticed(command: str) -> None:
    with pytest.raises((SystemExit, AssertionError)):
        check(command)
