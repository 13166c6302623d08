"""`tictac grade`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tictac_apps import cli
from tictac_apps.grading import assignments

FIRST = "def choose(cells, legal):\n    return legal[0]\n"
RUBRIC = 'game = "KInARow-v0:2x3-3,gravity=False"\n[[test]]\ntheorem = "never-illegal"\npoints = 2\n'


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a rubric and a class."""
    (tmp_path / "small.toml").write_text(RUBRIC)
    (tmp_path / "class").mkdir()
    (tmp_path / "empty").mkdir()
    (tmp_path / "class" / "anna.py").write_text(FIRST)
    (tmp_path / "class" / "bert.py").write_text("def choose(cells, legal):\n    return 7\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.bubblewrap
def test_a_submission_is_graded_in_each_format(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["grade", "class/anna.py", "--assignment", "small.toml"]
    assert cli.main(words) == 0
    assert capsys.readouterr().out.startswith("anna: ") and cli.main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["score"] == 2
    assert cli.main([*words, "--format", "gradescope", "--output", "results/results.json"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "results/results.json"
    assert json.loads((here / "results" / "results.json").read_text())["tests"][0]["status"] == "passed"
    assert cli.main(["grade", "empty", "--assignment", "small.toml", "--format", "gradescope"]) == 0
    assert "has no file submission.py" in json.loads(capsys.readouterr().out)["output"]
    assert cli.main([*words, "--cell", "never-illegal"]) == 0 and capsys.readouterr().out == "2.0\n"
    assert cli.main([*words, "--format", "nbgrader"]) == 0
    assert json.loads(capsys.readouterr().out)["student"] == "anna"


@pytest.mark.bubblewrap
def test_a_class_has_a_table_and_a_tournament(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["grade", "class", "--assignment", "small.toml", "--csv"]
    assert cli.main([*words, "--workers", "1", "--output", "grades.csv", "--tournament"]) == 0
    out = capsys.readouterr().out
    assert out.index("anna") < out.index("bert") and "bert forfeited" in out and "Elo" in out
    assert [line.split(",")[:3] for line in (here / "grades.csv").read_text().splitlines()[1:]] == [
        ["anna", "2", "2"],
        ["bert", "0", "2"],
    ]
    assert cli.main([*words[:-1], "--csv-games", "--tournament"]) == 0
    assert capsys.readouterr().out.startswith("game,first,second,result,forfeit,")
    assert cli.main([*words[:-1], "--csv-games"]) == 2 and "--tournament" in capsys.readouterr().err
    assert cli.main(["grade", "class/anna.py", "class/bert.py", "--assignment", "small.toml", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["grades"]) == 2


@pytest.mark.parametrize("why", ["no program bwrap is installed", "bwrap: setting up uid map: Permission denied"])
def test_nothing_unprotected_is_run_unless_it_is_asked_for(
    why: str, here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a system that lacks bubblewrap, or forbids it namespaces."""
    monkeypatch.setenv("PATH", str(here))
    if why.startswith("bwrap"):
        (here / "bwrap").write_text(f"#!/bin/sh\necho '{why}' >&2\nexit 1\n")
        (here / "bwrap").chmod(0o755)
    (here / "class" / "carl.py").write_text(f"open({str(here / 'was run')!r}, 'w')\n{FIRST}")
    for words in (["class"], ["class/carl.py"], ["class/carl.py", "--cell", "never-illegal"]):
        assert cli.main(["grade", *words, "--assignment", "small.toml"]) == 2
        out, err = capsys.readouterr()
        assert out == "" and why in err and "--unconfined" in err and err.count("\n") == 1
        assert not (here / "was run").exists()
    for words in (["class"], ["class/carl.py"], ["class/carl.py", "--cell", "never-illegal"]):
        assert cli.main(["grade", *words, "--assignment", "small.toml", "--unconfined"]) == 0
        assert "unconfined" in capsys.readouterr().out or words[-1] == "never-illegal"
    assert (here / "was run").exists()


def test_nothing_of_the_current_folder_is_imported(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "ours.py").write_text("raise SystemExit('a pupil wrote this')")
    (here / "small.toml").write_text('packages = ["ours"]\n' + RUBRIC)
    assert cli.main(["grade", "class/anna.py", "--assignment", "small.toml"]) == 2
    assert "'ours', which is not installed" in capsys.readouterr().err


def test_pupils_get_a_hand_out_and_a_file_to_begin_with(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["grade", "--assignment", "minimax", "--hand-out", "work"]
    assert cli.main(words) == 0
    assert {file.name for file in (here / "work").iterdir()} == {"handout.md", "submission.py"}
    assert cli.main(words) == 2, "work that is there is not overwritten"
    assert "exists already" in capsys.readouterr().err
    assert cli.main(["grade", "--list"]) == 0
    assert [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()] == assignments()
