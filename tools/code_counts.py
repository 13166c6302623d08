"""Counts the files and lines of the packages, folder by folder, and the files that some calls pass through.

    python tools/code_counts.py

prints both tables as Markdown. The site shows them on the page "Architecture", in place of `MARK`.
"""

from __future__ import annotations

import argparse
import ast
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import gymnasium as gym

import tictac_env
from tictac_agents import QLearning
from tools.results_tables import Table, markdown

ROOT = Path(__file__).parents[1]
MARK = "<!-- counts -->"
"""Stands on the page where the tables come."""


def packages(root: Path = ROOT) -> list[Path]:
    """The folders of the packages, as pyproject.toml names them."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    return [root / name for name in settings["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]]


def sizes(root: Path = ROOT) -> Table:
    """The files and lines of Python of each package, and of each folder in it, with its docstring's first line."""
    rows = []
    for package in packages(root):
        for folder in [package, *sorted(path.parent for path in package.glob("*/__init__.py"))]:
            files = list(folder.rglob("*.py"))
            docstring = ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))) or ""
            rows.append(
                {
                    "folder": f"`{folder.relative_to(package.parent)}/`",
                    "files": f"{len(files):,}",
                    "lines": f"{sum(len(file.read_text('utf-8').splitlines()) for file in files):,}",
                    "contents": docstring.partition("\n")[0],
                }
            )
    return rows


def files_of(call: Callable[[], Any]) -> int:
    """The number of files of the packages with a function that the call runs, the second time."""
    call()  # imports and compiles
    files = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            files.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return sum(name.startswith(tuple(f"{package}/" for package in packages())) for name in files)


def walks() -> Table:
    """The number of files that some calls pass through."""
    env: gym.Env[Any, int] = gym.make("ConnectFour-v0", opponent="rule").unwrapped
    env.reset(seed=0)
    learner = QLearning("TicTacToe-v0", seed=0)
    learner.compiled = False
    calls: dict[str, Callable[[], Any]] = {
        '`env.step(3)`, opponent "rule"': lambda: env.step(3),
        "one interpreted game of `QLearning`": lambda: learner.learn(1, progress_bar=False),
        '`audit("rule")`': lambda: tictac_env.audit("rule"),
    }
    return [{"a call": name, "passes through files": str(files_of(call))} for name, call in calls.items()]


def tables() -> str:
    """Both tables, as Markdown."""
    return f"{markdown(sizes())}\n\n{markdown(walks())}"


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    print(tables())


if __name__ == "__main__":
    main()
