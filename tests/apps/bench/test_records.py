"""Runs are kept as they end, whatever stops the program, and are confused with no others."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from conftest import breadth

from tictac_apps.bench import records
from tictac_apps.bench.records import (
    RunStore,
    compact,
    key_of,
    machine,
    processor_features,
    record_json,
    show,
    version_of,
)

ROOT = Path(__file__).parents[3]
JOBS = [{"learner": "Q", "seed": seed, "range": (0.5, seed / 7)} for seed in range(6)]


def work(settings: Mapping[str, Any]) -> dict[str, Any]:
    if settings["seed"] == 99:
        raise ArithmeticError("no such run")
    return {"share": settings["seed"] / 7, "process": os.getpid()}


def again(settings: Mapping[str, Any]) -> dict[str, Any]:
    raise AssertionError(f"{settings} was repeated")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "runs.jsonl"


def test_finished_runs_are_not_repeated_though_a_job_fails(path: Path) -> None:
    RunStore(path).complete(JOBS[:2], work)
    with pytest.raises(ArithmeticError, match="no such run"):
        RunStore(path).complete([*JOBS[:4], {"seed": 99}, *JOBS[4:]], work)
    store = RunStore(path)
    assert store.missing(JOBS) == JOBS[4:]
    store.complete(JOBS[:4], again)
    assert sorted(results["share"] for _, results in RunStore(path)) == [seed / 7 for seed in range(4)]
    assert all(results["process"] != os.getpid() for _, results in store)


def test_other_settings_are_another_run(path: Path) -> None:
    store, settings = RunStore(path), {"seed": 0, "rate": 0.1}
    store.add(settings, {"wins": 1})
    assert dict(reversed(settings.items())) in store
    for other in ({"seed": 0}, settings | {"rate": 0.2}, settings | {"games": 5}, settings | {"seed": "0"}):
        assert other not in store and other not in RunStore(path)
        with pytest.raises(KeyError):
            store[other]
    store.add(settings, {"wins": 2})
    assert store[settings] == RunStore(path)[settings] == {"wins": 2}
    store.remove([settings])
    assert not len(store) and not len(RunStore(path))


@pytest.mark.parametrize("cut", [1, 5, 60])
def test_a_line_that_was_cut_off_counts_as_not_written_and_a_damaged_one_is_named(cut: int, path: Path) -> None:
    store = RunStore(path)
    for settings in JOBS:
        store.add(settings, {"share": settings["seed"] / 7})  # type: ignore[operator]
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    torn = RunStore(path)
    assert torn.missing(JOBS) == JOBS[-1:]
    torn.add(JOBS[-1], {"share": 5 / 7})
    assert path.read_bytes() == whole
    path.write_bytes(whole.replace(b'"results"', b'"result"', 1))
    with pytest.raises(ValueError, match=r"line 1 of .* is no run"):
        RunStore(path)


LAYOUT = """{
"seed": 0,
"games": [
{
"pairs": [
{"player": "a", "shares": [0.5, [1]]},
{"player": "b", "shares": []}
],
"empty": {}
}
]
}
"""
"""Each entry of a list on a line of its own, down to four levels."""


def test_a_record_has_a_line_for_each_entry_of_a_list() -> None:
    pairs = [{"player": "a", "shares": [0.5, [1]]}, {"player": "b", "shares": ()}]
    content = {"seed": 0, "games": [{"pairs": pairs, "empty": {}}]}
    assert record_json(content) == LAYOUT
    assert json.loads(record_json(content)) == json.loads(json.dumps(content))


def test_runs_are_told_apart_by_their_settings_whatever_their_order() -> None:
    assert key_of({"b": 1, "a": (1, 2)}) == key_of({"a": [1, 2], "b": 1}) != key_of({"a": [1, 2], "b": 2})
    assert compact({"a": [1, 2], "b": Path("x")}) == '{"a":[1,2],"b":"x"}'


def test_a_table_shows_numbers_as_people_read_them(capsys: pytest.CaptureFixture[str]) -> None:
    show("Runs", [{"player": "rule", "games": 12_345, "share": 0.123456, "exact": True, "positions": 1000.4}])
    title, *rows = [line.strip() for line in capsys.readouterr().out.splitlines()]
    cells = [[cell.strip() for cell in re.split("[│┃]", row)[1:-1]] for row in rows if re.search("[│┃]", row)]
    assert title == "Runs" and cells[0] == ["player", "games", "share", "exact", "positions"]
    assert cells[1] == ["rule", "12,345", "0.1235", "yes", "1,000"]


CPUINFO = """processor\t: 0
vendor_id\t: Maker
cpu family\t: 6
model\t\t: 85
model name\t: Maker One: 2 GHz
flags\t\t: fpu sse4_1 avx2 sse ssse3 fma

processor\t: 1
vendor_id\t: Other
"""


def test_a_machine_is_told_by_its_processor_and_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cpuinfo").write_text(CPUINFO)
    files = {"/proc/cpuinfo": tmp_path / "cpuinfo"}
    monkeypatch.setattr(records, "Path", files.__getitem__)
    assert machine()["processor"] == "Maker One: 2 GHz"
    assert processor_features() == "Maker 6 85 avx2 fma sse sse4_1 ssse3"
    files["/proc/cpuinfo"] = tmp_path / "missing"
    assert processor_features().split() == []
    found = machine()
    assert found["cores"] == os.cpu_count() and found["packages"]["numpy"] == version_of("numpy")
    assert version_of("no-such-package-here") is None and "no-such-package-here" not in found["packages"]


SLOW = """
import sys, time
from pathlib import Path
from tictac_apps.bench.records import RunStore
def work(settings):
    (Path(sys.argv[1]).parent / f"begun {settings['seed']}").touch()
    time.sleep(settings["seconds"])
    return {}
RunStore(sys.argv[1]).complete([{"seed": n, "seconds": float(sys.argv[2])} for n in range(20)], work, workers=2)
"""


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is sent to a process group")
@pytest.mark.parametrize(("presses", "seconds"), breadth([(1, 0.5)], [(2, 60)]))
def test_ctrl_c(presses: int, seconds: float, tmp_path: Path) -> None:
    """A first one lets the jobs in progress end and keeps them; a second one ends the program at once."""
    path = tmp_path / "runs.jsonl"
    command = [sys.executable, "-c", SLOW, str(path), str(seconds)]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while len(list(tmp_path.glob("begun *"))) < 2:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    for _ in range(presses):
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.2)
    _, errors = process.communicate(timeout=30)
    assert process.returncode != 0 and errors.rstrip().endswith("KeyboardInterrupt")
    begun = len(list(tmp_path.glob("begun *")))
    assert len(RunStore(path)) == (begun if presses == 1 else 0) and 2 <= begun < 20


@pytest.mark.parametrize(("width", "heads"), [(120, ["player", "score", "search"]), (40, ["player", "score"])])
def test_columns_that_do_not_fit_a_terminal_are_left_out(
    width: int, heads: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    row = {"player": "mcts:1000", "score": 0.5, "search": "1,000 simulations, one-move rule in rollouts"}
    show("ratings", [row], least=2)
    lines = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out).splitlines()
    assert lines[2].replace("┃", " ").split() == heads
    assert all(len(line) <= width for line in lines) and any("mcts:1000" in line for line in lines)
