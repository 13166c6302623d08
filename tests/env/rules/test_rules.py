"""The rule books, ply by ply against a naive board, and against numbers that others have counted."""

from __future__ import annotations

import csv
import dataclasses
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import ALL_GAMES, title
from naive import NaiveBoard

from examples.hex import Hex
from tictac_env.check_game import Int63
from tictac_env.games import DRAWN, GAMES, LOST, UNFINISHED, Game, KInARow, Status, game_name, get_game
from tictac_env.position import Position, canonical, symmetries

K_IN_A_ROW = [game for game in ALL_GAMES if isinstance(game, KInARow)]
every_size = pytest.mark.parametrize("rules", K_IN_A_ROW, ids=title)
every_game = pytest.mark.parametrize("rules", ALL_GAMES, ids=title)


def lockstep(rules: Game, seed: int, games: int = 12) -> Iterator[tuple[NaiveBoard, int, int]]:
    """Every position of random games, played by the naive board and by the rule book: (board, own, opp)."""
    rng = random.Random(seed)
    for _ in range(games):
        board, (own, opp) = NaiveBoard.of(rules), rules.start()
        yield board, own, opp
        while not board.over():
            action = rng.choice(board.legal())
            board.play(action)
            own, opp = rules.play(own, opp, action)
            yield board, own, opp


def cells_of(rules: Game, stones: int) -> list[tuple[int, int]]:
    """A set of bits as a list of cells."""
    return [(row, col) for row in range(rules.rows) for col in range(rules.cols) if stones & rules.cell(row, col)]


def levels(game: Game, plies: int) -> Iterator[Counter[tuple[int, int]]]:
    """For ply 0, 1, ... the positions, and how many games lead to each."""
    level = Counter([game.start()])
    yield level
    for _ in range(plies):
        following: Counter[tuple[int, int]] = Counter()
        for (own, opp), games in level.items():
            if game.result(own, opp) == UNFINISHED:
                for action in range(game.num_actions):
                    after = game.play(own, opp, action)
                    if after != (own, opp):
                        following[after] += games
        level = following
        yield level


def moves_from(game: Game, level: Counter[tuple[int, int]]) -> int:
    """How many moves the games that have come to `level` can go on with."""
    return sum(
        games * game.legal(own, opp).bit_count()
        for (own, opp), games in level.items()
        if game.result(own, opp) == UNFINISHED
    )


@every_game
def test_every_ply_agrees_with_the_naive_board(rules: Game) -> None:
    every = [(row, col) for row in range(rules.rows) for col in range(rules.cols)]
    for board, own, opp in lockstep(rules, seed=1):
        first, second = (own, opp) if board.mark == 1 else (opp, own)
        assert cells_of(rules, first) == [cell for cell in every if at(board, cell) == 1]
        assert cells_of(rules, second) == [cell for cell in every if at(board, cell) == 2]
        assert rules.seat(own, opp) == board.mark - 1
        expected = LOST if board.winner() else DRAWN if board.full() else UNFINISHED
        assert rules.result(own, opp) == expected
        for mark, stones in ((1, first), (2, second)):
            assert cells_of(rules, rules.winning_cells(stones, mark - 1)) == board.winning_cells(mark)
            assert rules.has_won(stones, mark - 1) == bool(board.winning_cells(mark))
        outcome = Position(rules, own, opp).outcome
        assert (outcome is None) == (expected == UNFINISHED)
        if outcome is not None:
            assert outcome.winner == (board.winner() - 1 if board.winner() else None)
            assert list(outcome.cells) == (board.winning_cells(board.winner()) if board.winner() else [])
        assert rules.status(own, opp) is Status.VALID


def at(board: NaiveBoard, cell: tuple[int, int]) -> int:
    return board.grid[cell[0]][cell[1]]


@every_game
def test_the_legal_set_holds_the_accepted_actions_in_order(rules: Game) -> None:
    for board, own, opp in lockstep(rules, seed=2):
        legal, actions = rules.legal(own, opp), board.legal()
        assert [a for a in range(rules.num_actions) if legal & rules.choice(a)] == actions
        assert [rules.nth(legal, index) for index in range(len(actions))] == actions
        assert rules.nth(legal, len(actions)) == -1
        for action in range(rules.num_actions):
            assert (rules.play(own, opp, action) != (own, opp)) == (action in actions)


@every_game
def test_undo_takes_back_exactly_what_play_did(rules: Game) -> None:
    for board, own, opp in lockstep(rules, seed=3, games=5):
        for action in board.legal():
            assert rules.undo(*rules.play(own, opp, action), action) == (own, opp)
        for action in range(rules.num_actions):
            earlier = rules.undo(own, opp, action)
            assert earlier == (own, opp) or rules.play(*earlier, action) == (own, opp)


def test_choices_are_the_first_cells_row_by_row(game: Game) -> None:
    cells = [game.cell(row, col) for row in range(game.rows) for col in range(game.cols)]
    assert len(set(cells)) == game.cells == game.rows * game.cols
    assert all(cell.bit_count() == 1 for cell in cells)
    assert [game.choice(action) for action in range(game.num_actions)] == cells[: game.num_actions]


@every_size
def test_images_are_permutations_that_keep_all_lines(rules: KInARow) -> None:
    lines = {frozenset(line) for line in NaiveBoard.of(rules).lines}
    cells = cells_of(rules, rules.full)
    maps = [{cell: rules.image(*cell, number) for cell in cells} for number in range(rules.num_symmetries)]
    assert maps[0] == {cell: cell for cell in cells}
    for image in maps:
        assert sorted(image.values()) == cells
        assert {frozenset(image[cell] for cell in line) for line in lines} == lines
        if rules.gravity:
            assert all(image[cell][0] == cell[0] for cell in cells)
    if min(rules.rows, rules.cols) > 1:
        assert len({tuple(image.values()) for image in maps}) == rules.num_symmetries


@every_game
def test_a_move_then_an_image_is_the_image_then_its_move(rules: Game) -> None:
    for board, own, opp in lockstep(rules, seed=4, games=2):
        for symmetry in symmetries(rules):
            turned = symmetry.apply(own), symmetry.apply(opp)
            assert rules.result(*turned) == rules.result(own, opp)
            assert canonical(rules, *turned)[:2] == canonical(rules, own, opp)[:2]
            for action in board.legal():
                after = rules.play(own, opp, action)
                expected = symmetry.apply(after[0]), symmetry.apply(after[1])
                assert rules.play(*turned, symmetry.actions[action]) == expected
        least_own, least_opp, symmetry = canonical(rules, own, opp)
        assert (symmetry.apply(own), symmetry.apply(opp)) == (least_own, least_opp)


@every_size
def test_no_intermediate_value_leaves_63_bits(rules: KInARow) -> None:
    fields = {field.name: getattr(rules, field.name) for field in dataclasses.fields(rules)}
    checked = KInARow(**{name: Int63(value) if type(value) is int else value for name, value in fields.items()})
    for board, own, opp in lockstep(rules, seed=5, games=3):
        a, b = Int63(own), Int63(opp)
        assert checked.result(a, b) == rules.result(own, opp)
        assert checked.winning_cells(b) == rules.winning_cells(opp)
        assert checked.seat(a, b) == rules.seat(own, opp)
        legal = checked.legal(a, b)
        assert checked.nth(legal, 0) == rules.nth(rules.legal(own, opp), 0)
        for action in range(rules.num_actions):
            assert checked.play(a, b, action) == rules.play(own, opp, action)
            assert checked.undo(a, b, action) == rules.undo(own, opp, action)
        assert len(board.legal()) == legal.bit_count()


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("TicTacToe-v0", [9, 72, 504, 3024, 15120, 54720, 148176, 200448, 127872]),
        ("ConnectFour-v0", [7, 49, 343, 2401, 16807, 117649, 823536, 5673234, 39394572]),
    ],
)
def test_games_are_as_many_by_ply_as_is_known(name: str, counts: list[int]) -> None:
    assert [moves_from(GAMES[name], level) for level in levels(GAMES[name], 8)] == counts


def test_complete_games_of_tic_tac_toe() -> None:
    game, ends = GAMES["TicTacToe-v0"], Counter[str]()
    for ply, level in enumerate(levels(game, 9)):
        for (own, opp), games in level.items():
            result = game.result(own, opp)
            if result != UNFINISHED:
                ends["draw" if result == DRAWN else "first" if ply % 2 else "second"] += games
    assert ends == {"first": 131184, "second": 77904, "draw": 46080}


def test_reachable_positions_of_connect_four_by_ply(data: Path) -> None:
    game = GAMES["ConnectFour-v0"]
    with (data / "connect_four_positions_per_ply.csv").open() as file:
        rows = list(csv.DictReader(file))
    for ply, level in enumerate(levels(game, 7)):
        won = sum(game.result(*position) == LOST for position in level)
        assert len(level) == int(rows[ply]["total_reachable"])
        assert won == int(rows[ply]["terminal_wins_at_this_ply"])


@pytest.mark.parametrize(
    ("name", "moves"),
    [
        ("TicTacToe-v0", "214879365"),
        ("ConnectFour-v0", "124677755473217462545721221116466465353333"),
    ],
)
def test_a_win_on_the_last_empty_cell_is_a_win(name: str, moves: str) -> None:
    position = Position.from_moves(name, moves)
    assert position.ply == position.game.cells
    assert position.result == LOST
    outcome = position.outcome
    assert outcome is not None
    assert (outcome.winner, outcome.how) == ((position.ply + 1) % 2, "line")
    assert len(outcome.cells) >= position.game.connect


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((0, 3, 3, False), "rows must be a positive int, not 0"),
        ((3, -1, 3, False), "cols must be a positive int, not -1"),
        ((3, 3, 0, False), "connect must be a positive int, not 0"),
        ((3.0, 3, 3, False), "rows must be a positive int, not 3.0"),
        ((True, 3, 3, False), "rows must be a positive int, not True"),
        ((3, 3, 3, 1), "gravity must be True or False, not 1"),
        ((3, 4, 5, False), "connect=5 does not fit on a board of 3 rows and 4 columns"),
        ((7, 8, 4, True), "7 rows and 8 columns needs 64 bits"),
        ((8, 8, 4, True), "needs 72 bits .9 a column.; at most 63"),
        ((63, 1, 4, True), "needs 64 bits"),
        ((1, 32, 4, False), "needs 64 bits"),
    ],
)
def test_impossible_sizes_are_refused(sizes: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        KInARow.make(*sizes)


def test_games_are_known_by_name() -> None:
    for name, game in GAMES.items():
        assert get_game(name) is game
        assert get_game(game) is game
        assert game_name(game) == name
    with pytest.raises(ValueError, match=r"'ConectFour-v0'; did you mean ConnectFour-v0\?"):
        get_game("ConectFour-v0")
    with pytest.raises(ValueError, match="known are TicTacToe-v0, ConnectFour-v0"):
        get_game("chess")
    for other in (None, 3, Position.start("TicTacToe-v0")):
        with pytest.raises(ValueError, match="is neither a Game nor a game's name; known are TicTacToe-v0"):
            get_game(other)  # type: ignore[arg-type]


def test_the_repr_makes_the_game_again(game: Game) -> None:
    assert eval(repr(game), {"KInARow": KInARow, "Hex": Hex}) == game
