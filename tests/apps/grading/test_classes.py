"""A class: the table, the ranking, the likeness of submissions, and the tournament."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from teaching import BLOCKER, FIRST, LAST, SMALL

from tictac_apps.grading import grade, load_rubric
from tictac_apps.grading.classes import ByAnswers, ClassReport, class_tournament, grade_class
from tictac_apps.grading.exam import questions_of
from tictac_apps.grading.process import Process
from tictac_apps.grading.submissions import handed_in_by_all
from tictac_env.position import symmetries

pytestmark = pytest.mark.bubblewrap

SOURCES = {"anna": FIRST, "bert": BLOCKER, "carl": FIRST + "# mine alone\n", "dora": LAST, "=emil": "def choose("}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> ClassReport:
    folder = tmp_path_factory.mktemp("class")
    (folder / "small.toml").write_text(SMALL)
    (folder / "handed_in").mkdir()
    for name, source in SOURCES.items():
        (folder / "handed_in" / f"{name}.py").write_text(source)
    rubric = load_rubric(folder / "small.toml")
    return grade_class(handed_in_by_all([folder / "handed_in"], rubric.file), rubric, jobs=2)


def test_the_best_come_first(report: ClassReport) -> None:
    names = [found.submission for found in report.grades]
    assert names[0] == "bert" and names[-1] == "=emil" and set(names) == set(SOURCES)
    scores = [found.score for found in report.grades]
    assert scores == sorted(scores, reverse=True)
    for name in SOURCES:
        assert name in str(report)
    assert "=emil" in str(report) and "cannot be loaded: SyntaxError" in str(report)
    assert "unconfined" not in str(report)


def test_a_table_has_all_points(report: ClassReport) -> None:
    rows = {row["submission"]: row for row in csv.DictReader(io.StringIO(report.to_csv()))}
    assert set(rows) == {*SOURCES, "'=emil"} - {"=emil"}, "a spreadsheet would take =emil for a formula"
    assert rows["'=emil"]["trouble"] == "cannot be loaded: SyntaxError: '(' was never closed (=emil.py, line 1)"
    assert all(row["trouble"] for row in rows.values() if float(row["score"]) < 10)
    for found in report.grades[:-1]:
        assert rows[found.submission]["confined"] == "true"
        row = rows[found.submission]
        assert float(row["score"]) == found.score and float(row["mistakes"]) == pytest.approx(found.mistakes, abs=1e-5)
        assert [float(row[f"points: {result.cell}"]) for result in found.results] == [r.earned for r in found.results]


def test_copies_are_found_by_their_moves(report: ClassReport) -> None:
    alike = report.likenesses[0]
    assert {alike.submission, alike.other} == {"anna", "carl"} and (alike.same, alike.same_mistakes) == (1, 1)
    assert len(report.likenesses) == 6, "who cannot be run is like nobody"
    assert report.likenesses[-1].same < 0.9 and "anna and carl: 100.0 %" in str(report)


def test_a_tournament_is_played_by_answers(report: ClassReport) -> None:
    played = class_tournament(report)
    assert set(played.names) == set(SOURCES) and played.total("bert").score > played.total("dora").score
    assert {game.forfeited_by for game in played.forfeits} == {"=emil"}
    assert all("SyntaxError" in game.forfeit for game in played.forfeits)


def test_answers_stand_for_images_of_positions_not_asked() -> None:
    rubric = load_rubric("mcts")
    questions = questions_of(rubric.game)
    rows = [int(row) for row in questions.different.nonzero()[0] if not questions.over[row]]
    player = ByAnswers(rubric.game, {row: int(questions.legal[row].argmax()) for row in rows})
    for row in range(0, len(questions.batch), 7):
        if not questions.over[row]:
            position = questions.batch[row]
            action = player.act(position, 0)
            assert action in position.legal_actions
            images = {
                (image.own, image.opp, symmetry.actions[action])
                for image, symmetry in zip(position.symmetric(), symmetries(rubric.game), strict=True)
            }
            assert any(
                questions.table.index[own, opp] in rows
                and move == questions.legal[questions.table.index[own, opp]].argmax()
                for own, opp, move in images
            )


def test_folders_of_nbgrader_are_seen_through(tmp_path: Path) -> None:
    for student in ("anna", "bert"):
        (tmp_path / student / "ps1").mkdir(parents=True)
        (tmp_path / student / "ps1" / "submission.py").write_text(FIRST)
    (tmp_path / ".hidden").mkdir()
    assert handed_in_by_all([tmp_path], "submission.py") == {name: tmp_path / name / "ps1" for name in ("anna", "bert")}
    with pytest.raises(ValueError, match="there are no submissions"):
        handed_in_by_all([tmp_path / ".hidden"], "submission.py")


@pytest.mark.parametrize("other", ["bob", "bob.ipynb", "sub/bob.py"])
def test_two_of_a_name_are_refused(other: str, tmp_path: Path) -> None:
    (tmp_path / "class" / "sub").mkdir(parents=True)
    (tmp_path / "class" / "bob.py").write_text(FIRST)
    if other == "bob":
        (tmp_path / "class" / "bob").mkdir()
    else:
        (tmp_path / "class" / other).write_text(FIRST)
    paths = [tmp_path / "class", *([tmp_path / "class" / other] if "/" in other else [])]
    with pytest.raises(ValueError, match=r"two submissions are called 'bob': .*bob.* and .*bob"):
        handed_in_by_all(paths, "submission.py")


def test_a_name_cannot_forge_a_line_of_the_table(tmp_path: Path) -> None:
    (tmp_path / "class" / "eve\nann  10 of 10\x1b[2J").mkdir(parents=True)
    ((name, path),) = handed_in_by_all([tmp_path / "class"], "submission.py").items()
    assert name == "eve ann 10 of 10?[2J" and path.is_dir()
    found = grade(path, "minimax")
    assert found.submission == name and found.reason == f"{name} has no file submission.py"


def test_links_to_the_work_of_others_get_nothing(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "solution").mkdir()
    (tmp_path / "solution" / "submission.py").write_text(BLOCKER)
    (tmp_path / "class" / "dan" / "ps1").mkdir(parents=True)
    (tmp_path / "class" / "ann").symlink_to(tmp_path / "solution")
    (tmp_path / "class" / "bob.py").symlink_to(tmp_path / "solution" / "submission.py")
    (tmp_path / "class" / "cid").mkdir()
    (tmp_path / "class" / "cid" / "ps1").symlink_to(tmp_path / "solution")
    (tmp_path / "class" / "dan" / "ps1" / "more").symlink_to(tmp_path / "solution")
    (tmp_path / "class" / "dan" / "ps1" / "submission.py").symlink_to(tmp_path / "solution" / "submission.py")
    (tmp_path / "others" / "ps1").mkdir(parents=True)
    (tmp_path / "others" / "ps1" / "submission.py").write_text(BLOCKER)
    (tmp_path / "class" / "eli").symlink_to(tmp_path / "others")
    rubric = load_rubric(tmp_path / "small.toml")
    found = grade_class(handed_in_by_all([tmp_path / "class"], rubric.file), rubric).grades
    told = {"ann": "ann is a link", "bob": "bob.py is a link", "cid": "ps1 is a link", "dan": "ps1 has no file"}
    told["eli"] = "eli is a link"
    assert {one.submission: one.score for one in found} == dict.fromkeys(told, 0.0)
    assert all(one.reason.startswith(told[one.submission]) for one in found)


def test_an_error_of_the_system_costs_one_submission_and_not_the_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    for name in ("ann", "bob"):
        (tmp_path / f"{name}.py").write_text(BLOCKER)

    def stop(process: Process) -> None:
        whole(process)
        if process.source.name == "ann.py":
            raise OSError(22, "Invalid argument")

    whole = Process.stop
    monkeypatch.setattr(Process, "stop", stop)
    found = grade_class(
        {name: tmp_path / f"{name}.py" for name in ("ann", "bob")}, load_rubric(tmp_path / "small.toml")
    )
    assert {one.submission: one.reason for one in found.grades}["ann"] == "[Errno 22] Invalid argument"
    assert found.grades[0].submission == "bob" and found.grades[0].score > 8
