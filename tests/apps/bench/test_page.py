"""The page of the main job: it shows a record whole, whatever is missing in it, and needs no other file."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from chromium import needs_chromium
from conftest import breadth
from html_tags import Tags

from tictac_apps.bench.bench_record import BenchRecord, read_record
from tictac_apps.bench.page import page
from tictac_env.arena.typed_json import read_as

RECORD = Path(__file__).parents[3] / "benchmarks" / "results" / "tournament.json"
"""The record that the docs show, of both games."""
YOURS = ("Sarsa", "my_table.npz"), ("QLearning", "my_net.zip")
"""In each game, a player that is taken for the reader's, and how it is then called."""
STRANGE = """<b>&"it's" $title </script>"""


UNKNOWN = dict.fromkeys(("unbeatable", "losing_line", "given_away", "intervals", "searched"))
UNKNOWN |= {"shortest": False, "against_perfect": [0.0, 1.0, 0.0], "decided_after": 9.0}
"""The record of a seat of which nothing is known."""
MEASURE = {"positions": 0, "value": None, "low": None, "high": None, "random": None}
SECONDS = ("install", "compile", "train", "judge", "play", "page", "total")


def page_of(record: dict[str, Any]) -> str:
    """The page of a record, given as the content of its file; what it lacks of a verdict or a measure is unknown."""
    content = json.loads(json.dumps({key: part for key, part in record.items() if key != "$schema"}))
    content["seconds"] = dict.fromkeys(SECONDS, 0.0) | content["seconds"]
    for agent in (agent for game in content["games"] for agent in game["agents"]):
        agent["measures"] = [MEASURE | measure for measure in agent["measures"]]
        for seat in ("as_first", "as_second") if agent["verdict"] else ():
            truth = agent["verdict"][seat]
            agent["verdict"][seat] = truth if "lines" in truth else UNKNOWN | truth
    return page(read_as(BenchRecord, content))


def read(record: dict[str, Any]) -> str:
    """The text of the page of a record, once its tags and links are checked."""
    text = page_of(record)
    found = Tags(text)
    assert all(link.startswith("#") and link[1:] in found.ids for link in found.links)
    assert len(set(found.ids)) == len(found.ids)
    assert "//" not in text.split("<script>")[0] and "@import" not in text
    return " ".join(" ".join(found.texts).split())


@pytest.fixture
def whole() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    for game, (name, _) in zip(found["games"], YOURS, strict=True):
        next(agent for agent in game["agents"] if agent["name"] == name).update(role="yours", training=None)
    return found | {"games": [renamed(game, *names) for game, names in zip(found["games"], YOURS, strict=True)]}


@pytest.fixture
def record(whole: dict[str, Any]) -> dict[str, Any]:
    """The best six of each game and the reader's, as a page of all takes long."""
    for game in whole["games"]:
        game["agents"] = [*game["agents"][:6], *(agent for agent in game["agents"][6:] if agent["role"] == "yours")]
        names = {agent["name"] for agent in game["agents"]}
        game["pairs"] = [pair for pair in game["pairs"] if {pair["player"], pair["opponent"]} <= names]
    return whole


def first_lost(record: dict[str, Any]) -> dict[str, Any]:
    """The player whose lost game the page of tic-tac-toe shows first; it was the second player."""
    yours_first = sorted(record["games"][0]["agents"], key=lambda agent: agent["role"] != "yours")
    found: dict[str, Any] = next(agent for agent in yours_first if any(agent["losing"].values()))
    assert found["losing"]["first"] is None
    return found


def points(cells: list[int]) -> str:
    """Cells of tic-tac-toe as the stones of a picture."""
    return " ".join(f"{cell % 3},{cell // 3}" for cell in cells)


def renamed(record: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    """The record with another name of a player."""
    found: dict[str, Any] = json.loads(json.dumps(record).replace(json.dumps(old), json.dumps(new)))
    return found


def without_learners(record: dict[str, Any]) -> None:
    for game in record["games"]:
        for agent in game["agents"]:
            agent["training"] = None


def without_bounds(record: dict[str, Any]) -> None:
    for game in record["games"]:
        for agent, unbounded in zip(game["agents"], ("above", "below"), strict=False):
            agent["rating"] |= {"elo": None, "low": None, "high": None, "unbounded": unbounded}


def without_judgement(record: dict[str, Any]) -> None:
    for game in record["games"]:
        for agent in game["agents"]:
            agent |= {"verdict": None, "measures": [], "v_random": None, "losing": {"first": None, "second": None}}
            agent |= {"failure": "illegal move: column 4, in position 444444"}


def with_a_failure(record: dict[str, Any]) -> None:
    best = {"games": [{"agents": [game["agents"][0]]} for game in record["games"]]}
    without_judgement(best)


def with_forfeits(record: dict[str, Any]) -> None:
    for game in record["games"]:
        game["forfeits"] = [{"player": "rule", "moves": "44", "why": "no move within 10 s"}] * 70


def unverified(record: dict[str, Any]) -> None:
    """Lost games are known, but no verdict."""
    for game in record["games"]:
        for agent in game["agents"]:
            agent |= {"verdict": None, "measures": []}


def of_one_player(record: dict[str, Any]) -> None:
    record["games"] = record["games"][1:]
    record["games"][0] |= {"agents": record["games"][0]["agents"][:1], "pairs": []}


def after_illegal_moves(record: dict[str, Any]) -> None:
    for game in record["games"]:
        for agent in game["agents"]:
            for point in agent["training"]["curve"] if agent["training"] else ():
                point |= {"exploitability": None, "mistakes": None, "v_perfect": None}


CHANGES: list[Callable[[dict[str, Any]], None]] = [
    without_learners,
    without_bounds,
    without_judgement,
    with_a_failure,
    unverified,
    with_forfeits,
    of_one_player,
    after_illegal_moves,
]


def test_names_and_results_are_shown(record: dict[str, Any]) -> None:
    text = read(record)
    for game in record["games"]:
        assert game["title"] in text and f"{game['games']:,} games" in text and game["suite"]["name"] in text
        for agent in game["agents"]:
            assert agent["name"] in text and f"{agent['rating']['elo']:.0f} (" in text and agent["note"] in text
            if training := agent["training"]:
                assert training["sentence"] in text and training["command"] in text
        pair = game["pairs"][0]
        seats = ("/".join(map(str, pair[f"as_{seat}"])) for seat in ("first", "second"))
        assert f"{100 * pair['score']:.0f} {' '.join(seats)}" in text
    assert record["machine"]["processor"] in text and f"numpy {record['machine']['packages']['numpy']}" in text


def test_the_first_screen_answers_a_newcomer(record: dict[str, Any]) -> None:
    small, large = (read(record | {"games": [game]}).split(" Ratings ")[0] for game in record["games"])
    best, lost = record["games"][0]["agents"][0], first_lost(record)
    assert small.index("Yours my_table.npz") < small.index("Best player")
    assert f"Best player, and best learner {best['name']}" in small and "No: nothing beats it" in small
    plies = len(lost["losing"]["second"]["cells"])
    assert f"{lost['name']} yours , " in small and f"by rating, as second loses in {plies} plies" in small
    assert "Every reply was walked" in small
    learner = next(agent for agent in record["games"][1]["agents"] if agent["training"])
    assert "Best player perfect" in large and f"Best learner {learner['name']}" in large and "Yes, as second" in large
    assert "the first player can force a win" in large and "Yours my_net.zip" in large


def test_places_are_ordinal_numbers(whole: dict[str, Any]) -> None:
    game = whole["games"][0]
    for agent in game["agents"]:
        agent["role"] = "yours"
    text, count = read(whole | {"games": [game]}), len(game["agents"])
    assert count > 13
    for place in ("1st", "2nd", "3rd", "4th", "11th", "12th", "13th"):
        assert re.search(rf"\b{place} of {count}\b", text), place


def test_a_losing_line_is_drawn_on_its_cells(record: dict[str, Any]) -> None:
    cells = first_lost(record)["losing"]["second"]["cells"]
    first, second = points(cells[::2]), points(cells[1::2])
    assert f'<polyline class="a" points="{first}"/><polyline class="b" points="{second}"/>' in page_of(record)
    cells[3] = 9
    with pytest.raises(ValueError, match=r"9.*0 to 8"):
        page_of(record)


def test_players_of_the_reader_are_marked_out(record: dict[str, Any]) -> None:
    text = page_of(record)
    for part in ('class="name yours"', 'r="5" class="yours"'):
        assert part in text
    assert read(record).count("my_table.npz yours") > 7
    for game in record["games"]:
        for agent in game["agents"]:
            agent["role"] = "cast"
    assert "yours" not in read(record).casefold()


def test_a_strange_name_is_escaped(record: dict[str, Any]) -> None:
    strange = renamed(record, "mcts:100", STRANGE)
    assert STRANGE in read(strange) and escape(STRANGE) in page_of(strange) and STRANGE not in page_of(strange)


def test_a_player_that_draws_its_moves_is_said_to_and_nothing_is_proven_of_it(record: dict[str, Any]) -> None:
    (agent,) = (agent for agent in record["games"][0]["agents"] if agent["role"] == "yours")
    assert "draws its moves" not in read(record)
    agent["verdict"]["basis"] = "draws its moves"
    for seat in ("first", "second"):
        agent["verdict"][f"as_{seat}"] |= {"unbeatable": None, "losing_line": None}
        agent["losing"][seat] = None
    assert "another run gives other figures" in read(record)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("games", breadth([[0, 1]], [([0],), ([1],)]), ids=str)
def test_a_record_may_lack_things(record: dict[str, Any], change: Callable[..., None], games: list[int]) -> None:
    record["games"] = [record["games"][number] for number in games]
    if change is of_one_player and games != [0, 1]:
        record["games"] *= 2
    change(record)
    text = read(record)
    assert ("Learning curves" in text) == any(
        agent["training"] for game in record["games"] for agent in game["agents"]
    )  # fmt: skip
    assert ("no move within 10 s" in text) == (change is with_forfeits)
    assert ("illegal move: column 4" in text) == (change in (without_judgement, with_a_failure))
    assert "None" not in text and "nan" not in text.split()


def agent_of(record: dict[str, Any], game: int, name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in record["games"][game]["agents"] if one["name"] == name)
    return found


SEAT_TRUTHS: list[tuple[dict[str, Any], Any, str]] = [
    ({"unbeatable": True}, None, "cannot be beaten"),
    ({"unbeatable": False}, {"shortest": True, "cells": [0] * 7}, "loses in 7 plies"),
    ({"unbeatable": False}, {"shortest": False, "cells": [0] * 7}, "loses in at most 7 plies"),
    (
        {"unbeatable": False},
        {"shortest": True, "cells": [0] * 4, "given_away": "given away at ply 5: no legal move, better 3"},
        "names no legal move at ply 5",
    ),
    ({"unbeatable": False}, None, "can be beaten"),
    ({"against_perfect": [0.5, 0.25, 0.25]}, None, "wins 50 % of games against perfect play"),
    ({"against_perfect": [0.0, 1.0, 0.0]}, None, "is not known to lose"),
    ({}, None, "is not known to lose"),
]


@pytest.mark.parametrize(("truth", "line", "words"), SEAT_TRUTHS, ids=lambda value: str(value)[:20])
def test_the_truth_of_a_seat_is_told_in_words(
    record: dict[str, Any], truth: dict[str, Any], line: dict[str, Any] | None, words: str
) -> None:
    record["games"] = record["games"][:1]
    agent = agent_of(record, 0, "my_table.npz")
    if line:
        line = {"moves": "1234567", "given_away": None, "winning_cells": []} | line
    agent["verdict"] = {"method": "", "basis": "fixed map", "exploitability": None, "forfeits": []}
    agent["verdict"] |= {"as_first": UNKNOWN | truth, "as_second": UNKNOWN | {"unbeatable": True}}
    agent["losing"] = {"first": line, "second": None}
    alike = words == "cannot be beaten"
    told = f"In both seats it {words}." if alike else f"As first it {words}; as second it cannot be beaten."
    assert told in read(record).replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("first", "second", "answer"),
    [
        (True, True, "No: nothing beats it"),
        (True, False, "Yes, but only as second"),
        (None, False, "Yes, as second"),
        (False, True, "Yes, but only as first"),
        (False, False, "Yes, from both seats"),
        (None, True, "Nobody has beaten it"),
        (None, None, "Nobody has beaten it"),
    ],
)
def test_the_question_if_it_is_beatable_has_its_answer(
    record: dict[str, Any], first: bool | None, second: bool | None, answer: str
) -> None:
    record["games"] = record["games"][:1]
    best = record["games"][0]["agents"][0]
    for seat, safe in (("first", first), ("second", second)):
        best["verdict"][f"as_{seat}"] = UNKNOWN | {"unbeatable": safe}
        best["losing"][seat] = None
    assert f"Is the best beatable? {answer} " in read(record)


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("every reply walked", "Every reply was walked"),
        ("all games followed", "Every game was followed"),
        ("200 games sampled", "Games were sampled Its games against perfect play: 200 games sampled."),
        ("", "By games only"),
    ],
)
def test_the_evidence_is_told(record: dict[str, Any], method: str, answer: str) -> None:
    record["games"] = record["games"][:1]
    record["games"][0]["agents"][0]["verdict"]["method"] = method
    assert f"How do we know? {answer} " in read(record)


def test_overlapping_intervals_are_counted(record: dict[str, Any]) -> None:
    record["games"] = record["games"][1:]
    best, *others = record["games"][0]["agents"]
    nobody, two = "No other's interval overlaps.", "The intervals of 2 others overlap."
    one = f"The interval of {others[2]['name']} overlaps."
    best["rating"]["low"] = 1000.0
    for count, sentence in ((0, nobody), (1, one), (2, two)):
        for number, agent in enumerate(others):
            agent["rating"] |= {"high": 1000.0 if number in (2, 4)[:count] else 999.0, "unbounded": ""}
        assert sentence in read(record)
    for unbounded, sentence in (("below", one), ("above", two)):
        others[4]["rating"] |= {"high": None, "unbounded": unbounded}
        assert sentence in read(record)
    best["rating"]["low"] = None
    assert nobody in read(record)


def test_random_play_is_set_beside_the_truth(record: dict[str, Any]) -> None:
    """The first pair that random play ranks the wrong way is named; players above the band are counted."""
    for number, truth_name, shown in (
        (0, "exploitability", ("0.125", "0.5")),
        (1, "share of mistakes", ("12.5 %", "50.0 %")),
    ):
        game = copy.deepcopy(record["games"][number])
        game["agents"], game["pairs"] = game["agents"][:3], []
        for agent, name, truth, won in zip(game["agents"], "abc", (0.5, 0.125, 0.25), (1.0, 0.96, 0.5), strict=True):
            agent |= {"name": name, "v_random": {"first": [won, 0, 0], "second": [won - 0.02, 0, 0], "exact": True}}
            agent["measures"] = [{"name": "mistakes", "among": "all", "value": truth}]
            if number == 0:
                agent["verdict"]["exploitability"] = truth
        text = read(record | {"games": [game]}).replace("\u00a0", " ")
        counted = f"2 players win at least 95 % against random play: their {truth_name} goes from"
        assert f"{counted} {shown[0]} to {shown[1]}." in text and "(sampled)" not in text
        fooled = f"a wins 99.0 % and b 95.0 %; yet the {truth_name} of a is {shown[1]}, and {shown[0]} of b."
        assert fooled in text
        game["agents"][2]["v_random"]["exact"] = False
        game["agents"][1]["v_random"] = None
        text = read(record | {"games": [game]})
        assert "players win at least" not in text and "Games (sampled) won against random play" in text
        game["agents"][0]["v_random"] = game["agents"][2]["v_random"] = None
        assert "against random play says nothing" not in read(record | {"games": [game]})


def test_who_loses_nothing_is_named(record: dict[str, Any]) -> None:
    [game] = record["games"] = record["games"][:1]
    game["agents"], game["pairs"] = game["agents"][:5], []
    line = {"moves": "1", "cells": [0], "winning_cells": [], "given_away": None, "shortest": True}
    seats = [(True, True, None), (True, True, None), (True, False, line), (False, True, line), (None, None, None)]
    for agent, name, (first, second, lost) in zip(game["agents"], "abcde", seats, strict=True):
        agent |= {"name": name, "role": "cast", "losing": {"first": None, "second": lost}}
        for seat, safe in (("first", first), ("second", second)):
            agent["verdict"][f"as_{seat}"] = UNKNOWN | {"unbeatable": safe}
    text = read(record)
    for sentence in ("Nothing beats a and b .", "As first nothing beats c .", "As second nothing beats d ."):
        assert sentence in text
    assert "No lost game is known of e ." in text
    game["agents"][4]["verdict"] |= dict.fromkeys(("as_first", "as_second"), UNKNOWN | {"unbeatable": True})
    assert "Nothing beats a , b and e ." in read(record)


@pytest.mark.parametrize(
    ("count", "sentence"), [(1, "1 game lost by"), (50, "50 games lost by"), (51, "51 games lost by")]
)
def test_fifty_forfeits_are_listed(record: dict[str, Any], count: int, sentence: str) -> None:
    record["games"] = record["games"][:1]
    forfeit = {"player": "rule", "moves": "44", "why": "late"}
    record["games"][0]["forfeits"] = [forfeit | {"moves": f"m{number}m"} for number in range(count)]
    text = read(record)
    assert sentence in text and [f"m{number}m" in text for number in (49, 50)] == [count > 49, False]
    assert ("the clock; the first 50." in text) == (count == 51)


@pytest.mark.parametrize("number", [0, 1])
def test_all_figures_have_their_columns(record: dict[str, Any], number: int) -> None:
    game = record["games"][number]
    agent = game["agents"][0]
    agent["seconds"] = {"train": None, "judge": 1.25, "move": 0.00999}
    agent["rating"] |= {"games": 1234, "forfeits": 7}
    table = page_of(record | {"games": [game]}).split('<table class="figures">')[1].split("</table>")[0]
    head, *rows = (re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in table.split("<tr>")[1:])
    cells = dict(zip(head, rows[0], strict=True))
    assert len(rows) == len(game["agents"]) and ("exploitability" in head) == (number == 0)
    measures = {(one["name"], one["among"]): one["value"] for one in agent["measures"]}
    shares = " / ".join(f"{100 * share:.1f}" for share in agent["v_random"]["second"])
    expected = {
        "score": f"{100 * agent['rating']['score']:.1f}\u00a0%",
        "games": "1,234",
        "forfeits": "7",
        "judged, CPU-s": "1.2",
        "ms a move": "9.99",
        "mistakes": f"{100 * measures['mistakes', 'all']:.1f}\u00a0%",
        "critical mistakes": f"{100 * measures['mistakes', 'critical']:.1f}\u00a0%",
        "regret": f"{measures['regret', 'all']:.3f}",
        "as second v random, W/D/L %": shares + ("" if agent["v_random"]["exact"] else " sampled"),
    }
    assert {column: cells[column] for column in expected} == expected


def test_all_charts_of_a_game_have_the_height_of_the_largest_value(
    record: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    heights: dict[str, set[float]] = {"phase_chart": set(), "curve": set()}
    for name in heights:
        monkeypatch.setattr(
            f"tictac_apps.bench.charts.{name}", lambda *given, name=name: heights[name].add(given[-1]) or ""
        )
    for game, truth in zip(record["games"], ("exploitability", "mistakes"), strict=True):
        for found in heights.values():
            found.clear()
        page_of(record | {"games": [game]})
        measures = [one for agent in game["agents"] for one in agent["measures"] if one["name"] == "mistakes"]
        of_phases = [one for one in measures if one["among"] in ("opening", "middle", "end")]
        points = [point for agent in game["agents"] if agent["training"] for point in agent["training"]["curve"]]
        assert heights["phase_chart"] == {max(one[end] or 0 for one in of_phases for end in ("high", "random"))}
        assert heights["curve"] == {max(point[truth] or 0 for point in points)}


def test_when_on_what_and_for_how_long_it_ran_is_told(record: dict[str, Any]) -> None:
    record["seconds"] = {"install": None, "compile": 1.25, "train": 20.0, "judge": 3.0, "total": 31.6}
    record["settings"] |= {"setting": "full", "seed": 5, "time_limit": 2.5}
    text, machine = read(record), record["machine"]
    assert f"{machine['date']}: the full setting, seed 5, at most 2.5 seconds a move." in text
    assert f"{machine['processor']}, {machine['cores']} cores, {machine['system']}, Python {machine['python']};" in text
    spent = "compile 1.2 s, train 20.0 s, judge 3.0 s, play 0.0 s, page 0.0 s"
    assert f"32 seconds of wall-clock in all. Its parts: {spent}; compile, train and judge" in text


def test_estimates_have_their_intervals(record: dict[str, Any]) -> None:
    [game] = record["games"] = record["games"][:1]
    game["first_advantage"] = {"value": 515.9, "low": None, "high": 677.3}
    game["draws_between_equals"] = {"value": 0.4567, "low": 0.25, "high": 0.625}
    advantage, draws = "516 Elo (no bound to 677)", "46 % (25 to 62)"
    assert f"To play first is worth {advantage}. Equals draw {draws} of games." in read(record)
    text = read(record)
    number = f"{game['resampled']['number']} {game['resampled']['what']}"
    assert f"from {game['openings']} openings of 2 plies and from both seats; random = 0." in text and number in text


def test_twenty_players_on_two_games_fit_300_kilobytes(whole: dict[str, Any]) -> None:
    for game in whole["games"]:
        agents, pairs = game["agents"], game["pairs"]
        for agent in agents[: 20 - len(agents)]:
            agents.append(copy.deepcopy(agent) | {"name": f"{agent['name']}, seed 1"})
        names = [agent["name"] for agent in agents]
        game["pairs"] = [pairs[0] | {"player": one, "opponent": two} for one in names for two in names if one != two]
    assert len(page_of(whole).encode()) < 300_000


def test_a_file_that_is_not_such_a_record_is_refused(record: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(record | {"schema": 1}))
    with pytest.raises(ValueError, match=r"results.json .*schema 1.*schema 3"):
        read_record(path)
    path.write_text(json.dumps(record | {"games": 5}))
    with pytest.raises(ValueError, match=r"results.json .*BenchRecord.games.*5"):
        read_record(path)


def test_a_record_is_read_back_as_it_was_written() -> None:
    assert read_record(RECORD).to_json() == RECORD.read_text(encoding="utf-8")


@pytest.mark.parametrize("change", [None, *CHANGES], ids=lambda change: getattr(change, "__name__", "whole"))
def test_records_are_described_by_the_schema(record: dict[str, Any], change: Callable[..., None] | None) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(resources.files("tictac_apps.bench").joinpath("results.schema.json").read_text("utf-8"))
    check = jsonschema.Draft202012Validator(schema)
    check.check_schema(schema)
    if change:
        change(record)
    check.validate(record)
    record["games"][0]["agents"][0]["rating"]["score"] = 2
    assert not check.is_valid(record)


@needs_chromium
@pytest.mark.parametrize(
    ("width", "scheme"),
    breadth([(390, "light")], [(width, one) for width in (1440, 390, 320) for one in ("light", "dark")]),
)
def test_a_visitor_steps_through_a_lost_game(
    browser: Any, whole: dict[str, Any], tmp_path: Path, width: int, scheme: str
) -> None:
    lost = first_lost(whole)["losing"]["second"]
    cells, mistake = lost["cells"], int(re.findall(r"at ply (\d+)", lost["given_away"])[0])
    end = len(cells)
    (path := tmp_path / "report.html").write_text(page_of(renamed(whole, "level:4", STRANGE)), encoding="utf-8")
    context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
    visited, wrong, asked = context.new_page(), list[str](), list[str]()
    visited.on("pageerror", lambda error: wrong.append(str(error)))
    visited.on("console", lambda line: wrong.append(line.text))
    visited.on("request", lambda request: asked.append(request.url))
    visited.goto(path.as_uri())

    figure = visited.locator(".line").first
    said, slider = figure.locator("output"), figure.get_by_role("slider", name="Ply")

    def check(ply: int) -> None:
        stones = [figure.locator(f"polyline.{who}").get_attribute("points") or "" for who in ("a", "b")]
        assert stones == [points(cells[:ply:2]), points(cells[1:ply:2])]
        assert said.inner_text().startswith(f"Ply {ply} of {end}")
        assert (lost["given_away"] in said.inner_text()) == (ply in (mistake, end))

    check(end)
    assert said.inner_text().startswith(f"Ply {end} of {end}: lost")
    figure.get_by_role("button", name="Back").click()
    check(end - 1)
    assert not figure.locator("polyline.win").is_visible()
    visited.keyboard.press("ArrowLeft")
    check(end - 2)
    assert figure.locator("polyline.last").get_attribute("points") == points(cells[end - 3 : end - 2])
    slider.focus()
    for ply in range(end - 3, mistake - 1, -1):
        visited.keyboard.press("ArrowLeft")
        check(ply)
    visited.keyboard.press("Home")
    check(0)
    figure.get_by_role("button", name="Back").click()
    check(end)
    figure.get_by_role("button", name="Forward").click()
    figure.get_by_role("button", name="Forward").click()
    check(1)

    assert visited.evaluate("document.documentElement.scrollWidth") <= width
    assert visited.evaluate(OVERLAPS) == []
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(visited, options={"preload": False, "resultTypes": ["violations"]}).response["violations"]
    assert [
        (one["id"], one["nodes"][0]["html"][:200]) for one in found if one["impact"] in ("serious", "critical")
    ] == []
    context.close()
    assert wrong == [] and asked == [path.as_uri()]


OVERLAPS = """[...document.querySelectorAll('.scatter svg')].flatMap((chart) => {
  const texts = [...chart.querySelectorAll('text:not(.soft)')];
  const names = texts.map((one) => [one.textContent, one.getBoundingClientRect()]);
  const apart = (one, two) => one.right < two.left + 1 || two.right < one.left + 1
    || Math.abs(one.top - two.top) > 0.7 * one.height;
  return names.flatMap(([name, box], number) => [
    ...(box.right > innerWidth - 4 ? [`${name} leaves the screen`] : []),
    ...names.slice(number + 1).filter(([, other]) => box.width && !apart(box, other))
      .map(([other]) => `${name} lies over ${other}`),
  ]);
})"""
"""The names in the scatters that lie over each other or beyond the screen."""
