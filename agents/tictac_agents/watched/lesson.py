"""One training game walked through: what each value was before it and is after it, as in figure 2 of S1's paper."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from tictac_agents.tabular.learner import Learner
from tictac_agents.tabular.runs import Schedule
from tictac_agents.tabular.value_td import ValueTD
from tictac_env.position import Position, format_moves


def lesson(learner: Learner, env: Any) -> dict[str, Any]:
    """Has a copy of the learner learn from its next game, and compares; the learner stays as it is.

    Args:
        learner: a table.
        env: an environment like the learner's, for the copy.

    Returns:
        `moves`, the game; `backups` in the order in which they were made, each with `ply` (the position after so many
        moves), `seat` (whose value it is), `move` (the action's name; None for the value of a position), `before` and
        `after`; and `at`, how many games came before.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "copy.npz"
        learner.save(path)
        copy: Any = type(learner).load(path, env)
    now: Any = learner
    copy.epsilon = _now(learner, now.epsilon)
    if now.learning_rate is not None:
        copy.learning_rate = _now(learner, now.learning_rate)
    copy.compiled = False
    copy.verdict_every = 0  # S0's rule could make it forget what it learns
    played: list[Position] = []

    def watch(one: Learner) -> bool:
        board: Any = one.env.unwrapped
        played.append(board.position)
        return True

    copy.learn(total_episodes=1, callback=watch, progress_bar=False)
    moves = played[0].moves
    positions = [Position.start(learner.game)]
    for action in moves:
        positions.append(positions[-1].play(action))
    found = _of_positions(now, copy, positions) if isinstance(learner, ValueTD) else _of_actions(now, copy, positions)
    backups = [backup for backup in found if backup["before"] != backup["after"]]
    if getattr(learner, "updates", "backward") == "backward":
        backups.reverse()
    return {"at": learner.num_episodes, "moves": format_moves(learner.game, moves), "backups": backups}


def _now(learner: Learner, schedule: Schedule) -> float:
    """What a schedule says of the learner's next game."""
    if not learner.num_episodes and not isinstance(schedule, (int, float)):
        return schedule[0]  # the run has not begun
    return learner.scheduled(schedule)


def _of_positions(before: ValueTD, after: ValueTD, positions: list[Position]) -> list[dict[str, Any]]:
    """The values of the positions, for either seat."""
    return [
        {"ply": ply, "seat": seat, "move": None, "before": before.value(seat, *both), "after": after.value(seat, *both)}
        for seat in (1, 0)
        for ply, position in enumerate(positions)
        for both in [(position.stones[seat], position.stones[1 - seat])]
    ]


def _of_actions(before: Any, after: Any, positions: list[Position]) -> list[dict[str, Any]]:
    """The values of the actions played."""
    found = []
    for ply, action in enumerate(positions[-1].moves):
        here = positions[ply]
        values = (float(one.values(here.own, here.opp)[action]) for one in (before, after))
        move = {"ply": ply, "seat": here.seat, "move": format_moves(here.game, [action])}
        found.append(move | dict(zip(("before", "after"), values, strict=True)))
    return found
