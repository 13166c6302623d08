"""The record of the main job, results.json and results.csv, and its tables on the terminal.

`results.schema.json` is the format of results.json.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from tictac_apps.bench.cast import NOTES, Contestant
from tictac_apps.bench.records import Row
from tictac_env.arena import Estimate, MatchResult, Ratings, Tournament
from tictac_env.arena.report import legend
from tictac_env.checks import SEATS
from tictac_env.games import Game, game_name
from tictac_env.games.registry import TITLES
from tictac_env.position import Position, parse_moves
from tictac_env.render.text import render_game_text
from tictac_env.storage import csv_of

SCHEMA = Path(__file__).with_name("results.schema.json")
UNRATED = dict.fromkeys(("elo", "low", "high")) | {"unbounded": "", "score": 0.0}
UNRATED |= dict.fromkeys(("games", "distinct_games", "forfeits"), 0)
"""The rating of a player that did not play."""
NO_SUITE = {"name": "", "sha256": "", "positions": 0}
PHASES = ("opening", "middle", "end")
Record = Mapping[str, Any]


def game_record(
    tournament: Tournament,
    ratings: Ratings,
    contestants: Sequence[Contestant],
    judged: Mapping[str, Record],
    out: Mapping[str, str],
) -> dict[str, Any]:
    """The record of a game's players, best first.

    Args:
        tournament: the games.
        ratings: of the players that played.
        contestants: all players.
        judged: by each player's name, its training and judgement (`run.prepare`).
        out: the reasons for which players did not play.
    """
    rated = {(row := asdict(player)).pop("player"): row for player in ratings.table()}
    seconds = _seconds_a_move(tournament)
    contestant_of = {contestant.name: contestant for contestant in contestants}
    agents = []
    for name in [*ratings.names, *out]:
        judgement, audit, contestant = judged[name], judged[name]["audit"] or {}, contestant_of[name]
        player = judgement["player"]
        agent = {
            "name": name,
            "role": "yours" if contestant.yours else "cast",
            "note": NOTES.get(name, "") if contestant.training is None else "",
            **{key: player[key] for key in ("kind", "agent", "settings", "checkpoint_sha256", "budget")},
            "one_move_rule": judgement["one_move_rule"],
            "training": judgement["training"],
            "rating": rated.get(name, UNRATED),
            "failure": out.get(name, judgement["failure"]),
            "verdict": audit.get("verdict"),
            "measures": audit.get("measures", []),
            "v_random": judgement["v_random"],
            "losing": _losing(tournament.game, audit.get("verdict")),
            "seconds": {key: judgement["seconds"][key] for key in ("train", "judge")} | {"move": seconds.get(name)},
        }
        agents.append(agent)
    audits = [judgement["audit"] for judgement in judged.values() if judgement["audit"]]
    suites = [audit["suite"] for audit in audits if audit["suite"]]
    game = game_name(tournament.game) or repr(tournament.game)
    return {
        "game": game,
        "title": TITLES.get(game, game),
        "board": _board(tournament.game),
        "games": len(tournament.games),
        "distinct_games": sum(len(moves) for moves in _moves_by_pair(tournament).values()),
        "openings": len({record.fixture.opening for record in tournament.games}),
        "suite": _suite(suites[0]) if suites else NO_SUITE,
        "anchor": ratings.anchor,
        "first_advantage": _estimate(ratings.first_advantage),
        "draws_between_equals": _estimate(ratings.draws),
        "resampled": {"number": ratings.clusters, "what": ratings.resampled_by},
        "agents": agents,
        "pairs": _pairs(tournament, ratings),
        "forfeits": [
            {"player": record.forfeited_by, "moves": record.moves, "reason": record.forfeit}
            for record in tournament.forfeits
        ],
    }


def _suite(suite: Record) -> dict[str, Any]:
    name = suite["name"].rpartition(" of ")[2]  # "1,500 of C4-Exact-v1" has the number, too
    return {"name": name, "sha256": suite["sha256"], "positions": suite["positions"]}


def _board(game: Game) -> dict[str, Any]:
    return {
        "rows": game.rows,
        "columns": game.cols,
        **{key: getattr(game, key, None) for key in ("connect", "gravity")},
    }


def _losing(game: Game, verdict: Record | None) -> dict[str, Any]:
    """For each seat the game that beats the player, as the cells of its stones; None if none is known."""
    losing: dict[str, Any] = dict.fromkeys(SEATS)
    if verdict is None:
        return losing
    for seat in SEATS:
        truth = verdict[f"as_{seat}"]
        if line := truth["losing_line"]:
            cells, position = list[int](), Position.start(game)
            for action in parse_moves(game, line):
                before, position = position.to_array(), position.play(action)
                cells += np.flatnonzero(before != position.to_array()).tolist()
            won = () if position.outcome is None else position.outcome.cells
            losing[seat] = {
                "moves": line,
                "cells": cells,
                "winning_cells": [row * game.cols + col for row, col in won],
                "given_away": truth["given_away"],
                "shortest": truth["shortest"],
            }
    return losing


def _seconds_a_move(tournament: Tournament) -> dict[str, float]:
    spent: dict[str, tuple[float, int]] = {}
    for record in tournament.games:
        plies = len(parse_moves(tournament.game, record.moves))
        begun = len(parse_moves(tournament.game, record.fixture.opening))
        for seat, who in enumerate((record.fixture.first, record.fixture.second)):
            moves = sum(ply % 2 == seat for ply in range(begun, plies))
            seconds, before = spent.get(who.name, (0.0, 0))
            spent[who.name] = seconds + record.seconds[seat], before + moves
    return {name: round(seconds / moves, 6) for name, (seconds, moves) in spent.items() if moves}


def _pairs(tournament: Tournament, ratings: Ratings) -> list[dict[str, Any]]:
    """For each ordered pair of players how their games ended for the first of them, and what the ratings expect."""
    pairs = []
    for row in ratings.cross_table():
        match: MatchResult = tournament.matches[row.player, row.opponent]
        seats = {"as_first": list(match.as_first), "as_second": list(match.as_second)}
        scores = {"score": round(row.score, 6), "expected": round(row.expected, 6)}
        pairs.append({"player": row.player, "opponent": row.opponent, "games": row.games} | seats | scores)
    return pairs


def _estimate(estimate: Estimate) -> dict[str, float | None]:
    """An estimate with its interval, None if nothing bounds it."""
    ends = ("value", "low", "high")
    return {name: round(number, 6) if isfinite(number) else None for name, number in zip(ends, estimate, strict=True)}


def _moves_by_pair(tournament: Tournament) -> dict[tuple[str, str], set[str]]:
    moves: dict[tuple[str, str], set[str]] = {}
    for record in tournament.games:
        moves.setdefault((record.fixture.first.name, record.fixture.second.name), set()).add(record.moves)
    return moves


def rating_rows(record: Record) -> list[Row]:
    """The players of a game by their rating, for the terminal."""
    return [
        {
            "": place,
            "player": marked(agent),
            "Elo (95 %)": rating_text(agent["rating"], record["anchor"] == agent["name"]),
            "score %": in_percent(agent["rating"]["score"]),
            "forfeits": agent["rating"]["forfeits"],
            "search": agent["budget"],
            "one-move rule": agent["one_move_rule"],
            "training": training_text(agent["training"]),
        }
        for place, agent in enumerate(record["agents"], 1)
    ]


def truth_rows(record: Record) -> list[Row]:
    """The players of a game by the exact measures, for the terminal."""
    rows: list[Row] = []
    for agent in record["agents"]:
        row: dict[str, Any] = {"player": marked(agent)}
        row |= {f"as {seat}": truth_text(agent, seat) for seat in SEATS}
        for among in ("all", *PHASES):
            row["mistakes %" if among == "all" else among] = in_percent(measured(agent, "mistakes", among))
        rows.append(row)
    return rows


def own_lines(record: Record) -> Iterator[str]:
    """All about each player of the user's, and the games that beat it, board by board, for the terminal."""
    for place, agent in enumerate(record["agents"], 1):
        if agent["role"] != "yours":
            continue
        rating = rating_text(agent["rating"], record["anchor"] == agent["name"])
        yield f"{agent['name']} on {record['title']}: place {place} of {len(record['agents'])}, Elo {rating}"
        if agent["failure"]:
            yield f"  it could not be judged: {agent['failure']}"
            continue
        phases = ", ".join(f"{among} {in_percent(measured(agent, 'mistakes', among))}" for among in PHASES)
        yield f"  mistakes: {in_percent(measured(agent, 'mistakes'))} % of its moves ({phases})"
        move = agent["seconds"]["move"]
        if agent["verdict"]:
            yield f"  {legend(agent['verdict']['basis'])}"
        yield f"  judged in {agent['seconds']['judge']:.1f} CPU-s" + (f"; {1000 * move:.3g} ms a move" if move else "")
        for seat in SEATS:
            line = agent["losing"][seat]
            if line is None:
                yield f"  as {seat}: {truth_text(agent, seat)}; no game is known that it loses"
                continue
            why = f" ({line['given_away']})" if line["given_away"] else ""
            yield f"  as {seat}: {truth_text(agent, seat)}; this game beats it{why}: {line['moves']}"
            boards = render_game_text(Position.from_moves(record["game"], line["moves"]))
            yield from (f"    {row}".rstrip() for row in boards.splitlines())


def marked(agent: Record) -> str:
    """A player's name, with a star if it is the user's own."""
    return f"{agent['name']} *" if agent["role"] == "yours" else str(agent["name"])


def measured(agent: Record, name: str, among: str = "all") -> float | None:
    """A measure of an agent, None if it was not judged by it."""
    values = (row["value"] for row in agent["measures"] if (row["name"], row["among"]) == (name, among))
    return next(values, None)


def training_text(training: Record | None) -> str:
    """The length of a training; the CPU seconds are without compiling and judging."""
    if training is None:
        return ""
    lengths = (f"{training[unit]:,} {unit}" for unit in ("games", "steps") if training[unit])
    return ", ".join([*list(lengths)[:1], f"{training['cpu_seconds']:.1f} CPU-s"])


def truth_text(agent: Record, seat: str) -> str:
    """The exact result of an agent in a seat, in words."""
    if agent["verdict"] is None:
        return str(agent["failure"] or "unknown")
    truth = agent["verdict"][f"as_{seat}"]
    if agent["verdict"]["exploitability"] is not None:  # every reply was walked
        if truth["losing_line"] is not None:
            return f"loses {truth['losing_line']}"
        return "unbeatable" if truth["unbeatable"] else "not beaten this time"
    sampled = " sampled" if truth["intervals"] else ""
    return f"{shares_text(truth['against_perfect'])}{sampled}"


def shares_text(shares: Iterable[float], digits: int = 1) -> str:
    """Shares won, drawn and lost, in per cent."""
    return " / ".join(f"{100 * share:.{digits}f}" for share in shares)


def in_percent(share: float | None, digits: int = 1) -> str:
    """A share in per cent, "" for None."""
    return "" if share is None else f"{100 * share:.{digits}f}"


def rating_text(rating: Record, anchor: bool = False) -> str:
    """A rating with its 95 % interval; "> 812" if nothing bounds it from above."""
    if rating["games"] == 0:
        return "did not play"
    if anchor:
        return "0"
    low, high = ("no bound" if rating[end] is None else f"{rating[end]:.0f}" for end in ("low", "high"))
    if rating["elo"] is not None:
        return f"{rating['elo']:.0f} ({low} to {high})"
    return {"above": f"> {low}", "below": f"< {high}"}.get(rating["unbounded"], "unknown")


def as_csv(content: Record) -> str:
    """The players of all games, a line for each: rating, exact results, mistakes by phase, training and seconds."""
    rows = [row for record in content["games"] for row in _csv_rows(record)]
    return csv_of(list(rows[0]), rows)


def _csv_rows(record: Record) -> Iterator[dict[str, Any]]:
    for place, agent in enumerate(record["agents"], 1):
        rating, verdict, training = agent["rating"], agent["verdict"] or {}, agent["training"] or {}
        row = {"game": record["game"], "place": place} | {key: agent[key] for key in ("name", "role", "budget")}
        row |= {key: rating[key] for key in ("elo", "low", "high", "score", "games", "forfeits")}
        row["exploitability"] = verdict.get("exploitability")
        for seat in SEATS:
            truth = verdict.get(f"as_{seat}", {})
            ends = truth.get("against_perfect", (None, None, None))
            row |= {
                f"{end} as {seat} v perfect": share for end, share in zip(("won", "drawn", "lost"), ends, strict=True)
            }
            row[f"losing line as {seat}"] = truth.get("losing_line")
        row |= {f"mistakes, {among}": measured(agent, "mistakes", among) for among in ("all", "critical", *PHASES)}
        row |= {f"training {key}": training.get(key) for key in ("games", "steps", "cpu_seconds", "command")}
        row |= {f"seconds, {key}": value for key, value in agent["seconds"].items()}
        yield row | {"failure": agent["failure"]}
