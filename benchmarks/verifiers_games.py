"""CPU seconds of a game in verifiers, against a scripted server of a language model.

    python benchmarks/verifiers_games.py [--games 100] [--repeats 3] [--output FOLDER]

The server is a process of its own (see text_sessions.py), whose CPU time does not count. That of this process does, and
that of the processes that it starts. The games of a repeat run at once, as many as verifiers runs by default. No game
may fail. verifiers must be installed. Two minutes.
"""

from __future__ import annotations

import asyncio
import os
import time
from statistics import median

from benchmarks.records import add_output, parser_of, positive, save
from benchmarks.text_sessions import served
from tictac_apps.bench.records import Row, show
from tictac_env.progress import track

CASES = (("TicTacToe-v0", "perfect:0.5"), ("TicTacToe-v0", "ladder"), ("TicTacToe-v0", ""))
"""The game and the opponent of each row; without an opponent the model plays itself."""
AT_ONCE = 128


def cpu_seconds() -> float:
    """The CPU time of this process and of those that it has started and that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


async def play(port: int, game: str, opponent: str, seeds: range) -> int:
    """Plays the games of some seeds at once; the number of answers.

    Raises:
        SystemExit: a game has failed.
    """
    import verifiers.v1 as vf
    from verifiers.v1.utils.loaders import load_environment, resolve_env_config

    taskset = {"id": "tictac-verifiers", "game": game, "opponent": opponent, "size": len(seeds), "seed": seeds.start}
    environment = load_environment(resolve_env_config({"taskset": taskset}))
    client = vf.EvalClientConfig(base_url=f"http://127.0.0.1:{port}/v1", api_key_var="NO_KEY")
    context = vf.ModelContext(model="scripted", client=client, sampling=vf.SamplingConfig())
    gate = asyncio.Semaphore(AT_ONCE)
    async with environment.serving():
        slots = [environment.run_slot(environment.slots(task)[0], context, gate) for task in environment.taskset]
        episodes = await asyncio.gather(*slots)
    if failed := [episode for episode in episodes if not episode.ok]:
        raise SystemExit(f"{len(failed)} of {len(episodes)} games failed: {failed[0].errors}")
    return sum(trace.num_turns for episode in episodes for trace in episode.traces)


def measure(port: int, case: tuple[str, str], games: int, repeats: int) -> Row:
    """The figures of a row: medians of the repeats."""
    game, opponent = case
    asyncio.run(play(port, game, opponent, range(2)))  # imports, and loads the machine code
    seconds, cpu, answers = [], [], 0
    for repeat in range(1, repeats + 1):
        began, cpu_began = time.perf_counter(), cpu_seconds()
        answers += asyncio.run(play(port, game, opponent, range(repeat * games, (repeat + 1) * games)))
        seconds.append((time.perf_counter() - began) / games)
        cpu.append((cpu_seconds() - cpu_began) / games)
    return {
        "game": game,
        "opponent": opponent or "itself",
        "answers a game": round(answers / repeats / games, 1),
        "seconds a game": round(median(seconds), 4),
        "CPU s a game": round(median(cpu), 4),
    }


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--games", type=positive, default=100, help="of each repeat (default: %(default)s)")
    parser.add_argument("--repeats", type=positive, default=3, help="of each row (default: %(default)s)")
    add_output(parser)
    options = parser.parse_args()
    with served() as port:
        rows = [measure(port, case, options.games, options.repeats) for case in track(CASES, "rows")]
    show("games in verifiers", rows)
    settings = {"games": options.games, "repeats": options.repeats, "at once": AT_ONCE}
    save("verifiers-games", settings, {"games": rows}, options.output)


if __name__ == "__main__":
    main()
