"""The record of a tournament, results.json, from its parts: who played, trainings, audits, games, ratings.

`results.schema.json` is its schema; `report_page.py` shows it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from benchmarks.report import Row
from tictac_env.arena import Audit, Estimate, MatchResult, Ratings, Tournament
from tictac_env.games import game_name

SCHEMA_VERSION = 1


def game_record(
    title: str,
    tournament: Tournament,
    ratings: Ratings,
    audits: Mapping[str, Mapping[str, Any]],
    trainings: Mapping[str, Mapping[str, Any]],
    rules: Mapping[str, str],
) -> dict[str, Any]:
    """All that is known of one game's players, best first.

    Args:
        title: what to call the game.
        tournament: its games.
        ratings: of its players.
        audits: for each player's name its `Audit`, as JSON has it.
        trainings: for each learner that was trained for this how it went (`contestants.train`).
        rules: for each player whether a one-move rule is on.
    """
    rated = {row.pop("player"): row for row in ratings.table()}
    agents = []
    for name in ratings.names:
        found = audits[name]
        who = {key: found["player"][key] for key in ("kind", "agent", "settings", "checkpoint_sha256", "budget")}
        run = trainings.get(name)
        training = run and {key: run[key] for key in ("steps", "games", "measure", "curve")}
        shown = {"name": name, **who, "one_move_rule": rules[name], "training": training}
        agents.append(shown | {"rating": rated[name], "verdict": found["verdict"], "measures": found["measures"]})
    first = audits[ratings.names[0]]
    return {
        "game": game_name(tournament.game),
        "title": title,
        "games": len(tournament.games),
        "distinct_games": sum(len(moves) for moves in _moves_by_pair(tournament).values()),
        "openings": len({record.fixture.opening for record in tournament.games}),
        "suite": {key: first["suite"][key] for key in ("name", "sha256", "positions")},
        "anchor": ratings.anchor,
        "first_advantage": estimate(ratings.first_advantage),
        "draws_between_equals": estimate(ratings.draws),
        "resampled": {"number": ratings.clusters, "what": ratings.resampled_by},
        "agents": agents,
        "pairs": pairs(tournament, ratings),
        "forfeits": [
            {"player": record.forfeited_by, "moves": record.moves, "reason": record.forfeit}
            for record in tournament.forfeits
        ],
    }


def pairs(tournament: Tournament, ratings: Ratings) -> list[dict[str, Any]]:
    """For each ordered pair of players how their games ended for the first of them, and what the ratings expect."""
    found = []
    for row in ratings.cross_table():
        match: MatchResult = tournament.matches[row["player"], row["opponent"]]
        seats = {"as_first": list(match.as_first), "as_second": list(match.as_second)}
        scores = {"score": round(row["score"], 6), "expected": round(row["expected"], 6)}
        found.append({"player": row["player"], "opponent": row["opponent"], "games": row["games"]} | seats | scores)
    return found


def estimate(one: Estimate) -> dict[str, float | None]:
    """An estimate with its interval, None where there is no bound."""
    ends = ("value", "low", "high")
    return {name: round(number, 6) if isfinite(number) else None for name, number in zip(ends, one, strict=True)}


def rating_rows(record: Mapping[str, Any]) -> list[Row]:
    """The players of a game by their rating, for the terminal."""
    return [
        {
            "player": agent["name"],
            "Elo (95 %)": rating_text(agent["rating"], record["anchor"] == agent["name"]),
            "score %": f"{100 * agent['rating']['score']:.1f}",
            "games": agent["rating"]["games"],
            "different": agent["rating"]["distinct_games"],
            "search": agent["budget"],
            "one-move rule": agent["one_move_rule"],
        }
        for agent in record["agents"]
    ]


def truth_rows(record: Mapping[str, Any]) -> list[Row]:
    """The players of a game by the exact measures, for the terminal."""
    rows: list[Row] = []
    for agent in record["agents"]:
        audit = audit_of(agent, record)
        exact = "exploitability" in (agent["verdict"] or {})
        against = "" if exact else " v perfect, W/D/L %"
        row = {"player": agent["name"]}
        row |= {f"as {seat}{against}": truth_text(agent, seat) for seat in ("first", "second")}
        for among in ("all", "opening", "middle", "end"):
            row["mistakes %" if among == "all" else among] = percent(audit.measure("mistakes", among).value)
        rows.append(row)
    return rows


def audit_of(agent: Mapping[str, Any], record: Mapping[str, Any]) -> Audit:
    """The audit of an agent, from a record."""
    parts = {"player": {}, "game": record["game"], "version": "", "seed": 0, "seconds": 0, "matches": []}
    about = {key: agent[key] for key in ("verdict", "measures")}
    return Audit.from_json(json.dumps(parts | about | {"suite": record["suite"]}))


def training_text(training: Mapping[str, Any]) -> str:
    """How long a learner learned; the CPU-seconds are without compiling and verdicts."""
    amount = f"{training['games']:,} games" if training["games"] else f"{training['steps']:,} steps"
    return amount + (f", {training['curve'][-1]['cpu_seconds']:.2f} CPU-s" if training["curve"] else "")


def truth_text(agent: Mapping[str, Any], seat: str) -> str:
    """The exact result of an agent in a seat, in words."""
    found = agent["verdict"]
    if found is None:
        return "unknown"
    told = found[f"as {seat}"]
    if "exploitability" in found:  # every reply was walked
        return "infallible" if told["infallible"] else f"loses {told['losing line']}"
    sampled = " sampled" if told["intervals"] else ""
    return f"{shares_text(told['v perfect'])}{sampled}"


def shares_text(shares: Sequence[float], digits: int = 1) -> str:
    """Shares won, drawn and lost, in per cent."""
    return " / ".join(f"{100 * share:.{digits}f}" for share in shares)


def percent(share: float | None, digits: int = 1) -> str:
    return "" if share is None else f"{100 * share:.{digits}f}"


def rating_text(rating: Mapping[str, Any], anchor: bool = False) -> str:
    """A rating with its interval; "> +812" where nothing bounds it from above."""
    if anchor:
        return "0"
    low, high = ("no bound" if rating[end] is None else f"{rating[end]:+.0f}" for end in ("low", "high"))
    if rating["elo"] is not None:
        return f"{rating['elo']:+.0f} ({low} to {high})"
    return {"above": f"> {low}", "below": f"< {high}"}.get(rating["unbounded"], "unknown")


def _moves_by_pair(tournament: Tournament) -> dict[tuple[str, str], set[str]]:
    found: dict[tuple[str, str], set[str]] = {}
    for record in tournament.games:
        found.setdefault((record.fixture.first.name, record.fixture.second.name), set()).add(record.moves)
    return found
