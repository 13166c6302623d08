"""`tictac audit`, `tictac prove` and `tictac tournament`."""

from __future__ import annotations

import csv
import io
import json
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from tictac_agents import QLearning
from tictac_apps import cli
from tictac_env import audit, round_robin, verdict
from tictac_env.arena import Audit, ResultStore, Verdict, prove, read_proof, sampled_openings

TTT = "TicTacToe-v0"


BOT = 'while read -r moves cells side seed; do before=${cells%%.*}; echo "$((${#before} + 1))"; done\n'
"""A program in the shell that plays the first free cell."""


def audited(capsys: pytest.CaptureFixture[str], *words: str) -> Audit:
    assert cli.main(["audit", *words, "--json"]) == 0
    return Audit.from_json(capsys.readouterr().out)


def assert_same(found: Audit, wanted: Verdict) -> None:
    assert found.verdict is not None
    assert found.verdict.exploitability == wanted.exploitability and found.verdict.basis == wanted.basis
    assert (found.verdict.as_first, found.verdict.as_second) == (wanted.as_first, wanted.as_second)


def test_an_agents_file_has_a_card_beside_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    agent = QLearning(TTT, seed=0).learn(total_episodes=200, progress_bar=False)
    agent.save(tmp_path / "q.npz")
    found = audited(capsys, str(tmp_path / "q.npz"), "--card")
    assert_same(found, verdict(agent))
    assert Audit.from_json((tmp_path / "verdict.json").read_text()) == found
    assert (tmp_path / "README.md").read_text().startswith("# q on ")


def test_a_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bot.sh").write_text(BOT)
    found = audited(capsys, f"program:sh {tmp_path / 'bot.sh'}", "--time-limit", "20")
    assert_same(found, verdict(lambda observation, mask: mask.argmax()))


def test_what_a_player_prints_is_no_part_of_the_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "loud.py").write_text(
        "print('hello')\ndef act(board, mask):\n    print(board)\n    return int(mask.argmax())\n"
    )
    words = [f"{tmp_path / 'loud.py'}:act", "--observation", "board", "--quick"]
    assert cli.main(["audit", *words, "--json"]) == 0
    out, err = capsys.readouterr()
    assert Audit.from_json(out).player.checkpoint_sha256 and "hello" in err


def test_a_tournament_takes_them_too_with_names_and_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bot.sh").write_text(BOT)
    (tmp_path / "mine.py").write_text("def agent(observation, configuration):\n    return observation.board.index(0)\n")
    players = ["program:sh bot.sh --depth=4", "kaggle=kaggle:mine.py", "random"]
    assert cli.main(["tournament", *players, "--games", "4", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {row["player"] for row in found["ratings"]} == {"program:sh bot.sh --depth=4", "kaggle", "random"}
    assert found["games"] == 12 and found["forfeits"] == []


def test_an_audit_is_that_of_python(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["audit", "rule", "--opponent", "random", "--opponent", "rule", "--games", "6", "--json"]
    assert cli.main(words) == 0
    found = Audit.from_json(capsys.readouterr().out)
    wanted = audit("rule", TTT, opponents=["random", "rule"], games=6)
    assert found.verdict == wanted.verdict and found.measures == wanted.measures and found.matches == wanted.matches


@pytest.mark.parametrize("width", [80, 120])
def test_an_audit_fits_the_terminal_and_has_colours_there_only(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert cli.main(["audit", "rule"]) == 0
    plain = capsys.readouterr().out
    assert width - 20 < max(map(len, plain.splitlines())) <= width and "\x1b" not in plain
    assert all(f"{term}: " in " ".join(plain.split()) for term in ("Gain", "'v perfect'", "Exploitability"))
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert cli.main(["audit", "rule"]) == 0
    assert "\x1b" in capsys.readouterr().out


def test_an_audit_prints_as_a_table_of_any_player(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    QLearning(TTT, seed=0).learn(total_episodes=50, progress_bar=False).save(tmp_path / "pupil.npz")
    (tmp_path / "bots_here.py").write_text("def last(observation, mask):\n    return mask.nonzero()[0][-1]\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for player, told in (("pupil.npz", "pupil (QLearning)"), ("bots_here:last", "last (FunctionPolicy)")):
        assert cli.main(["audit", player, "--quick"]) == 0
        out = capsys.readouterr().out
        assert out.startswith(f"{told} on {TTT}; tictac-env") and "mistakes" in out and "verdict" not in out


def test_a_tournament_is_that_of_python(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["tournament", "random", "rule", "mine=minimax:2", "--openings", "4", "--sample", "3", "--seed", "5"]
    assert cli.main(words) == 0
    openings = sampled_openings(TTT, 4, 3, 5)
    wanted = round_robin({"random": "random", "rule": "rule", "mine": "minimax:2"}, TTT, seed=5, openings=openings)
    assert capsys.readouterr().out == f"{wanted}\n\n{wanted.ratings()}\n"
    assert cli.main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (
        found["ratings"] == [asdict(row) for row in wanted.ratings().table()]
        and found["games"] == len(wanted.games) == 18
    )
    assert (
        found["cross_table"] == [asdict(row) for row in wanted.ratings().cross_table()] and found["anchor"] == "random"
    )


def test_ratings_as_csv(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["tournament", "random", "rule", "--games", "12", "--csv", "--anchor", "rule"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["player"] for row in rows] == ["rule", "random"] and float(rows[0]["elo"]) == 0
    assert all(int(row["games"]) == 12 for row in rows)


@pytest.mark.parametrize("form", ["", "--json", "--csv", "--csv-games"])
def test_every_form_of_a_tournament_may_go_to_a_file(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words, path = ["tournament", "random", "rule", "--games", "4", *filter(None, [form])], tmp_path / "result"
    assert cli.main(words) == 0
    printed = capsys.readouterr().out
    assert cli.main([*words, "-o", str(path)]) == 0
    shown, told = capsys.readouterr().out, path.read_text()
    assert "forfeits" in shown and str(path) in shown
    if form == "--csv-games":  # the times differ
        rows, games = (list(csv.DictReader(io.StringIO(text))) for text in (printed, told))
        assert [row["moves"] for row in games] == [row["moves"] for row in rows] and len(rows) == 4
        assert {row["first"] for row in rows} == {"random", "rule"}
    else:
        assert told == printed


@pytest.mark.parametrize("words", [["audit", "rule", "--quick"], ["prove", "rule"]], ids=lambda words: words[0])
def test_other_results_go_to_files_too(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main([*words, "--json", "--output", str(tmp_path / "result.json")])
    assert json.loads((tmp_path / "result.json").read_text())["game"] == TTT and "rule" in capsys.readouterr().out
    assert cli.main([*words, "-o", str(tmp_path)]) == 2
    assert "directory" in capsys.readouterr().err


def test_a_tournament_goes_on_in_its_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["tournament", "random", "rule", "--games", "10", "--store", str(tmp_path / "results"), "--json"]
    assert cli.main(words) == 0
    first = capsys.readouterr().out
    with ResultStore(tmp_path / "results" / "games.sqlite") as store:
        before = list(store)
        assert len(before) == 10
        assert cli.main(words) == 0
        assert capsys.readouterr().out == first
        words[3:3] = ["minimax:1"]
        assert cli.main(words) == 0
        games = list(store)
        assert len(games) == 30 and games[:10] == before


TIRED = """
moves = 0
def tired(observation, mask):
    global moves
    moves += 1
    if moves > 300:
        raise KeyboardInterrupt
    return mask.argmax()
"""


def test_a_stopped_tournament_says_where_its_games_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tired_bots.py").write_text(TIRED)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    words = ["tournament", "tired_bots:tired", "random", "--games", "2000", "--store", "results"]
    assert cli.main(words) == 130
    assert capsys.readouterr().err.splitlines()[-2:] == [
        "the games played so far are in results/games.sqlite; the same command continues from there",
        "tictac: stopped",
    ]
    with ResultStore(tmp_path / "results" / "games.sqlite") as store:
        assert 0 < len(store) < 2000


def test_a_proof_is_that_of_python_and_leaves_its_certificate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["prove", "minimax", "--seat", "second", "--store", str(tmp_path)]
    assert cli.main(words) == 0
    wanted = prove("minimax", 1, "TicTacToe-v0")
    assert capsys.readouterr().out == f"{wanted}\n"
    assert read_proof(tmp_path) == wanted
    assert cli.main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["holds"] is True and found["proven"] == "never loses" and found["plies"][0]["positions"] == 9


def test_a_refuted_claim_is_told_by_the_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["prove", "minimax", "--claim", "wins", "--refutations", "2", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["holds"] is False and len(found["refutations"]) == 2
