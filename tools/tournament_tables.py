"""Tables of the main tournament, from its record, for `results_tables.py`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.tournament_record import percent, rating_text, shares_text, truth_text

RECORD = Path(__file__).parents[1] / "benchmarks" / "results" / "tournament" / "results.json"
SHOWN = ("random", "rule", "minimax", "mcts:1000", "perfect", "QLearning", "QLearning infallible", "DQN", "MaskablePPO")
README_COLUMNS = (
    *("tic-tac-toe: as first", "as second", "v random as second, W/D/L"),
    *("Connect Four: mistakes %", "v perfect as first, W/D/L"),
)
"""The players that the README shows, and what of them."""

Table = list[dict[str, str]]


def tournament_players(game: str) -> dict[str, Any]:
    """The players of one game in the record of the tournament, by name, best first."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    return {agent["name"]: agent for one in record["games"] if one["game"] == game for agent in one["agents"]}


def tournament() -> Table:
    """The players that the README shows, on both games."""
    small, large = tournament_players("TicTacToe-v0"), tournament_players("ConnectFour-v0")

    def row(name: str) -> dict[str, str]:
        table = {"player": f"`{name}`"} | dict.fromkeys(README_COLUMNS, "")
        if one := small.get(name):
            cells = [truth_text(one, seat) for seat in ("first", "second")]
            cells.append(shares_text(one["verdict"]["as second"]["v random"]))
            table |= zip(README_COLUMNS[:3], cells, strict=True)
        if one := large.get(name):
            cells = [percent(measured(one, "mistakes", "all")), truth_text(one, "first")]
            table |= zip(README_COLUMNS[3:], cells, strict=True)
        return table

    return [row(name) for name in SHOWN]


def verdicts() -> Table:
    """The verdicts on all players of tic-tac-toe."""
    rows = []
    for name, agent in tournament_players("TicTacToe-v0").items():
        row = {"player": f"`{name}`", "exploitability": f"{agent['verdict']['exploitability']:.4f}"}
        for seat in ("first", "second"):
            row[f"as {seat}"] = truth_text(agent, seat)
            row[f"v random as {seat}, W/D/L"] = shares_text(agent["verdict"][f"as {seat}"]["v random"], 2)
        rows.append(row)
    return rows


def tournament_ratings(game: str) -> Table:
    """The ratings of a game's players, and their mistakes."""
    return [
        {"player": f"`{name}`", "Elo (95 %)": rating_text(agent["rating"], name == "random")}
        | {"score %": percent(agent["rating"]["score"])}
        | {f"{among} %": percent(measured(agent, "mistakes", among)) for among in ("opening", "middle", "end")}
        | {"search": agent["budget"], "one-move rule": agent["one_move_rule"]}
        for name, agent in tournament_players(game).items()
    ]


def measured(agent: dict[str, Any], name: str, among: str) -> float | None:
    """One of the figures of an agent on the suite."""
    return next(one["value"] for one in agent["measures"] if (one["name"], one["among"]) == (name, among))
