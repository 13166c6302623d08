"""Waiting for the compiler: CPU seconds of each first use on a new machine, and of the same use later.

    python benchmarks/first_use.py                     # some minutes
    python benchmarks/first_use.py --against FOLDER    # this code and an older checkout, in turn; writes nothing

Each run is a new process. The first of a pair finds an empty cache, the second what the first has kept. The medians are
of CPU time, imports included; `compiling` is the part of the first run in which kernels were compiled.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.records import add_output, parser_of, positive, save
from tictac_apps.bench.records import Row, show
from tictac_env.progress import track

HERE = Path(__file__).parents[1]
STEP = """
from tictac_env.games import gym_keywords
def step(game):
    envs = gym.make_vec(num_envs=8, **gym_keywords(game))
    envs.reset(seed=0)
    envs.step(envs.sample_actions())
"""
USES = {
    "a vector environment": f"{STEP}step('ConnectFour-v0')",
    "a further size of it": f"{STEP}step('ConnectFour-v0')\nbegin = compiling()\nstep('KInARow-v0:5x6-4')",
    "a table, compiled": "from tictac_agents import QLearning\n"
    "QLearning(gym.make('TicTacToe-v0'), seed=0).compile().learn(total_episodes=100, progress_bar=False)",
    "tree search": "from tictac_agents import MCTS\nfrom tictac_env.position import Position\n"
    "MCTS(100).act(Position.start('ConnectFour-v0'), 0)",
    "the solver": "from tictac_env.position import Position\nfrom tictac_env.solver import Solver\n"
    "Solver('ConnectFour-v0').solve(Position.start('ConnectFour-v0').play(3).play(3).play(4).play(2))",
    "the n-tuple network plays": "from tictac_env.policies import make_policy\n"
    "from tictac_env.position import Position\n"
    "make_policy('ntuple', 'ConnectFour-v0').act(Position.start('ConnectFour-v0'), 0)",
    "an n-tuple network learns": "from tictac_agents import NTupleTD\n"
    "NTupleTD('ConnectFour-v0', tuples=8, length=6, seed=0).learn(100, progress_bar=False)",
    "AlphaZero learns": "from tictac_agents import AlphaZero\n"
    "AlphaZero('ConnectFour-v0', tuples=8, length=6, seed=0).learn(10, progress_bar=False)",
}
"""Programs, each a first use."""
PROGRAM = """
import json, time
import gymnasium as gym
import tictac_env
begin = 0
def compiling():
    from tictac_env.compiled import seconds_compiling
    return seconds_compiling()
{use}
print(json.dumps([time.process_time(), compiling() - begin]))
"""


def runs(use: str, checkout: Path) -> Iterator[tuple[float, float]]:
    """The CPU seconds of a program, and those of them in which it compiles: first with an empty cache, then again."""
    with tempfile.TemporaryDirectory() as cache:
        for _ in range(2):
            told = subprocess.run(
                [sys.executable, "-c", PROGRAM.format(use=USES[use])],
                cwd=checkout,
                env=os.environ
                | {"TICTAC_CACHE_DIR": cache, "PYTHONPATH": f"{checkout}{os.pathsep}{checkout / 'agents'}"},
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                check=True,
                text=True,
            )
            seconds, compiling = json.loads(told.stdout.splitlines()[-1])
            yield seconds, compiling


def table(checkouts: dict[str, Path], repeats: int) -> list[Row]:
    """A row for each use; the checkouts take turns."""
    found: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    turns = [(use, name) for _ in range(repeats) for use in USES for name in checkouts]
    for use, name in track(turns, "first uses"):
        (first, compiling), (later, _) = runs(use, checkouts[name])
        found.setdefault((use, name), []).append((compiling, first, later))
    rows: list[Row] = []
    for use in USES:
        row: Row = {"use": use}
        for name in checkouts:
            medians = [round(median(values), 2) for values in zip(*found[use, name], strict=True)]
            row |= {
                f"{what}{name}": value
                for what, value in zip(("compiling", "first run", "later run"), medians, strict=True)
            }
        rows.append(row)
    return rows


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--repeats", type=positive, default=5, help="pairs of runs of each use (default: %(default)s)")
    parser.add_argument("--against", type=Path, metavar="FOLDER", help="a checkout of an older version to compare with")
    add_output(parser)
    options: argparse.Namespace = parser.parse_args()
    checkouts = {" before": options.against.resolve(), " now": HERE} if options.against else {"": HERE}
    rows = table(checkouts, options.repeats)
    show("CPU seconds", rows)
    if not options.against:
        save("first-use", {"repeats": options.repeats}, {"uses": rows}, options.output)


if __name__ == "__main__":
    main()
