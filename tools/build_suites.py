"""Makes the suites of Connect Four: C4-Exact-v1, to report on, and C4-Choose-v1, to choose by.

    python tools/build_suites.py              # makes what is missing
    python tools/build_suites.py --check      # makes both again from their seeds and compares; changes nothing

A run that is stopped at any moment (Ctrl-C, a kill, a power cut) continues: the scores are kept in `--folder` as they
are found. An existing suite is never overwritten, as results refer to it by its name: a better one gets a new name.
`make_suite` makes your own, from the games of any players or from files.
"""

from __future__ import annotations

import itertools
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from benchmarks.records import RESULTS, add_output, parser_of, save
from tictac_apps.bench.records import show
from tictac_apps.cli.arguments import add_workers, chosen_workers
from tictac_apps.labels import TABLE_MEGABYTES, label
from tictac_env.arena.suites import FOLDER, PHASES, Suite, phase_begins, phases, suite
from tictac_env.checks import number, positive, whole
from tictac_env.games import Game, get_game
from tictac_env.jobs import Workers, joined
from tictac_env.policies import Policy, answer, as_policy
from tictac_env.policies.policy import pick
from tictac_env.position import Position, canonical
from tictac_env.position_batch import PositionBatch
from tictac_env.rng import STATES, UNIT, advance, mix, new_state
from tictac_env.solver import Solver
from tictac_env.solver.enumerate import NO_SCORE

GAMES_AT_A_TIME = 128
FRUITLESS = 20
"""A source is exhausted after this many times `GAMES_AT_A_TIME` games without a new position."""


class Source(Protocol):
    """A source of positions."""

    @property
    def name(self) -> str:
        """Its name in tables."""

    def positions(self, game: Game, seed: int) -> Iterator[list[Position]]:
        """Unfinished positions of one game after another (or one position after another), drawn by the seed."""


@dataclass(frozen=True)
class Games:
    """Positions of games between two players, or of one with itself; of each game one a phase, at any of its plies.

    Attributes:
        first: one player: whatever `as_policy` accepts. The two swap seats from game to game.
        second: the other, None for the first one again.
        random_plies: each game begins with 0 to this many random moves, each number equally likely.
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
        path: a file with a move string at the beginning of each line; text after a comma or a space is ignored, and so
            is a first line that begins with "moves".
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
    `origin` has the number from each source and phase.

    Args:
        name: of the suite.
        sources: of positions: `Games`, `Listed`, or anything with their `name` and `positions`.
        count: of positions; rounded down to a multiple of sources times phases.
        seed: draws the games.
        game: a game's name or rule book.
        decisive: if true, only positions whose legal moves have at least two different win/draw/loss values are taken.
        exclude: suites with which it must have no position in common, nor an image of one under a symmetry.
        cache: a file that keeps the scores as they are found, so that a run that is stopped at any moment, by force
            too, continues from it (see `tictac_env.arena.suites.label`).
        progress: if true, shows a progress bar.
        workers: the number of processes that solve the positions, 1 for this one; or a `tictac_env.jobs.Cluster`. This
            process plays the games, a small part of the time: the next ones depend on the positions found.

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
    origin = {"seed": seed, "decisive": decisive, "phases begin at ply": begins, "sources": counts}
    return Suite(name, PositionBatch.of([chosen[i] for i in order]), np.array([scores[i] for i in order]), origin)


def is_decisive(scores: npt.NDArray[np.int16]) -> bool:
    """True if the legal moves have at least two different win/draw/loss values."""
    return len(np.unique(np.sign(scores[scores != NO_SCORE]))) > 1


def _fresh(
    positions: Sequence[Position], game: Game, left: dict[int, int], seen: set[tuple[int, int]]
) -> list[Position]:
    """The positions of phases that need more that are not `seen`; adds them to `seen`."""
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


GAME = "ConnectFour-v0"
SOURCES = (
    Games("random", random_plies=0),
    Games("rule"),
    Games("minimax:4"),
    Games("mcts:100"),
    Games("rule", "mcts:100"),
)
"""Beginners, players that see one move ahead, players that see four, players that search; and unequal games."""
RECIPES = {"C4-Exact-v1": (9_000, 2026), "C4-Choose-v1": (3_000, 2027)}
"""The number of positions, and the seed. Each has no position in common with those before it."""


def build(name: str, before: list[Suite], cache: Path, workers: Workers) -> Suite:
    count, seed = RECIPES[name]
    with joined(workers):
        return make_suite(name, SOURCES, count, seed, GAME, exclude=before, cache=cache, progress=True, workers=workers)


def rows(found: Suite) -> list[dict[str, Any]]:
    """The contents of a suite, phase by phase."""
    out = []
    for index, phase in enumerate(PHASES):
        among = found.phases == index
        best = found.scores[among].max(axis=1)
        values = Counter((best > 0).astype(int) - (best < 0))
        sources = {source: counts[phase] for source, counts in found.origin.get("sources", {}).items()}
        out.append(
            {
                "suite": found.name,
                "phase": phase,
                "plies": f"{found.plies[among].min()}-{found.plies[among].max()}",
                "positions": int(among.sum()),
                "won": values[1],
                "drawn": values[0],
                "lost": values[-1],
                "from": ", ".join(f"{source} {count}" for source, count in sources.items()) or "all positions",
            }
        )
    return out


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--check", action="store_true", help="make them again and compare with those that are there")
    parser.add_argument("--folder", type=Path, default=RESULTS / "suites", help="where the scores are kept")
    parser.add_argument("--out", type=Path, default=FOLDER, help="where the suites go (default: into the package)")
    add_output(parser)
    add_workers(parser)
    options = parser.parse_args()
    workers = chosen_workers(options)
    options.folder.mkdir(parents=True, exist_ok=True)
    made: list[Suite] = []
    for name in RECIPES:
        path = options.out / f"{name}.npz"
        began = time.process_time()
        if options.check or not path.is_file():
            made.append(build(name, made, options.folder / "scores.sqlite", workers))
            print(f"{made[-1]}; {time.process_time() - began:.0f} CPU-s", flush=True)
            if not options.check:
                made[-1].save(path)
                print(f"{path}: {path.stat().st_size:,} bytes, sha256 {made[-1].sha256}", flush=True)
            elif made[-1].sha256 != Suite.load(path).sha256:
                raise SystemExit(f"{path} is not what its seed gives")
        else:
            made.append(Suite.load(path))
    if not options.check:
        table = [row for found in [*made, suite("TTT-Exact-v1")] for row in rows(found)]
        show("Suites", table)
        save("suites", {"game": GAME, "recipes": str(RECIPES)}, {"phases": table}, options.output)


if __name__ == "__main__":
    main()
