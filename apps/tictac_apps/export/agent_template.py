"""The players of exported files, in plain Python and NumPy: the template that `export.submission` fills in.

An exported file has the sections that its player needs (each begins with a line of dashes), with its own docstring,
settings and `PLAYER`. This file plays "rule" on Connect Four.
"""

from __future__ import annotations

import base64
import io
import lzma
from collections.abc import Callable, Sequence
from math import inf
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

ROWS, COLS, CONNECT, GRAVITY, SEED = 6, 7, 4, True, 0
SHARE = 0.75
"""The share of the time for a move, `actTimeout`, that a search may take."""

# The rules. A position is two integers: the stones of the side to move (`own`) and of the other side (`opp`), a bit for
# each cell. Column follows column from the left, each from the bottom up, with an empty bit above.
STRIDE = 8 if max(ROWS, COLS) <= 7 else ROWS + 1
CELLS = [1 << col * STRIDE + ROWS - 1 - row for row in range(ROWS) for col in range(COLS)]
"""The bit of each cell, row by row from the top left."""
FULL = sum(CELLS)
BOTTOM = sum(CELLS[-COLS:])
ACTIONS = [sum(CELLS[col::COLS]) for col in range(COLS)] if GRAVITY else CELLS
"""The cells in which the stone of each action can come to lie: a column, or a cell."""
MIDDLE_OUT = sorted(range(len(ACTIONS)), key=lambda action: abs(2 * action - len(ACTIONS) + 1))
"""The actions, those in the middle first: they tend to be better."""
STEPS = 1, STRIDE, STRIDE + 1, STRIDE - 1
"""From a cell to the next one up, right, up and right, down and right."""


def playable(own: int, opp: int) -> int:
    """The cells that the next stone can fill: with gravity, the bottom bit of a column, added, carries to the cell."""
    return (own | opp) + BOTTOM & FULL if GRAVITY else (own | opp) ^ FULL


def moves(own: int, opp: int) -> dict[int, int]:
    """The legal actions in ascending order, each with the stone that it places."""
    free = playable(own, opp)
    return {action: free & cells for action, cells in enumerate(ACTIONS) if free & cells}


def has_line(stones: int) -> bool:
    """True if `CONNECT` of the stones are in a line."""
    for step in STEPS:
        line = stones  # of each cell: is it the first of a line of stones, longer in each turn?
        for _ in range(CONNECT - 1):
            line &= line >> step
        if line:
            return True
    return False


def threats(stones: int) -> int:
    """The cells, empty or not, that complete a line with stones in all its other cells."""
    cells = 0
    for step in STEPS:
        for missing in range(CONNECT):
            # The first cells of lines in which only the cell number `missing` may lack a stone.
            line = FULL >> step * missing
            for place in range(CONNECT):
                if place != missing:
                    line &= stones >> step * place
            cells |= line << step * missing
    return cells


def read_board(board: Sequence[int], mark: int) -> tuple[int, int]:
    """The position of a board, row by row: 0 empty, `mark` the side to move, any other number the other side.

    Raises:
        ValueError: the number of cells is wrong.
    """
    if len(board) != len(CELLS):
        raise ValueError(f"the board has {len(board)} cells, not {len(CELLS)} ({ROWS} x {COLS})")
    own = sum(bit for bit, owner in zip(CELLS, board, strict=True) if owner == mark)
    return own, sum(bit for bit, owner in zip(CELLS, board, strict=True) if owner) - own


def mix(value: int) -> int:
    """A permutation of the integers in [0, 2**63) that looks random."""
    high, low = value >> 31, value & 0x7FFFFFFF
    for first, second in ((0xD35A2D97, 0x5851F42D), (0xC2B2AE35, 0x6C8E9CF5)):
        product = low * first
        high ^= (product ^ product >> 31) & 0xFFFFFFFF
        product = high * second
        low ^= (product ^ product >> 32) & 0x7FFFFFFF
    return high << 31 | low


class OutOfTime(Exception):
    """Raised to end a search whose time is over."""


class Player:
    """The base of all players: `choose` gives the action in an unfinished position.

    `own` and `opp` are the stones of the side to move and of the other. `seed` decides between equally good actions. A
    search ends at the time `end`, by `perf_counter`, and plays its best action so far.
    """

    def choose(self, own: int, opp: int, seed: int, end: float) -> int:
        raise NotImplementedError


def unpacked(text: str) -> dict[str, Array]:
    """The arrays of an .npz file that was compressed and encoded in base 64."""
    with np.load(io.BytesIO(lzma.decompress(base64.b64decode(text)))) as file:
        return dict(file)


# ---- Random


class Random(Player):
    """Plays any legal action."""

    def choose(self, own: int, opp: int, seed: int, end: float) -> int:
        legal = list(moves(own, opp))
        return legal[seed % len(legal)]


# ---- Rule


class Rule(Player):
    """Plays the lowest win, or the lowest block, or by the seed one of the actions nearest to the centre."""

    def choose(self, own: int, opp: int, seed: int, end: float) -> int:
        legal = moves(own, opp)
        for stones in (own, opp):
            for action, stone in legal.items():
                if has_line(stones | stone):
                    return action
        last_row = len(ACTIONS) // COLS - 1
        distance = {a: (2 * (a // COLS) - last_row) ** 2 + (2 * (a % COLS) - COLS + 1) ** 2 for a in legal}
        nearest = [action for action in legal if distance[action] == min(distance.values())]
        return nearest[seed % len(nearest)]


# ---- Mixture


class Mixture(Player):
    """Draws one of several players for each move; `cumulative` has the running sums of their weights."""

    def __init__(self, players: Sequence[Player], cumulative: Sequence[float]) -> None:
        self.players, self.cumulative = players, cumulative

    def choose(self, own: int, opp: int, seed: int, end: float) -> int:
        share, drawn = seed * 2.0**-63 * self.cumulative[-1], 0
        while drawn < len(self.players) - 1 and share >= self.cumulative[drawn]:
            drawn += 1
        return self.players[drawn].choose(own, opp, mix(seed), end)


# ---- Minimax


class Minimax(Player):
    """Searches `depth` plies by alpha-beta, and plays one of the best actions by the seed, or with `first` the lowest.

    It prefers early wins and late losses; with `signs` all wins are equal, and all losses.
    """

    def __init__(self, depth: int, first: bool, signs: bool) -> None:
        self.depth, self.first, self.signs, self.end = depth, first, signs, inf

    def choose(self, own: int, opp: int, seed: int, end: float) -> int:
        self.end = end
        legal = moves(own, opp)
        best, most = list(legal), min(self.depth, len(CELLS) - (own | opp).bit_count())
        try:
            for depth in [*range(1, most, 2), most]:
                scores = {a: -self.score(opp, own | stone, depth - 1, -99, 99) for a, stone in legal.items()}
                if self.signs:
                    scores = {action: (score > 0) - (score < 0) for action, score in scores.items()}
                best = [action for action in legal if scores[action] == max(scores.values())]
        except OutOfTime:
            pass
        return best[0] if self.first else best[seed % len(best)]

    def score(self, own: int, opp: int, depth: int, alpha: int, beta: int) -> int:
        """The winner's number of stones left plus one, negative for a loss; outside (alpha, beta) a bound."""
        if perf_counter() > self.end:
            raise OutOfTime
        left = len(CELLS) - (own | opp).bit_count()
        if has_line(opp):
            return -((left + 2) // 2)
        if depth == 0 or left == 0:
            return 0
        free = playable(own, opp)
        if threats(own) & free:
            return (left + 1) // 2
        if depth == 1:
            return 0
        free = threats(opp) & free or free  # a threat must be blocked
        best = -99
        for stone in (free & ACTIONS[action] for action in MIDDLE_OUT if free & ACTIONS[action]):
            best = max(best, -self.score(opp, own | stone, depth - 1, -beta, -max(alpha, best)))
            if best >= beta:
                break
        return best


# ---- NTuples


class NTuples(Player):
    """Values a position by the sum of a weight for each tuple of cells, by its content; may search by alpha-beta.

    Args:
        plies: the depth of the search, forced replies not counted; 1 for no search.
        seconds: the time limit of the search.
        cells: int64 (P, n), the cells of each tuple and of its images, numbered row by row from the top left.
        begins: int64 (P,), the address of the first weight of each.
        weights: int32 (W, 2), for each content of each tuple the weights after a move of the first and the second side.
    """

    WIN = 1 << 40
    """The score of a win, less the number of stones on the board then."""

    def __init__(
        self,
        plies: int,
        seconds: float,
        cells: npt.NDArray[np.int64],
        begins: npt.NDArray[np.int64],
        weights: npt.NDArray[np.int32],
    ) -> None:
        self.plies, self.seconds, self.end = plies, seconds, inf
        self.cells, self.begins, self.weights = cells, begins, weights
        self.powers = 4 ** np.arange(cells.shape[1])
        self.bits = np.array([cell.bit_length() - 1 for cell in CELLS])
        self.best_stone: dict[tuple[int, int], int] = {}

    def choose(self, own: int, opp: int, seed: int, end: float) -> int:
        action = self.at_once(own, opp)
        if self.plies > 1:  # iterative deepening: each search tries the best action of the one before first
            self.end = min(end, perf_counter() + self.seconds)
            self.best_stone.clear()
            try:
                for depth in range(2, 1 + min(self.plies, max(2, len(CELLS) - (own | opp).bit_count()))):
                    action = self.ahead(own, opp, depth, action)
            except OutOfTime:
                pass
        return action

    def at_once(self, own: int, opp: int) -> int:
        """The best action without search, the lowest of equals; allows an immediate win only if all actions do."""
        legal, stones = moves(own, opp), (own | opp).bit_count() + 1
        scores = dict(zip(legal, self.sums(own, opp, list(legal.values())), strict=True))
        for action, stone in legal.items():
            after = own | stone
            if has_line(after):
                scores[action] = self.WIN - stones
            elif after | opp == FULL:
                scores[action] = 0
            elif threats(opp) & playable(opp, after):
                scores[action] = stones + 1 - self.WIN
        return max(scores, key=lambda action: scores[action])

    def ahead(self, own: int, opp: int, depth: int, first: int) -> int:
        """The best action by a search of `depth` plies, which tries the action `first` first."""
        legal, chosen, best = moves(own, opp), first, -2 * self.WIN
        for action in sorted(legal, key=lambda action: (action != first, MIDDLE_OUT.index(action))):
            nearer = action != chosen and MIDDLE_OUT.index(action) < MIDDLE_OUT.index(chosen)
            after = own | legal[action]
            if has_line(after):
                score = self.WIN - (after | opp).bit_count()
            else:
                score = -self.score(opp, after, depth - 1, -2 * self.WIN, nearer - best)
            if score > best or (nearer and score == best):
                chosen, best = action, score
        return chosen

    def score(self, own: int, opp: int, depth: int, alpha: int, beta: int) -> int:
        """The value of a position for the side to move; outside (alpha, beta) a bound."""
        if perf_counter() > self.end:
            raise OutOfTime
        cells, forced, result = self.sensible(own, opp)
        if not cells:
            return result
        best = -2 * self.WIN
        if min(depth, len(CELLS) - (own | opp).bit_count()) == 1:
            stones = [bit for bit in CELLS if bit & cells]
            for stone, value in zip(stones, self.sums(own, opp, stones), strict=True):
                replies, _, result = self.sensible(opp, own | stone)
                best = max(best, value if replies else -result)
            return best
        hint = self.best_stone.get((own, opp), 0)
        order = [ACTIONS[action] & cells for action in MIDDLE_OUT if ACTIONS[action] & cells]
        for stone in sorted(order, key=lambda stone: stone != hint):
            score = -self.score(opp, own | stone, depth - (not forced), -beta, -max(alpha, best))
            if score > best:
                best, self.best_stone[own, opp] = score, stone
            if best >= beta:
                break
        return best

    def sensible(self, own: int, opp: int) -> tuple[int, bool, int]:
        """The moves worth a search, if they are forced, and the score if there are none, as one side wins.

        A side that cannot win at once must block a threat of the other side, and must not play below one.
        """
        stones, free, danger = (own | opp).bit_count(), playable(own, opp), threats(opp)
        if threats(own) & free:
            return 0, False, self.WIN - stones - 1
        blocks = danger & free
        cells = (blocks or free) & ~(danger >> 1 if GRAVITY else 0)
        if blocks & blocks - 1 or (free and not cells):
            return 0, False, stones + 2 - self.WIN
        return cells, blocks != 0, 0

    def sums(self, own: int, opp: int, stones: Sequence[int]) -> list[int]:
        """The sum of weights after each of some stones of the side to move."""
        # The content of each cell is a digit: 0 empty, 1 and 2 the sides' stones, 3 a cell that can be filled now.
        seat = (own | opp).bit_count() % 2
        boards = np.array([(own | stone, opp, playable(own | stone, opp) * GRAVITY) for stone in stones], np.int64)
        mine, theirs, free = (boards[:, :, None] >> self.bits & 1).swapaxes(0, 1)
        content = mine * (1 + seat) + theirs * (2 - seat) + free * 3
        addresses = self.begins + content[:, self.cells] @ self.powers
        sums: list[int] = self.weights[addresses, seat].sum(axis=1, dtype=np.int64).tolist()
        return sums


# ---- Moves


class Moves(Player):
    """Plays a fixed move in each of N positions, int64 (N, 2).

    In other positions it raises a ValueError if `strict`, and otherwise plays the lowest legal action.
    """

    def __init__(self, positions: npt.NDArray[np.int64], actions: npt.NDArray[np.int8], strict: bool) -> None:
        self.actions = dict(zip(map(tuple, positions.tolist()), actions.tolist(), strict=True))
        self.strict = strict

    def choose(self, own: int, opp: int, seed: int, end: float) -> int:
        if self.strict and (own, opp) not in self.actions:
            raise ValueError(f"no game reaches the position with stones {own} and {opp}, or it is over there")
        action = self.actions.get((own, opp))
        return next(iter(moves(own, opp))) if action is None else int(action)


# ---- StateValues


class StateValues(Player):
    """Moves to the position of the highest learned value, by the lowest action of equals.

    Args:
        positions: int64 (N, 3), the stones of the side that has moved, those of the other, and the number of the table.
        values: float64 (N,).
        tables: for each side the number of its table.
        win: the value of a won position that is not in the table.
        other: the value of any other position that is not there. That of a draw never matters: the last move is forced.
    """

    def __init__(
        self,
        positions: npt.NDArray[np.int64],
        values: npt.NDArray[np.float64],
        tables: Sequence[int],
        win: float,
        other: float,
    ) -> None:
        self.values = dict(zip(map(tuple, positions.tolist()), values.tolist(), strict=True))
        self.tables, self.win, self.other = tables, win, other

    def choose(self, own: int, opp: int, seed: int, end: float) -> int:
        table = self.tables[(own | opp).bit_count() % 2]
        values = {}
        for action, stone in moves(own, opp).items():
            after = own | stone
            values[action] = self.values.get((after, opp, table), self.win if has_line(after) else self.other)
        return max(values, key=lambda action: values[action])


# ---- Network


class Network(Player):
    """Plays the action of the highest output of a neural network, the lowest of equals.

    Args:
        sees: "planes" of either side, "planes last" or a "board" of 1, 0 and -1.
        after: True if its input is the position after an action, with one output; False for an output for each action.
        activations: the name of the function after each layer.
        arrays: "weight_0", "bias_0", ... of each layer; "windows", float32 (W, cells), if it sees features of lines.
    """

    ACTIVATIONS: ClassVar[dict[str, Callable[[Array], Array]]] = {
        "": lambda x: x,
        "ReLU": lambda x: np.maximum(x, 0),
        "LeakyReLU": lambda x: np.where(x > 0, x, np.float32(0.01) * x),
        "ELU": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
        "SiLU": lambda x: x / (1 + np.exp(-x)),
        "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "Tanh": np.tanh,
    }

    def __init__(self, sees: str, after: bool, activations: Sequence[str], **arrays: Array) -> None:
        self.sees, self.after, self.windows = sees, after, arrays.get("windows")
        self.layers = [(arrays[f"weight_{i}"], arrays[f"bias_{i}"], name) for i, name in enumerate(activations)]

    def choose(self, own: int, opp: int, seed: int, end: float) -> int:
        legal = moves(own, opp)
        if self.after:
            outputs = {action: self.outputs(own | stone, opp)[0] for action, stone in legal.items()}
        else:
            outputs = dict(enumerate(self.outputs(own, opp)))
        return max(legal, key=lambda action: outputs[action])

    def outputs(self, own: int, opp: int) -> Array:
        planes = np.array([[stones & cell != 0 for cell in CELLS] for stones in (own, opp)], np.float32)
        x: Array = planes.T if self.sees == "planes last" else planes
        if self.layers[0][0].ndim == 4:
            x = planes.reshape(2, ROWS, COLS)
        elif self.windows is not None:
            x = self.line_features(self.windows, *planes)
        elif self.after or self.sees == "board":
            x = planes[0] - planes[1]
        for weights, biases, activation in self.layers:
            if weights.ndim == 4:  # a convolution of 3 x 3
                padded = np.pad(x, ((0, 0), (1, 1), (1, 1)))
                seen = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
                x = np.tensordot(weights, seen, axes=([1, 2, 3], [0, 3, 4])) + biases[:, None, None]
            else:
                x = weights @ x.reshape(-1) + biases
            with np.errstate(over="ignore"):
                x = self.ACTIVATIONS[activation](x)
        return np.asarray(x)

    def line_features(self, windows: Array, own: Array, opp: Array) -> Array:
        """The stones, lines that lack two stones and one, whole lines, and threats, each of own first, then of opp."""
        empty = own + opp == 0
        sides = [(windows @ own, windows @ opp), (windows @ opp, windows @ own)]
        parts = [own, opp]
        for lacking in (2, 1):
            if lacking < CONNECT:
                parts += [(mine == CONNECT - lacking) & (theirs == 0) for mine, theirs in sides]
        parts += [np.array([(mine == CONNECT).any()]) for mine, _ in sides]
        one_lacks = [(mine == CONNECT - 1) & (theirs == 0) for mine, theirs in sides]
        threats = [empty & ((live @ windows) > 0) for live in one_lacks]
        parts += threats
        if GRAVITY:
            lowest = empty.reshape(ROWS, COLS).sum(axis=0) - 1
            for row in (lowest, lowest - 1):  # a threat in the lowest empty cell of each column, and in the one above
                cell = np.maximum(row, 0) * COLS + np.arange(COLS)
                parts += [threat[cell] & (row >= 0) for threat in threats]
        return np.concatenate(parts).astype(np.float32)


# ---- The end

PLAYER: Player = Rule()


def agent(observation: Any, configuration: Any) -> int:
    """The action for an observation: `board`, the cells row by row, and `mark`, the number of the side to move.

    Raises:
        ValueError: the configuration or the board is of another game.
    """
    end = perf_counter() + SHARE * float(configuration.get("actTimeout", inf))
    for name, size in (("rows", ROWS), ("columns", COLS), ("inarow", CONNECT)):
        if size and configuration.get(name, size) != size:
            raise ValueError(f"this agent plays {name}={size}, not {name}={configuration.get(name)}")
    own, opp = read_board(observation["board"], observation["mark"])
    return int(PLAYER.choose(own, opp, mix(mix(mix(own ^ 0x278DDE6E5FD29F05) ^ opp) ^ SEED), end))
