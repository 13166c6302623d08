"""AlphaZero: proofs on small games, an hour of Connect Four, and what each part is worth.

    python -m benchmarks.alphazero proofs            # tic-tac-toe and four in a row on 4x5 and 5x4: some minutes
    python -m benchmarks.alphazero learn             # Connect Four: an hour on two cores a seed
    python -m benchmarks.alphazero search            # the networks that `learn` saved, with 100 ms of search a move
    python -m benchmarks.alphazero parts             # what each part is worth: an hour

proofs: an agent learns until it keeps the value of the game in every game that perfect replies allow, from both seats.
On tic-tac-toe the network alone, and with 16 simulations a move, have to be unbeatable by the exact verdict; on the
larger games it plays with the simulations of the training.

learn: judged along the run, always as the network alone: mistakes on positions of the choosing suite, and results
against perfect play. At the end the reporting suite is asked, and with 32 simulations a move too. Seconds are of the
clock, judging left out.

search: mistakes on the public set middle_medium, and on the opening part of the reporting suite, of tree search with
the network and of the same search with rollouts, at 100 ms a move and with equally many simulations.

parts: the agent of `learn` with one thing changed, all for the same CPU time, with a step that does not fall.

Finished runs are kept in alphazero-runs.jsonl and not repeated.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.records import (
    DATA,
    RESULTS,
    Clock,
    add_output,
    mistakes,
    mistakes_by_phase,
    parser_of,
    positive,
    save,
    save_picture,
    sets_in,
)
from tictac_agents import MCTS, AlphaZero
from tictac_agents.curves import new_figure
from tictac_apps.bench.records import Row, RunSettings, RunStore, show
from tictac_apps.bench.results import shares_text
from tictac_env.arena import exact_results, suite, verdict
from tictac_env.arena.suites import PHASES, Suite, phases
from tictac_env.games import get_game
from tictac_env.policies import Policy
from tictac_env.solver.enumerate import SMALL_CELLS
from tictac_env.storage import save_text

NAME, GAME = "alphazero", "ConnectFour-v0"
PICTURE = RESULTS.parents[1] / "docs" / "images" / f"{NAME}.png"
COMMANDS = ("proofs", "learn", "search", "parts")
CHOOSE, REPORT, PUBLIC = "C4-Choose-v1", "C4-Exact-v1", "middle_medium"
TWENTY = {"tuples": 80, "length": 8, "openings": 12, "simulations": 64, "scale": 0.2, "temperature_plies": 16}
"""For twenty cells: moves are drawn from soft policies, so that games try all moves that keep the draw."""
SMALL: dict[str, dict[str, dict[str, Any]]] = {
    "TicTacToe-v0": {
        "tuples": {"tuples": 12, "length": 6, "simulations": 16, "boards": 128},
        "residual": {"network": "residual", "simulations": 16, "boards": 128},
    },
    "KInARow-v0:5x4-4": {"tuples": TWENTY},
    "KInARow-v0:4x5-4": {"tuples": TWENTY},
}
"""The settings of the agents that learn a small game, by their names."""
JUDGED = {"TicTacToe-v0": (0, 16)}
"""The simulations a move of the players that are to keep the value; on other games as many as in training."""
SMALL_GAMES, EVERY = 150_000, {"TicTacToe-v0": 512}
"""Games at most of these, and games between two judgements, on other games 2,048."""
LARGE: dict[str, Any] = {"length": 8, "mix": 0.5, "boards": 1024, "window": 5, "final_step": 0.1}
"""The settings of the agent that learns Connect Four."""
GAMES, WORKERS = 2_000_000, 2
"""Games of a run, which take less than an hour on two idle cores, and threads that play."""
POINTS, FOLLOWED, SAMPLE = 16, 20_000, 400
"""Points of a curve; positions that are followed against perfect play, and games that are drawn if there are more."""
MINUTES = (1, 2, 5, 10, 20, 60)
"""Marked in the picture."""
SEARCH_MS, SIMULATIONS = 100, 1_000
"""The budgets of a move by a search."""
PARTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "PUCT's root": {"root": "puct", "temperature_plies": 10},
    "8 simulations": {"simulations": 8},
    "16 simulations": {"simulations": 16},
    "64 simulations": {"simulations": 64},
    "playout cap: a quarter with 64, else 8": {"simulations": 64, "full": 0.25, "quick": 8},
    "no symmetries": {"symmetric": False},
    "no wins and blocks without a search": {"tactics": False},
    "no random openings": {"openings": 0},
    "a window of 1 iteration": {"window": 1},
    "a window of 100": {"window": 100},
    "values by the games' results alone": {"mix": 0.0},
    "a residual network": {"network": "residual"},
}
"""The change in each row."""


def keeps_the_value(agent: Policy, game: str) -> bool:
    """True if an agent loses to no perfect reply, from both seats, in a game that is a draw; on a small one to none."""
    if get_game(game).cells <= SMALL_CELLS:
        return verdict(agent, game).unbeatable
    found = exact_results(agent, "perfect", game, progress=False)
    return found.exact and found.as_first.shares.losses == found.as_second.shares.losses == 0


def proof(settings: RunSettings) -> Row:
    """Learns a small game until it keeps the value."""
    agent = AlphaZero(settings["game"], **settings["settings"], seed=settings["seed"])
    AlphaZero(settings["game"], **settings["settings"], seed=0).learn(2, progress_bar=False)  # compiled
    clock, every = Clock(time.process_time), EVERY.get(settings["game"], 2_048)
    kept = dict.fromkeys(JUDGED.get(settings["game"], (agent.settings.simulations,)), False)

    def judged(learner: AlphaZero) -> bool:
        def judge() -> Row:
            return {str(sims): keeps_the_value(learner.playing_with(sims), settings["game"]) for sims in kept}

        if learner.num_games // every > (learner.num_games - learner.boards) // every:
            kept.update({int(sims): found for sims, found in clock.judging(judge).items()})
        return not all(kept.values())

    agent.learn(SMALL_GAMES, judged, progress_bar=False)
    return {"games": agent.num_games, "CPU-s": round(clock(), 2), "kept": all(kept.values())}


def v_perfect(agent: Policy) -> Row:
    """Shares in per cent of games won, drawn and lost against perfect play."""
    results = exact_results(agent, "perfect", GAME, max_positions=FOLLOWED, games=SAMPLE, progress=False)
    seats = {"first": results.as_first, "second": results.as_second}
    return {f"as {name} v perfect, W/D/L %": shares_text(seat.shares) for name, seat in seats.items()}


def learned(settings: RunSettings, models: Path) -> Row:
    """Learns Connect Four, and returns the curve and the results. The agent and its curve are saved now and then, and a
    run that was stopped continues from there.
    """
    path = models / f"{NAME}-{settings['seed']}.npz"
    kept, agent = path.with_suffix(".json"), None
    if path.exists() and kept.exists():
        found = AlphaZero.load(path, workers=settings["workers"])
        if (found.run_end, found.settings.seed) == (settings["games"], settings["seed"]) and not found.is_done:
            agent = found
    curve: list[Row] = json.loads(kept.read_text(encoding="utf-8")) if agent else []
    due = [round(share * settings["games"]) for share in np.geomspace(1e-2, 1, POINTS)]
    clock = Clock(time.monotonic, 60 * curve[-1]["minutes"] if curve else 0)

    def judged(learner: AlphaZero) -> None:
        def judge() -> Row:
            alone = learner.playing_with(0)
            found = {f"mistakes on {CHOOSE}, %": mistakes(alone, CHOOSE)}
            return found | {"32 simulations, %": mistakes(learner, CHOOSE)} | v_perfect(alone)

        due[:] = [games for games in due if not curve or games > curve[-1]["games"]]
        if due and learner.num_games >= due[0]:
            point = {"games": learner.num_games, "minutes": round(clock() / 60, 2)}
            curve.append(point | clock.judging(judge))
            learner.save(path)
            save_text(kept, json.dumps(curve) + "\n")
            print(curve[-1], flush=True)

    if agent:
        agent.resume(judged)
    else:
        agent = AlphaZero(GAME, **settings["settings"], seed=settings["seed"], workers=settings["workers"])
        agent.learn(settings["games"], judged)
    alone, searching = (mistakes_by_phase(one, REPORT) for one in (agent.playing_with(0), agent))
    row: Row = {"games": agent.num_games, "minutes": curve[-1]["minutes"]}
    row |= {f"alone, {name}, %": found for name, found in alone.items()}
    row |= {f"32 simulations, {name}, %": found for name, found in searching.items()}
    return row | v_perfect(agent.playing_with(0)) | {"curve": curve}


def openings() -> Suite:
    """The opening part of the reporting suite."""
    whole = suite(REPORT)
    chosen = np.flatnonzero(phases(whole.game, whole.plies) == PHASES.index("opening"))
    return Suite.of(f"{REPORT}, opening", [whole[int(i)] for i in chosen])


def searched(settings: RunSettings, models: Path, data: Path) -> Row:
    """The mistakes of a search, with the network of a run or with rollouts."""
    agent = None if settings["seed"] is None else AlphaZero.load(models / f"{NAME}-{settings['seed']}.npz")
    by: dict[str, Any] = {"exploration": settings["exploration"], "evaluator": agent} if agent else {}
    player = MCTS(milliseconds=SEARCH_MS, **by) if settings["unit"] == "ms" else MCTS(SIMULATIONS, **by)
    sets = {**sets_in(data, PUBLIC), f"{REPORT}, opening": openings()}
    return {f"{name}, %": mistakes(player, positions) for name, positions in sets.items()}


def part(settings: RunSettings) -> Row:
    """Learns for some CPU time with one thing changed."""
    changed = {**settings["settings"], "final_step": 1.0}
    agent = AlphaZero(GAME, **changed, seed=settings["seed"])
    AlphaZero(GAME, **changed, seed=0).learn(2, progress_bar=False)  # compiled
    clock = Clock(time.process_time)
    agent.learn(agent.MOST, lambda _: clock() < 60 * settings["minutes"], progress_bar=False)
    row: Row = {"games": agent.num_games, "CPU-s": round(clock())}
    row |= {f"alone, {CHOOSE}, %": mistakes(agent.playing_with(0), CHOOSE)}
    return row | {f"32 simulations, {CHOOSE}, %": mistakes(agent.playing_with(32), CHOOSE)}


def jobs_of(options: argparse.Namespace, command: str) -> list[RunSettings]:
    """The settings of all runs of a command."""
    seeds = range(options.seeds)
    if command == "proofs":
        return [
            {"run": command, "game": game, "network": name, "settings": settings, "seed": seed}
            for game, agents in SMALL.items()
            for name, settings in agents.items()
            for seed in seeds
        ]
    if command == "learn":
        run = {"settings": LARGE, "games": options.games, "workers": options.workers}
        return [{"run": command, **run, "seed": seed} for seed in seeds]
    if command == "search":
        how = {"exploration": 1.0}
        return [
            {"run": command, "player": name, "unit": unit, **how, "games": options.games, "seed": seed}
            for unit in ("ms", "simulations")
            for name, seed in [*((f"network of seed {one}", one) for one in seeds), ("rollouts", None)]
        ]
    return [
        {"run": command, "part": name, "settings": {**LARGE, **changes}, "minutes": options.minutes, "seed": 0}
        for name, changes in PARTS.items()
    ]


def work_of(settings: RunSettings, options: argparse.Namespace) -> Row:
    """The results of a run."""
    if settings["run"] == "proofs":
        return proof(settings)
    if settings["run"] == "learn":
        return learned(settings, options.models)
    return part(settings) if settings["run"] == "parts" else searched(settings, options.models, options.data)


def tables_of(store: RunStore) -> dict[str, list[Row]]:
    """A table for each command that has runs, and `curve`."""
    runs: dict[str, list[tuple[RunSettings, Row]]] = {}
    for settings, results in store:
        runs.setdefault(settings["run"], []).append((settings, results))
    tables = {
        "proofs": proofs_of(runs.get("proofs", [])),
        "learn": [row for settings, results in runs.get("learn", []) for row in players_of(settings["seed"], results)],
        "search": [{"player": one["player"], "a move": budget(one), **found} for one, found in runs.get("search", [])],
        "parts": [{"changed": settings["part"], **found} for settings, found in runs.get("parts", [])],
        "curve": [{"seed": one["seed"], **point} for one, found in runs.get("learn", []) for point in found["curve"]],
    }
    return {name: rows for name, rows in tables.items() if rows}


def proofs_of(runs: Sequence[tuple[RunSettings, Row]]) -> list[Row]:
    """A row for each game and network: in how many runs it kept the value, and what these took."""
    rows: list[Row] = []
    for key in dict.fromkeys((settings["game"], settings["network"]) for settings, _ in runs):
        found = [row for settings, row in runs if (settings["game"], settings["network"]) == key]
        kept = [row for row in found if row["kept"]]
        how = " and ".join(
            f"{sims} simulations" if sims else "alone" for sims in JUDGED.get(key[0], (TWENTY["simulations"],))
        )
        row: Row = {"game": key[0], "network": key[1], "a move": how, "kept the value": f"{len(kept)} of {len(found)}"}
        for name in ("games", "CPU-s"):
            values = sorted(one[name] for one in kept)
            row |= {f"{name}, median": values[len(values) // 2], f"{name}, most": values[-1]} if values else {}
        rows.append(row)
    return rows


def players_of(seed: int, run: Row) -> list[Row]:
    """The rows of a run of `learn`: the network alone, and with a search."""
    about = {"seed": seed, "games": run["games"], "minutes": run["minutes"]}
    rows: list[Row] = []
    for player in ("alone", "32 simulations"):
        kept = {name.removeprefix(f"{player}, "): found for name, found in run.items() if name.startswith(player)}
        rows.append({**about, "a move": player, **kept})
    return rows


def budget(settings: RunSettings) -> str:
    return f"{SEARCH_MS} ms" if settings["unit"] == "ms" else f"{SIMULATIONS:,} simulations"


def plot(rows: Sequence[Row], path: Path) -> None:
    """Writes the curves of `learn` to a PNG file."""
    figure = new_figure(9, 3.4)
    left, right = figure.subplots(1, 2)
    for seed in dict.fromkeys(row["seed"] for row in rows):
        own = [row for row in rows if row["seed"] == seed]
        minutes = [row["minutes"] for row in own]
        for name, colour, label in ((f"mistakes on {CHOOSE}, %", "C0", "alone"), ("32 simulations, %", "C1", None)):
            told = (label or "32 simulations a move") if seed == rows[0]["seed"] else None
            left.plot(minutes, [row[name] for row in own], colour, linewidth=1, label=told)
        won = [float(row["as first v perfect, W/D/L %"].split(" / ")[0]) for row in own]
        right.plot(minutes, won, "C0", linewidth=1)
    left.set(title=f"Mistakes on {CHOOSE}", xlabel="minutes on two cores", ylabel="%", xscale="log", ylim=(0, None))
    left.legend()
    right.set(title="Network alone, won as first v perfect play", xlabel="minutes on two cores", ylabel="% of games")
    right.set(xscale="log", ylim=(0, 100))
    for axis in (left, right):
        axis.set_xticks(MINUTES, [str(minutes) for minutes in MINUTES])
        axis.minorticks_off()
    save_picture(figure, path)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of(__doc__)
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("--seeds", type=positive, help="seeds 0, 1, ... (default: 5 of proofs, else 3)")
    parser.add_argument("--games", type=positive, default=GAMES, help="games of a run of `learn` (%(default)s)")
    parser.add_argument("--minutes", type=float, default=5, help="CPU minutes of a run of `parts` (%(default)s)")
    parser.add_argument("--workers", type=positive, default=WORKERS, help="threads that play (%(default)s)")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the public set (default: %(default)s)")
    parser.add_argument("--models", type=Path, default=Path("models"), help="folder of the agents of `learn`")
    add_output(parser)
    options = parser.parse_args(arguments)
    options.seeds = options.seeds or (5 if options.command == "proofs" else 3)
    options.models.mkdir(parents=True, exist_ok=True)
    store = RunStore(options.output / f"{NAME}-runs.jsonl")
    for settings in store.missing(jobs_of(options, options.command)):
        print(settings, flush=True)
        store.add(settings, work_of(settings, options))
    tables = tables_of(store)
    show(options.command, tables[options.command])
    save(NAME, {"games": options.games, "workers": options.workers}, tables, options.output)
    if "curve" in tables:
        plot(tables["curve"], PICTURE if options.output == RESULTS else options.output / PICTURE.name)


if __name__ == "__main__":
    main()
