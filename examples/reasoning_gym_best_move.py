# /// script
# requires-python = ">=3.11"
# dependencies = ["tictac-env", "reasoning-gym>=0.1.25"]
# ///
"""reasoning-gym: best-move questions with exact scores, alone and mixed with its own, answered by three scripts."""

from __future__ import annotations

import random
import re
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", SyntaxWarning)
    import reasoning_gym
    from reasoning_gym.composite import DatasetSpec

import tictac_apps.language_models.adapters.reasoning_gym  # noqa: F401  # registers "tictac_best_move"

drawn = random.Random(0)


def any_cell(question: str) -> str:
    """The number of a cell, empty or not."""
    return f"Move: {drawn.randint(1, 9)}"


def first_empty(question: str) -> str:
    """The first empty cell of tic-tac-toe, the first column that is not full of Connect Four."""
    rows = [line.split() for line in question.splitlines() if re.fullmatch(r"( [.XO] ?)+", line)]
    cells = [cell for row in rows for cell in row] if len(rows) == 3 else rows[0]
    return str(cells.index(".") + 1)


# 1. Each game by itself; an answer is scored by the value that it gives away.
for game, plies in (("TicTacToe-v0", 6), ("ConnectFour-v0", 12)):
    data = reasoning_gym.create_dataset("tictac_best_move", game=game, max_plies=plies, size=100, seed=0)
    entries = list(data)
    print(
        f"{game}: {len({entry['metadata']['symmetry_class'] for entry in entries})} symmetry classes in 100 questions"
    )
    for answerer in (any_cell, first_empty):
        scores = [data.score_answer(answerer(entry["question"]), entry) for entry in entries]
        print(f"  {answerer.__name__}: mean score {sum(scores) / len(scores):.3f}, of {sorted(set(scores))}")
    best = [data.score_answer(entry["answer"], entry) for entry in entries]
    print(f"  the answers of the data set: {sum(best) / len(best):.3f}")

# 2. Mixed with questions of reasoning-gym.
specs = [DatasetSpec("tictac_best_move", 1, {}), DatasetSpec("countdown", 1, {})]
mixed = reasoning_gym.create_dataset("composite", datasets=specs, size=50, seed=0)
found = [entry["metadata"]["source_dataset"] for entry in mixed]
print(f"mixed: {found.count('tictac_best_move')} of ours, {found.count('countdown')} of countdown")
print("best answers:", {mixed.score_answer(entry["answer"], entry) for entry in mixed})
