"""A function as a policy: it may return an integer of any kind, and gets the seed if it takes one."""

from __future__ import annotations

import itertools
import os
import pickle
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest
from conftest import lowest

from tictac_apps.bench.guard import guarded
from tictac_env import Position, check_policy, connect_four_v0, play_match, tictactoe_v0, verdict
from tictac_env.arena import Forfeit, audit, exact_results, move_accuracy, prove, round_robin
from tictac_env.games import get_game
from tictac_env.policies import BatchedPolicy, FunctionPolicy, ReflexPolicy, as_policy
from tictac_env.policies.loading import run_file
from tictac_env.position import IllegalMove
from tictac_env.wrappers import OpponentPolicyEnv

Mask = npt.NDArray[np.int8]
TTT = get_game("TicTacToe-v0")


def drawn(observation: Any, mask: Mask, seed: int) -> int:
    return int(np.random.default_rng(seed).choice(np.flatnonzero(mask)))


def drawn_by_keyword(observation: Any, mask: Mask, *, seed: int | None = None) -> int:
    assert seed is not None
    return drawn(observation, mask, seed)


def outcome(opponent: Any) -> list[Any]:
    """What one and two boards against the opponent show after the learner has played the centre."""
    env = gym.make("TicTacToe-v0", opponent=opponent)
    env.reset(seed=0)
    envs = gym.make_vec("TicTacToe-v0", num_envs=2, opponent=opponent)
    envs.reset(seed=0)
    return [env.step(4)[0].tolist(), envs.step(np.array([4, 4]))[0].tolist()]


KINDS: dict[str, Callable[[int], Any]] = {
    "np.int64": np.int64,
    "np.uint8": np.uint8,
    "0-d array": np.array,
    "torch tensor": lambda action: pytest.importorskip("torch").tensor(action),
}


@pytest.mark.parametrize("kind", KINDS)
def test_integers_of_any_kind_are_actions(kind: str) -> None:
    assert outcome(lambda observation, mask: KINDS[kind](lowest(observation, mask))) == outcome(lowest)


def against_one_board(player: Any) -> None:
    env = gym.make("TicTacToe-v0", opponent=player)
    env.reset(seed=0)
    env.step(4)


def against_many_boards(player: Any) -> None:
    envs = gym.make_vec("TicTacToe-v0", num_envs=2, opponent=player)
    envs.reset(seed=0)
    envs.step(np.array([4, 4]))


def against_pettingzoos_board(player: Any) -> None:
    env = OpponentPolicyEnv(tictactoe_v0.env(), opponent=player)
    env.reset(seed=0)
    env.step(4)


USES: dict[str, Callable[[Any], Any]] = {
    "check_policy": check_policy,
    "verdict": verdict,
    "move_accuracy": lambda player: move_accuracy(player, "TTT-Exact-v1"),
    "prove": lambda player: prove(player, 1, "TicTacToe-v0"),
    "one board": against_one_board,
    "many boards": against_many_boards,
    "PettingZoo's board": against_pettingzoos_board,
}
every_use = pytest.mark.parametrize("use", USES)
ANSWERS: dict[str, Callable[[], Any]] = {
    **{repr(one): lambda one=one: one for one in (2.0, 4.7, float("nan"), True, np.True_, None, "2", (2, None))},
    **{repr(one): lambda one=one: one for one in (-1, 9, 2**70, np.array([2]), np.float64(2))},
    "1-d tensor": lambda: pytest.importorskip("torch").tensor([2]),
    "bool tensor": lambda: pytest.importorskip("torch").tensor(True),
    "float tensor": lambda: pytest.importorskip("torch").tensor(2.0),
}
"""None of them is a legal action, and none may become one."""


@every_use
@pytest.mark.parametrize("answer", ANSWERS)
def test_what_is_no_legal_action_is_an_error_that_names_the_player(answer: str, use: str) -> None:
    def wrong(observation: Any, mask: Mask) -> Any:
        return ANSWERS[answer]()

    with pytest.raises(IllegalMove, match=r"wrong (must return an int|chose )"):
        USES[use](wrong)


def forfeited_in_a_tournament(player: Any) -> list[Forfeit]:
    tournament = round_robin({"random": "random", "wrong": player, "rule": "rule"}, games=2)
    assert len(tournament.games) == 6
    return [record.as_forfeit() for record in tournament.forfeits]


def forfeited_in_exact_results(player: Any) -> list[Forfeit]:
    results = exact_results(player, "random", TTT, progress=False)
    for seat in (results.as_first, results.as_second):
        assert seat.exact and seat.shares.losses == 1 and str(seat.forfeits[0]) in str(results)
    return [*results.as_first.forfeits, *results.as_second.forfeits]


def forfeited_in_an_audit(player: Any) -> list[Forfeit]:
    (match,) = audit("rule", TTT, "TTT-Exact-v1", [player], 4, exact=False, progress=False).matches
    assert match.total.wins == 4
    return list(match.forfeits)


PLAYED: dict[str, Callable[[Any], list[Forfeit]]] = {
    "play_match": lambda player: list(play_match("random", player, games=4).forfeits),
    "round_robin": forfeited_in_a_tournament,
    "exact_results": forfeited_in_exact_results,
    "audit": forfeited_in_an_audit,
}
FAILURES: dict[str, tuple[Any, str]] = {
    "raises": (lambda observation, mask: 1 // 0, r"ZeroDivisionError: .*\(test_functions\.py, line \d+\)"),
    "exits": (lambda observation, mask: sys.exit("good-bye"), "SystemExit: good-bye"),
    "not a number": (lambda observation, mask: float("nan"), "illegal move: .*must return an int.*nan"),
    "words": (lambda observation, mask: "the middle", "illegal move: .*'the middle'"),
    "a shape": (lambda observation, mask: mask, "illegal move: .*must return an int"),
    "out of range": (lambda observation, mask: 9, "illegal move: .* chose action 9"),
    "no action of a set": (ReflexPolicy(lambda game, own, opp: 0), "illegal move: ReflexPolicy.* chose "),
    "a batch's shape": (BatchedPolicy(lambda observations, masks: masks), r"ValueError: .*int8 \(1, 9\)"),
    "a batch's NaN": (BatchedPolicy(lambda observations, masks: np.full(len(masks), np.nan)), "ValueError: .*float"),
}


PLAYED_FAILURES = [(failure, place) for failure in FAILURES for place in PLAYED]
PLAYED_FAILURES.remove(("no action of a set", "exact_results"))  # it has no probabilities to judge it by


@pytest.mark.parametrize(("failure", "place"), PLAYED_FAILURES)
def test_in_games_a_failure_costs_the_game_and_the_others_are_played(failure: str, place: str) -> None:
    player, why = FAILURES[failure]
    forfeits = PLAYED[place](player)
    assert len(forfeits) == (2 if place == "exact_results" else 4)
    for forfeit in forfeits:
        assert re.search(why, forfeit.why) and forfeit.player in ("wrong", str(as_policy(player, TTT)))
        assert not Position.from_moves(TTT, forfeit.moves).is_over


@pytest.mark.parametrize("place", PLAYED)
def test_ctrl_c_is_not_a_failure(place: str) -> None:
    def interrupted(observation: Any, mask: Mask) -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        PLAYED[place](interrupted)


@every_use
def test_an_occupied_cell_is_an_illegal_move(use: str) -> None:
    for middle in (lambda observation, mask: 4, BatchedPolicy(lambda observations, masks: np.full(len(masks), 4))):
        with pytest.raises(IllegalMove, match=r"lambda.* chose (action )?4.*(illegal here|legal are)"):
            USES[use](middle)


@every_use
@pytest.mark.parametrize("choices", [0, 1 << 62], ids=["empty", "no action's"])
def test_a_set_without_an_action_is_an_illegal_move(choices: int, use: str) -> None:
    with pytest.raises(IllegalMove, match=r"ReflexPolicy.* chose "):
        USES[use](ReflexPolicy(lambda game, own, opp: choices))
    with pytest.raises(IllegalMove, match=r"ReflexPolicy.* chose "):
        exact_results(ReflexPolicy(lambda game, own, opp: choices), "random", TTT)


@every_use
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda masks: masks.argmax(), r"\d+ observations? it must return \d+ integers?, not int64 \(\)"),
        (lambda masks: masks, r"integers?, not int8 \(\d+, 9\)"),
        (lambda masks: masks.argmax(axis=1) / 1, r"integers?, not float64"),
        (lambda masks: [None] * len(masks), r"integers?, not object"),
    ],
)
def test_what_are_no_actions_of_a_batch_is_named(answer: Callable[[Mask], Any], message: str, use: str) -> None:
    def numbers(observations: Any, masks: Mask) -> Any:
        return answer(masks)

    with pytest.raises(ValueError, match=f"numbers is batched: .*{message}"):
        USES[use](BatchedPolicy(numbers))


@pytest.mark.parametrize("function", [drawn, drawn_by_keyword])
def test_a_function_that_draws_by_its_seed_passes(function: Any) -> None:
    with pytest.warns(UserWarning, match="draws but has no `probabilities`"):
        check_policy(function)
    assert str(play_match(function, "rule", games=20)) == str(play_match(function, "rule", games=20))
    assert verdict(function) == verdict(function)
    assert outcome(function) == outcome(function)


def test_the_seed_of_a_reset_decides_what_it_draws() -> None:
    def first_reply(seed: int, env: Any) -> int:
        env.reset(seed=seed)
        return int(env.step(3)[4]["opponent_action"])

    for env in (
        gym.make("ConnectFour-v0", opponent=drawn),
        OpponentPolicyEnv(connect_four_v0.env(), opponent=drawn),
    ):
        replies = [first_reply(seed, env) for seed in range(8)]
        assert replies == [first_reply(seed, env) for seed in range(8)]
        assert len(set(replies)) > 1


def test_a_function_that_draws_without_a_seed_is_told_to_take_one() -> None:
    counter = itertools.count()

    def moody(observation: Any, mask: Mask) -> int:
        legal = np.flatnonzero(mask)
        return int(legal[next(counter) % len(legal)])

    with pytest.raises(ValueError, match=r"moody answers differently .*give it a third parameter, `seed`"):
        check_policy(moody)


def test_a_function_that_does_not_say_its_parameters_gets_no_seed() -> None:
    assert not FunctionPolicy(max).seeded
    assert not FunctionPolicy(lambda observation, mask, **rest: 0).seeded


class Network:
    """As a network of PyTorch: its call takes anything."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    def forward(self, planes: Any) -> Any:
        raise AssertionError("it is not asked")


def test_a_network_is_told_how_to_become_a_player() -> None:
    for use in (verdict, lambda network: gym.make("TicTacToe-v0", opponent=network)):
        with pytest.raises(ValueError, match=r"Network.* does not: .*BatchedPolicy\(lambda planes, masks"):
            use(Network())


FORKS = """
import os
copies = [os.fork()]
def fails(observation, mask):
    copies.append(os.fork())
    raise RuntimeError("no idea")
def player(observation, mask):
    copies.append(os.fork())
    return int(mask.argmax())
def many(observations, masks):
    copies.append(os.fork())
    return masks.argmax(axis=1)
many.batched = True
def counts(observation, mask):
    return sum(range(10**12))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no os.fork")
def test_of_a_player_that_forks_only_one_process_returns(tmp_path: Path) -> None:
    (tmp_path / "forks.py").write_text(FORKS)
    here = os.getpid()
    try:
        module = run_file(tmp_path / "forks.py")
        play_match(module.many, "random", games=1)
        env = OpponentPolicyEnv(tictactoe_v0.env(), opponent=module.player, play_as="second")
        env.reset(seed=0)
        with pytest.raises(RuntimeError, match="no idea"):
            verdict(module.fails)
    finally:
        if os.getpid() != here:
            os._exit(0)  # a copy that returned
    statuses = [os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]) for copy in module.copies]
    assert len(statuses) > 5 and set(statuses) == {1}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no os.fork")
@pytest.mark.parametrize(("name", "status"), [("player", -signal.SIGKILL), ("counts", 1)])
def test_a_user_s_player_that_forks_or_cannot_be_interrupted_ends_its_worker(
    name: str, status: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "forks.py").write_text(FORKS.replace("[os.fork()]", "[]"))
    game = get_game("TicTacToe-v0")
    sent = pickle.dumps(
        guarded(f"{tmp_path}/forks.py:{name}", name, game, 0.1, os.getpid(), tmp_path / "log.txt").policy
    )
    worker = os.fork()
    if worker == 0:
        pickle.loads(sent).act(Position.start(game), 0)
        time.sleep(10)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]) == status
