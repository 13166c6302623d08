"""A full disk and a program that is ended: nothing is lost, and messages are clear."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import numpy as np
import pytest
from modes import full_disk

from tictac_apps import cli
from tictac_apps.cli.show import Installation, information
from tictac_env.progress import interruptible
from tictac_env.storage import load_arrays, save_arrays

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits, modes and signals are those of POSIX")


def test_on_a_full_disk_the_old_file_stays_and_no_part_of_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "agent.npz"
    save_arrays(path, "test", {"old": 1}, {"a": np.arange(3)})
    noise = np.random.default_rng(0).integers(0, 255, 100_000, np.uint8)
    with full_disk(10_000), pytest.raises(OSError):
        save_arrays(path, "test", {}, {"noise": noise})
    assert load_arrays(path, "test")[0] == {"old": 1}
    assert os.listdir(tmp_path) == [path.name]


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

    def work(*_: object, **__: object) -> Installation:
        with interruptible() as asked:
            signal.raise_signal(signal.SIGTERM)
            heard.append(asked())
        return information()

    monkeypatch.setattr("tictac_apps.cli.show.information", work)
    assert cli.main(["info", "--json"]) == 0
    assert heard == [True]
