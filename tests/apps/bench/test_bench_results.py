"""The texts of a record: ratings, exact results, trainings; its lines for the terminal and for a spreadsheet."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tictac_apps.bench.bench_record import (
    AgentRecord,
    BenchRecord,
    LosingLine,
    LosingLines,
    Rating,
    TrainingRecord,
    read_record,
)
from tictac_apps.bench.results import (
    _seconds_a_move,
    as_csv,
    marked,
    own_lines,
    rating_rows,
    training_text,
    truth_rows,
    truth_text,
)
from tictac_env.arena import WinDrawLoss
from tictac_env.arena.records import AuditVerdict, SearchedSeat
from tictac_env.arena.report import legend
from tictac_env.games import GAMES

RECORD = Path(__file__).parents[3] / "benchmarks" / "results" / "tournament.json"
RATING = Rating(811.6, 608.4, 1103.9, games=4)


@pytest.fixture(scope="module")
def record() -> BenchRecord:
    return read_record(RECORD)


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
    rating = replace(RATING, **change)
    assert rating.text() == text
    assert rating.text(anchor=True) == ("did not play" if "games" in change else "0")


SEAT: dict[str, Any] = {"unbeatable": None, "losing_line": None, "given_away": None, "shortest": False}
SEAT |= {"against_perfect": WinDrawLoss(0.51, 0.25, 0.24), "intervals": None, "decided_after": 9.0, "searched": None}


def judged(agent: AgentRecord, exploitability: float | None = None, **changes: Any) -> AgentRecord:
    """A player with a verdict that says so of it as first player."""
    first, second = SearchedSeat(**SEAT | changes), SearchedSeat(**SEAT)
    verdict = AuditVerdict("all games followed", "fixed map", exploitability, first, second)
    return replace(agent, verdict=verdict, losing=LosingLines(None, None))


def test_the_truth_is_told_in_words(record: BenchRecord) -> None:
    agent = record.games[0].agents[0]
    assert truth_text(judged(agent, 1.0, unbeatable=False, losing_line="1524"), "first") == "loses 1524"
    assert truth_text(judged(agent, 1.0, unbeatable=True), "first") == "unbeatable"
    assert truth_text(judged(agent, 1.0), "first") == "not beaten this time"
    assert truth_text(judged(agent), "first") == "51.0 / 25.0 / 24.0"
    assert truth_text(judged(agent, intervals=((0, 1),) * 3), "first") == "51.0 / 25.0 / 24.0 sampled"
    assert truth_text(replace(agent, verdict=None), "first") == "unknown"
    assert truth_text(replace(agent, verdict=None, failure="no move"), "first") == "no move"


def test_a_training_has_its_length_and_its_seconds() -> None:
    training = TrainingRecord("", "", 20_000, 99_000, 1.26, ())
    assert training_text(training) == "20,000 games, 1.3 CPU-s"
    assert training_text(replace(training, games=None)) == "99,000 steps, 1.3 CPU-s"
    assert training_text(replace(training, games=None, steps=None)) == "1.3 CPU-s"
    assert training_text(None) == ""


def test_players_are_listed_by_place_with_the_users_marked(record: BenchRecord) -> None:
    game = record.games[0]
    first, second, *others = game.agents
    game = replace(game, agents=(first, replace(second, role="yours"), *others))
    ratings, truths = rating_rows(game), truth_rows(game)
    assert [row[""] for row in ratings] == [*range(1, len(game.agents) + 1)]
    assert [row["player"] for row in ratings] == [row["player"] for row in truths]
    assert marked(game.agents[1]) == ratings[1]["player"] == f"{second.name} *"
    assert ratings[0]["player"] == first.name and ratings[-1]["Elo (95 %)"] == "0"
    assert ratings[0]["Elo (95 %)"] == first.rating.text()
    assert ratings[0]["score %"] == f"{100 * first.rating.score:.1f}" and ratings[0]["search"] == first.budget
    last = truths[-1]
    measures = {one.among: one.value for one in game.agents[-1].measures if one.name == "mistakes"}
    shown = {"all": "mistakes %", "opening": "opening", "middle": "middle", "end": "end"}
    assert {among: last[column] for among, column in shown.items()} == {
        among: f"{100 * (measures[among] or 0):.1f}" for among in shown
    }
    line = game.agents[-1].losing.first
    assert line is not None and last["as first"] == f"loses {line.moves}"


def test_all_about_the_users_player_is_told_with_the_games_that_beat_it(record: BenchRecord) -> None:
    game = record.games[0]
    agent = game["QLearning"]
    line = agent.losing.second
    assert line is not None and line.given_away
    lines = list(own_lines(agent, game.game, game.suite))
    assert lines[0] == "  as first it cannot be beaten"
    assert (
        lines[1] == f"  as second it is beaten in {len(line.cells)} plies ({line.given_away}; marked ??): {line.moves}"
    )
    ply = int(line.given_away.split()[4].rstrip(":"))
    assert f"{ply}. O {line.moves[ply - 1]} ??" in "\n".join(lines) and "\n".join(lines).count("??") == 2
    text = "\n".join(lines)
    assert "  v perfect, W/D/L %: as first " in text and "  v random, W/D/L %: as first " in text
    assert agent.verdict is not None and agent.verdict.exploitability is not None
    assert f"exploitability: {agent.verdict.exploitability:.4f}" in text
    assert f"on {game.suite.positions:,} positions of {game.suite.name}" in text and legend("fixed map") in text
    narrow = list(own_lines(agent, game.game, game.suite, width=30))
    assert max(len(row) for row in narrow[2:10]) <= 30 < max(len(row) for row in lines[2:10])
    failed = replace(agent, failure="no move within 10 s")
    assert list(own_lines(failed, game.game, game.suite)) == ["  it could not be judged: no move within 10 s"]


def test_a_player_that_draws_its_moves_is_not_said_to_be_unbeatable(record: BenchRecord) -> None:
    game = record.games[0]
    agent = judged(game["rule"], 0.5)
    assert agent.verdict is not None
    agent = replace(agent, verdict=replace(agent.verdict, basis="draws its moves"))
    text = "\n".join(own_lines(agent, game.game, game.suite))
    assert "another run gives other figures" in text and "cannot be beaten" not in text


def test_a_spreadsheet_has_a_line_for_each_player_of_each_game(record: BenchRecord) -> None:
    small, large = record.games
    best = replace(large.agents[0], verdict=None, measures=(), failure="no idea")
    record = replace(record, games=(small, replace(large, agents=(best, *large.agents[1:]))))
    rows = list(csv.DictReader(io.StringIO(as_csv(record))))
    agents = [(game.game, place, one) for game in record.games for place, one in enumerate(game.agents, 1)]
    assert len(rows) == len(agents)
    for row, (game, place, agent) in zip(rows, agents, strict=True):
        assert (row["game"], row["place"], row["name"], row["role"]) == (game, str(place), agent.name, "cast")
        assert float(row["elo"]) == agent.rating.elo and row["games"] == str(agent.rating.games)
        assert row["training command"] == (agent.training.command if agent.training else "")
        assert float(row["seconds, judge"]) == agent.seconds.judge and row["origin"] == agent.origin
        if truth := agent.seat("second"):
            shares = [float(row[f"{end} as second v perfect"]) for end in ("won", "drawn", "lost")]
            assert shares == list(truth.against_perfect)
            assert row["losing line as second"] == (truth.losing_line or "")
    failed = rows[len(small.agents)]
    assert failed["failure"] == "no idea" and failed["won as first v perfect"] == failed["mistakes, all"] == ""
    last = small.agents[-1].verdict
    assert last is not None and float(rows[len(small.agents) - 1]["exploitability"]) == last.exploitability
    assert rows[len(small.agents) + 4]["exploitability"] == ""


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


def test_a_losing_line_is_told_by_its_cells(record: BenchRecord) -> None:
    """On Connect Four the stones of 4, 4, 3, ... fall into their columns; cells are counted from the top left."""
    agent = record.games[0].agents[0]
    lost = judged(agent, losing_line="4453", given_away="given away at ply 2", unbeatable=False).verdict
    line = LosingLine("4453", (38, 31, 39, 37), (), "given away at ply 2", False)
    assert LosingLines.by(GAMES["ConnectFour-v0"], lost) == LosingLines(line, None)
    verdict = judged(agent, losing_line="14253", shortest=True).verdict
    won = LosingLines.by(GAMES["TicTacToe-v0"], verdict).first
    assert won is not None and (won.winning_cells, won.given_away, won.shortest) == ((0, 1, 2), None, True)
    assert LosingLines.by(GAMES["TicTacToe-v0"], None) == LosingLines(None, None)
