"""A full disk, a folder that cannot be written to, a program that is ended: nothing is lost, and messages are clear."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from modes import BOUND_BY_MODES

from tictac_apps import cli
from tictac_env.progress import interruptible
from tictac_env.storage import load_arrays, save_arrays

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits, modes and signals are those of POSIX")

FULL = """
import resource, sys
import numpy as np
from tictac_env.storage import save_arrays
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
noise = np.random.default_rng(0).integers(0, 255, 100_000, np.uint8)
save_arrays(sys.argv[1], "test", {}, {"noise": noise})
"""
"""No file may get longer than 10,000 bytes: for the program that is like a disk which is full."""


def python(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)


def test_on_a_full_disk_the_old_file_stays_and_no_part_of_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "agent.npz"
    save_arrays(path, "test", {"old": 1}, {"a": np.arange(3)})
    done = python("-c", FULL, path)
    assert done.returncode == 1 and "OSError" in done.stderr.splitlines()[-1]
    assert load_arrays(path, "test")[0] == {"old": 1}
    assert os.listdir(tmp_path) == [path.name]


def test_a_folder_that_cannot_be_written_to_is_named_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "old.svg").write_text("old")
    command = ["-m", "tictac_apps", "render", "4253", "--output", str(tmp_path / "old.svg")]
    try:
        tmp_path.chmod(0o555)
        done = python("-c", BOUND_BY_MODES, *command)
    finally:
        tmp_path.chmod(0o755)
    if done.returncode == 0:
        pytest.skip("modes do not bind this user")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("tictac: [Errno 13] Permission denied: ") and done.stderr.count("\n") == 1
    assert str(tmp_path) in done.stderr
    assert os.listdir(tmp_path) == ["old.svg"] and (tmp_path / "old.svg").read_text() == "old"


needs_main_thread = pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="Python delivers signals to the main thread only"
)


@needs_main_thread
@pytest.mark.parametrize("ignored", [False, True], ids=["in the foreground", "begun with Ctrl-C ignored"])
def test_sigterm_ends_a_command_as_ctrl_c_does(
    ignored: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tictac_apps.cli.show.information", lambda *_, **__: signal.raise_signal(signal.SIGTERM))
    before = signal.getsignal(signal.SIGTERM)
    pressed = signal.signal(signal.SIGINT, signal.SIG_IGN) if ignored else None
    try:
        assert cli.main(["info"]) == 130
    finally:
        if ignored:
            signal.signal(signal.SIGINT, pressed)
    assert capsys.readouterr().err == "tictac: stopped\n"
    assert signal.getsignal(signal.SIGTERM) is before


@needs_main_thread
def test_sigterm_asks_work_that_can_stop_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = []

    def work(*_: object, **__: object) -> dict[str, str]:
        with interruptible() as asked:
            signal.raise_signal(signal.SIGTERM)
            heard.append(asked())
        return {}

    monkeypatch.setattr("tictac_apps.cli.show.information", work)
    assert cli.main(["info", "--json"]) == 0
    assert heard == [True]


@pytest.mark.slow
def test_a_training_that_sigterm_ends_keeps_what_is_learned(tmp_path: Path) -> None:
    path = tmp_path / "q.npz"
    words = ["train", "QLearning", "--total-episodes", "1000000000", "--save", str(path)]
    with subprocess.Popen(
        [sys.executable, "-m", "tictac_apps", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None and process.stdout.readline()  # what is going to be trained
            time.sleep(5)
            process.terminate()
            _, errors = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == 0, errors
    assert load_arrays(path, "tictac_agents.QLearning")[1]
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.slow
def test_a_tournament_that_sigterm_ends_goes_on_from_its_store(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tictac_apps", "tournament", "mcts:2000", "mcts:1000", "random"]
    words += ["--game", "ConnectFour-v0", "--games", "40000", "--store", str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            time.sleep(20)
            process.terminate()
            _, errors = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == 130
    assert "the same command continues from there" in errors and errors.endswith("tictac: stopped\n")
