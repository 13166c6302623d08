"""The examples of `tictac COMMAND --help` run as they stand; what takes long or serves is stopped as by Ctrl-C."""

from __future__ import annotations

import functools
import pkgutil
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tictac_agents import QLearning
from tictac_agents.plan import tuned
from tictac_apps import cli
from tictac_apps.cli.main import COMMANDS, STOPPED, make_parser
from tictac_env import audit
from tictac_env.arena.audit_record import save_card

LONG = {
    "play": "tictac_apps.cli.play.Series.begin",
    "play level:7 rule": "tictac_apps.cli.play.TerminalTable.watch",
    "serve": "tictac_apps.cli.make.serve",
    "train": "tictac_agents.plan.Plan.new_agent",
    "bench": "tictac_apps.bench.run.bench",
    "warm": "tictac_apps.warm.make_first_uses",
    "prove ntuple": "tictac_apps.cli.judge.prove",
    "grade work": "tictac_apps.cli.grade.grade",
    "grade submission": "tictac_apps.cli.grade.grade",
    "grade class": "tictac_apps.cli.grade.grade_class",
    "grade --assignment": "tictac_apps.cli.grade._hand_out",
    "grade --make": "tictac_apps.grading.autograder_zip.make_zip",
    "export agent": "tictac_apps.export.export_agent",
    "audit mcts": "tictac_apps.cli.judge.audit",
    "audit http": "tictac_apps.cli.judge.audit",
    'audit "program': "tictac_apps.cli.judge.audit",
    "audit submission": "tictac_apps.cli.judge.load_player",
    "tournament": "tictac_apps.cli.judge.round_robin",
    "dataset prompts": "tictac_apps.cli.make.prompt_rows",
    "export page": "tictac_apps.cli.make.export_page",
    "solve 3 --game": "tictac_apps.cli.show.Solver",
}
"""Where the examples that begin with these words are stopped: their words and files are read by then."""
FILES = {
    "bots.py": "def act(board, mask):\n    return int(mask.argmax())\n",
    "my_agent.py": "def player(observation, mask):\n    return int(mask.argmax())\n",
    "bot": "#!/bin/sh\n",
    "submission.py": "def choose(cells, legal):\n    return legal[0]\n",
    "class/anna.py": "def choose(cells, legal):\n    return legal[0]\n",
    "work/submission.py": "def choose(cells, legal):\n    return legal[0]\n",
    "mine.toml": 'game = "TicTacToe-v0"\n[[test]]\ntheorem = "never-illegal"\npoints = 2\n',
}
NEEDED = {".zip": "sb3_contrib", "train DQN": "sb3_contrib", ".png": "PIL", ".gif": "PIL"}
"""What an example needs that is an extra."""


def examples() -> list[str]:
    """The lines of all examples, without the remarks beside them and without redirections."""
    parser = make_parser()
    parser.fill_all()
    lines: list[str] = []
    for name in COMMANDS:
        found: Any = parser
        for word in name.split():
            (found,) = (one.choices[word] for one in found._actions if isinstance(one.choices, dict))
        lines += map(str.strip, found.epilog.splitlines())
    return [re.split(r"\s{2,}|\s+>\s", line)[0] for line in lines if line.startswith("tictac ")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that examples name."""
    here = tmp_path_factory.mktemp("examples")
    for name, content in FILES.items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text(content)
    (here / "bot").chmod(0o755)
    QLearning("TicTacToe-v0", seed=0).save(here / "q.npz")
    save_card(audit("rule", exact=False, progress=False), here / "audits")
    return here


@pytest.mark.parametrize("example", examples())
def test_an_example_runs(
    example: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for part, package in NEEDED.items():
        if part in example:
            pytest.importorskip(package)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")  # a window is drawn into memory
    if "ppo.zip" in example or "models/dqn.zip" in example:
        agent, path = ("MaskablePPO", "ppo.zip") if "ppo.zip" in example else ("DQN", "models/dqn.zip")
        if not Path(path).exists():
            tuned(agent).changed(seed=0).new_agent().save(path)
    words = example.removeprefix("tictac ")
    cut = [place for begun, place in LONG.items() if words.startswith(begun)]
    stopped = list[str]()

    def stop(*_: object, **__: object) -> None:
        stopped.append(words)
        raise KeyboardInterrupt

    for place in cut:
        monkeypatch.setattr(place, functools.wraps(pkgutil.resolve_name(place))(stop))  # options read its defaults
    status = cli.main(shlex.split(words))
    err = capsys.readouterr().err
    assert status in ((0, 1, STOPPED) if cut else (0, 1)), err
    assert bool(stopped) == bool(cut), "a place in LONG is not where this example goes"
