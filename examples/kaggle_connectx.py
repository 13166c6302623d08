# /// script
# requires-python = ">=3.11"
# dependencies = ["tictac-env", "kaggle-environments>=1.17"]
# ///
"""Kaggle's ConnectX: agents exported as one file each, loaded and played by kaggle-environments."""

from __future__ import annotations

import contextlib
import io
import itertools
from pathlib import Path

from tictac_apps.cli import main
from tictac_env.position import Position

with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    from kaggle_environments import evaluate, make  # it tells of each environment that lacks a package

# 1. A file for each player; `tictac export agent PLAYER -o FILE` on the command line.
for player in ("ntuple:2", "minimax:4", "rule"):
    main(["export", "agent", player, "--output", f"{player.partition(':')[0]}.py"])

# 2. Kaggle's loader takes the last callable of a file, and gives each move two seconds.
env = make("connectx", configuration={"actTimeout": 2})
steps = env.run(["ntuple.py", "minimax.py"])
moves = [
    next(side.action for side, asked in zip(after, before, strict=True) if asked.status == "ACTIVE")
    for before, after in itertools.pairwise(steps)
]
print("statuses:", [side.status for side in steps[-1]], "rewards:", [side.reward for side in steps[-1]])
print(Position.from_moves("ConnectFour-v0", moves))

# 3. Rewards of a few games against the agents that come with Kaggle's environment.
for agent in ("ntuple.py", "minimax.py", "rule.py"):
    for opponent in ("negamax", "random"):
        rewards = evaluate("connectx", [agent, opponent], num_episodes=3)
        print(f"{Path(agent).stem} as first v {opponent}: {[first for first, _ in rewards]}")
