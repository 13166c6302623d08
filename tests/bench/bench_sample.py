"""A record of the main job as the page gets it: the real results of two quick tournaments, and made-up learners.

Ratings, exact values and losing lines of shipped players were measured. The learners of Connect Four, the curves, and
the games of each pair, which follow from the ratings, are made up.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

from tictac_env.position import Position, format_moves

TABLE, NETWORK = "no search; a table", "no search; one evaluation of a network"
SUITES = {"TicTacToe-v0": ("TTT-Exact-v1", 4520), "ConnectFour-v0": ("C4-Exact-v1", 1500)}
POSITIONS = {"TicTacToe-v0": (4520, 2184, 82, 2148, 2290), "ConnectFour-v0": (1500, 701, 500, 500, 500)}
RANDOM = {
    "TicTacToe-v0": (0.4203, 0.6778, 0.4843, 0.4793, 0.3627),
    "ConnectFour-v0": (0.631, 0.816, 0.6673, 0.6316, 0.5941),
}
AMONG = "all", "critical", "opening", "middle", "end"

Row = tuple[str, str, Sequence[float | None], str, str, Sequence[float], Sequence[float], float]
# name, search; Elo, low, high; losing line as first, as second; mistakes; W and D v random as first, as second; then
# exploitability, or for Connect Four the share drawn as first against perfect play
TTT: list[Row] = [
    ("DQN", NETWORK, (1146, 1057, 1292), "", "", (0.002, 0.0014, 0, 0.0042, 0), (0.9896, 0.0104, 0.891, 0.109), 0),
    ("QLearning infallible", TABLE, (1138, 1036, 1303), "", "", (0.0018, 0, 0, 0.0037, 0),
     (0.9948, 0.0052, 0.9164, 0.0836), 0),
    ("mcts:100", "100 simulations; one-move rule in rollouts", (1134, 1029, 1298), "", "1247536",
     (0.0022, 0.0009, 0.0244, 0.0037, 0), (0.9948, 0.0052, 0.8455, 0.145), 0.5),
    ("mcts:1000", "1,000 simulations; one-move rule in rollouts", (1125, 1030, 1278), "", "", (0, 0, 0, 0, 0),
     (0.987, 0.013, 0.9164, 0.0836), 0),
    ("MaskablePPO", NETWORK, (1121, 1028, 1277), "", "", (0.0018, 0, 0, 0.0037, 0),
     (0.9896, 0.0104, 0.9164, 0.0836), 0),
    ("ValueTD", TABLE, (1115, 992, 1287), "", "", (0.0465, 0.076, 0.0122, 0.0791, 0.017),
     (0.9948, 0.0052, 0.9164, 0.0836), 0),
    ("ValueIteration", TABLE, (1110, 1001, 1266), "", "", (0, 0, 0, 0, 0), (0.9948, 0.0052, 0.9164, 0.0836), 0),
    ("minimax", "the whole game, tabulated", (1107, 1010, 1260), "", "", (0, 0, 0, 0, 0),
     (0.9678, 0.0322, 0.7775, 0.2225), 0),
    ("QLearning", TABLE, (1074, 951, 1255), "", "1568273", (0.0657, 0.1062, 0.0488, 0.1159, 0.0192),
     (0.9896, 0.0104, 0.9132, 0.0603), 0.5),
    ("my_table.npz", TABLE, (1051, 930, 1231), "", "1632579", (0.0612, 0.1101, 0.1463, 0.0901, 0.0305),
     (0.9896, 0.0104, 0.8849, 0.0952), 0.5),
    ("Sarsa", TABLE, (1039, 924, 1226), "", "1632579", (0.0588, 0.1035, 0.1951, 0.0773, 0.0367),
     (0.9896, 0.0104, 0.8698, 0.109), 0.5),
    ("MonteCarlo", TABLE, (944, 774, 1163), "", "", (0.0834, 0.1319, 0.1463, 0.1094, 0.0568),
     (0.9896, 0.0104, 0.9164, 0.0836), 0),
    ("rule", "no search; one-move rule", (860, 678, 1093), "52468319", "1564329",
     (0.0535, 0.0612, 0.2886, 0.0892, 0.0116), (0.9135, 0.0726, 0.7874, 0.166), 1),
    ("minimax:2", "2 plies", (764, 636, 944), "12347568", "1234567", (0.0605, 0.0629, 0.4843, 0.1001, 0.0082),
     (0.8924, 0.0901, 0.6885, 0.2212), 0.6635),
    ("level:5", "plays minimax, 32 % random", (695, 588, 842), "123548", "12437",
     (0.1345, 0.2169, 0.155, 0.1534, 0.1161), (0.8541, 0.0669, 0.6073, 0.2004), 0.5089),
    ("random", "no search", (0, 0, 0), "123548", "12437", RANDOM["TicTacToe-v0"], (0.5849, 0.127, 0.2881, 0.127),
     0.9598),
]  # fmt: skip
C4: list[Row] = [
    ("perfect", "the exact solver", (2223, 1751, None), "", "44444333316766371134177117722222266655555",
     (0, 0, 0, 0, 0), (1, 0, 1, 0), 0),
    ("ntuple:proven", "4 plies; an n-tuple network", (2105, 1690, None), "",
     "44444333316766371134177117722222266655555", (0.041, 0.0613, 0.052, 0.049, 0.022),
     (0.9991, 0.0003, 0.9982, 0.0004), 0),
    ("ntuple", "4 plies; an n-tuple network", (1968, 1574, None), "3642443427224666472277333611673711",
     "462324464422155217266767777641133", (0.0577, 0.0842, 0.098, 0.059, 0.016), (0.998, 0, 0.9968, 0.0003), 0.0412),
    ("level:9", "plays mcts:4000", (1758, 1313, None), "3642443427224666472277333611673711",
     "462324464422155217266767777641133", (0.0993, 0.1512, 0.222, 0.066, 0.01), (1, 0, 0.9996, 0), 0.0367),
    ("NTupleTD", "no search; an n-tuple network", (1731, 1402, 2390), "5546665576236243717775511113316323722244",
     "4444433337167665416677227713316222255", (0.1093, 0.1498, 0.168, 0.116, 0.044), (0.9942, 0, 0.9911, 0.0006),
     0.009),
    ("mcts:1000", "1,000 simulations; one-move rule in rollouts", (1720, 1387, None),
     "5546665576236243717775511113316323722244", "4444433337167665416677227713316222255",
     (0.1087, 0.1526, 0.244, 0.068, 0.014), (0.9998, 0, 0.999, 0), 0.0139),
    ("my_net.zip", NETWORK, (1312, 1061, 1805), "4315154535", "474644313452552",
     (0.1874, 0.241, 0.288, 0.191, 0.083), (0.9921, 0.0002, 0.9866, 0.0004), 0),
    ("mcts:100", "100 simulations; one-move rule in rollouts", (1141, 901, 1940), "256533145462",
     "444246264466312333332262655555511", (0.1607, 0.2126, 0.336, 0.108, 0.038), (0.9974, 0, 0.9931, 0.0002), 0),
    ("MaskablePPO", NETWORK, (1086, 870, 1611), "4315154535", "7163415", (0.2171, 0.2853, 0.31, 0.219, 0.122),
     (0.9833, 0.0004, 0.9714, 0.0009), 0),
    ("DQN", NETWORK, (931, 702, 1477), "444644463355", "4434215", (0.2466, 0.3081, 0.342, 0.254, 0.144),
     (0.9712, 0.0008, 0.9533, 0.001), 0),
    ("minimax:4", "4 plies", (724, 469, 1408), "44444313766163364516311631777555575722", "474644313452552",
     (0.3011, 0.3489, 0.5357, 0.2754, 0.0921), (0.9689, 0.0014, 0.9572, 0.002), 0),
    ("rule", "no search; one-move rule", (683, 450, 1334), "444644463355", "4434215",
     (0.2853, 0.311, 0.361, 0.318, 0.177), (0.9547, 0.0019, 0.9228, 0.0027), 0),
    ("level:4", "plays minimax:4, 7 % random", (667, 417, 1341), "4315154535", "7163415",
     (0.3241, 0.3816, 0.5449, 0.3003, 0.1272), (0.9558, 0.0012, 0.9386, 0.0018), 0),
    ("MonteCarlo", TABLE, (318, 90, 803), "42724232", "6341547", (0.4512, 0.5793, 0.498, 0.452, 0.404),
     (0.8871, 0.0009, 0.8192, 0.0012), 0),
    ("QLearning", TABLE, (262, 31, 748), "43531313", "2211314", (0.4837, 0.6205, 0.516, 0.487, 0.448),
     (0.8534, 0.0012, 0.7616, 0.0015), 0),
    ("level:2", "plays rule, 75 % random", (143, -88, 641), "42724232", "6341547",
     (0.5446, 0.6897, 0.5907, 0.5532, 0.4898), (0.6724, 0.0021, 0.5633, 0.0024), 0),
    ("random", "no search", (0, 0, 0), "43531313", "2211314", RANDOM["ConnectFour-v0"],
     (0.5555, 0.0026, 0.4419, 0.0026), 0),
]  # fmt: skip

TABLES = {
    "QLearning": "A table of action values, by Q-learning",
    "QLearning infallible": "A table of action values, by Q-learning with backward updates and symmetry",
    "Sarsa": "A table of action values, by Sarsa",
    "MonteCarlo": "A table of action values, by Monte Carlo control",
    "ValueTD": "A table of state values, by temporal differences",
    "ValueIteration": "Values of all positions against random play, by value iteration",
    "NTupleTD": "An n-tuple network of state values, by TD(lambda)",
    "DQN": "A network of action values, by deep Q-learning",
    "MaskablePPO": "A network that names moves, by masked proximal policy optimisation",
}
NOTES = {
    "ntuple": "The n-tuple network that the package ships, learned in self-play.",
    "ntuple:proven": "The same kind of network, proven not to lose as the first player.",
}


def sample() -> dict[str, Any]:
    """A record of both games, with a player of the reader's in each."""
    packages = {"tictac-env": "1.0.0", "numpy": "2.4.6", "numba": "0.68.1", "stable-baselines3": "2.9.2"}
    machine = {"date": "2026-11-23", "processor": "AMD EPYC", "cores": 2, "system": "Linux x86_64", "python": "3.11.7"}
    seconds = {"install": 41.2, "compile": 63.5, "train": 211.8, "judge": 402.6, "play": 61.3, "page": 0.2}
    return {
        "$schema": "results.schema.json",
        "schema": 2,
        "settings": {"setting": "quick", "seed": 0, "opening_plies": 2, "time_limit": 10.0},
        "machine": machine | {"packages": packages},
        "seconds": seconds | {"total": 463.9},
        "games": [game("TicTacToe-v0", "Tic-tac-toe", TTT, 40), game("ConnectFour-v0", "Connect Four", C4, 20)],
    }


def game(name: str, title: str, rows: Sequence[Row], games: int) -> dict[str, Any]:
    """The record of one game, of which each pair plays so many games."""
    small = name == "TicTacToe-v0"
    suite, positions = SUITES[name]
    board = (3, 3, 3, False) if small else (6, 7, 4, True)
    advantage = (487.7, 403.6, 626.8) if small else (27.2, -17.6, 96.3)
    draws = (0.4485, 0.2853, 0.6065) if small else (0.0891, 0.0412, 0.1533)
    elos = {row[0]: row[2][0] or 0 for row in rows}
    pairs = [pair(one, two, elos, games) for one in elos for two in elos if one != two]
    total = games * len(pairs) // 2
    return {
        "game": name,
        "title": title,
        "board": dict(zip(("rows", "columns", "connect", "gravity"), board, strict=True)),
        "games": total,
        "distinct_games": total,
        "openings": games // 2,
        "suite": {"name": suite, "sha256": "42ed03c7a6f85f27" * 4, "positions": positions},
        "anchor": "random",
        "first_advantage": dict(zip(("value", "low", "high"), advantage, strict=True)),
        "draws_between_equals": dict(zip(("value", "low", "high"), draws, strict=True)),
        "resampled": {"number": games // 2, "what": "openings"},
        "settings": {"games": games, "positions": 10_000, "max_positions": 100_000, "exact_games": 10_000}
        | {"seeds": 1, "shorter": 1},
        "agents": [agent(name, row, small, pairs) for row in rows],
        "pairs": pairs,
        "forfeits": [],
    }


def pair(one: str, two: str, elos: dict[str, float], games: int) -> dict[str, Any]:
    """The games of a pair, drawn by their ratings: the same games whichever is named first."""
    seats = {}
    for first, second in ((one, two), (two, one)):
        rng, half = random.Random(f"{first} {second}"), games // 2
        expected = 1 / (1 + 10 ** ((elos[second] - elos[first] - 60) / 400))
        wins = sum(rng.random() < expected * 0.85 for _ in range(half))
        drawn = sum(rng.random() < 0.4 * (1 - abs(2 * expected - 1)) for _ in range(half - wins))
        seats[first] = [wins, drawn, half - wins - drawn]
    as_first, as_second = seats[one], seats[two][::-1]
    score = (as_first[0] + as_second[0] + (as_first[1] + as_second[1]) / 2) / games
    expected = round(1 / (1 + 10 ** ((elos[two] - elos[one]) / 400)), 6)
    return {"player": one, "opponent": two, "games": games, "as_first": as_first, "as_second": as_second} | {
        "score": round(score, 6),
        "expected": expected,
    }


def agent(game: str, row: Row, small: bool, pairs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The record of one player."""
    name, budget, elo, first, second, mistakes, (win1, draw1, win2, draw2), truth = row
    lines = {"first": first, "second": second}
    own = [one for one in pairs if one["player"] == name]
    yours = name.startswith("my_")
    trained = name in TABLES
    return {
        "name": name,
        "role": "yours" if yours else "cast",
        "note": NOTES.get(name, ""),
        "kind": "file" if trained or yours else "name",
        "agent": name.split()[0] if trained else "Player",
        "settings": {},
        "checkpoint_sha256": "4671becdc2c3a14957bfc510eb49af9facd32957ee24f87e23a7367993f95070" if trained else None,
        "budget": budget,
        "one_move_rule": "in rollouts" if "rollouts" in budget else "on" if "one-move rule" in budget else "off",
        "training": training(game, name, mistakes[0], truth, small) if trained else None,
        "rating": dict(zip(("elo", "low", "high"), elo, strict=True))
        | {"unbounded": "", "score": sum(one["score"] for one in own) / len(own)}
        | {"games": sum(one["games"] for one in own), "distinct_games": 7, "forfeits": 0},
        "failure": None,
        "verdict": verdict(lines, truth, small, "sampled, 200 games" if "%" in budget else "all games followed"),
        "measures": measures(game, mistakes),
        "v_random": {"first": shares(win1, draw1), "second": shares(win2, draw2), "exact": small},
        "losing": {seat: losing(game, line, seat, small) if line else None for seat, line in lines.items()},
        "seconds": {"train": 12.4 if trained else None, "judge": 8.25, "move": 0.00041},
    }


def verdict(lines: dict[str, str], truth: float, small: bool, method: str) -> dict[str, Any]:
    """The exact verdict: exploitability, or results against perfect play, of which `truth` are drawn as first."""
    if small:
        found: dict[str, Any] = {"method": "every reply walked", "basis": "fixed map", "exploitability": truth}
        for seat, line in lines.items():
            lost = min(truth, 1) if line else 0
            found[f"as {seat}"] = {"infallible": not line, "losing line": line or None, "v best": shares(0, 1 - lost)}
        return found
    found = {"method": method, "basis": "fixed map"}
    for seat, line in lines.items():
        won = seat == "first" and not line
        played = shares(1, 0) if won else shares(0, truth if seat == "first" else 0)
        sampled = [[max(share - 0.001, 0), min(share + 0.001, 1)] for share in played]
        found[f"as {seat}"] = {
            "v perfect": played,
            "intervals": sampled if method.startswith("sampled") else None,
            "decided after plies": 0.0 if won or seat == "second" else 5.2,
            "infallible": None if won else False,  # won against perfect play, but not every reply was walked
            "losing line": line or None,
        }
    return found


def measures(game: str, mistakes: Sequence[float]) -> list[dict[str, Any]]:
    """Mistakes, perfect moves and regret among all positions, critical ones and those of each phase."""
    found = []
    for among, number, share, chance in zip(AMONG, POSITIONS[game], mistakes, RANDOM[game], strict=True):
        reach = 1.96 * math.sqrt((share * (1 - share) + 1 / number) / number)
        for name, value, luck in (
            ("mistakes", share, chance),
            ("perfect", 1 - share, 1 - chance),
            ("regret", 1.4 * share, 1.4 * chance),
        ):
            ends = {"low": max(value - reach, 0), "high": min(value + reach, 1)}
            found.append({"name": name, "among": among, "positions": number, "value": value, "random": luck} | ends)
    return found


def losing(game: str, moves: str, seat: str, small: bool) -> dict[str, Any]:
    """A lost game, cell by cell, as the page shows it."""
    position, cells = Position.start(game), []
    rules = position.game
    for move in moves:
        position = position.play(next(a for a in position.legal_actions if format_moves(rules, [a]) == move))
        row, column = position.last_cell or (0, 0)
        cells.append(row * rules.cols + column)
    assert position.outcome is not None and position.outcome.winner == (seat == "first")
    ply = len(moves) - (3 if len(moves) > 5 else 1) - 1
    note = f"given away at ply {ply + 1}: {moves[ply]}, better {5 if moves[ply] != '5' else 3}"
    return {
        "moves": moves,
        "cells": cells,
        "winning_cells": [row * rules.cols + column for row, column in position.outcome.cells],
        "given_away": note if small or seat == "first" else None,
        "shortest": len(moves) < 20,
    }


def training(game: str, name: str, mistakes: float, truth: float, small: bool) -> dict[str, Any]:
    """A training whose curve falls, by steps, to what the player has in the end."""
    network = name in ("DQN", "MaskablePPO")
    games = None if network else 100_000
    seconds = (49.45 if network else 0.13) * (1 if small else 4)
    curve = []
    for point in range(1, 21):
        part = point / 20
        worse = max(0.0, 1.2 * (1 - part) ** 1.5)
        wrong = random.Random(f"{name} {point}").uniform(0.8, 1.2) * worse
        lost = min(1.0, truth + round(2 * wrong) / 2)
        first = shares(0, 1 - lost) if small else shares(0, truth * part)
        curve.append({
            "cpu_seconds": round(seconds * part, 4),
            "games": games and int(games * part),
            "steps": int(1_204_224 * part),
            "exploitability": lost if small else None,
            "mistakes": None if small else min(0.63, mistakes * (1 + 1.5 * wrong)),
            "v_perfect": {"first": first, "second": shares(0, max(0, 1 - 1.6 * lost) if small else 0), "exact": True},
        })  # fmt: skip
    long = "1,204,224 steps" if network else "100,000 games"
    return {
        "sentence": f"{TABLES[name]}: {long} against itself.",
        "command": f"tictac train {name.split()[0]} --game {game} --seed 0 --output agent.npz",
        "games": games,
        "steps": 1_204_224,
        "cpu_seconds": seconds,
        "curve": curve,
    }


def shares(won: float, drawn: float) -> list[float]:
    """Shares of games won, drawn and lost."""
    return [won, drawn, max(0.0, 1 - won - drawn)]
