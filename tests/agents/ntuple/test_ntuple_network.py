"""N-tuple networks that play: the values, the one-move rule, looking ahead, files, and a search's leaves."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.agents.ntuple.plain_loop import PlainLoop
from tictac_agents import MCTS, NTupleNetwork, NTupleTD
from tictac_agents.ntuple.network import SHIPPED
from tictac_agents.ntuple.search import chosen_action, deepen, new_search, search_for, set_root
from tictac_agents.ntuple.values import WIN, squash
from tictac_env.arena import verdict
from tictac_env.arena.results import seat_result
from tictac_env.games import game_name, get_game
from tictac_env.games.k_in_a_row import KInARow
from tictac_env.policies import make_policy
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.solver import solve

GAMES = ("ConnectFour-v0", "TicTacToe-v0")


@pytest.fixture(scope="module")
def learners() -> dict[str, NTupleTD]:
    return {game: NTupleTD(game, tuples=10, length=5, seed=1).learn(1_000) for game in GAMES}


def positions(game: str, count: int, seed: int = 0) -> list[Position]:
    """Unfinished positions of random games."""
    random = np.random.default_rng(seed)
    found: list[Position] = []
    while len(found) < count:
        position = Position.start(game)
        for _ in range(int(random.integers(position.game.cells))):
            after = position.play(int(random.choice(position.legal_actions)))
            if after.is_over:
                break
            position = after
        found.append(position)
    return found


def plain_value(learner: NTupleTD, position: Position) -> float:
    """The value of a position for the side that has just moved."""
    return squash(plain_sum(learner, position))


def plain_sum(learner: NTupleTD, position: Position) -> int:
    """The sum of weights of a position for the side that has just moved, from the cells one by one."""
    network, game = learner.network, learner.game
    plain = PlainLoop(learner)
    own, opp = (1, 2) if position.seat == 0 else (2, 1)
    bits = [game.cell(*divmod(cell, game.cols)) for cell in range(game.cells)]
    board = np.array([own if position.own & bit else opp if position.opp & bit else 0 for bit in bits])
    board = board.reshape(game.rows, game.cols)
    total = 0
    for number, *states in plain.names(board):
        address = number << 2 * len(states) | sum(state << 2 * place for place, state in enumerate(states))
        total += int(network.weights[2 * address + 1 - position.seat])
    return total


@pytest.mark.parametrize("game", GAMES)
def test_a_value_is_the_sum_of_the_entries_that_the_tuples_name(game: str, learners: dict[str, NTupleTD]) -> None:
    learner = learners[game]
    for position in positions(game, 30):
        values = learner.network.values(position.own, position.opp)
        assert set(values) == set(position.legal_actions)
        for action, value in values.items():
            after = position.play(action)
            if after.is_over:
                assert value == -after.result
            elif any(after.play(reply).result == -1 for reply in after.legal_actions):
                assert value == -1
            else:
                assert value == plain_value(learner, after)


def negamax(learner: NTupleTD, position: Position, plies: int) -> int:
    """What `look_ahead` finds, by trying everything; a win counts the more the sooner it comes."""
    stones = (position.own | position.opp).bit_count()
    if position.is_over:
        assert position.result is not None
        return position.result * (WIN - stones)
    wins = [action for action in position.legal_actions if position.play(action).result == -1]
    if wins:
        return WIN - stones - 1
    blocks = [action for action in position.legal_actions if threatens(position, action)]
    safe = [action for action in blocks or position.legal_actions if not opens(position, action)]
    if len(blocks) > 1 or not safe:
        return stones + 2 - WIN
    if plies == 0:
        return -plain_sum(learner, position)
    left = plies - (1 if plies == 1 or not blocks else 0)
    return max(-negamax(learner, position.play(action), left) for action in safe)


def threatens(position: Position, action: int) -> bool:
    """Whether the other side would win by this action."""
    swapped = position.game.play(position.opp, position.own, action)
    return position.game.result(*swapped) == -1


def opens(position: Position, action: int) -> bool:
    """Whether the action lets the other side win with the same one."""
    after = position.play(action)
    return position.game.gravity and action in after.legal_actions and after.play(action).result == -1


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("plies", [2, 3, 4])
def test_looking_ahead_finds_what_trying_everything_finds(game: str, plies: int, learners: dict[str, NTupleTD]) -> None:
    learner = learners[game]
    network = learner.network.looking_ahead(plies)
    assert network.name == f"ntuple:{plies}"
    some = positions(game, 60, seed=plies)
    some = [one for one in some if (one.own | one.opp).bit_count() >= one.game.cells // 2][: 12 if plies < 4 else 6]
    for position in some:
        stones = (position.own | position.opp).bit_count()
        expected = {}
        for action in position.legal_actions:
            after = position.play(action)
            won = after.is_over and after.result == -1
            expected[action] = WIN - stones - 1 if won else -negamax(learner, after, plies - 1)
        exact, _ = network._searched(PositionBatch.of([position]), exact=True)
        assert {action: exact[0, action] for action in expected} == expected
        assert expected[network.act(position, 0)] == max(expected.values())


def test_it_takes_a_win_blocks_one_and_opens_none(learners: dict[str, NTupleTD]) -> None:
    network = learners["ConnectFour-v0"].network
    assert network.act(Position.from_moves("ConnectFour-v0", "435363"), 0) == 6
    assert network.act(Position.from_moves("ConnectFour-v0", "43536"), 0) in (1, 6)
    batch = PositionBatch.of(positions("ConnectFour-v0", 200))
    together = network.act_many(batch, np.zeros(200, np.int64))
    assert [network.act(batch[i], 0) for i in range(200)] == together.tolist()


def test_it_is_saved_whole_and_rounded(learners: dict[str, NTupleTD], tmp_path: Path) -> None:
    network = learners["ConnectFour-v0"].network
    network.save(tmp_path / "a.npz")
    again = NTupleNetwork.load(tmp_path / "a.npz")
    assert np.array_equal(again.weights, network.weights)
    assert again.tuples == network.tuples
    rounded = network.rounded(8)
    scale = np.abs(network.weights).max() / 127
    assert len(np.unique(rounded.weights)) <= 256
    assert np.abs(rounded.weights - network.weights.astype(np.int64)).max() <= scale * 1.01
    rounded.save(tmp_path / "b.npz")
    assert (tmp_path / "b.npz").stat().st_size < (tmp_path / "a.npz").stat().st_size
    (tmp_path / "c.npz").write_bytes((tmp_path / "a.npz").read_bytes()[:-40])
    with pytest.raises(ValueError, match=r"c\.npz"):
        NTupleNetwork.load(tmp_path / "c.npz")


@pytest.mark.parametrize("bits", [2, 8, 12, 16])
def test_rounded_weights_need_no_more_bits_than_asked_for(bits: int) -> None:
    weights = np.zeros(2 * 4, np.int32)
    weights[:4] = (1 << 30) - 1, 1 - (1 << 30), 5, -5
    whole, unit = NTupleNetwork("TicTacToe-v0", [[0]], weights).quantised(bits)
    assert np.abs(whole).max() == (1 << bits - 1) - 1
    assert np.abs(whole * unit - weights.astype(np.int64)).max() <= unit


def test_it_evaluates_the_leaves_of_a_search(learners: dict[str, NTupleTD]) -> None:
    learner = learners["ConnectFour-v0"]
    for position in positions("ConnectFour-v0", 20, seed=5):
        value, state = learner.compiled(learner.game).leaf_value(learner.game, position.own, position.opp, 7)
        assert state == 7
        assert value == -plain_value(learner, position)
    report = MCTS(200, evaluator=learner.network).search(Position.start("ConnectFour-v0"))
    assert report.simulations == 200
    two = MCTS(200, evaluator=learner.network, threads=2)  # each with scratch memory of its own
    position = Position.from_moves("ConnectFour-v0", "4453")
    assert two.search(position, 3).moves == two.search(position, 3).moves
    with pytest.raises(ValueError, match="plays ConnectFour-v0, not TicTacToe-v0"):
        learner.network.compiled(get_game("TicTacToe-v0"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tuples": [[0, 1], [2]]}, "one length"),
        ({"tuples": [[0, 0]]}, "different cells"),
        ({"tuples": [[0, 9]]}, "from 0 to 8"),
        ({"weights": np.zeros(4, np.int32)}, r"shape \(32,\)"),
        ({"plies": 21}, "plies"),
        ({"game": "Hex-v0"}, "KInARow"),
    ],
    ids=str,
)
def test_bad_arguments_are_named(changes: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"game": "TicTacToe-v0", "tuples": [[0, 1]], "weights": np.zeros(32, np.int32)}
    NTupleNetwork(**arguments)
    with pytest.raises(ValueError, match=message):
        NTupleNetwork(**arguments | changes)


@pytest.mark.parametrize("game", GAMES)
def test_a_network_comes_with_the_package(game: str) -> None:
    network = make_policy("ntuple", game)
    assert isinstance(network, NTupleNetwork)
    assert (SHIPPED / f"{game}.npz").stat().st_size < 10_000_000
    ahead = make_policy("ntuple:3", game)
    assert isinstance(ahead, NTupleNetwork)
    assert (network.plies, ahead.plies, ahead.name) == (1, 3, "ntuple:3")
    assert make_policy("ntuple", game).weights is ahead.weights is network.weights  # read once, and in memory once
    assert NTupleNetwork.shipped(game).weights is not network.weights  # which may be changed
    with pytest.raises(ValueError, match="there is no shipped network"):
        make_policy("ntuple", "KInARow-v0:4x4-3")


def test_the_shipped_network_cannot_be_beaten_at_tic_tac_toe() -> None:
    assert verdict("ntuple", "TicTacToe-v0").unbeatable


@pytest.mark.slow
def test_the_shipped_network_wins_999_games_of_1000_against_perfect_play() -> None:
    """Published agents of this kind win 91.0 to 96.6 % of them (docs/ntuple.md)."""
    game = get_game("ConnectFour-v0")
    found = seat_result(make_policy("ntuple", game), make_policy("perfect", game), game, 0, max_positions=1_000_000)
    assert found.exact
    assert found.shares.wins > 0.999


# Looking ahead: so many plies, always with the same result, or for so long

LONG = 60_000
"""Milliseconds; no search here needs nearly as many."""


@pytest.fixture(params=GAMES)
def network(request: pytest.FixtureRequest) -> NTupleNetwork:
    return NTupleNetwork.shipped(request.param)


def name_of(network: NTupleNetwork) -> str:
    return game_name(network.game) or ""


def some(network: NTupleNetwork, least: int, most: int, number: int) -> list[Position]:
    """Unfinished positions with `least` to `most` empty cells."""
    found = positions(name_of(network), 400, seed=least)
    empty = [one.game.cells - (one.own | one.opp).bit_count() for one in found]
    return [one for one, cells in zip(found, empty, strict=True) if least <= cells <= most][:number]


def test_a_search_of_plies_does_not_depend_on_what_was_searched_before(network: NTupleNetwork) -> None:
    ahead = network.looking_ahead(6)
    batch = PositionBatch.of(positions(name_of(network), 60, seed=3))
    alone = [ahead.act(batch[i], seed=i) for i in range(60)]
    assert ahead.act_many(batch, np.zeros(60, np.int64)).tolist() == alone
    backwards = PositionBatch.of([batch[i] for i in reversed(range(60))])
    assert ahead.act_many(backwards, np.zeros(60, np.int64)).tolist() == alone[::-1]


@pytest.mark.parametrize("exact", [True, False])
def test_a_search_that_pauses_anywhere_or_forgets_most_finds_the_same(network: NTupleNetwork, exact: bool) -> None:
    game, tables = network.game, network.compiled(network.game)
    for position in some(network, 5, 30, 4):
        found = []
        for rows, nodes in ((1 << 14, 1 << 60), (1 << 14, 1), (16, 1 << 60)):
            search = new_search(game, rows, exact, timed=False)
            set_root(game, tables, search, position.own, position.opp)
            pauses = 0
            while not deepen(game, tables, search, 6, nodes):
                pauses += 1
            assert (pauses > 5) == (nodes == 1)
            scores = np.empty(game.num_actions, np.int64)
            action = chosen_action(game, search, scores)
            found.append((action, scores.tolist() if exact else max(scores)))
        assert found[1:] == found[:1] * 2


def test_with_time_enough_it_plays_on_as_well_as_can_be(network: NTupleNetwork) -> None:
    """It finds every forced win, and never lets one slip or opens one."""
    ahead = network.looking_ahead(milliseconds=LONG)
    for position in some(network, 1, 12, 25):
        worth = solve(position).action_scores
        values = {action: np.sign(worth[action] or 0) for action in position.legal_actions}
        assert values[ahead.act(position, 0)] == max(values.values()), position
        found = ahead.values(position.own, position.opp)
        assert set(found) == set(position.legal_actions)
        if max(values.values()) == 1:
            assert max(found.values()) == 1


def test_it_wins_deep_in_the_game_what_takes_many_moves() -> None:
    position = Position.from_moves("ConnectFour-v0", "444441")  # won, with seven stones more
    best = solve(position)
    assert best.score > 0
    action = make_policy("ntuple:200ms", "ConnectFour-v0").act(position, 0)
    assert (best.action_scores[action] or 0) > 0


def test_a_search_looks_at_the_clock_until_its_time_is_over() -> None:
    network = NTupleNetwork.shipped("ConnectFour-v0")

    def look(clock_ms: float, limit_ms: float) -> int:
        """How often it looks at a clock that goes on by so much each time."""
        ticks = count()
        start, tables = Position.start(network.game), network.compiled(network.game)
        arguments = (network.game, tables, start.own, start.opp, limit_ms, False)
        search_for(*arguments, clock=lambda: next(ticks) * clock_ms / 1000)
        return next(ticks)

    assert look(1, 4.5) == 6  # when it begins, and until 5 ms are over
    assert look(10, 4.5) == 2


@pytest.mark.slow
def test_it_plays_a_board_of_many_cells_to_the_end() -> None:
    game = KInARow.make(6, 6, 5, gravity=False)
    network = NTupleNetwork(game, [[0, 1]], np.arange(32, dtype=np.int32), milliseconds=1)
    position = Position.start(game)
    while not position.is_over:
        position = position.play(network.act(position, 0))


@pytest.mark.parametrize("argument", ["100ms", "0.5ms", "1ms"])
def test_a_name_says_how_long_it_searches(argument: str) -> None:
    policy = make_policy(f"ntuple:{argument}", "TicTacToe-v0")
    assert isinstance(policy, NTupleNetwork)
    assert (policy.name, policy.milliseconds) == (f"ntuple:{argument}", float(argument[:-2]))
    assert f"{argument[:-2]} ms" in policy.budget
    assert policy.rounded(8).name == policy.name
    assert policy.looking_ahead(3).name == "ntuple:3"
    assert policy.looking_ahead().name == "ntuple"


def test_wrong_names_and_times_are_refused() -> None:
    wrong = "0", "21", "x", "0ms", "-1ms", "1e3ms", "ms", "1.ms", "99999999999ms", "100 ms", "10s", "²ms"
    for argument in wrong:
        with pytest.raises(ValueError, match="the plies of 'ntuple'"):
            make_policy(f"ntuple:{argument}", "TicTacToe-v0")
    network = NTupleNetwork.shipped("TicTacToe-v0")
    for wrong_time in (0, -1, 2e9, True, "100"):
        with pytest.raises(ValueError, match="milliseconds"):
            network.looking_ahead(milliseconds=wrong_time)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"give plies \(2\) or milliseconds \(5\), not both"):
        network.looking_ahead(2, milliseconds=5)
