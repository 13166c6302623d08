"""The commands that README and docs show in `sh` blocks exist: words, files and targets; none is run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import pytest

from tests.packaging.test_extras import EXTRAS
from tests.packaging.test_readme import PAGES, ROOT
from tictac_env.cli.main import make_parser

BLOCK = re.compile(
    r"(?:^<!-- not tested: (?P<reason>[^\n]+) -->\n+)?^```(?:sh|bash|shell|console)\n(?P<lines>.*?)^```",
    re.DOTALL | re.MULTILINE,
)
UNTESTED = [("docs/deep.md", "the command is RL Baselines3 Zoo's")]
"""The blocks that cannot be tested: the page, and the reason, which a comment before the block gives."""

TARGETS = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
INSTALLED = [["install", name] for name in (".", *(f"tictac-env[{extra}]" for extra in EXTRAS))]
ELSEWHERE = {"git", "docker", "curl", "ray"}
"""Programs that are not ours."""


def blocks() -> Iterator[tuple[str, str | None, str]]:
    """The page, the reason why it is not tested (None if it is), and the lines of every block."""
    for page in PAGES:
        for found in BLOCK.finditer(page.read_text()):
            yield str(page.relative_to(ROOT)), found["reason"], found["lines"]


def commands(lines: str) -> Iterator[str]:
    """Each command, without comments and redirections."""
    for line in lines.replace("\\\n", "").splitlines():
        if words := shlex.split(line, comments=True):
            yield shlex.join(words[: words.index(">")] if ">" in words else words)


def check(command: str) -> None:
    """Whether the command can be given, as far as this can be told without running it.

    Raises:
        SystemExit: the words are none that the parser of `tictac` knows; it says which.
        AssertionError: a file or a target is not there, or the program is unknown.
    """
    program, *words = shlex.split(command)
    if program == "tictac":
        parse(words)
    elif [program, *words[:2]] == ["python", "-m", "tictac_agents.train"]:
        parse(["train", *words[2:]])
    elif [program, *words[:3]] == ["python", "-I", "-m", "tictac_env"]:
        parse(words[3:])
    elif program == "python":
        assert (ROOT / words[0]).is_file(), f"there is no {words[0]}"
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


COMMANDS = sorted({(page, one) for page, reason, lines in blocks() if reason is None for one in commands(lines)})


@pytest.mark.parametrize("page", sorted({page for page, _ in COMMANDS}))
def test_the_commands_of_a_page_can_be_given(page: str) -> None:
    for command in (one for where, one in COMMANDS if where == page):
        try:
            check(command)
        except (SystemExit, AssertionError) as error:
            pytest.fail(f"{page}: {command}: {error}")


def test_blocks_that_are_not_tested_are_known() -> None:
    assert [(page, reason) for page, reason, _ in blocks() if reason is not None] == UNTESTED


def test_no_block_is_overlooked() -> None:
    fences = [fence for page in PAGES for fence in re.findall(r"```(?:sh|bash|shell|console)\b", page.read_text())]
    assert len(list(blocks())) == len(fences) > 30


@pytest.mark.parametrize(
    "command",
    [
        "tictac solv 4453",
        "tictac play --sede first",
        "tictac train QLearning --presets self-play",
        "python -m tictac_agents.train Sarsas",
        "python tools/there_is_none.py",
        "make coffee",
        'pip install "tictac-env[clusters]"',
        "tictak play",
    ],
)
def test_what_is_wrong_is_seen(command: str) -> None:
    with pytest.raises((SystemExit, AssertionError)):
        check(command)
