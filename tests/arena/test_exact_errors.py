"""What the exact measures refuse to judge: wrong actions, wrong batches, wrong probabilities, games too large."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tictac_env.arena import exploitability, tabulated_verdict, verdict
from tictac_env.policies import Policy
from tictac_env.position import IllegalMove, Position
from tictac_env.solver.enumerate import tabulate


class Wrong(Policy):
    """Answers what `change` makes of the lowest legal action, and gives any probabilities it is told to."""

    name = "wrong"

    def __init__(self, change: Callable[[int], Any] = int, probabilities: Any = None) -> None:
        self.change = change
        self.given = probabilities

    def act(self, position: Position, seed: int) -> int:
        return self.change(position.legal_actions[0])  # type: ignore[no-any-return]

    def probabilities(self, position: Position) -> Any:
        return self.given


@pytest.mark.parametrize(
    "change",
    [
        lambda action: 9,
        lambda action: -1,
        lambda action: 2**70,
        lambda action: action + 0.7,
        float,
        lambda action: bool(action) if action < 2 else action,
        str,
        lambda action: None,
        lambda action: float("nan"),
    ],
    ids=["9", "negative", "huge", "fraction", "float", "bool", "string", "None", "nan"],
)
def test_no_action_is_made_of_what_is_none(change: Callable[[int], Any]) -> None:
    """As everywhere: neither floats nor bools nor anything else than an integer in range is an action."""
    with pytest.raises(ValueError, match="wrong"):
        verdict(Wrong(change))


def test_an_illegal_action_is_named_with_its_position() -> None:
    with pytest.raises(IllegalMove, match=r"wrong chose action 4, illegal here .*from_(code|moves)\('TicTacToe-v0'"):
        verdict(Wrong(lambda action: 4))


SHARED = np.full(9, 1 / 9)


@pytest.mark.parametrize(
    "probabilities",
    [
        SHARED / 2,
        SHARED * 2,
        np.zeros(9),
        np.array([1.5, -0.5, 0, 0, 0, 0, 0, 0, 0]),
        np.array([np.nan] * 9),
        np.full(8, 1 / 8),
        np.ones(1),
        np.full((1, 9), 1 / 9),
    ],
    ids=["half", "twice", "none", "negative", "nan", "short", "single", "nested"],
)
def test_wrong_probabilities_are_refused(probabilities: npt.NDArray[np.float64]) -> None:
    with pytest.raises(ValueError, match="probabilities of wrong"):
        verdict(Wrong(probabilities=probabilities))


def test_a_chance_of_an_illegal_action_is_refused() -> None:
    with pytest.raises(IllegalMove, match="wrong chose action"):
        exploitability(Wrong(probabilities=SHARED))


class Batched(Policy):
    """Answers batches wrongly."""

    def __init__(self, change: Callable[[npt.NDArray[np.int64]], Any]) -> None:
        self.change = change
        self.name = "batched"

    def act(self, position: Position, seed: int) -> int:
        return position.legal_actions[0]

    def act_many(self, batch: Any, seeds: npt.NDArray[np.int64]) -> Any:
        return self.change(super().act_many(batch, seeds))


@pytest.mark.parametrize(
    "change",
    [
        lambda actions: actions.astype(float),
        lambda actions: actions[:, None],
        lambda actions: actions[:-1],
        lambda actions: actions[0],
    ],
    ids=["float", "shape", "too few", "one"],
)
def test_wrong_batches_are_refused(change: Callable[[npt.NDArray[np.int64]], Any]) -> None:
    with pytest.raises(ValueError, match="act_many of batched"):
        verdict(Batched(change))


@pytest.mark.parametrize("game", ["TicTacToe", "Chess"])
def test_unknown_games_are_refused(game: str) -> None:
    with pytest.raises(ValueError, match=game):
        verdict("random", game)


@pytest.mark.parametrize("measure", [tabulated_verdict, exploitability])
@pytest.mark.parametrize("game", ["ConnectFour-v0", "KInARow-v0:5x6-4"])
def test_too_large_a_game_is_refused_by_its_name(
    measure: Callable[..., object], game: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tictac_env.arena.verdicts.tabulate", functools.partial(tabulate, limit=1000))
    with pytest.raises(ValueError, match=f"{game} has more than 1,000 positions, .*`verdict`.*`move_accuracy`"):
        measure("random", game)


def test_the_limit_is_a_million_positions() -> None:
    with pytest.raises(ValueError, match="ConnectFour-v0 has more than 1,000,000 positions, too many to tabulate"):
        tabulated_verdict("random", "ConnectFour-v0")


@pytest.mark.parametrize(
    "known", [lambda ply: ply == 0, lambda ply: ply > 0, lambda ply: ply < 4], ids=["start", "later", "early"]
)
def test_probabilities_are_given_everywhere_or_nowhere(known: Callable[[int], bool]) -> None:
    """Else one verdict would rest on two foundations."""

    class Partly(Wrong):
        def probabilities(self, position: Position) -> Any:
            return np.eye(9)[position.legal_actions[0]] if known(position.ply) else None

    with pytest.raises(ValueError, match="probabilities of wrong"):
        verdict(Partly())


@pytest.mark.parametrize("measure", [verdict, exploitability])
@pytest.mark.parametrize("seed", [-1, 2**63, "1", None])
def test_seeds_out_of_range_are_refused(measure: Callable[..., object], seed: object) -> None:
    with pytest.raises(ValueError, match="seed must be a whole number in"):
        measure("minimax-first", seed=seed)
