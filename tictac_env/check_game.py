"""A check for rules of your own: it tries the promises of `tictac_env.games.Game`."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any

from tictac_env.checks import flag, positive, whole
from tictac_env.compiled import in_one_line, kernel
from tictac_env.games import DRAWN, LOST, UNFINISHED, WON, Game
from tictac_env.games.registry import check_board, check_int
from tictac_env.position import Position
from tictac_env.rng import advance, mix, new_state

COMPILED_AS = "the rules, to check them"

MAX_SEED = 2**63 - 1


class Int63(int):
    """An int whose operations raise an error if the result leaves [0, 2**63)."""

    def __invert__(self) -> int:
        raise ValueError("~ leaves [0, 2**63): write x ^ full")

    def __neg__(self) -> int:
        raise ValueError("- leaves [0, 2**63): the lowest bit of x is x & (x ^ x - 1)")


def _checked(name: str) -> Any:
    plain = getattr(int, name)

    def operator(self: Int63, other: int) -> Int63:
        value = plain(self, other)
        if not 0 <= value < 2**63:
            raise ValueError(f"{name} of {int(self)} and {int(other)} is {value}, which leaves [0, 2**63)")
        return Int63(value)

    return operator


for _name in ("add", "sub", "mul", "and", "or", "xor", "lshift", "rshift", "floordiv", "mod"):
    for _dunder in (f"__{_name}__", f"__r{_name}__"):
        setattr(Int63, _dunder, _checked(_dunder))


def check_game(game: Game, games: int = 20, seed: int = 0, compiled: bool = True) -> None:
    """Checks rules of your own, by playing random games.

    Nothing is returned: rules that pass keep, in these games, all that `Game` promises. If nobody wins any of them, a
    warning says so, as the rules of winning were then not tried.

    Args:
        game: the rules.
        games: the number of games to play.
        seed: chooses the games, in [0, 2**63).
        compiled: True to compile the rules too, which takes some seconds, and compare.

    Raises:
        ValueError: a promise is broken, and the message names it and the position; or Numba cannot compile a rule, and
            the message names the line; or an argument is not one of these.
    """
    positive("games", games)
    state = new_state(whole("seed", seed, MAX_SEED))
    flag("compiled", compiled)
    check_board(game)
    twin = copy.deepcopy(game)
    if twin != game or hash(twin) != hash(game):
        raise ValueError(f"{game!r}: a copy must be equal to the game, as that of a frozen dataclass is")
    _check_images(game)
    won = 0
    for _ in range(games):
        position, dead = Position.start(game), False
        while True:
            _check_position(position)
            dead = dead or game.is_dead(position.own, position.opp)
            if position.is_over:
                break
            state = advance(state)
            legal = position.legal_actions
            position = position.play(legal[mix(state) % len(legal)])
        won += position.result != DRAWN
        if dead and position.result != DRAWN:
            raise ValueError(f"is_dead was true before the game was won: {position!r}")
        if compiled:
            _check_compiled(position)
    if not won:
        warnings.warn(f"{game!r}: nobody won any of {games} random games, so no win was tried", stacklevel=2)


def _check_images(game: Game) -> None:
    cells = [(row, col) for row in range(game.rows) for col in range(game.cols)]
    for number in range(game.num_symmetries):
        images = [game.image(row, col, number) for row, col in cells]
        if sorted(images) != cells or (number == 0 and images != cells):
            what = "leave every cell where it is" if number == 0 else "take every cell to another"
            raise ValueError(f"{game!r}: symmetry {number} must {what}, not {images}")


def _check_position(position: Position) -> None:
    game, own, opp = position.game, position.own, position.opp

    def demand(holds: bool, promise: str) -> None:
        if not holds:
            raise ValueError(f"{promise}: {position!r}")

    # Types first: all comparisons below are of ints.
    for player, stones in enumerate((own, opp)):
        for rule in ("winning_cells", "threats"):
            check_int(getattr(game, rule)(stones, (position.seat + player) % 2), f"{rule} at {position!r}")
    check_int(game.result(own, opp), f"result at {position!r}", low=LOST)
    check_int(game.legal(own, opp), f"legal at {position!r}")

    # What follows from the number of plies alone.
    ply, seat, result = len(position.recent_moves), game.seat(own, opp), game.result(own, opp)
    demand(seat == ply % 2, f"after {ply} plies seat must be {ply % 2}, not {seat}")
    demand((own.bit_count(), opp.bit_count()) == (ply // 2, (ply + 1) // 2), "each ply must add a stone of the mover")
    demand(result in (UNFINISHED, LOST, DRAWN, WON), f"result must be UNFINISHED, LOST, DRAWN or WON, not {result!r}")
    status = game.status(own, opp)
    demand(not status, f"status must be VALID in a game, not {status}")
    # A win by the stones of one side is the result that the position has.
    for stones, player, won in ((own, seat, result == WON), (opp, 1 - seat, result == LOST)) if game.knows_wins else ():
        cells = game.winning_cells(stones, player)
        promise = f"has_won of player {player} must agree with result, {result}, or knows_wins be False"
        demand(game.has_won(stones, player) == won, promise)
        demand((cells != 0) == won and cells | stones == stones, "winning_cells must be stones, and some only of a win")
    # Twice, the second time with numbers that refuse to leave [0, 2**63), as Numba assumes.
    by_checked_numbers = _rules_say(game, Int63(own), Int63(opp))
    demand(_rules_say(game, own, opp) == by_checked_numbers, "the rules must be a function of the two numbers")
    if result == UNFINISHED:
        _check_moves(position, demand)


def _check_moves(position: Position, demand: Any) -> None:
    game, own, opp, seat = position.game, position.own, position.opp, position.seat
    legal, stones = game.legal(own, opp), own | opp
    # The set of legal actions, as a set and one after another.
    choices = [game.choice(action) for action in range(game.num_actions)]
    actions = [action for action, choice in enumerate(choices) if legal & choice]
    demand(bool(actions), "an unfinished game must have a legal action")
    demand(legal == sum(choices[action] for action in actions), "legal must be a set of choices")
    in_order = [game.nth(legal, index) for index in range(len(actions) + 1)]
    demand(in_order == [*actions, -1], f"nth must give the legal actions {actions}, then -1, not {in_order}")
    # Each action is played, by both rules for it, and taken back; the rules must name the wins among them.
    wins, blocks = 0, 0
    for action, choice in enumerate(choices):
        after = game.play(own, opp, action)
        if action not in actions:
            demand(after == (own, opp), f"play must change nothing at the illegal action {action}")
            continue
        stone = after[1] ^ own
        fits = after[0] == opp and stone.bit_count() == 1 and not stone & stones
        demand(fits, f"play of action {action} must put a stone on an empty cell and swap sides, not give {after}")
        demand(game.play_choice(own, opp, choice) == after, f"play_choice must do what play does at action {action}")
        demand(game.undo(*after, action) == (own, opp), f"undo must take back action {action}")
        demand(
            game.choices_into(own, opp, stone) == choice, f"choices_into must know that action {action} fills {stone}"
        )
        wins |= choice if game.result(*after) == LOST else 0
        blocks |= choice if game.has_won(opp | stone, 1 - seat) else 0
    if not game.knows_wins:
        return
    demand(game.winning_choices(own, opp, seat) == wins, f"winning_choices must be {wins}, which end the game")
    demand(game.winning_choices(opp, own, 1 - seat) == blocks, f"winning_choices of the other side must be {blocks}")


def _rules_say(game: Game, own: int, opp: int) -> tuple[Sequence[int], ...]:
    """The rules of a position, interpreted or compiled: the game's, then those of either side's stones."""
    seat, legal = game.seat(own, opp), game.legal(own, opp)
    last = game.cell(game.rows - 1, game.cols - 1)
    whole_game = seat, game.result(own, opp), game.is_dead(own, opp), legal, game.nth(legal, 1), last
    return whole_game, _side(game, own, opp, seat), _side(game, opp, own, 1 - seat)


def _side(game: Game, stones: int, opposing: int, seat: int) -> tuple[bool, int, int, int]:
    won, cells = game.has_won(stones, seat), game.winning_cells(stones, seat)
    return won, cells, game.threats(stones, seat), game.winning_choices(stones, opposing, seat)


@kernel
def _compiled_rules_say(game: Game, own: int, opp: int) -> tuple[Sequence[int], ...]:
    return _rules_say(game, own, opp)


@kernel
def _compiled_moves(game: Game, own: int, opp: int, action: int) -> tuple[tuple[int, int], tuple[int, int]]:
    next_own, next_opp = game.play(own, opp, action)
    return (next_own, next_opp), game.undo(next_own, next_opp, action)


@in_one_line()
def _check_compiled(end: Position) -> None:
    """Plays the game that ended so once more, compiled and interpreted."""
    game, position = end.game, Position.start(end.game)
    for action in (*end.recent_moves, None):
        own, opp = position.own, position.opp
        try:
            compiled = _compiled_rules_say(game, own, opp)
        except Exception as error:  # Numba's have no base in common
            raise ValueError(f"{game!r}: a rule cannot be compiled: {type(error).__name__}: {error}") from error
        if compiled != (plain := _rules_say(game, own, opp)):
            raise ValueError(f"compiled the rules say {compiled}, interpreted {plain}: {position!r}")
        if action is None:
            break
        after, before = _compiled_moves(game, own, opp, action)
        if after != game.play(own, opp, action) or before != (own, opp):
            raise ValueError(f"compiled play gives {after} and undo of it {before} at action {action}: {position!r}")
        position = position.play(action)
