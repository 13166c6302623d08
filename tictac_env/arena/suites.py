"""Suites, frozen sets of positions with the exact score of every move; and the accuracy of policies on them."""

from __future__ import annotations

import csv
import functools
import hashlib
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import erfc, sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tictac_env.arena.basis import action_probabilities, basis_of
from tictac_env.arena.outcomes import mean_interval
from tictac_env.arena.probability import sign_test
from tictac_env.arrays import Bools, Floats, Ints
from tictac_env.checks import parse_whole, positive, whole
from tictac_env.games import LOST, UNFINISHED, Game, describe_game, did_you_mean, game_name, game_of, get_game, shown
from tictac_env.policies import PlayerLike, as_policy
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.progress import track
from tictac_env.solver.enumerate import NO_SCORE, loss_score, tabulate
from tictac_env.storage import JsonObject, reading, save_arrays, save_text

INVALID = -1000
"""An illegal action in the analyses of other solvers."""


class ScoredPosition(NamedTuple):
    """An unfinished position with the exact score of each move.

    The scores are exact distances, as everywhere: +n, the player to move wins with its n-th stone counted from the
    last one it could ever place; -n, the other side does; 0, a draw.

    Example:
        >>> from tictac_env import Position, solve
        >>> from tictac_env.arena import ScoredPosition
        >>> position = Position.from_moves("TicTacToe-v0", "1524")
        >>> ScoredPosition(position, solve(position).action_scores).action_scores
        (None, None, 3, None, None, 0, -2, -2, -2)
    """

    position: Position
    action_scores: tuple[int | None, ...]
    """The exact score of each action (num_actions of them), None where it is illegal."""


def read_scored_positions(path: str | os.PathLike[str], game: str | Game = "ConnectFour-v0") -> list[ScoredPosition]:
    """The scored positions of a file, in its order.

    The first line of a CSV file is `moves,score,column_1,...,column_n` for the n actions of the game. Each further line
    has a move string, the exact score of the position it leads to, and the exact score of each action there, empty
    where it is illegal.

    A file without that first line is an analysis as the solver of Pascal Pons writes it (`c4solver -a`): each line has
    a move string and the n scores, -1000 where an action is illegal, separated by spaces.

    Args:
        path: the file, in UTF-8.
        game: a game's name or rule book.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged or of another game; the message names the file, the line and what was wrong.

    Example:
        >>> import tempfile
        >>> from tictac_env.arena import read_scored_positions, suite
        >>> file = f"{tempfile.mkdtemp()}/analysis.txt"
        >>> suite("TTT-Exact-v1").write_analysis(file)
        >>> len(read_scored_positions(file, "TicTacToe-v0"))
        4520
    """
    rules = get_game(game)
    name = os.fspath(path)
    content = Path(path).read_bytes()
    spaced = b" " in content.partition(b"\n")[0]
    scored: list[ScoredPosition] = []
    try:
        text = io.StringIO(content.decode(), newline="")
        reader = csv.reader(text, strict=True, delimiter=" " if spaced else ",")
        for fields in reader:
            if spaced or reader.line_num > 1:
                scored.append(_read_line(rules, fields, spaced))
            elif fields != (header := ["moves", "score", *(f"column_{i + 1}" for i in range(rules.num_actions))]):
                raise ValueError(f"the header must be {','.join(header)}, not {','.join(fields)}")
    except UnicodeDecodeError as error:
        line = 1 + content.count(b"\n", 0, error.start)
        raise ValueError(f"{name}, line {line}: not text in UTF-8 ({error})") from None
    except (csv.Error, ValueError) as error:
        raise ValueError(f"{name}, line {reader.line_num}: {error}") from None
    if not scored:
        raise ValueError(f"{name} holds no positions")
    return scored


def check_scores(position: Position, action_scores: Sequence[int | None]) -> None:
    """Checks that `action_scores` can be the exact scores of the actions in `position`.

    Raises:
        ValueError: they cannot; the message names the action, what is wrong with its score, and the position.
    """
    game, own, opp, ply = position.game, position.own, position.opp, position.ply
    if position.is_over:
        raise ValueError(f"the game is over after {position.to_moves()!r}")
    if len(action_scores) != game.num_actions:
        raise ValueError(f"{len(action_scores)} actions have a score, not {game.num_actions}, in {position!r}")
    at_once, in_two = -loss_score(game, ply + 1), loss_score(game, ply + 2 if game.knows_wins else ply + 1)
    for action, score in enumerate(action_scores):
        wrong = ""
        if (score is None) == (action in position.legal_actions):
            wrong = "is legal but has no score" if score is None else f"is illegal but has the score {score}"
        elif score is None:
            continue
        elif isinstance(score, bool) or not isinstance(score, (int, np.integer)):
            wrong = f"has the score {score!r}, which is not an integer,"
        elif not in_two <= score <= at_once:
            wrong = f"has the score {score}, not in [{in_two}, {at_once}],"
        else:
            wins = game.result(*game.play(own, opp, action)) == LOST
            if wins != (score == at_once) and (wins or game.knows_wins):
                ends = "wins at once" if wins else "does not win at once"
                wrong = f"has the score {score} but {ends}, which is the score {at_once},"
        if wrong:
            raise ValueError(f"action {action} (number {action + 1} in the file) {wrong} in {position!r}")


def _read_line(game: Game, fields: list[str], spaced: bool) -> ScoredPosition:
    """The position of a line of a CSV file or, if its fields are `spaced`, of an analysis."""
    before = 1 if spaced else 2
    if len(fields) != before + game.num_actions:
        line = (" " if spaced else ",").join(fields)
        raise ValueError(f"{len(fields)} fields, not {before + game.num_actions}: {line!r}")
    position = Position.from_moves(game, fields[0])
    if spaced:
        read = [_score(f"the score of action {i}", text) for i, text in enumerate(fields[1:])]
        scores = tuple(None if score == INVALID else score for score in read)
        check_scores(position, scores)
        return ScoredPosition(position, scores)
    score = _score("score", fields[1])
    scores = tuple(_score(f"column_{i + 1}", text) if text else None for i, text in enumerate(fields[2:]))
    check_scores(position, scores)
    best = max(value for value in scores if value is not None)
    if best != score:
        raise ValueError(f"the score is {score}, but that of the best action {best}")
    return ScoredPosition(position, scores)


def _score(name: str, text: str) -> int:
    size = parse_whole(text.removeprefix("-"))
    if size is None:
        raise ValueError(f"{name} must be an integer, not {text!r}")
    return -size if text.startswith("-") else size


KIND = "suite"
FOLDER = Path(__file__).parent / "data"
PHASES = "opening", "middle", "end"

HASHES = {
    "C4-Exact-v1": "60eb20d52ef9dbf628787a2147bf0ac1102d48ed2c0da7611d5cce99f339c70a",
    "C4-Choose-v1": "ebd247df3e142f19221e0933425cb7631a9f767bb601ac3409e90fed34a7597e",
    "TTT-Exact-v1": "42ed03c7a6f85f27805ff8769552297265530b26820c1bfed6b5302c0ba25c93",
}
"""The suites of the package and their hashes. A suite never changes; a better one gets a new name."""


@dataclass(frozen=True, eq=False)
class Suite:
    """Unfinished positions of one game with the exact score of each move.

    Attributes:
        name: its name in results.
        positions: the N positions.
        scores: int16 (N, num_actions), the exact scores (see `ScoredPosition`), `NO_SCORE` where an action is illegal.
        origin: the way it was made, as JSON can hold it; not part of the hash.

    Example:
        >>> from tictac_env.arena import suite
        >>> found = suite("TTT-Exact-v1")
        >>> found.name, len(found.positions), found.scores.shape
        ('TTT-Exact-v1', 4520, (4520, 9))
    """

    name: str
    positions: PositionBatch
    scores: npt.NDArray[np.int16] = field(repr=False)
    origin: Mapping[str, object] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, name: str, scored: Sequence[ScoredPosition]) -> Suite:
        """The suite of these positions, in their order.

        Raises:
            ValueError: there are none, they are not all of one game, or a score is impossible.
        """
        scored = list(scored)
        if not scored:
            raise ValueError("there are no positions to make a suite of")
        for entry in scored:
            if not (isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], Position)):
                raise ValueError(f"{shown(entry)} is not a scored position: give a ScoredPosition, or a file of them")
            check_scores(*entry)
        rows = [[NO_SCORE if score is None else score for score in scores] for _, scores in scored]
        return cls(name, PositionBatch.of([position for position, _ in scored]), np.array(rows, np.int16))

    @property
    def game(self) -> Game:
        return self.positions.game

    @functools.cached_property
    def plies(self) -> Ints:
        """The number of stones on each board: int64 (N,)."""
        return self.positions.plies

    @functools.cached_property
    def phases(self) -> npt.NDArray[np.uint8]:
        """The phase of each position as its place in `PHASES`: uint8 (N,)."""
        return phases(self.game, self.plies)

    @functools.cached_property
    def sha256(self) -> str:
        """The hash of its game, positions and scores, in hexadecimal."""
        try:
            game: str | JsonObject = describe_game(self.game)
        except ValueError:  # a game of the user's that is not registered
            game = repr(self.game)
        head = {"game": game, "positions": len(self), "actions": self.game.num_actions}
        digest = hashlib.sha256(json.dumps(head, sort_keys=True).encode())
        for array, kind in ((self.positions.own, "<i8"), (self.positions.opp, "<i8"), (self.scores, "<i2")):
            digest.update(np.ascontiguousarray(array, kind).tobytes())
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Suite) and (self.name, self.sha256) == (other.name, other.sha256)

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __len__(self) -> int:
        return len(self.positions)

    def __getitem__(self, index: int) -> ScoredPosition:
        scores = self.scores[index].tolist()
        return ScoredPosition(self.positions[index], tuple(None if score == NO_SCORE else score for score in scores))

    def __iter__(self) -> Iterator[ScoredPosition]:
        return (self[index] for index in range(len(self)))

    def __str__(self) -> str:
        game = game_name(self.game) or repr(self.game)
        return f"{self.name}: {len(self):,} positions of {game}, sha256 {self.sha256[:12]}"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it to an .npz file atomically.

        Raises:
            ValueError: its game is not registered.
        """
        meta = {"name": self.name, "game": describe_game(self.game), "sha256": self.sha256, "origin": dict(self.origin)}
        save_arrays(path, KIND, meta, {"own": self.positions.own, "opp": self.positions.opp, "scores": self.scores})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Suite:
        """The suite that was saved.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is damaged or holds no suite, or its content does not have its hash.
        """
        with reading(path, KIND, "suite") as (meta, arrays):
            game = game_of(meta["game"])
            own, opp, scores = arrays["own"], arrays["opp"], arrays["scores"]
            if own.dtype != np.int64 or own.shape != opp.shape or own.dtype != opp.dtype or own.ndim != 1:
                raise ValueError("its positions are not two rows of int64")
            if scores.dtype != np.int16 or scores.shape != (len(own), game.num_actions) or not len(own):
                raise ValueError(f"its scores are {scores.dtype} {scores.shape}")
            suite = cls(str(meta["name"]), PositionBatch(game, own, opp), scores, dict(meta["origin"]))
            suite.positions.check()
            if ((scores != NO_SCORE) != suite.positions.action_masks()).any():
                raise ValueError("its scores are not those of the legal actions of unfinished positions")
            if suite.sha256 != meta["sha256"]:
                raise ValueError(f"its content has the hash {suite.sha256}, and should have {meta['sha256']}")
        return suite

    def write_analysis(self, path: str | os.PathLike[str]) -> None:
        """Writes it as the solver of Pascal Pons (`c4solver -a`) writes its analysis, which other projects read.

        Each line has a move string and the scores of the actions in order, -1000 if illegal, separated by spaces; the
        line of the empty board begins with a space. `read_scored_positions` reads it too.
        """
        lines = []
        for position, scores in self:
            written = (str(INVALID if score is None else score) for score in scores)
            lines.append(" ".join([position.to_moves(), *written]))
        save_text(path, "\n".join(lines) + "\n")


def phases(game: Game, plies: Ints) -> npt.NDArray[np.uint8]:
    """The phase of positions by the number of their stones: uint8, as places in `PHASES`.

    The opening ends when two sevenths of the cells are taken, the middle at four sevenths: on Connect Four the opening
    is up to ply 11, the middle is plies 12 to 23, and the end is from ply 24 on.
    """
    return np.digitize(plies, phase_begins(game)[1:]).astype(np.uint8)


def phase_begins(game: Game) -> tuple[int, int, int]:
    """The ply at which each phase begins."""
    return 0, -(-2 * game.cells // 7), -(-4 * game.cells // 7)


def all_positions(game: str | Game, name: str | None = None) -> Suite:
    """All unfinished positions that a game small enough to tabulate can reach, images under symmetries too.

    Raises:
        ValueError: the game has more than a million positions.
    """
    table = tabulate(get_game(game))
    rows = np.flatnonzero(table.result == UNFINISHED)
    positions = PositionBatch(table.game, table.own[rows], table.opp[rows])
    title = name or f"all of {game_name(table.game) or repr(table.game)}"
    return Suite(title, positions, table.action_scores(rows.tolist()), {"made": "all reachable unfinished positions"})


@functools.lru_cache(maxsize=len(HASHES))
def suite(name: str) -> Suite:
    """A suite of the package.

    - `C4-Exact-v1`: Connect Four, for *reporting*. Only decisive positions, in which the legal moves have at least two
      different win/draw/loss values, from games of players of several strengths, no two alike or mirror images.
    - `C4-Choose-v1`: made in the same way from another seed, for *choosing*: checkpoints, settings, when to stop. It
      has no position in common with the other, nor a mirror image. A choice looks better on the positions that made it,
      so never report the figures of this one, and never choose by the other.
    - `TTT-Exact-v1`: all 4,520 unfinished positions of tic-tac-toe.

    Raises:
        ValueError: there is no suite of that name (the message has the near ones); or its file is damaged or of another
            version of the package.

    Example:
        >>> from tictac_env.arena import suite
        >>> len(suite("C4-Exact-v1").positions)
        9000
    """
    if name not in HASHES:
        raise ValueError(f"no suite is called {name!r}; {did_you_mean(str(name), HASHES)}")
    path = FOLDER / f"{name}.npz"
    frozen = all_positions("TicTacToe-v0", name) if name == "TTT-Exact-v1" else Suite.load(path)
    if frozen.sha256 != HASHES[name]:
        raise ValueError(f"{path} is not the suite {name}: its hash is {frozen.sha256}, not {HASHES[name]}")
    return frozen


def as_suite(
    positions: Suite | str | os.PathLike[str] | Sequence[ScoredPosition], game: str | Game | None = None
) -> Suite:
    """Scored positions in any form as a suite; arguments and errors are those of `move_accuracy`."""
    if isinstance(positions, str) and positions in HASHES:
        scored = suite(positions)
    elif isinstance(positions, Suite):
        scored = positions
    elif not isinstance(positions, (str, os.PathLike)):
        scored = Suite.of("positions", positions)
    elif Path(positions).suffix == ".npz":
        scored = Suite.load(positions)
    else:
        try:
            read = read_scored_positions(positions, "ConnectFour-v0" if game is None else game)
        except FileNotFoundError as error:
            path, hint = os.fspath(positions), did_you_mean(os.fspath(positions), HASHES)
            raise FileNotFoundError(f"there is no file {path!r}, and no suite of that name; {hint}") from error
        scored = Suite.of(Path(positions).name, read)
    if game is not None and scored.game != get_game(game):
        raise ValueError(f"{scored.name} has positions of the game {scored.game!r}, not of {get_game(game)!r}")
    return scored


class Rate(NamedTuple):
    """A share of positions, with its 95 % interval and what uniformly random play reaches on the same positions.

    Example:
        >>> from tictac_env import move_accuracy
        >>> rate = move_accuracy("rule", "TTT-Exact-v1").overall.mistakes
        >>> rate.low <= rate.value <= rate.high
        True
    """

    value: float
    low: float
    high: float
    random: float
    """Exact: over all of random's moves."""

    @property
    def relative(self) -> tuple[float, float, float]:
        """The share and its interval as multiples of random's; nan where random's is 0."""
        scale = 1 / self.random if self.random else float("nan")
        return self.value * scale, self.low * scale, self.high * scale

    def __str__(self) -> str:
        times = "" if not self.random else f", {self.relative[0]:.3f} of random's"
        return f"{100 * self.value:.2f} % ({100 * self.low:.2f}-{100 * self.high:.2f}{times})"


class Loss(Rate):
    """A mean loss of game value in [0, 2], as a `Rate` has a share."""

    __slots__ = ()

    def __str__(self) -> str:
        times = "" if not self.random else f", {self.relative[0]:.3f} of random's"
        return f"{self.value:.4f} ({self.low:.4f}-{self.high:.4f}{times})"


class Accuracy(NamedTuple):
    """The rates on one set of positions; nan if there are none.

    Example:
        >>> from tictac_env import move_accuracy
        >>> overall = move_accuracy("rule", "TTT-Exact-v1").overall
        >>> overall.positions, round(float(overall.mistakes.value), 3)
        (4520, 0.054)
    """

    positions: int
    mistakes: Rate
    """The share of moves with a strictly worse win/draw/loss value than another."""
    perfect: Rate
    """The share of moves of the best exact score: they win soonest, or resist longest."""
    regret: Loss
    """The game value that a move gives away on average: the best move's less its own, a win 1, a draw 0, a loss -1."""

    def __str__(self) -> str:
        return f"{self.positions:,} positions: mistakes {self.mistakes}; perfect {self.perfect}; regret {self.regret}"


class Comparison(NamedTuple):
    """Two policies on the same positions, position by position.

    Example:
        >>> from tictac_env.arena import Comparison
        >>> found = Comparison("rule", "minimax", difference=0.05, worse=90, better=2, p_value=1e-20)
        >>> found.better  # positions in which "rule" erred less
        2
    """

    first: str
    second: str
    difference: float
    """The first one's mistake rate less the second's."""
    worse: int
    """The number of positions in which the first one errs more: if nothing is drawn, it alone errs."""
    better: int
    """The number of positions in which the second one does."""
    p_value: float
    """Of the hypothesis that both err equally often (two-sided)."""

    def __str__(self) -> str:
        return (
            f"mistakes of {self.first} less those of {self.second}: {100 * self.difference:+.2f} % of the positions "
            f"(more in {self.worse}, fewer in {self.better}, p = {self.p_value:.3g})"
        )


@dataclass(frozen=True)
class MoveAccuracy:
    """The accuracy of a policy's moves on a set of scored positions.

    Attributes:
        policy: its name.
        basis: "probabilities" if the policy gave its own, so that nothing is sampled, else the number of seeds drawn;
            "draws its moves" and the number of answers if it answers differently when it is asked again: another run
            gives other rates.
        overall: the rates on all positions, those included in which no move is a mistake.
        critical: the rates if exactly one of several moves keeps the win/draw/loss value.
        by_phase: the rates in each phase of the game that has positions: "opening", "middle", "end" (see `phases`).
        suite: the name of the positions, and the hash of them and their scores.
        batch: the N positions.
        mistake_shares: float64 (N,), the share of mistakes in each position.
        perfect_shares: float64 (N,), the share of moves of the best exact score.

    Example:
        >>> from tictac_env import move_accuracy
        >>> found = move_accuracy("minimax", "TTT-Exact-v1")
        >>> float(found.overall.mistakes.value), list(found.by_phase)
        (0.0, ['opening', 'middle', 'end'])
    """

    policy: str
    basis: str
    overall: Accuracy
    critical: Accuracy
    by_phase: dict[str, Accuracy]
    suite: tuple[str, str] = field(compare=False)
    batch: PositionBatch = field(repr=False, compare=False)
    mistake_shares: Floats = field(repr=False, compare=False)
    perfect_shares: Floats = field(repr=False, compare=False)

    def compare(self, other: MoveAccuracy) -> Comparison:
        """Compares two policies position by position.

        If each move is simply right or wrong this is McNemar's exact test ("Note on the sampling error of the
        difference between correlated proportions or percentages", Psychometrika 12, 1947). With several seeds, or
        probabilities, the moves in one position are not independent; then it is Durkalski's form of that test for such
        clusters ("Analysis of clustered matched-pair data", Statistics in Medicine 22, 2003), which needs some 20
        positions in which the two differ.

        Raises:
            ValueError: the other accuracy was measured on other positions.
        """
        mine, theirs = self.batch, other.batch
        if mine.game != theirs.game or not (
            np.array_equal(mine.own, theirs.own) and np.array_equal(mine.opp, theirs.opp)
        ):
            raise ValueError(f"{self.policy} and {other.policy} were not measured on the same positions")
        more = np.round(self.mistake_shares - other.mistake_shares, 12)  # sums of probabilities may miss 1
        worse, better = int((more > 0).sum()), int((more < 0).sum())
        if not more.any():
            p_value = 1.0
        elif np.isin(more, (-1, 0, 1)).all():
            p_value = sign_test(worse, better)
        else:
            p_value = erfc(abs(float(more.sum())) / sqrt(2 * float((more**2).sum())))
        return Comparison(self.policy, other.policy, float(more.mean()), worse, better, p_value)

    def __str__(self) -> str:
        rows = {"all": self.overall, "critical": self.critical, **self.by_phase}
        lines = [f"  {name}: {accuracy}" for name, accuracy in rows.items()]
        return "\n".join([f"{self.policy} ({self.basis}) on {self.suite[0]}", *lines])


def move_accuracy(
    policy: PlayerLike,
    positions: Suite | str | os.PathLike[str] | Sequence[ScoredPosition] = "C4-Exact-v1",
    game: str | Game | None = None,
    seeds: int = 1,
    seed: int = 0,
    progress: bool = False,
) -> MoveAccuracy:
    """The mistakes and the perfect moves of a policy on positions whose exact scores are known.

    A mistake is a move with a strictly worse win/draw/loss value than another (AlphaZero.jl's definition); a move is
    perfect if it has the best exact score; its regret is the game value that it gives away. A move that is missing
    (`Policy.forfeits`) counts as a loss, as in `tictac_env.solver.move_regret`. All are also counted on the
    critical positions alone and in each phase of the game, next to the figures of uniformly random play.

    Choose a checkpoint or a setting by another suite than the one whose figures you report: `C4-Choose-v1` is for
    choosing, `C4-Exact-v1` for reporting.

    The figure depends on how much the policy searches and on a one-move rule (win at once, else stop the other side's
    win at once): always report both with it. A policy's name says its budget ("mcts:1000"); give a policy of your own a
    `name` that says it too: it is printed.

    A policy with `probabilities` is judged by them, over all its draws. Any other plays each position `seeds` times, by
    `act_many` on all positions at once. The seeds depend on nothing but the position, so that two policies can be
    compared draw by draw.

    The intervals are Wilson's, for the positions as a sample of such positions; with several seeds or probabilities,
    those of `tictac_env.arena.outcomes.mean_interval`. An interval relative to random's rate holds that rate on these
    positions to be known exactly.

    Args:
        policy: whatever `as_policy` accepts.
        positions: a `Suite` or the name of one (see `tictac_env.arena.suite`); a file that `read_scored_positions`
            reads, or one that `Suite.save` wrote (.npz); or scored positions of one game.
        game: their game: a name or rule book; None for the suite's own, and Connect Four for all else.
        seeds: the number of moves to draw in each position, at least 1.
        seed: the first seed.
        progress: show a progress bar.

    Raises:
        FileNotFoundError: there is no such file, nor a suite of that name.
        ValueError: the file is damaged (the message names the line), a score is wrong, there are no positions, they
            are of another game, or `seeds` is out of range.
        IllegalMove: the policy's choice is illegal; the message names it and the position.

    Example:
        >>> from tictac_env.position import Position
        >>> position = Position.from_moves("ConnectFour-v0", "475774457522754657214321516462111")
        >>> scored = ScoredPosition(position, (None, -4, 5, None, None, 5, None))
        >>> rate = move_accuracy("rule", [scored]).overall.mistakes
        >>> rate.value, round(rate.random, 3)
        (0.0, 0.333)
    """
    positive("seeds", seeds)
    whole("seed", seed, (1 << 63) - 1 - seeds)
    scored = as_suite(positions, game)
    rules, batch, scores = scored.game, scored.positions, scored.scores
    player = as_policy(policy, rules)
    legal = scores != NO_SCORE
    best = scores.max(axis=1, keepdims=True)
    keeping = legal & (np.sign(scores) == np.sign(best))
    perfect = scores == best
    basis = basis_of(player, rules)
    exact = basis == "probabilities"
    numbers = range(seed, seed + 1 if exact else seed + seeds)
    played = np.zeros(scores.shape)
    for number in track(numbers, f"moves of {player}", progress):
        played += action_probabilities(player, batch, legal, number, exact)
    played /= len(numbers)
    missing = (1 - played.sum(axis=1)) * bool(player.forfeits)  # a move that is missing loses the game
    random = legal / legal.sum(axis=1, keepdims=True)
    critical = (keeping.sum(axis=1) == 1) & (legal.sum(axis=1) > 1)
    given_away = np.where(legal, np.sign(best) - np.sign(scores), 0)
    goods = legal & ~keeping, perfect, given_away
    shares = [(moves * good).sum(axis=1) for good in goods for moves in (played, random)]
    shares[0] = shares[0] + missing * (best[:, 0] >= 0)
    shares[4] = shares[4] + missing * (np.sign(best[:, 0]) + 1)

    def accuracy(among: Bools) -> Accuracy:
        wrong, random_wrong, right, random_right, lost, random_lost = (share[among] for share in shares)
        halves = rate(lost / 2, random_lost / 2)  # in [0, 1], as intervals want it
        regret = Loss(*(2 * value for value in halves))
        return Accuracy(int(among.sum()), rate(wrong, random_wrong), rate(right, random_right), regret)

    judged_by: str = basis
    if not exact:
        many = "s" * (seeds > 1)
        judged_by = f"{seeds} seed{many}" if basis == "fixed map" else f"{basis}: {seeds} answer{many} a position"
    overall = accuracy(np.ones(len(batch), np.bool_))
    by_phase = {
        name: accuracy(scored.phases == number) for number, name in enumerate(PHASES) if (scored.phases == number).any()
    }
    return MoveAccuracy(
        policy=str(player),
        basis=judged_by,
        overall=overall,
        critical=accuracy(critical),
        by_phase=by_phase,
        suite=(scored.name, scored.sha256),
        batch=batch,
        mistake_shares=shares[0],
        perfect_shares=shares[2],
    )


def rate(shares: Floats, random: Floats) -> Rate:
    """The mean of shares in [0, 1], one a position, with its interval."""
    if not len(shares):
        return Rate(*[float("nan")] * 4)
    return Rate(float(shares.mean()), *mean_interval(shares), float(random.mean()))
