"""The zip of an autograder, run in a clean folder as the service would."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from json_schema import errors
from teaching import SMALL, starter

import tictac_env
from tictac_apps.grading.autograder_zip import MODULES, make_zip


def unpacked(folder: Path, archive: Path) -> None:
    """As the service does: the zip goes to `source`, and `run_autograder` beside it."""
    with zipfile.ZipFile(archive) as found:
        for one in found.infolist():
            target = folder / "source" / one.filename
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(found.read(one))
            target.chmod(one.external_attr >> 16 & 0o777 or 0o644)
    (folder / "source" / "run_autograder").rename(folder / "run_autograder")
    (folder / "submission").mkdir()


def run(folder: Path, script: str, **variables: str) -> None:
    known = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    done = subprocess.run(
        [str(folder / script)],
        env=known | {"AUTOGRADER_ROOT": str(folder), **variables},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_zip_grades_in_a_clean_folder(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    size = make_zip(tmp_path / "small.toml", tmp_path / "small.zip")
    assert size == (tmp_path / "small.zip").stat().st_size
    unpacked(tmp_path / "autograder", tmp_path / "small.zip")
    root = tmp_path / "autograder"
    assert (root / "source" / "setup.sh").stat().st_mode & 0o111 and (root / "run_autograder").stat().st_mode & 0o111
    pins = (root / "source" / "requirements.txt").read_text().splitlines()
    assert f"numpy=={importlib.metadata.version('numpy')}" in pins and all("==" in pin for pin in pins)
    script = (root / "run_autograder").read_text()
    assert "-P -m tictac_apps grade" in script, "it imports nothing of the current folder"
    assert {*os.listdir(root / "source" / "package")} == {*MODULES, f"tictac_env-{tictac_env.__version__}.dist-info"}
    (root / "submission" / "mine.py").write_text("def choose(cells, legal):\n    return legal[0]\n")
    run(root, "run_autograder", AUTOGRADER_PYTHON=sys.executable, PYTHONPATH=str(root / "source" / "package"))
    told = json.loads((root / "results" / "results.json").read_text())
    schema = json.loads((Path(__file__).parent / "schemas" / "gradescope.json").read_text())
    assert errors(told, schema) == [] and told["tests"][0]["status"] == "passed"
    assert not told["extra_data"]["confined"], "the container of the service confines it"


def test_missing_wheels_are_named(tmp_path: Path) -> None:
    (tmp_path / "numpy-0.1-cp311-cp311-linux_x86_64.whl").write_bytes(b"")
    with pytest.raises(ValueError, match=rf"has no wheels of .*numpy {importlib.metadata.version('numpy')}"):
        make_zip("minimax", tmp_path / "x.zip", tmp_path)
    assert not (tmp_path / "x.zip").exists()


@pytest.mark.slow
def test_the_set_up_installs_from_wheels_alone(tmp_path: Path) -> None:
    """The whole way of the service, with a fresh virtual environment and no index."""
    make_zip("minimax", tmp_path / "pins.zip")
    with zipfile.ZipFile(tmp_path / "pins.zip") as archive:
        (tmp_path / "requirements.txt").write_bytes(archive.read("requirements.txt"))
    words = ["download", "--quiet", "-r", str(tmp_path / "requirements.txt"), "-d", str(tmp_path / "wheels")]
    done = subprocess.run([sys.executable, "-m", "pip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no wheels to be had: {done.stderr[-200:]}")
    make_zip("minimax", tmp_path / "minimax.zip", tmp_path / "wheels")
    root = tmp_path / "autograder"
    unpacked(root, tmp_path / "minimax.zip")
    run(root, "source/setup.sh", PIP_NO_INDEX="1", PIP_NO_COMPILE="1")
    (root / "submission" / "submission.py").write_bytes(starter("minimax").read_bytes())
    run(root, "run_autograder")
    told = json.loads((root / "results" / "results.json").read_text())
    assert told["output"].endswith(tictac_env.__version__) and 0 < told["score"] < 20 and len(told["tests"]) == 8
