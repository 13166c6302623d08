"""The page without a server: its rules, its network and its exact values are those of the package."""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tictac_agents import NTupleNetwork
from tictac_env import Position, cli, move_accuracy, solve, verdict
from tictac_env.arena.results import seat_result
from tictac_env.games import get_game
from tictac_env.policies import make_policy
from tictac_env.position_batch import PositionBatch
from tictac_env.solver.book import opening_book_of
from tictac_env.web import export
from tictac_env.web.export import BITS

NODE = shutil.which("node")
GAMES = "TicTacToe-v0", "ConnectFour-v0"
MODULES = [path for path in export.MODULES if path.parent == export.OFFLINE or path.name == "base.js"]
PLIES = 4
"""How far the page looks ahead, as its name for the player says."""
needs_node = pytest.mark.skipif(NODE is None, reason="there is no node to run the page's rules")


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A script for node, made of the page's modules and data."""
    path = tmp_path_factory.mktemp("judge") / "judge.js"
    data = [text for name, text in export.page_files().items() if name.startswith("data/")]
    path.write_text("".join(data) + export.joined([*MODULES, Path(__file__).with_name("export_judge.js")]))
    return path


def judged(judge: Path, game: str, games: list[str]) -> Iterator[list[dict[str, Any]]]:
    """What the page says of each position of each game; a thousand games at a time, as there is much of it."""
    assert NODE is not None
    for start in range(0, len(games), 1000):
        part = games[start : start + 1000]
        asked = json.dumps({"game": game, "games": part})
        done = subprocess.run([NODE, str(judge)], input=asked, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        assert len(lines) == len(part)
        yield from map(json.loads, lines)


def random_games(game: str, count: int) -> Iterator[list[Position]]:
    """All positions of each of so many games of random play."""
    rng = np.random.default_rng(20)
    for _ in range(count):
        positions = [Position.start(game)]
        while legal := positions[-1].legal_actions:
            positions.append(positions[-1].play(int(rng.choice(legal))))
        yield positions


def check_rules(position: Position, found: dict[str, Any]) -> None:
    game = position.game
    stones = [game.stone(position.own, position.opp, action) for action in position.legal_actions]
    assert [action for action, _, _ in found["legal"]] == list(position.legal_actions)
    assert [game.cell(row, col) for _, row, col in found["legal"]] == stones
    outcome = position.outcome
    assert found["over"] == position.is_over
    assert found["winner"] == (outcome.winner if outcome else None)
    assert sorted(map(tuple, found["line"])) == (sorted(map(tuple, outcome.cells)) if outcome else [])
    assert found["cells"] == "".join(map(str, position.to_array().ravel()))


@functools.cache
def player(game: str) -> NTupleNetwork:
    """The network as the page has it."""
    return NTupleNetwork.shipped(game).rounded(BITS).looking_ahead(PLIES)


def check_network(game: str, positions: list[Position], found: list[dict[str, Any]]) -> None:
    """The actions are those of the package, and so are the values; its own tanh ends at 0.9999."""
    network = player(game)
    wanted = network.act_many(PositionBatch.of(positions), np.zeros(len(positions), np.int64))
    values = [network.values(position.own, position.opp) for position in positions]
    assert [one["action"] for one in found] == wanted.tolist()
    assert [[action for action, _ in one["values"]] for one in found] == [list(one) for one in values]
    shown = np.array([value for one in found for _, value in one["values"]])
    assert np.abs(shown - [value for one in values for value in one.values()]).max() < 1.2e-4
    assert {-1, 1} < set(shown)


@functools.cache
def truth(position: Position) -> tuple[int | None, ...]:
    return solve(position).action_scores


def check_scores(position: Position, found: list[int | None]) -> int:
    """Scores are true, and are there wherever the table or the book has them; returns how many there are."""
    book = opening_book_of(position.game)
    late = position.ply >= 36 or book is None
    for action, score in zip(position.legal_actions, found, strict=True):
        after = position.play(action)
        known = book.score(after) if book and not after.is_over else None
        if known is not None:
            assert score == -known, (position, action)
        if after.is_over or book is None:
            assert score is not None
        if late and score is not None:
            assert score == truth(position)[action], (position, action)
    return sum(score is not None for score in found)


@needs_node
@pytest.mark.parametrize("count", [60, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("game", GAMES)
def test_the_page_plays_by_the_rules_and_as_the_network_of_the_package(judge: Path, game: str, count: int) -> None:
    games = list(random_games(game, count))
    positions, found = [], []
    results: set[int | None] = set()
    known = 0
    for played, said in zip(games, judged(judge, game, [one[-1].to_moves() for one in games]), strict=True):
        for position, one in zip(played, said, strict=True):
            check_rules(position, one)
            known += check_scores(position, one["scores"])
        asked = next(ply for ply, one in enumerate(said) if "action" in one)
        positions.append(played[asked])
        found.append(said[asked])
        results.add(said[-1]["winner"])
    assert len({position.ply for position in positions}) > 4
    check_network(game, positions, found)
    assert known > 20 * count
    assert results == {None, 0, 1} or count < 1000  # draws are rare on a large board


@pytest.mark.slow
def test_rounding_costs_no_strength() -> None:
    """On tic-tac-toe it is proven unbeatable; on Connect Four all its games against perfect play are followed."""
    assert verdict(player("TicTacToe-v0")).exploitability == 0
    game = get_game("ConnectFour-v0")
    rounded, whole = player("ConnectFour-v0"), NTupleNetwork.shipped(game).looking_ahead(PLIES)
    after, before = move_accuracy(rounded, "C4-Choose-v1"), move_accuracy(whole, "C4-Choose-v1")
    assert abs(after.compare(before).difference) < 0.003
    found = seat_result(rounded, make_policy("perfect", game), game, 0, max_positions=1_000_000)
    assert found.exact and found.shares.wins > 0.99


def contents(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_the_folder_is_small_whole_and_refers_to_nothing_outside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "deep" / "site"
    assert cli.main(["export-page", str(target)]) == 0
    assert capsys.readouterr().out.startswith(f"{target / 'index.html'} (8 files, ")
    files = contents(target)
    assert files.keys() == export.page_files().keys()
    assert sum(map(len, files.values())) < 840_000
    text = b"".join(files.values()).decode()
    addresses = {word for word in text.split() if "://" in word}
    assert all("www.w3.org" in word for word in addresses), addresses  # the name of SVG, which nobody loads
    assert "/static/" not in text and 'type="module"' not in text


def test_an_export_is_replaced_and_nothing_else_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "site"
    target.mkdir()
    export.export_page(target)  # into an empty folder
    files = contents(target)
    record = json.loads(files["export.json"])
    record["sha256"] |= {"old.js": "", "../outside.txt": ""}
    (target / "export.json").write_text(json.dumps(record))
    for path in (target / "old.js", tmp_path / "outside.txt", target / "CNAME"):
        path.write_text("kept?")
    (target / "page.js").write_text("damaged")
    export.export_page(target)
    assert contents(target) == files | {"CNAME": b"kept?"}
    assert (tmp_path / "outside.txt").exists()

    for record_text in ("{}", "not JSON", '{"kind": "tictac export-page", "sha256": null}', None):
        other = tmp_path / "other"
        shutil.rmtree(other, ignore_errors=True)
        other.mkdir()
        (other / "letter.txt").write_text("mine")
        if record_text is not None:
            (other / "export.json").write_text(record_text)
        before = contents(other)
        assert cli.main(["export-page", str(other)]) == 2
        assert "is neither empty nor an earlier export" in capsys.readouterr().err
        assert contents(other) == before
    assert cli.main(["export-page", str(other / "letter.txt")]) == 2
    assert "is a file" in capsys.readouterr().err
