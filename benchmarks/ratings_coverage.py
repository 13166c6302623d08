"""How often the 95 % intervals of ratings contain the true rating, in simulated tournaments whose truth is known.

    python benchmarks/ratings_coverage.py [--tournaments 1000] [--resamples 500] [--seed 0]

Two worlds. In the first all games of two players are alike. In the second openings differ: each favours one side, and
suits some players better than others, by normal draws; the truth is then what the ratings tend to with ever more
openings. Beside the intervals of `tictac_env.arena.ratings`, which resample openings, stand those that resample games.
About five CPU-minutes.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.report import RESULTS, Row, positive, save, show
from tictac_env.arena.davidson import Davidson
from tictac_env.arena.intervals import wilson
from tictac_env.arena.ratings import ELO, ratings
from tictac_env.arena.tournaments.game_record import Entrant, Fixture, GameRecord
from tictac_env.progress import track

Floats = npt.NDArray[np.float64]
ENTRANTS = [Entrant(name) for name in ("random", "a", "b", "c", "d")]
PAIRINGS = [(i, j) for i in range(len(ENTRANTS)) for j in range(len(ENTRANTS)) if i != j]
MODEL = Davidson(PAIRINGS, len(ENTRANTS))
TRUE = np.array([0.0, 1.2, 1.8, 2.6, 3.0, 0.3, -0.7])
"""Strengths, the advantage of playing first, log nu: 0 to 521 Elo points, and a fifth of the games of equals drawn."""


class World(NamedTuple):
    """How openings differ."""

    name: str
    openings: int
    favour: float
    """The standard deviation of what an opening adds to the first player's advantage."""
    taste: float
    """That of what it adds to each player's strength."""


WORLDS = (World("all games alike", 49, 0.0, 0.0), World("openings differ", 49, 1.5, 0.7))


def chances(world: World, rng: np.random.Generator, openings: int) -> Floats:
    """How likely the first player wins, draws and loses after so many openings drawn: (openings, C, 3)."""
    parameters = np.tile(TRUE, (openings, 1))
    parameters[:, :-2] += world.taste * rng.normal(size=(openings, len(ENTRANTS)))
    parameters[:, -2] += world.favour * rng.normal(size=openings)
    return MODEL.probabilities(parameters)


def truth(world: World) -> Floats:
    """The ratings in Elo points that the estimates tend to with ever more openings."""
    many = chances(world, np.random.default_rng(0), 1 if world.favour == world.taste == 0 else 400_000).mean(axis=0)
    fitted = MODEL.fit(1e6 * many[None])[0, :-2]
    return ELO * (fitted - fitted[0])


def tournament(world: World, rng: np.random.Generator) -> list[GameRecord]:
    """One game of each pairing from each of the world's openings."""
    drawn = chances(world, rng, world.openings).cumsum(axis=2)
    results = (rng.random(drawn.shape[:2])[:, :, None] > drawn).sum(axis=2)
    return [
        GameRecord(Fixture("simulated", ENTRANTS[i], ENTRANTS[j], str(opening)), "", 1 - int(results[opening, cell]))
        for opening in range(world.openings)
        for cell, (i, j) in enumerate(PAIRINGS)
    ]


def by_games(records: list[GameRecord]) -> list[GameRecord]:
    """The same games as if each were an opening of its own, so that games are resampled."""
    return [replace(one, fixture=one.fixture._replace(opening=str(number))) for number, one in enumerate(records)]


def coverage(world: World, tournaments: int, resamples: int, seed: int, progress: bool = False) -> list[Row]:
    """A row for each way to resample: how many of the intervals contain the truth."""
    true, rng = truth(world), np.random.default_rng(seed)
    ways: dict[str, Any] = {"openings": lambda records: records, "games": by_games}
    hits: dict[str, list[bool]] = {way: [] for way in ways}
    widths: dict[str, list[float]] = {way: [] for way in ways}
    for number in track(range(tournaments), world.name, progress):
        records = tournament(world, rng)
        for way, arranged in ways.items():
            found = ratings(arranged(records), resamples=resamples, seed=number)
            for entrant, value in zip(ENTRANTS[1:], true[1:], strict=True):
                _, low, high = found[entrant.name].elo
                hits[way].append(low <= value <= high)
                widths[way].append(high - low)
    rows = []
    for way in ways:
        share = float(np.mean(hits[way]))
        low, high = wilson(share, tournaments)  # the players of one tournament are not independent
        row = {"world": world.name, "resampled": way, "tournaments": tournaments, "openings": world.openings}
        row |= {"coverage %": round(100 * share, 2), "low %": round(100 * low, 2), "high %": round(100 * high, 2)}
        rows.append(row | {"mean width, Elo": round(float(np.mean(widths[way])), 1)})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tournaments", type=positive, default=1000, help="of each world (default: %(default)s)")
    parser.add_argument("--resamples", type=positive, default=500, help="of each tournament (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the simulation (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    options = parser.parse_args()
    began, rows = time.process_time(), []
    for world in WORLDS:
        rows += coverage(world, options.tournaments, options.resamples, options.seed, progress=True)
    show("Intervals of 95 % that contain the true rating", rows)
    settings = {name: value for name, value in vars(options).items() if name != "output"}
    settings["cpu_seconds"] = round(time.process_time() - began)
    save(
        "ratings-coverage",
        settings,
        {"worlds": rows},
        options.output,
    )


if __name__ == "__main__":
    main()
