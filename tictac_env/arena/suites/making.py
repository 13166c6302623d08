"""Makes suites: positions from games of many kinds, drawn by a seed, in equal parts by source and by phase."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tictac_env.arena.suites.labelling import TABLE_MEGABYTES, label
from tictac_env.arena.suites.suite import PHASES, Suite, phase_begins, phases
from tictac_env.checks import number, positive, whole
from tictac_env.games import Game, get_game
from tictac_env.jobs import Workers
from tictac_env.policies import Policy, answer, as_policy
from tictac_env.policies.reflexes import pick
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.rng import STATES, UNIT, advance, mix, new_state
from tictac_env.solver import Solver
from tictac_env.solver.enumerate import NO_SCORE
from tictac_env.symmetry import canonical

GAMES_AT_A_TIME = 128
FRUITLESS = 20
"""After so many times `GAMES_AT_A_TIME` games without a new position a source has none left."""


class Source(Protocol):
    """Where positions come from."""

    @property
    def name(self) -> str:
        """What tables call it."""

    def positions(self, game: Game, seed: int) -> Iterator[list[Position]]:
        """Unfinished positions of one game after another (or one position after another), drawn by the seed."""


@dataclass(frozen=True)
class Games:
    """Positions of games between two players, or of one with itself; of each game one a phase, at any of its plies.

    Attributes:
        first: one player: whatever `as_policy` accepts. The two swap seats from game to game.
        second: the other, None for the first one again.
        random_plies: each game begins with 0 to so many random moves, each number as likely as the others.
        noise: the share of the later moves that are random too, in [0, 1].
    """

    first: Any
    second: Any = None
    random_plies: int = 8
    noise: float = 0.1

    @property
    def name(self) -> str:
        """The players."""
        names = [str(player) for player in (self.first, self.second) if player is not None]
        return " v ".join(names)

    def positions(self, game: Game, seed: int) -> Iterator[list[Position]]:
        """Of each game one position in each phase that it reaches."""
        whole("random_plies", self.random_plies, game.cells)
        number("noise", self.noise, 0, 1)
        one = as_policy(self.first, game)
        pair = one, one if self.second is None else as_policy(self.second, game)
        state = new_state(seed)
        for count in itertools.count():
            sides = pair if count % 2 == 0 else pair[::-1]
            played, state = self._play(game, sides, state)
            some = phases(game, np.array([position.ply for position in played]))
            drawn = []
            for phase in range(len(PHASES)):
                state = advance(state)
                here = [position for position, of in zip(played, some, strict=True) if of == phase]
                if here:
                    drawn.append(here[mix(state) % len(here)])
            yield drawn

    def _play(self, game: Game, sides: tuple[Policy, Policy], state: int) -> tuple[list[Position], int]:
        """The unfinished positions of a game, and the random state after it."""
        state = advance(state)
        random_plies = mix(state) % (self.random_plies + 1)
        position = Position.start(game)
        played = []
        while not position.is_over:
            played.append(position)
            state = advance(state)
            seed = mix(state)
            state = advance(state)
            if position.ply < random_plies or mix(state) * UNIT < self.noise:
                action = pick(game, game.legal(position.own, position.opp), seed)
            else:
                side = sides[position.seat]
                action, _, _ = answer(side, game, position.own, position.opp, position.recent_moves, seed)
            position = position.play(action)
        return played, state


@dataclass(frozen=True)
class Listed:
    """The positions of a file, in an order drawn by the seed.

    Attributes:
        path: a file with a move string at the beginning of each line; what follows a comma or a space is ignored, and
            so is a first line that begins with "moves".
    """

    path: str | os.PathLike[str]

    @property
    def name(self) -> str:
        """The name of the file."""
        return Path(self.path).name

    def positions(self, game: Game, seed: int) -> Iterator[list[Position]]:
        """The unfinished positions, each by itself.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: a line has no move string of the game; the message names the file and the line.
        """
        lines = Path(self.path).read_text(encoding="utf-8").splitlines()
        found = []
        for count, line in enumerate(lines, 1):
            moves = line.replace(",", " ").split(" ")[0]
            if count == 1 and moves == "moves":
                continue
            try:
                position = Position.from_moves(game, moves)
            except ValueError as error:
                raise ValueError(f"{os.fspath(self.path)}, line {count}: {error}") from None
            if not position.is_over:
                found.append(position)
        for index in np.random.default_rng(seed).permutation(len(found)).tolist():
            yield [found[index]]


def make_suite(
    name: str,
    sources: Sequence[Source],
    count: int,
    seed: int,
    game: str | Game = "ConnectFour-v0",
    decisive: bool = True,
    exclude: Iterable[Suite] = (),
    cache: str | os.PathLike[str] | None = None,
    progress: bool = False,
    workers: Workers = 1,
) -> Suite:
    """A suite of positions from these sources, as many from each of them and from each phase.

    The same arguments give the same suite, to the bit. A source that has no more positions of a phase gives fewer;
    `about` says how many come from where.

    Args:
        name: what results will call it.
        sources: where positions come from: `Games`, `Listed`, or anything that has their `name` and `positions`.
        count: how many positions; a number that cannot be divided by sources and phases is rounded down.
        seed: draws the games.
        game: a game's name or rule book.
        decisive: whether to take only positions whose legal moves have at least two different win/draw/loss values.
        exclude: suites with which it shall have no position in common, nor an image of one under a symmetry.
        cache: a file that keeps the scores as they are found, so that a run that is stopped at any moment, by force
            too, goes on where it was (see `label`).
        progress: whether to show a progress bar.
        workers: how many processes solve the positions, 1 for this one; or a `tictac_env.jobs.Cluster`. The games, a
            small part of the time, are played by this process: which come next depends on what was found.

    Raises:
        ValueError: an argument is out of its range, a suite to exclude is of another game, no position was found, or
            the cache is damaged.
        IllegalMove: a player's choice is illegal.
    """
    rules = get_game(game)
    each = positive("count", count) // (len(PHASES) * max(1, len(sources)))
    whole("seed", seed)
    if not sources or not each:
        raise ValueError(f"count={count} is too few for {len(sources)} sources and {len(PHASES)} phases")
    seen: set[tuple[int, int]] = set()
    for other in exclude:
        if other.game != rules:
            raise ValueError(f"{other} is of another game than {rules!r}")
        seen |= {_fold(position) for position, _ in other}
    solver = Solver(rules, TABLE_MEGABYTES) if workers == 1 else None
    chosen: list[Position] = []
    scores: list[npt.NDArray[np.int16]] = []
    counts: dict[str, dict[str, int]] = {}
    for number_, source in enumerate(sources):
        left = dict.fromkeys(range(len(PHASES)), each)
        seeds = np.random.SeedSequence((seed, number_)).generate_state(1, np.uint64)
        games = source.positions(rules, int(seeds[0]) & STATES)
        fruitless = 0
        while any(left.values()) and fruitless < FRUITLESS:
            drawn = list(itertools.islice(games, GAMES_AT_A_TIME))
            if not drawn:
                break
            fresh = _fresh([position for some in drawn for position in some], rules, left, seen)
            fruitless = 0 if fresh else fruitless + 1
            if not fresh:
                continue
            found = label(fresh, cache, solver, progress, workers)
            for position, row in zip(fresh, found, strict=True):
                phase = int(phases(rules, np.array([position.ply]))[0])
                if left[phase] and (not decisive or is_decisive(row)):
                    left[phase] -= 1
                    chosen.append(position)
                    scores.append(row)
        title = source.name if source.name not in counts else f"{source.name} ({number_ + 1})"
        counts[title] = {PHASES[phase]: each - missing for phase, missing in left.items()}
    if not chosen:
        raise ValueError("the sources have no such position")
    order = sorted(range(len(chosen)), key=lambda i: (chosen[i].ply, chosen[i].own, chosen[i].opp))
    begins = dict(zip(PHASES, phase_begins(rules), strict=True))
    about = {"seed": seed, "decisive": decisive, "phases begin at ply": begins, "sources": counts}
    return Suite(name, PositionBatch.of([chosen[i] for i in order]), np.array([scores[i] for i in order]), about)


def is_decisive(scores: npt.NDArray[np.int16]) -> bool:
    """Whether the legal moves have at least two different win/draw/loss values."""
    return len(np.unique(np.sign(scores[scores != NO_SCORE]))) > 1


def _fresh(
    positions: Sequence[Position], game: Game, left: dict[int, int], seen: set[tuple[int, int]]
) -> list[Position]:
    """Those of the positions, of phases of which some are left to find, that are not `seen`; they are from now on."""
    found = []
    some = phases(game, np.array([position.ply for position in positions]))
    for position, phase in zip(positions, some.tolist(), strict=True):
        key = _fold(position)
        if left[phase] and key not in seen:
            seen.add(key)
            found.append(position)
    return found


def _fold(position: Position) -> tuple[int, int]:
    own, opp, _ = canonical(position.game, position.own, position.opp)
    return own, opp
