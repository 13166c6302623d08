"""A subclass of a shipped rule book that ends its games otherwise: everything plays by its rules, not by its parent's.

Misere: whoever makes a line loses. Everything that knows a short cut for k in a row must leave it.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from conftest import breadth

from tictac_agents import MCTS, ValueTD
from tictac_agents.mcts.simulation import rollout
from tictac_env.arena import verdict
from tictac_env.check_game import check_game
from tictac_env.compiled import kernel
from tictac_env.envs.single import BoardEnv
from tictac_env.envs.vector.vector_env import BoardVectorEnv
from tictac_env.games import (
    DRAWN,
    GAMES,
    LOST,
    UNFINISHED,
    WON,
    Game,
    KInARow,
    PlacementGame,
    Status,
    describe_game,
    game_name,
)
from tictac_env.policies import make_policy
from tictac_env.policies.pool import level_settings
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.rng import new_state
from tictac_env.solver import Solver, solve
from tictac_env.solver.alpha_beta import action_scores
from tictac_env.solver.book import Book, opening_book_of
from tictac_env.solver.enumerate import tabulate


class Misere(KInARow):
    """As a user would write it: nothing but the result."""

    def result(self, own: int, opp: int) -> int:
        if self.has_line(opp):
            return WON
        return DRAWN if own | opp == self.full else UNFINISHED


@dataclass(frozen=True)
class Columns(KInARow):
    """Only columns count, and the class compares its fields."""

    def result(self, own: int, opp: int) -> int:
        if self.runs(opp, 1):
            return LOST
        return DRAWN if own | opp == self.full else UNFINISHED

    def status(self, own: int, opp: int) -> Status:
        return Status.VALID


@dataclass(frozen=True)
class MisereTorus(PlacementGame):
    """Outside the family: tic-tac-toe whose rows and columns lose."""

    rows: int = 3
    cols: int = 3

    def winning_cells(self, stones: int, seat: int) -> int:
        lines = (0o007, 0o070, 0o700, 0o111, 0o222, 0o444)
        cells = 0
        for line in lines:
            if line & stones == line:
                cells |= line
        return cells

    def result(self, own: int, opp: int) -> int:
        if self.winning_cells(opp, 0) != 0:
            return WON
        return DRAWN if own | opp == self.full else UNFINISHED


PARENT = GAMES["TicTacToe-v0"]
GAMES_OF_OTHERS: list[Game] = [
    Misere.make(3, 3, 3, False),
    Misere.make(3, 4, 3, True),
    Columns.make(3, 3, 3, False),
    MisereTorus(),
]
FAMILY = GAMES_OF_OTHERS[:3]


@pytest.fixture(params=GAMES_OF_OTHERS, ids=lambda game: f"{type(game).__name__} {game.rows}x{game.cols}")
def other(request: pytest.FixtureRequest) -> Game:
    return request.param  # type: ignore[no-any-return]


@functools.cache
def truth(game: Game) -> Callable[[int, int], int]:
    """The exact score of a position, by walking through the game with nothing but its moves and its result."""

    @functools.cache
    def score(own: int, opp: int) -> int:
        result = game.result(own, opp)
        if result != UNFINISHED:
            return result * ((game.cells - (own | opp).bit_count() + 2) // 2)
        after = [game.play(own, opp, action) for action in range(game.num_actions)]
        return max(-score(*position) for position in after if position != (own, opp))

    return score


def positions(game: Game, count: int) -> list[Position]:
    """Unfinished positions of random games, the start among them."""
    found, rng = [Position.start(game)], random.Random(0)
    while len(found) < count:
        position = Position.start(game)
        while not position.is_over:
            found.append(position)
            position = position.play(rng.choice(position.legal_actions))
    return found[:count]


def scores_of_actions(game: Game, position: Position) -> list[int | None]:
    score = truth(game)
    after = [game.play(position.own, position.opp, action) for action in range(game.num_actions)]
    return [None if next_ == (position.own, position.opp) else -score(*next_) for next_ in after]


def best_of(scores: list[int | None]) -> set[int]:
    best = max(score for score in scores if score is not None)
    return {action for action, score in enumerate(scores) if score == best}


def test_the_rule_books_here_keep_the_contract(other: Game) -> None:
    assert not other.knows_wins
    check_game(other, games=3, compiled=False)


def test_a_class_that_says_so_is_asked_for_its_wins() -> None:
    class Sure(Misere):
        knows_wins = True

        def result(self, own: int, opp: int) -> int:
            return KInARow.result(self, own, opp)

    class Same(Sure):
        pass

    assert Sure.make().knows_wins and Same.make().knows_wins and KInARow.make().knows_wins
    with pytest.raises(ValueError, match=r"must agree with result|winning_choices must be"):
        check_game(type("Lying", (Misere,), {"knows_wins": True}).make(3, 3, 3, False), compiled=False)


def test_the_solver(other: Game) -> None:
    solve(Position.start(PARENT))
    solver = Solver(other)
    for position in positions(other, 60):
        expected = scores_of_actions(other, position)
        found = solver.solve(position)
        assert list(found.action_scores) == expected
        assert set(found.best_actions) == best_of(expected) == set(solve(position).best_actions)
        assert set(solver.best_actions(position)) == best_of(expected)


def test_the_table_of_all_positions(other: Game) -> None:
    tabulate(PARENT)
    table, score = tabulate(other), truth(other)
    assert table.score.tolist() == [score(own, opp) for own, opp in table.index]


@pytest.mark.parametrize("other", breadth(GAMES_OF_OTHERS[:1], GAMES_OF_OTHERS[1:]), ids=repr)
def test_minimax_to_any_depth(other: Game) -> None:
    action_scores(PARENT, 0, 0, PARENT.cells)
    for position in positions(other, 12):
        found = action_scores(other, position.own, position.opp, other.cells - position.ply)
        assert found == scores_of_actions(other, position)


@pytest.mark.parametrize("name", ["minimax", "perfect", "level:10"])
def test_players_by_name(other: Game, name: str) -> None:
    make_policy(name, PARENT).act(Position.start(PARENT), 0)
    policy = make_policy(name, other)
    for position in positions(other, 25):
        scores = scores_of_actions(other, position)
        signs: list[int | None] = [score and (score > 0) - (score < 0) for score in scores]
        assert policy.act(position, seed=1) in best_of(signs)


def test_the_rule_of_thumb_takes_no_loss_for_a_win() -> None:
    """With X at 1 and 2 the line at 3 would lose; and nobody need keep O from theirs."""
    misere = Misere.make(3, 3, 3, False)
    assert make_policy("rule", misere).act(Position.from_moves(misere, "1427"), 0) == 4
    assert make_policy("rule", PARENT).act(Position.from_moves(PARENT, "1427"), 0) == 2


def test_exact_verdicts(other: Game) -> None:
    best = truth(other)(*other.start())
    judged = verdict("minimax", other)
    assert judged.exploitability == 0
    assert judged.as_first.unbeatable == (best >= 0) and judged.as_second.unbeatable == (best <= 0)


def test_names_and_books_are_the_parents_alone() -> None:
    for game in FAMILY:
        assert isinstance(game, KInARow)
        parent = KInARow.make(game.rows, game.cols, game.connect, game.gravity)
        assert game != parent and Position.start(game) != Position.start(parent)
        assert game_name(game) is None
        assert type(game).__name__ in repr(game)
        with pytest.raises(ValueError, match="is not registered"):
            describe_game(game)
        with pytest.raises(ValueError, match="positions of one game"):
            PositionBatch.of([Position.start(game), Position.start(parent)])
    with pytest.raises(ValueError, match="a solver of"):
        Solver(PARENT).solve(Position.start(FAMILY[0]))
    four = Misere.make()
    assert level_settings(four) != level_settings(KInARow.make())
    assert opening_book_of(four) is None and Solver(four).book is None
    with pytest.raises(ValueError, match="may have other rules"):
        Book(four, 1, np.array([1]), np.array([0], np.int8))


def test_a_position_says_who_won(other: Game) -> None:
    for position in positions(other, 40):
        for action in position.legal_actions:
            after = position.play(action)
            if (outcome := after.outcome) is not None:
                winner = {LOST: 1 - after.seat, DRAWN: None, WON: after.seat}[other.result(after.own, after.opp)]
                assert outcome.winner == winner
                str(after)


@kernel
def play_compiled(game: Game, by_rule: bool, state: int) -> int:
    own, opp = game.start()
    result, _ = rollout(game, own, opp, by_rule, state)
    return int(result)


@pytest.mark.parametrize("by_rule", [False, True])
def test_games_played_out_by_tree_search_end_by_the_rules(by_rule: bool) -> None:
    """In a row of three, two side by side lose: who takes the middle first makes the other win, or is made to."""
    game = Misere.make(1, 3, 2, False)
    ends = set()
    for first in range(3):
        for second in {0, 1, 2} - {first}:
            after = Position.start(game).play(first).play(second)
            ends.add(-after.play(({0, 1, 2} - {first, second}).pop()).result)
    found = [play_compiled(game, by_rule, new_state(seed) >> 2 | 1) for seed in range(60)]
    assert set(found) == ends == {-1, 0}


@pytest.mark.slow
@pytest.mark.parametrize("opponent", ["random", "rule", "minimax"])
def test_vector_and_single_environments_end_games_by_the_rules(other: Game, opponent: str) -> None:
    envs = BoardVectorEnv(other, num_envs=16, opponent=opponent)
    envs.reset(seed=0)
    env = BoardEnv(other, opponent=opponent)
    outcomes = set()
    for _ in range(100):
        boards = [envs.batch[i] for i in range(16)]
        actions = envs.sample_actions()
        _, rewards, terminated, _, _ = envs.step(actions)
        for i, board in enumerate(boards):
            if board.is_over:
                continue
            mine = board.play(int(actions[i]))
            if mine.is_over:
                assert terminated[i] and rewards[i] == -mine.result
                outcomes.add(float(rewards[i]))
            elif terminated[i]:
                results = {mine.play(reply).result for reply in mine.legal_actions}
                assert rewards[i] in results
    assert outcomes
    for seed in range(10):
        env.reset(seed=seed)
        over = False
        while not over:
            before = env.position
            _, reward, over, _, _ = env.step(before.legal_actions[seed % len(before.legal_actions)])
        outcome = env.position.outcome
        assert outcome is not None
        assert reward == (0 if outcome.winner is None else 1 if outcome.winner == 0 else -1)


@pytest.mark.slow
def test_tree_search_proves_what_is_true(other: Game) -> None:
    for position in positions(other, 6)[1:]:
        proven = MCTS(20_000).search(position).proven
        score = truth(other)(position.own, position.opp)
        assert proven in (None, (score > 0) - (score < 0))


@pytest.mark.slow
def test_a_table_learns_what_finished_games_are_worth(monkeypatch: pytest.MonkeyPatch) -> None:
    game = Misere.make(3, 3, 3, False)
    monkeypatch.setitem(GAMES, "Misere-v0", game)  # a learner's settings name its game
    learner = ValueTD(BoardEnv(game, opponent=None), rewards=(1, 0, -1), seed=0).learn(
        total_episodes=3_000, progress_bar=False
    )
    results = set()
    for table in learner.tables:
        for (own, opp), entry in table.items():
            over = game.has_line(own) or game.has_line(opp) or own | opp == game.full
            assert entry.final == over
            if over:
                results.add(entry.value)
                assert entry.value == int(game.has_line(opp)) - int(game.has_line(own))
    assert results == {-1, 0, 1}
