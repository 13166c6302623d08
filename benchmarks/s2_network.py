"""What makes S2's network as good as published: everything as published, and with one thing changed at a time.

    python benchmarks/s2_network.py [--seeds 3] [--games 2000000] [--workers 2] [--output FOLDER]

Every finished run is kept in s2-network-runs.jsonl, and what is there is not run again. Results are exact. Writes
s2-network.json and a CSV file; then run tools/results_tables.py.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from benchmarks.published_runs import seat_figures
from benchmarks.report import RESULTS, Row, positive, processor_features, save, show
from benchmarks.reproduce import shares, spread
from benchmarks.run_store import RunStore, Settings
from tictac_agents import S2Network
from tictac_env.arena import verdict
from tictac_env.cli.arguments import add_workers, chosen_workers

GAMES = 2_000_000
"""Of each seat."""
OURS = {"order": "alternate", "legal_only": True, "relative": True}
VARIANTS: dict[str, dict[str, Any]] = {
    "as published": {},
    "a network for each seat": {"networks": 2},
    "seats alternate": {"order": "alternate"},
    "inputs own and other, not first and second": {"relative": True},
    "legal actions only": {"legal_only": True},
    "step size 0.025": {"learning_rate": 0.025},
    "step size 0.4": {"learning_rate": 0.4},
    "a quarter of the games": {"quarter": True},
    "alternate, own and other, legal only": OURS,
    "the same with a quarter of the games": OURS | {"quarter": True},
}
"""What is changed; the last two are, game by game, what the preset of `DQN` does in batches."""
PUBLISHED = {"training": "published", "first": "98.4 / 1.6 / 0.0", "second": "75.4 / 24.6 / 0.0"}


def main() -> None:
    options = parse_arguments()
    store = RunStore(options.output / "s2-network-runs.jsonl")
    store.complete(jobs_of(options.games, options.seeds), run, chosen_workers(options))
    rows = table(store, options.games)
    show("S2's network: won / drawn / lost against random play in per cent, median (range of the wins)", rows)
    settings = {"games a seat": options.games, "seeds": options.seeds}
    save("s2-network", settings, {"variants": rows}, options.output)
    print(f"written to {options.output}")


def settings_of(variant: str, games: int, seed: int) -> Settings:
    """All that decides a run."""
    changes = dict(VARIANTS[variant])
    games = games // 4 if changes.pop("quarter", False) else games
    made = S2Network.preset("S2", seed, **changes, games_a_seat=games).settings
    settings: Settings = json.loads(json.dumps({"variant": variant, **made}))
    return settings


def jobs_of(games: int, seeds: int) -> list[Settings]:
    """The settings of all runs, seed by seed."""
    return [settings_of(variant, games, seed) for seed in range(seeds) for variant in VARIANTS]


def run(settings: Settings) -> dict[str, Any]:
    """Trains and judges one network."""
    learner = S2Network(**{name: value for name, value in settings.items() if name != "variant"})
    began = time.process_time()
    learner.learn(2 * settings["games_a_seat"], progress_bar=False)
    spent = time.process_time() - began
    found = verdict(learner, "TicTacToe-v0", settings["seed"])
    return {
        "CPU-s": round(spent, 2),
        "exploitability": found.exploitability,
        "infallible": found.infallible,
        **seat_figures("first", found.as_first),
        **seat_figures("second", found.as_second),
        "processor": processor_features(),
    }


def table(store: RunStore, games: int) -> list[Row]:
    """A row for each variant that was run, and the published figures above them."""
    rows: list[Row] = [PUBLISHED | {"infallible": "", "CPU-s": ""}]
    for variant in VARIANTS:
        runs = [found for of, found in store if of == settings_of(variant, games, of["seed"])]
        if runs:
            rows.append(
                {
                    "training": variant,
                    "first": shares(runs, "first"),
                    "second": shares(runs, "second"),
                    "infallible": f"{sum(found['infallible'] for found in runs)} of {len(runs)}",
                    "CPU-s": spread([found["CPU-s"] for found in runs], ".0f"),
                }
            )
    return rows


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=positive, default=3, help="seeds of each row (default: %(default)s)")
    parser.add_argument("--games", type=positive, default=GAMES, help="of each seat (default: %(default)s)")
    add_workers(parser, 2)
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results (default: %(default)s)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
