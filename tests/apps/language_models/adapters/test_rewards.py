"""The law of rewards: over a game, a session and each adapter never pay a player more that gives more away."""

from __future__ import annotations

import importlib
import itertools
import random
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from conftest import breadth

from tictac_apps.language_models import TextSession
from tictac_env.position import Position
from tictac_env.solver import solve

TTT, C4 = "TicTacToe-v0", "ConnectFour-v0"
Scores = dict[int, int]
Answers = list[str]
Play = Callable[[int, Answers], float]
"""Plays a game by its seed and the answers in it; gives the sum of its rewards."""


def worth(score: int) -> int:
    return (score > 0) - (score < 0)


def quick(scores: Scores, rng: random.Random) -> int:
    """Wins as soon as it can, and loses as late as it can."""
    return max(scores, key=scores.__getitem__)


def slow(scores: Scores, rng: random.Random) -> int:
    """Keeps the value, and wins as late as it can."""
    value = worth(max(scores.values()))
    return min((action for action in scores if worth(scores[action]) == value), key=scores.__getitem__)


def stalling(scores: Scores, rng: random.Random) -> int:
    """Avoids nothing but losing: it gives wins away for draws."""
    return min((action for action in scores if scores[action] >= 0), key=scores.__getitem__, default=min(scores))


def blundering(scores: Scores, rng: random.Random) -> int:
    """Plays the worst move half of the time."""
    return (min if rng.random() < 0.5 else max)(scores, key=scores.__getitem__)


def drawn(scores: Scores, rng: random.Random) -> int:
    return rng.choice(list(scores))


PLAYERS = (quick, slow, stalling, blundering, drawn)


@cache
def starts(game: str, ply: int) -> tuple[Position, ...]:
    """Positions of random games after a number of plies."""
    rng, positions = random.Random(0), list[Position]()
    while len(positions) < 40:
        position = Position.start(game)
        while position.ply < ply and not position.is_over:
            position = position.play(rng.choice(list(position.legal_actions)))
        positions += [] if position.is_over else [position]
    return tuple(positions)


def options(game: str, ply: int) -> dict[str, Any]:
    """Games from a ply, against random play: there a player can choose how long a game lasts."""
    return {"game": game, "opponent": "random", "start": starts(game, ply)}


@cache
def games(game: str, ply: int, count: int) -> dict[str, tuple[float, list[Answers]]]:
    """For each player the regret of a game on average, and its answers in each game."""
    session, played = TextSession(**options(game, ply)), {}
    for player in PLAYERS:
        regret, answers = 0, list[Answers]()
        for seed in range(count):
            turn, rng = session.reset(seed), random.Random(seed)
            answers.append([])
            while not turn.done:
                scores = {action: n for action, n in enumerate(solve(turn.position).action_scores) if n is not None}
                answers[-1].append(f"Move: {player(scores, rng) + 1}")
                turn = session.answer(answers[-1][-1])
            regret += session.regrets[turn.seat]
        played[player.__name__] = regret / count, answers
    return played


def of_session(settings: dict[str, Any]) -> Play:
    session = TextSession(**settings)

    def play(seed: int, answers: Answers) -> float:
        session.reset(seed)
        return sum(session.answer(answer).reward for answer in answers)

    return play


def of_trl(settings: dict[str, Any]) -> Play:
    env = importlib.import_module("tictac_apps.language_models.adapters.trl").BoardGameTools(**settings)

    def play(seed: int, answers: Answers) -> float:
        env.reset(seed)
        for answer in answers:
            env.play(int(answer.removeprefix("Move: ")))
        return float(env.get_reward())

    return play


def of_skyrl(settings: dict[str, Any]) -> Play:
    library = pytest.importorskip("skyrl_gym")
    importlib.import_module("tictac_apps.language_models.adapters.skyrl")

    def play(seed: int, answers: Answers) -> float:
        env = library.make("tictac", env_config=settings, extras={"extra_info": {"seed": seed}})
        env.init([])
        return sum(env.step(answer)["reward"] for answer in answers)

    return play


def of_openenv(settings: dict[str, Any]) -> Play:
    pytest.importorskip("openenv.core")
    library: Any = importlib.import_module("tictac_apps.language_models.adapters.openenv")
    env = library.BoardGameEnvironment(**settings)

    def play(seed: int, answers: Answers) -> float:
        env.reset(seed=seed)
        return sum(env.step(library.BoardGameAction(answer=answer)).reward for answer in answers)

    return play


@pytest.mark.filterwarnings("default")  # of the libraries
@pytest.mark.parametrize("sums", [of_session, of_trl, of_skyrl, of_openenv])
@pytest.mark.parametrize(
    ("game", "ply", "count"), breadth([(TTT, 0, 25), (C4, 26, 25)], [(TTT, 0, 200), (C4, 16, 200)])
)
def test_a_player_that_gives_more_away_is_never_paid_more(
    sums: Callable[[dict[str, Any]], Play], game: str, ply: int, count: int
) -> None:
    played = games(game, ply, count)
    assert played["quick"][0] == played["slow"][0] == 0 < min(played[name][0] for name in ("stalling", "drawn"))
    for reward, scaled in itertools.product(("outcome", "regret", "both"), (False, True)):
        play = sums({**options(game, ply), "reward": reward, "scaled": scaled})
        paid = {name: sum(itertools.starmap(play, enumerate(answers))) / count for name, (_, answers) in played.items()}
        for better, worse in itertools.permutations(played, 2):
            if played[better][0] < played[worse][0]:
                assert paid[better] >= paid[worse], (reward, scaled, better, worse)
        assert reward != "regret" or paid["quick"] == paid["slow"] == scaled
