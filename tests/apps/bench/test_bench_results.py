"""The texts of a record: ratings, exact results, trainings; its lines for the terminal and for a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tictac_apps.bench.results import (
    _losing,
    _seconds_a_move,
    as_csv,
    marked,
    own_lines,
    rating_rows,
    rating_text,
    training_text,
    truth_rows,
    truth_text,
)
from tictac_env.arena.report import legend
from tictac_env.games import GAMES

RECORD = Path(__file__).parents[3] / "benchmarks" / "results" / "tournament.json"
RATING = {"elo": 811.6, "low": 608.4, "high": 1103.9, "unbounded": "", "games": 4}


@pytest.fixture
def record() -> Any:
    return json.loads(RECORD.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({}, "812 (608 to 1104)"),
        ({"low": None}, "812 (no bound to 1104)"),
        ({"high": None}, "812 (608 to no bound)"),
        ({"elo": None, "high": None, "unbounded": "above"}, "> 608"),
        ({"elo": None, "low": None, "unbounded": "below"}, "< 1104"),
        ({"elo": None, "low": None, "high": None}, "unknown"),
        ({"games": 0}, "did not play"),
    ],
)
def test_a_rating_is_told_with_its_bounds(change: dict[str, Any], text: str) -> None:
    assert rating_text(RATING | change) == text
    assert rating_text(RATING | change, anchor=True) == ("did not play" if "games" in change else "0")


def verdict(exploitability: float | None = None, **seat: Any) -> dict[str, Any]:
    seat = {"unbeatable": None, "losing_line": None, "intervals": None} | seat
    return {"verdict": {"exploitability": exploitability, "as_first": seat}, "failure": None}


def test_the_truth_is_told_in_words() -> None:
    walked = verdict(1.0, unbeatable=False, losing_line="1524")
    assert truth_text(walked, "first") == "loses 1524"
    walked["verdict"]["as_first"] |= {"losing_line": None, "unbeatable": True}
    assert truth_text(walked, "first") == "unbeatable"
    walked["verdict"]["as_first"]["unbeatable"] = None
    assert truth_text(walked, "first") == "not beaten this time"
    followed = verdict(against_perfect=[0.51, 0.25, 0.24])
    assert truth_text(followed, "first") == "51.0 / 25.0 / 24.0"
    followed["verdict"]["as_first"]["intervals"] = [[0, 1]]
    assert truth_text(followed, "first") == "51.0 / 25.0 / 24.0 sampled"
    assert truth_text({"verdict": None, "failure": None}, "first") == "unknown"
    assert truth_text({"verdict": None, "failure": "no move"}, "first") == "no move"


def test_a_training_has_its_length_and_its_seconds() -> None:
    training = {"games": 20_000, "steps": 99_000, "cpu_seconds": 1.26}
    assert training_text(training) == "20,000 games, 1.3 CPU-s"
    assert training_text(training | {"games": None}) == "99,000 steps, 1.3 CPU-s"
    assert training_text(training | {"games": None, "steps": None}) == "1.3 CPU-s"
    assert training_text(None) == ""


def test_players_are_listed_by_place_with_the_users_marked(record: Any) -> None:
    game = record["games"][0]
    game["agents"][1]["role"] = "yours"
    ratings, truths = rating_rows(game), truth_rows(game)
    assert [row[""] for row in ratings] == [*range(1, 17)]
    assert [row["player"] for row in ratings] == [row["player"] for row in truths]
    assert marked(game["agents"][1]) == ratings[1]["player"] == f"{game['agents'][1]['name']} *"
    assert ratings[0]["player"] == game["agents"][0]["name"] and ratings[-1]["Elo (95 %)"] == "0"
    assert ratings[0]["Elo (95 %)"] == rating_text(game["agents"][0]["rating"])
    assert ratings[0]["score %"] == "58.0" and ratings[0]["search"] == game["agents"][0]["budget"]
    last = truths[-1]
    measures = {one["among"]: one["value"] for one in game["agents"][-1]["measures"] if one["name"] == "mistakes"}
    shown = {"all": "mistakes %", "opening": "opening", "middle": "middle", "end": "end"}
    assert {among: last[column] for among, column in shown.items()} == {
        among: f"{100 * measures[among]:.1f}" for among in shown
    }
    assert last["as first"] == f"loses {game['agents'][-1]['losing']['first']['moves']}"


def test_all_about_the_users_player_is_told_with_the_games_that_beat_it(record: Any) -> None:
    game = record["games"][0]
    assert list(own_lines(game)) == []
    place, agent = next((place, one) for place, one in enumerate(game["agents"], 1) if one["name"] == "Sarsa")
    agent["role"] = "yours"
    lines = list(own_lines(game))
    line = agent["losing"]["second"]
    assert lines[0] == f"Sarsa on Tic-tac-toe: place {place} of 16, Elo {rating_text(agent['rating'])}"
    assert lines[1].startswith("  mistakes: ") and "(opening " in lines[1]
    assert lines[2] == f"  {legend('fixed map')}"
    assert lines[3] == f"  judged in {agent['seconds']['judge']:.1f} CPU-s; 0.01 ms a move"
    assert lines[4] == "  as first: unbeatable; no game is known that it loses"
    assert lines[5].startswith(f"  as second: loses {line['moves']}; this game beats it ({line['given_away']}): ")
    assert len(lines) > 7 and all(board.startswith("    ") for board in lines[6:])
    agent["seconds"]["move"], line["given_away"] = None, None
    lines = list(own_lines(game))
    assert lines[3].endswith(" CPU-s") and "this game beats it: " in lines[5]
    agent["failure"] = "no move within 10 s"
    assert list(own_lines(game))[1:] == ["  it could not be judged: no move within 10 s"]


def test_a_spreadsheet_has_a_line_for_each_player_of_each_game(record: Any) -> None:
    record["games"][1]["agents"][0] |= {"verdict": None, "measures": [], "failure": "no idea"}
    rows = list(csv.DictReader(io.StringIO(as_csv(record))))
    agents = [(game["game"], place, one) for game in record["games"] for place, one in enumerate(game["agents"], 1)]
    assert len(rows) == len(agents) == 33
    for row, (game, place, agent) in zip(rows, agents, strict=True):
        assert (row["game"], row["place"], row["name"], row["role"]) == (game, str(place), agent["name"], "cast")
        assert float(row["elo"]) == agent["rating"]["elo"] and row["games"] == str(agent["rating"]["games"])
        assert row["training command"] == (agent["training"] or {"command": ""})["command"]
        assert float(row["seconds, judge"]) == agent["seconds"]["judge"]
        if agent["verdict"]:
            truth = agent["verdict"]["as_second"]
            shares = [float(row[f"{end} as second v perfect"]) for end in ("won", "drawn", "lost")]
            assert shares == truth["against_perfect"]
            assert row["losing line as second"] == (truth["losing_line"] or "")
    failed = rows[16]
    assert failed["failure"] == "no idea" and failed["won as first v perfect"] == failed["mistakes, all"] == ""
    exploitability = agents[15][2]["verdict"]["exploitability"]
    assert float(rows[15]["exploitability"]) == exploitability and rows[20]["exploitability"] == ""


def test_seconds_a_move_are_of_the_moves_after_the_opening() -> None:
    """The first player has made the plies 2 and 4, the second one ply 3; a player without a move has no mean."""

    def game(first: str, second: str, opening: str, moves: str, seconds: tuple[float, float]) -> Any:
        fixture = SimpleNamespace(first=SimpleNamespace(name=first), second=SimpleNamespace(name=second))
        fixture.opening = opening
        return SimpleNamespace(fixture=fixture, moves=moves, seconds=seconds)

    games = [game("a", "b", "12", "12345", (0.5, 0.25)), game("b", "a", "12", "123", (0.75, 0.0))]
    games += [game("c", "a", "123", "1234", (0.0, 0.125))]
    tournament: Any = SimpleNamespace(game=GAMES["TicTacToe-v0"], games=games)
    assert _seconds_a_move(tournament) == {"a": round(0.625 / 3, 6), "b": 0.5}


def test_a_losing_line_is_told_by_its_cells() -> None:
    """On Connect Four the stones of 4, 4, 3, ... fall into their columns; cells are counted from the top left."""
    none = {"losing_line": None}
    lost = {"losing_line": "4453", "given_away": "given away at ply 2", "shortest": False}
    found = _losing(GAMES["ConnectFour-v0"], {"as_first": lost, "as_second": none})
    assert found["second"] is None
    assert found["first"] == {
        "moves": "4453",
        "cells": [38, 31, 39, 37],
        "winning_cells": [],
        "given_away": "given away at ply 2",
        "shortest": False,
    }
    lost = {"losing_line": "14253", "given_away": None, "shortest": True}
    won = _losing(GAMES["TicTacToe-v0"], {"as_first": none, "as_second": lost})["second"]
    assert (won["winning_cells"], won["given_away"], won["shortest"]) == ([0, 1, 2], None, True)
    assert _losing(GAMES["TicTacToe-v0"], None) == {"first": None, "second": None}
