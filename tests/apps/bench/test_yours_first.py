"""The user's players come first: their verdicts, then their places, before anything is trained; and without training.

And the same as a function, `tictac_apps.benchmark.benchmark`.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from tictac_apps.bench.bench_record import BenchRecord, read_record
from tictac_apps.bench.cast import OPPONENTS
from tictac_apps.bench.records import RunStore
from tictac_apps.benchmark import BenchmarkResult, benchmark
from tictac_apps.cli import main
from tictac_env.policies import make_policy

TTT = "TicTacToe-v0"
BOTS = """
import os, time

def lowest(observation, mask):
    print("which one?")
    return int(mask.argmax())

def slow(observation, mask):
    time.sleep(0.02)
    return int(mask.argmax())

def throws(observation, mask):
    if observation.sum() > 4:
        raise RuntimeError("no idea")
    return int(mask.argmax())

def forks(observation, mask):
    if observation.sum() > 4:
        os.fork()
    return int(mask.argmax())
"""
NAMES = [f"bots.py:{name}" for name in ("lowest", "throws", "forks")]
SMALL = ["--game", TTT, "--games", "4", "--positions", "200", "--workers", "1", "--time-limit", "5"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("yours")
    (here / "bots.py").write_text(BOTS)
    return here


@pytest.fixture(scope="module")
def quick(folder: Path) -> BenchRecord:
    """The record of a quick run with three players of a user's, which prints to `out.txt` and `err.txt`."""
    words = ["bench", *NAMES, "--game", TTT, "--quick", "--workers", "1", "--store", "out"]
    with (
        pytest.MonkeyPatch.context() as patch,
        (folder / "out.txt").open("w") as out,
        (folder / "err.txt").open("w") as err,
    ):
        patch.chdir(folder)
        patch.setattr("tictac_env.jobs.ATTEMPTS", 1)  # workers that one player may end: each takes a second to start
        with redirect_stdout(out), redirect_stderr(err):
            assert main(words) == 0
    return read_record(folder / "out" / "results.json")


def test_each_verdict_is_printed_before_any_game_and_then_its_place(quick: BenchRecord, folder: Path) -> None:
    out, err = ((folder / name).read_text() for name in ("out.txt", "err.txt"))
    steps = [
        *(
            "bots.py:lowest on Tic-tac-toe:\n",
            "as first it is beaten in",
            "??",
            "v perfect, W/D/L %",
            "v random, W/D/L %",
        ),
        *("mistakes: ", "bots.py:throws on Tic-tac-toe:\n  it could not be judged: RuntimeError: no idea"),
        *("bots.py:lowest: place ", "bots.py:throws: place ", "Tic-tac-toe: ratings, "),
    ]
    places = [out.index(step) for step in steps]
    assert places == sorted(places)
    assert "which one?" not in out + err and "which one?" in (folder / "out" / "log.txt").read_text()
    assert "judged on 10,000 positions, then 40 games against each of 10 opponents" in err
    assert "the cast" not in err and "round robin" not in err


def test_without_training_only_the_users_part_is_made(quick: BenchRecord, folder: Path) -> None:
    (results,) = quick.games
    assert {agent.name for agent in results.agents} == {*OPPONENTS[TTT], *NAMES}
    assert {agent.name for agent in results.agents if agent.origin == "run"} == set(NAMES)
    assert all(agent.verdict and agent.rating.games == 40 * 11 for agent in results.agents if agent.name not in NAMES)
    assert all(agent.training is None for agent in results.agents) and quick.settings.setting == "quick"
    assert len(RunStore(folder / "out" / "judged-runs.jsonl")) == 3
    rating = results["bots.py:lowest"].rating
    assert rating.low is not None and rating.high is not None and rating.low < (rating.elo or 0) < rating.high
    assert {forfeit.player for forfeit in results.forfeits} == {"bots.py:throws"}
    page = (folder / "out" / "report.html").read_text()
    assert "came with the package" in page


def test_a_player_that_forks_costs_only_itself(quick: BenchRecord) -> None:
    (results,) = quick.games
    assert results["bots.py:forks"].failure and results["bots.py:forks"].rating.games == 0
    assert results["bots.py:lowest"].verdict is not None and results["bots.py:lowest"].rating.games == 440


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_a_terminated_run_says_what_it_waits_for_and_continues(folder: Path) -> None:
    command = [sys.executable, "-m", "tictac_apps", "bench", "bots.py:slow", *SMALL, "--quick", "--store", "stopped"]
    command += ["--against", "random", "minimax"]
    program = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with program:
        assert program.stderr is not None and "yours, Tic-tac-toe" in program.stderr.readline()
        time.sleep(0.3)  # a worker is judging now, for 100 seconds
        program.send_signal(signal.SIGTERM)
        began = time.monotonic()
        _, words = program.communicate(timeout=60)
    assert program.returncode == 130 and words.endswith("tictac: stopped\n")
    assert "finishing 1 job, at most 3 s; press Ctrl-C again to stop now" in words
    assert 2 < time.monotonic() - began < 20  # 3 seconds, on a machine that has other things to do


def test_the_function_gives_the_result_of_the_command(quick: BenchRecord, capsys: pytest.CaptureFixture[str]) -> None:
    def lowest(observation: Any, mask: Any) -> int:
        return int(mask.argmax())

    result = benchmark(lowest, TTT, name="mine")
    (results,) = quick.games
    command = results["bots.py:lowest"]
    assert (result.agent.verdict, result.agent.measures) == (command.verdict, command.measures)
    assert result.agent.losing == command.losing and result.agent.rating.games == 400
    assert [agent.origin for agent in result.results.agents].count("run") == 1
    assert BenchmarkResult.from_json(result.to_json()) == result
    assert json.loads(result.to_json())["name"] == "mine"
    result.print()
    out = capsys.readouterr().out
    assert re.search(r"mine on Tic-tac-toe:\n  as first it is beaten in (.|\n)*place \d+ of 11, Elo ", out)


def test_the_picture_shows_all_players(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    result = benchmark("minimax-first", TTT, pair_games=4)
    figure = result.plot(tmp_path / "result.png")
    left, right = figure.axes
    labels = [tick.get_text() for tick in left.get_yticklabels()]
    assert labels == [agent.name for agent in reversed(result.results.agents)] and "minimax-first" in labels
    assert len(right.patches) == 3 and (tmp_path / "result.png").stat().st_size > 10_000
    assert result.agent.unbeatable("first") and result.agent.unbeatable("second")


def test_what_cannot_be_benchmarked_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'rule'.*another name"):
        benchmark("rule", TTT)
    with pytest.raises(ValueError, match="Chess-v0"):
        benchmark("rule", "Chess-v0")
    assert benchmark(make_policy("rule", TTT), TTT, name="mine", pair_games=2).agent.rating.games == 20
