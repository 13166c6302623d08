"""The ladder of opponents: results move it, sessions share it, and states keep it."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tictac_apps.language_models import Ladder, TextSession
from tictac_env.games import get_game

TTT = "TicTacToe-v0"


def finished(session: TextSession, seed: int, skill: float = 1) -> TextSession:
    """The session after a game with a share of best moves."""
    turn, rng = session.reset(seed), random.Random(seed)
    while not turn.done:
        values = turn.values()
        best = max(values, key=values.__getitem__)
        turn = session.answer(best if rng.random() < skill else rng.choice(list(values)))
    return session


def naive_rung(scores: list[tuple[int, float]], rungs: int, window: int, up: float, down: float | None) -> int:
    """The rung after games with these rungs and scores, by the words of the docstring."""
    rung, here = 0, list[float]()
    for begun, score in scores:
        if begun != rung:
            continue
        here.append(score)
        if len(here) >= window:
            mean, before = sum(here[-window:]) / window, rung
            if mean >= up:
                rung = min(rung + 1, rungs - 1)
            elif down is not None and mean <= down:
                rung = max(rung - 1, 0)
            here = here if rung == before else []
    return rung


@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from([0, 0.25, 0.5, 1])), max_size=60),
    st.integers(1, 4),
    st.sampled_from([None, 0.0, 0.3]),
)
def test_it_climbs_and_descends_by_the_mean_of_the_last_scores(
    games: list[tuple[int, float]], window: int, down: float | None
) -> None:
    ladder = Ladder(["random", "rule", "perfect"], window, up=0.5, down=down)
    for played, (rung, score) in enumerate(games, 1):
        ladder.record(rung, score)
        assert ladder.rung == naive_rung(games[:played], 3, window, 0.5, down) and ladder.games == played
        again = Ladder(["random", "rule", "perfect"], window, up=0.5, down=down)
        again.restore(json.loads(json.dumps(ladder.snapshot())))
        assert again.snapshot() == ladder.snapshot()


def test_by_default_it_is_perfect_play_with_fewer_and_fewer_random_moves() -> None:
    session = TextSession(TTT, "ladder")
    ladder = session.ladder
    assert ladder is not None and ladder.rungs[0] == "perfect:0.9" and ladder.rungs[8:] == ("perfect:0.1", "perfect")
    assert len(ladder.rungs) == 10 and (ladder.window, ladder.up, ladder.down) == (50, 0.8, 0.3)
    assert TextSession(TTT, "ladder").ladder is not ladder and TextSession(TTT).ladder is None
    rungs = []
    for seed in range(50 * 10):
        rungs.append(finished(session, seed).rung)
        assert str(session.opponent) == ladder.rungs[rungs[-1]]
    assert rungs == [seed // 50 for seed in range(500)] and ladder.rung == 9


def test_a_seeded_game_is_that_of_a_session_with_the_rungs_opponent() -> None:
    ladder = Ladder(["random", "perfect:0.5"], window=1)
    session, plain = TextSession(TTT, ladder), TextSession(TTT, "perfect:0.5")
    finished(session, 0)
    assert finished(session, 7).rung == 1
    assert session.turn == finished(plain, 7).turn and session.returns == plain.returns


def test_a_game_that_is_under_way_keeps_its_opponent_and_counts_only_on_its_rung() -> None:
    ladder = Ladder(["random", "perfect"], window=1, down=None)
    early, other = TextSession(TTT, ladder), TextSession(TTT, ladder)
    early.reset(0)
    finished(other, 1)
    assert ladder.rung == 1 and (early.rung, str(early.opponent)) == (0, "random")
    before = ladder.snapshot()
    early.forfeit()
    assert ladder.snapshot() == before | {"games": 2}
    with pytest.raises(ValueError, match="position"):
        early.reset(position="14253")  # nothing changes
    assert (early.rung, str(early.opponent), early.turn.done) == (0, "random", True)
    assert early.reset(0) and early.rung == 1


def test_many_sessions_share_a_ladder() -> None:
    ladder = Ladder(["random", "rule"], window=24)

    async def play(session: TextSession) -> None:
        for seed in range(3):
            turn = await session.async_reset(seed)
            while not turn.done:
                turn = await session.async_answer(max(turn.values(), key=turn.values().__getitem__))

    async def play_all() -> None:
        await asyncio.gather(*(play(TextSession(TTT, ladder)) for _ in range(16)))

    asyncio.run(play_all())
    assert ladder.games == 48 and ladder.rung == 1


def test_one_session_climbs_alike_for_the_same_seeds() -> None:
    snapshots = []
    for _ in range(2):
        session = TextSession(TTT, Ladder(window=5), retries=0)
        rungs = [finished(session, seed, skill=0.8).rung for seed in range(60)]
        snapshots.append((rungs, session.snapshot() if session.reset(0) else None))
    assert snapshots[0] == snapshots[1] and len(set(snapshots[0][0])) > 1


def test_a_state_keeps_the_game_and_the_later_state_of_the_ladder() -> None:
    rungs = ["random", "perfect:0.5", "perfect"]
    session = TextSession(TTT, Ladder(rungs, window=2))
    for seed in range(2):
        finished(session, seed)
    session.reset(5)
    state = json.loads(json.dumps(session.snapshot()))
    # In a new process the ladder continues; which of several states comes first does not matter.
    other = TextSession(TTT, Ladder(rungs, window=2))
    old = json.loads(json.dumps(other.snapshot() if other.reset(5) else None))
    other.restore(state)
    assert other.ladder is not None and other.ladder.snapshot() == state["ladder"] and other.rung == 1
    assert (other.turn.prompt, str(other.opponent)) == (session.turn.prompt, "perfect:0.5")
    other.restore(old)
    assert other.ladder.snapshot() == state["ladder"] and (other.rung, str(other.opponent)) == (0, "random")
    # A game that begins again from an earlier state does not turn the ladder back.
    for played in (3, 4):
        session.restore(state)
        session.forfeit()
        assert session.ladder is not None and session.ladder.games == played
    assert session.ladder is not None and session.ladder.rung == 0  # two scores of 0


@pytest.mark.parametrize(
    ("keys", "wrong"),
    [
        *((("rung",), wrong) for wrong in (None, 3, -1, 0.0)),
        *((("ladder",), wrong) for wrong in (None, {}, [])),
        *((("ladder", "rung"), wrong) for wrong in (3, -1, None)),
        *((("ladder", "scores"), wrong) for wrong in ([0.5] * 3, [2.0], [-1], ["x"], None)),
        (("ladder", "games"), 0),
    ],
    ids=str,
)
def test_a_damaged_state_changes_nothing(keys: tuple[str, ...], wrong: Any) -> None:
    session = TextSession(TTT, Ladder(["random", "rule", "perfect"], window=2))
    finished(session, 0)
    turn, ladder = session.reset(1), session.ladder
    assert ladder is not None
    state: Any = json.loads(json.dumps(session.snapshot()))
    before = ladder.snapshot()
    (state if len(keys) == 1 else state[keys[0]])[keys[-1]] = wrong
    with pytest.raises(ValueError, match=r"rung|ladder|Ladder|score|SessionState"):
        session.restore(state)
    assert session.turn is turn and ladder.snapshot() == before and session.rung == 0
    plain = TextSession(TTT)
    plain.reset(0)
    with pytest.raises(ValueError, match="ladder"):
        plain.restore(plain.snapshot() | {keys[0]: session.snapshot()[keys[0]]})


@pytest.mark.parametrize(
    "wrong",
    [{"rungs": []}, {"rungs": "rule"}, {"window": 0}, {"up": 1.5}, {"down": 0.8}, {"down": -1}, {"up": True}],
    ids=str,
)
def test_wrong_arguments_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Ladder(**wrong)


def test_wrong_rungs_and_scores_are_refused() -> None:
    for rung, score in ((10, 1), (-1, 1), (0, 1.5), (0, -1)):
        with pytest.raises(ValueError, match=r"rung|score"):
            Ladder().record(rung, score)
    with pytest.raises(ValueError, match="perfekt"):
        TextSession(get_game(TTT), Ladder(["random", "perfekt"]))
