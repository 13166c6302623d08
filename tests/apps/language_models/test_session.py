"""Games in text: they are the environment's games, each answer earns what the solver says, and states can be kept."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from typing import Any

import pytest
from chat_server import completion, serving
from conftest import HEX
from gymnasium.error import ResetNeeded
from hypothesis import given
from hypothesis import strategies as st

import tictac_env  # noqa: F401  # registers the environments
from tictac_apps.language_models import BoardHarness, TextSession, Turn
from tictac_apps.language_models.harness import harness_named
from tictac_env.games import GAMES, get_game
from tictac_env.position import Position
from tictac_env.solver import move_regret, solve

TTT, C4 = "TicTacToe-v0", "ConnectFour-v0"


def some_move(turn: Turn, rng: random.Random) -> str:
    written = BoardHarness().get_legal_moves(turn.position)
    return f"Let me think.\nMove: {rng.choice(list(written.values()))}"


@given(seed=st.integers(0, 2**31))
def test_regrets_of_both_seats_account_for_the_value_of_the_end(seed: int) -> None:
    """Over a game: the value of the start, less the regrets of one side, plus those of the other, is its result."""
    session, rng = TextSession(TTT, opponent=None), random.Random(seed)
    turn = session.reset(seed)
    start, first = turn.position, turn.seat
    regrets = [0, 0]
    while not turn.done:
        before, answer = turn, some_move(turn, rng)
        turn = session.answer(answer)
        assert turn.regret is not None and turn.reward == -turn.regret
        assert turn.regret == move_regret(before.position, turn.position.moves[-1]).outcome
        assert turn.regret == max(before.values().values()) - before.values()[answer[-1]]
        regrets[before.seat] += turn.regret
    assert turn.outcomes is not None and sum(turn.outcomes) == 0
    value = solve(start, weak=True).score
    assert turn.outcomes[first] == (value > 0) - (value < 0) - regrets[first] + regrets[1 - first]
    assert session.returns == [-regrets[0], -regrets[1]]


@pytest.mark.parametrize("game", [*GAMES, HEX], ids=str)
@pytest.mark.parametrize("reward", ["outcome", "both"])
def test_outcomes_are_earned_at_the_end_by_both_seats(game: Any, reward: str) -> None:
    weak = "random" if get_game(game).cells > 12 else "perfect:0.5"
    for scaled in (False, True):
        plain = TextSession(game, weak, reward="outcome", scaled=scaled)
        session = TextSession(game, weak, reward="outcome" if game == C4 else reward, scaled=scaled)
        for seed in range(5):
            turn, alike, rng = session.reset(seed), plain.reset(seed), random.Random(seed)
            while not turn.done:
                assert alike.prompt == turn.prompt and turn.outcomes is None and alike.reward == 0
                answer = some_move(turn, rng)
                turn, alike = session.answer(answer), plain.answer(answer)
            assert turn.outcomes is not None
            outcome = turn.outcomes[turn.seat]
            assert alike.reward == ((1 + outcome) / 2 if scaled else outcome)
            if session.reward == "both":
                assert turn.regret is not None
                assert turn.reward == (session.score(turn.seat) if scaled else outcome - turn.regret)
    both = TextSession(game, opponent=None, reward="outcome", start=None)
    turn, rng = both.reset(0), random.Random(0)
    while not turn.done:
        turn = both.answer(some_move(turn, rng))
    assert tuple(both.returns) == turn.outcomes


def test_wrong_answers_are_forgiven_then_lose_and_the_prompt_says_why() -> None:
    session = TextSession(TTT, opponent=None, start=None, retries=1, system="You play well.")
    session.reset()
    turn = session.answer("the middle, please")
    assert (turn.status, turn.reward, turn.regret, turn.done) == ("unparsed", 0, None, False)
    assert "the middle, please" in turn.prompt
    session.answer("5")
    assert session.answer("5").status == "illegal"
    turn = session.answer("5")
    assert turn.done and turn.outcomes == (1, -1) and (turn.regret, turn.reward) == (1, -1)
    roles = [message["role"] for message in turn.messages]
    assert roles == ["system", "user", "assistant", "user", "assistant"]
    with pytest.raises(ResetNeeded):
        session.answer("1")
    scaled = TextSession(TTT, start=None, retries=0, scaled=True)
    scaled.reset()
    assert scaled.answer("no").reward == 0


@given(seed=st.integers(0, 2**31), plies=st.integers(0, 4), reward=st.sampled_from(["outcome", "regret", "both"]))
def test_a_game_that_is_cut_off_is_lost_and_accounts_for_its_value(seed: int, plies: int, reward: str) -> None:
    session, rng = TextSession(TTT, opponent=None, reward=reward), random.Random(seed)
    turn = session.reset(seed)
    start = turn.position
    for _ in range(plies):
        if not turn.done:
            turn = session.answer(some_move(turn, rng))
    if turn.done:
        with pytest.raises(ResetNeeded):
            session.forfeit()
        return
    with pytest.raises(ResetNeeded):
        session.score(0)
    loser = turn.seat
    turn = session.forfeit()
    assert turn.done and turn.status == "forfeited" and turn.outcomes is not None
    assert turn.outcomes[loser] == -1 and turn.outcomes[1 - loser] == 1
    assert session.score(loser) == 0
    earned = {"outcome": 1, "regret": 0.5 ** session.regrets[1 - loser]}
    assert session.score(1 - loser) == earned.get(reward, sum(earned.values()) / 2)
    if reward != "outcome":
        first, value = start.seat, solve(start, weak=True).score
        given_away = session.regrets[first] - session.regrets[1 - first]
        assert turn.outcomes[first] == (value > 0) - (value < 0) - given_away


@given(seed=st.integers(0, 2**31))
def test_the_score_of_a_game_is_one_only_without_a_fault(seed: int) -> None:
    session, rng = TextSession(TTT, scaled=True, retries=0), random.Random(seed)
    turn, regrets = session.reset(seed), 0
    while not turn.done:
        turn = session.answer(some_move(turn, rng) if rng.random() < 0.9 else "well")
        regrets += turn.regret or 0
    assert session.regrets[turn.seat] == regrets
    assert session.score(turn.seat) == (0.5**regrets if turn.status == "legal" else 0)
    with pytest.raises(ValueError, match="seat"):
        session.score(2)


@given(seed=st.integers(0, 2**31), data=st.data())
def test_a_kept_state_goes_on_as_the_game_would_have(seed: int, data: st.DataObject) -> None:
    session, other, rng = TextSession(TTT), TextSession(TTT), random.Random(seed)
    turn = session.reset(seed)
    for _ in range(data.draw(st.integers(0, 2))):
        turn = session.answer(data.draw(st.sampled_from(["what?", some_move(turn, rng)])))
        if turn.done:
            return
    kept = json.loads(json.dumps(session.snapshot()))
    again = other.restore(kept)
    assert (again.prompt, again.messages, again.position) == (turn.prompt, turn.messages, turn.position)
    state = rng.getstate()
    games = []
    for one in (session, other, session):
        rng.setstate(state)
        turn = one.restore(kept)
        while not turn.done:
            turn = one.answer(some_move(turn, rng))
        games.append((turn.position.moves, turn.outcomes, one.returns, one.regrets))
    assert games[0] == games[1] == games[2]


DAMAGES: list[tuple[Any, ...]] = [  # the keys that lead to a part of the state, and its new value
    *(((), wrong) for wrong in (None, [], {}, TextSession(C4, "random").reset(0))),
    *((("board",), wrong) for wrong in (None, {}, [1])),
    *((("board", "over"), wrong) for wrong in (True, None, 0)),
    *((("board", "learner"), wrong) for wrong in (0, None, 1.0, True)),
    *((("board", name), wrong) for name in ("own", "moves", "random_state") for wrong in (None, -5, "x")),
    *((("question",), wrong) for wrong in (None, [], {"wrong": 0})),
    *((("question", "wrong"), wrong) for wrong in (0, 3, 1.0, None)),
    *((("question", "answer"), wrong) for wrong in (5, None, "another", ["what?"])),
    (("question", "move"), 5),
    *((("regrets",), wrong) for wrong in (None, [0], [0, 0, 0])),
    *((("regrets", side), wrong) for side in (0, 1) for wrong in (-1, 0.0, 19, None)),
    (("regrets", 0), 1),  # the opponent's
    *((("conversations",), wrong) for wrong in (None, {}, [[]])),
    *((("conversations", side), wrong) for side in (0, 1) for wrong in (None, {}, [1], [{}], "x")),
    *((("conversations", 1, 0, "role"), wrong) for wrong in ("assistant", "system", None, 1)),
    *((("conversations", 1, 0, "content"), wrong) for wrong in (None, 5, [])),
    (("conversations", 1, 2), {"role": "user"}),
    (("conversations", 1), []),
    (("more",), 1),
]


@pytest.mark.parametrize(("keys", "value"), DAMAGES, ids=lambda part: str(part)[:30])  # a turn has lines
def test_a_damaged_state_changes_nothing(keys: tuple[Any, ...], value: Any) -> None:
    session = TextSession(TTT, seat="second")
    session.reset(seed=1)
    turn = session.answer("what?")
    kept = session.snapshot()
    damaged: Any = {"state": json.loads(json.dumps(kept))}
    part = damaged
    for key, following in itertools.pairwise(("state", *keys, None)):
        if following is None:
            part[key] = value
        else:
            part = part[key]
    with pytest.raises(ValueError, match=r"State|state|message"):
        session.restore(damaged["state"])
    assert session.turn is turn and session.snapshot() == kept
    assert session.restore(kept) == session.turn


def test_a_state_has_regrets_only_of_those_who_are_judged() -> None:
    both, first = TextSession(TTT, None), TextSession(TTT, "random", "first", None)
    scaled, outcome = TextSession(TTT, None, scaled=True), TextSession(TTT, None, reward="outcome")
    for session, regrets, returns in (
        (both, [18, 18], [-18, -18]),
        (first, [18, 0], [-18, 0]),
        (scaled, [18, 1], [0, 0]),
        (outcome, [0, 0], [0, 0]),
    ):
        session.reset(seed=0)
        session.restore(session.snapshot() | {"regrets": regrets})
        assert (session.regrets, session.returns) == (regrets, returns)
    for session, wrong in ((both, [0, 19]), (first, [0, 1]), (outcome, [1, 0]), (outcome, [0, 1])):
        with pytest.raises(ValueError, match="regrets"):
            session.restore(session.snapshot() | {"regrets": wrong})


def test_the_third_wrong_answer_loses_by_default_and_then_nothing_is_asked() -> None:
    session = TextSession(TTT, None, start=None, system="Play.")
    turn = session.reset(seed=0)
    for wrong in (5, None, b"5"):
        with pytest.raises(ValueError, match="an answer must be a str"):
            session.answer(wrong)  # type: ignore[arg-type]
    assert not session.answer("?").done and not session.answer("?").done
    kept = session.snapshot()
    turn = session.answer("?")
    assert turn.done and turn.outcomes == (-1, 1) and turn.values() == {}
    assert session.returns == [-1.0, 0.0] and session.regrets == [1, 0]
    for impossible in (session.snapshot, session.forfeit):
        with pytest.raises(ResetNeeded, match="the game is over"):
            impossible()
    assert not session.restore(kept).done
    turn = session.answer("1")
    assert turn.status == "legal" and not session.answer("?").done


@pytest.mark.parametrize(("scaled", "returns"), [(False, [-1.0, 1.0]), (True, [0.0, 1.0])])
def test_both_seats_are_paid_and_the_opponent_is_not(scaled: bool, returns: list[float]) -> None:
    for opponent, paid in ((None, returns), ("random", [returns[0], 0.0])):
        session = TextSession(TTT, opponent, "first", None, "outcome", scaled, retries=0)
        session.reset(seed=0)
        assert session.answer("I resign").reward == returns[0] and session.returns == paid


def test_many_sessions_play_at_once() -> None:
    async def game(seed: int) -> tuple[int, ...]:
        session, rng = TextSession(TTT, reward="both"), random.Random(seed)
        turn = await session.async_reset(seed)
        while not turn.done:
            turn = await session.async_answer(some_move(turn, rng))
        return turn.position.moves

    async def all_games() -> list[tuple[int, ...]]:
        return await asyncio.gather(*(game(seed) for seed in range(24)))

    assert asyncio.run(all_games()) == asyncio.run(all_games())


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("board", ["grid", "coordinates", "moves"])
@pytest.mark.parametrize("first", [0, 1])
def test_every_form_of_the_board_is_played(game: str, board: str, first: int) -> None:
    harness = BoardHarness(list_moves=False, first_number=first, board=board)
    session = TextSession(game, "random", harness=harness, history=True, start=None, seat="second", reward="outcome")
    turn = session.reset(seed=3)
    assert "The legal moves" not in turn.prompt
    while not turn.done:
        action = turn.position.legal_actions[0]
        turn = session.answer(f"Move: {action + first}")
        assert turn.status == "legal" and turn.position.moves.count(action)
        history = turn.prompt.partition("The moves so far: ")[2].splitlines()
        if not turn.done:
            assert history[0].split() == [str(move + first) for move in turn.position.moves]


def test_kaggles_conventions_count_from_zero() -> None:
    harness = harness_named("kaggle")
    position = Position.from_moves(C4, "44")
    assert list(harness.get_legal_moves(position).values()) == list("0123456")
    assert harness.make_prompt(position).count("0  1  2  3  4  5  6") == 1
    assert "." in harness.make_prompt(Position.from_moves(TTT, "5"))


@given(seed=st.integers(0, 2**31), wrong=st.sampled_from([0, 0.2]))
def test_a_model_that_plays_itself_has_two_conversations_and_the_law_holds(seed: int, wrong: float) -> None:
    session, rng = TextSession(TTT, opponent=None, retries=1, system="Play."), random.Random(seed)
    turn = session.reset(seed)
    start, said = turn.position, {0: list[str](), 1: list[str]()}
    while not turn.done:
        answer = "Hm." if rng.random() < wrong else some_move(turn, rng)
        said[turn.seat].append(answer)
        talk = [message["content"] for message in turn.messages if message["role"] == "assistant"]
        assert talk == said[turn.seat][:-1] and turn.messages[-1]["content"] == turn.prompt
        turn = session.answer(answer)
    assert turn.outcomes is not None
    value = solve(start, weak=True).score
    value = value if start.seat == 0 else -value  # for the first player
    assert value - turn.outcomes[0] == session.regrets[0] - session.regrets[1]
    for seat in (0, 1):
        lost = turn.seat == seat and turn.status != "legal"
        assert session.score(seat) == (0 if lost else 0.5 ** session.regrets[seat])


def test_a_frozen_copy_behind_an_address_replies_and_never_ends_a_game() -> None:
    with serving() as server:
        options: dict[str, Any] = {"start": None, "system": "Play well.", "retries": 1}
        session = TextSession(TTT, f"{server.url}#frozen", "second", **options)
        server.reply = completion("I move.\nMove: 5")
        turn = session.reset(0)
        assert turn.position.to_moves() == "5" and str(session.opponent) == "frozen"
        asked = server.asked[-1][2]
        own = TextSession(TTT, None, **options).reset()
        assert asked["model"] == "frozen" and asked["messages"] == list(own.messages)  # the prompts of the session
        state = session.snapshot()
        games = []
        for _ in range(2):  # its second answer is illegal, too: a random move, by the seed
            session.restore(state)
            before = len(server.asked)
            games.append(session.answer("1").position.to_moves())
            assert len(server.asked) == before + 2 and len(games[-1]) == 3
        assert games[0] == games[1]
        turn, kept = session.turn, session.snapshot()
        server.status = 400
        with pytest.raises(ConnectionError):
            session.answer(some_move(turn, random.Random(0)))
        assert session.turn is turn and session.snapshot() == kept


def test_many_sessions_wait_for_a_frozen_copy_at_once() -> None:
    async def play(address: str) -> list[tuple[int, ...]]:
        async def game(seed: int) -> tuple[int, ...]:
            session, rng = TextSession(TTT, address), random.Random(seed)
            turn = await session.async_reset(seed)
            while not turn.done:
                turn = await session.async_answer(some_move(turn, rng))
            return turn.position.moves

        return await asyncio.gather(*(game(seed) for seed in range(20)))

    with serving() as server:
        server.script = lambda prompt: f"Move: {len(prompt) % 9 + 1}"
        assert asyncio.run(play(server.url)) == asyncio.run(play(server.url))


def test_the_rules_are_said_once_in_each_conversation() -> None:
    session = TextSession(TTT, None, start=None, rules_once=True)
    plain = TextSession(TTT, None, start=None)
    turn, full, rng = session.reset(0), plain.reset(0), random.Random(0)
    asked: set[int] = set()
    while not turn.done:
        assert ("The game is" in turn.prompt) == (turn.seat not in asked)
        assert full.prompt.endswith(turn.prompt) and "it is your turn" in turn.prompt
        assert session.restore(session.snapshot()).prompt == turn.prompt
        asked.add(turn.seat)
        answer = rng.choice(["Hm.", some_move(turn, rng)])
        turn, full = session.answer(answer), plain.answer(answer)
    assert asked == {0, 1} and turn.position == full.position
