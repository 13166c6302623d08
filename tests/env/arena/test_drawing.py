"""Players that draw without the seed, or remember: every measure says so, and drops the promise of the seed."""

from __future__ import annotations

import itertools
import time
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from conftest import lowest

from tictac_env.arena import (
    Audit,
    audit,
    exact_results,
    move_accuracy,
    play_match,
    prove,
    round_robin,
    verdict,
)
from tictac_env.games import GAMES
from tictac_env.policies import BatchedPolicy, Corrected, Mixture, ModelPolicy, Policy, make_policy
from tictac_env.policies.check_policy import draws_its_moves
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch

Mask = npt.NDArray[np.int8]
START = Position.start("TicTacToe-v0")


def drawing(observation: Any, mask: Mask) -> int:
    return int(GENERATOR.choice(np.flatnonzero(mask)))


GENERATOR = np.random.default_rng(0)


def seeded(observation: Any, mask: Mask, seed: int) -> int:
    return int(np.random.default_rng(seed).choice(np.flatnonzero(mask)))


class Model:
    """Predicts, and draws while it does."""

    def predict(self, observation: Any, action_masks: Any, deterministic: bool = True) -> tuple[int, None]:
        return drawing(observation, action_masks), None


class Remembering(Policy):
    """Plays another action at each call."""

    def __init__(self) -> None:
        self.calls = itertools.count()

    def act(self, position: Position, seed: int) -> int:
        return position.legal_actions[next(self.calls) % len(position.legal_actions)]


class Ordered(Policy):
    """Forgets when it sees an empty board, as players that remember their game do."""

    def act(self, position: Position, seed: int) -> int:
        self.calls = 0 if position.ply == 0 else self.calls + 1
        return position.legal_actions[self.calls % len(position.legal_actions)]


DRAWING: dict[str, Any] = {
    "function": drawing,
    "model": ModelPolicy(Model()),
    "batched": BatchedPolicy(lambda planes, masks: [drawing(None, mask) for mask in masks]),
    "counter": Remembering(),
    "remembers its game": Ordered(),
    "member of a mixture": Mixture(["rule", drawing], [1, 99]),
    "corrected": Corrected(Remembering(), PositionBatch.of([START]), [4]),
}


@pytest.mark.parametrize("name", DRAWING)
def test_who_answers_differently_when_asked_again_is_not_judged_as_a_fixed_map(name: str) -> None:
    found = verdict(DRAWING[name])
    assert found.basis == "draws its moves" and "another run gives other figures" in str(found)
    assert "draws its moves" in found._repr_html_()


@pytest.mark.parametrize(
    "player", [lowest, seeded, "mcts:5", BatchedPolicy(lambda planes, masks: masks.argmax(axis=1))]
)
def test_who_answers_alike_is_a_fixed_map(player: Any) -> None:
    assert verdict(player).basis == "fixed map"
    assert play_match(player, "rule", games=2).drawing == ()


def test_every_measure_says_that_a_player_draws() -> None:
    results = exact_results("rule", drawing, "TicTacToe-v0", progress=False)
    assert results.opponent_basis == "draws its moves" and "drawing draws its moves" in str(results)
    assert "drawing draws its moves" in results._repr_html_()
    accuracy = move_accuracy(drawing, "TTT-Exact-v1", seeds=2)
    assert accuracy.basis == "draws its moves: 2 answers a position"
    found = audit(drawing, "TicTacToe-v0", opponents=["rule"], games=2, progress=False)
    assert found.verdict is not None and found.verdict.basis == "draws its moves"
    assert found.matches[0].drawing == ("drawing",)
    assert str(found).count("draws its moves") == 4 and Audit.from_json(found.to_json()) == found


def test_a_verdict_that_another_run_may_refute_claims_no_proof() -> None:
    class Moody(Policy):
        """Perfect, but not always with the same move."""

        def __init__(self) -> None:
            self.seeds = itertools.count()

        def act(self, position: Position, seed: int) -> int:
            return make_policy("minimax").act(position, next(self.seeds))

    found = verdict(Moody())
    assert found.as_first.unbeatable is found.as_second.unbeatable is None and not found.unbeatable
    assert "not beaten this time" in str(found) and "unbeatable" not in str(found)
    record = audit(Moody(), progress=False)
    assert record.verdict is not None and record.verdict.as_first.unbeatable is None
    assert "cannot be beaten" not in record.to_markdown()


def test_nothing_is_proven_of_a_player_that_draws() -> None:
    with pytest.raises(ValueError, match=r"drawing draws its moves.*a third parameter, `seed`"):
        prove(drawing, 0, "TicTacToe-v0")
    with pytest.raises(ValueError, match=r"Remembering draws its moves.*remember nothing"):
        prove(Remembering(), 0, "TicTacToe-v0")


def test_matches_and_tournaments_drop_the_promise_of_the_seed() -> None:
    match = play_match("rule", drawing, games=2)
    assert match.drawing == match.reversed().drawing == ("drawing",)
    assert "drawing draws its moves" in str(match) and "does not repeat these games" in str(match)
    tournament = round_robin(["rule", drawing, lowest], games=2)
    assert tournament.drawing == ("drawing",) and "drawing draws its moves" in str(tournament)
    assert tournament.matches["rule", "drawing"].drawing == ("drawing",)
    assert tournament.matches["rule", "lowest"].drawing == ()


def test_people_language_models_and_slow_players_are_not_asked_much_more() -> None:
    class Slow(Remembering):
        def act(self, position: Position, seed: int) -> int:
            time.sleep(0.3)
            return super().act(position, seed)

    slow = Slow()
    assert draws_its_moves(slow, START) and next(slow.calls) <= 4
    asked = Remembering()
    asked.asked_twice = False
    assert not draws_its_moves(asked, START) and next(asked.calls) == 0
    assert not draws_its_moves(make_policy("human"), START)


@pytest.mark.parametrize("game", GAMES)
def test_a_policy_of_every_name_answers_alike(game: str) -> None:
    for name in ("random", "rule", "minimax:2", "minimax-first", "mcts:5", "level:5"):
        assert not draws_its_moves(make_policy(name, game), Position.start(game))
