"""`tictac solve`, `tictac render` and `tictac info`."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import tictac_env
from tictac_apps import cli
from tictac_apps.cli.arguments import print_board
from tictac_env import Position, solve
from tictac_env.render import render_rgb, render_svg

GAMES = [("ConnectFour-v0", "444413222242311111233335"), ("TicTacToe-v0", "15243"), ("KInARow-v0:5x6-4", "")]


def test_solve_prints_board_scores_best_moves_and_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["solve", "52753311433677442422121"]) == 0
    out = capsys.readouterr().out
    for move, score in enumerate((2, 3, 7, 7, 8, 7, 2), 1):
        assert re.search(rf"^{move:>3} {score:>4}  W\d+ *{'best' if move == 5 else ''}$", out, re.MULTILINE)
    line = out.split("best play: ")[1].split("\n")[0]
    moves = (len(line) + 1) // 2
    assert f"score 8: yellow O wins in {moves} moves" in out and f"  W{moves}" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["15243", "--game", "TicTacToe-v0"], "score "),
        (["15", "--game", "TicTacToe-v0", "--weak"], "score 0: a draw"),
        (["12", "--game", "TicTacToe-v0", "--weak"], "score 1: X wins"),
        (["4455336"], "score -18: red X has won"),
    ],
)
def test_positions_of_other_games_are_solved(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["solve", *arguments]) == 0
    assert said in capsys.readouterr().out


@pytest.mark.parametrize("moves", [["4", "4", "5", "3"], ["4 4 5 [3]"], ["4,4,5,3"]])
def test_moves_may_be_set_apart(moves: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["solve", *moves, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["moves"] == "4453"
    assert cli.main(["render", *moves, "--game", "ConnectFour-v0"]) == 0
    assert capsys.readouterr().out == f"ConnectFour-v0\n{Position.from_moves('ConnectFour-v0', '4453')}\n"


def test_a_limit_is_said_plainly(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["solve", "4", "--time-limit", "0.05", "--no-book", "--table", "4"]) == 1
    assert "not proven: in [" in capsys.readouterr().out


def test_the_line_of_best_play_ends_where_time_does(capsys: pytest.CaptureFixture[str]) -> None:
    """The opening book has the score and the first moves; the rest would take long."""
    assert cli.main(["solve", "--time-limit", "0"]) == 0
    out = capsys.readouterr().out
    assert "score 1: red X wins in 21 moves" in out
    assert "best play: 44444" in out
    assert "...\n" in out


def test_programs_get_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["solve", "52753311433677442422121", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["game"] == "ConnectFour-v0" and told["moves"] == "52753311433677442422121"
    solution = solve(Position.from_moves("ConnectFour-v0", told["moves"]))
    assert (told["score"], tuple(told["action_scores"])) == (solution.score, solution.action_scores)
    assert tuple(told["best_actions"]) == solution.best_actions
    assert Position.from_moves("ConnectFour-v0", told["moves"] + told["best_play"]).is_over
    assert cli.main(["solve", "4", "--time-limit", "0.02", "--no-book", "--table", "4", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["score"] is None and told["lower"] <= -1 <= told["upper"]


@pytest.mark.parametrize(("game", "moves"), GAMES)
def test_pictures_are_those_of_the_position(
    game: str, moves: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    images = pytest.importorskip("PIL.Image")
    position = Position.from_moves(game, moves)
    words = ["render", moves, "--game", game]
    assert cli.main(words) == 0
    assert capsys.readouterr().out == f"{game}\n{position}\n"
    for suffix in ("svg", "png"):
        path = tmp_path / f"board.{suffix}"
        assert cli.main([*words, "-o", str(path), "--cell-size", "40"]) == 0
        assert capsys.readouterr().out == f"{path} ({game})\n"
    assert (tmp_path / "board.svg").read_text() == render_svg(position, 40)
    with images.open(tmp_path / "board.png") as image:
        assert np.array_equal(np.asarray(image), render_rgb(position, 40))


def test_a_gif_plays_the_game(tmp_path: Path) -> None:
    images = pytest.importorskip("PIL.Image")
    game, moves = GAMES[0]
    path = tmp_path / "game.gif"
    assert cli.main(["render", moves, "-o", str(path), "--cell-size", "20", "--delay", "0.5", "--game", game]) == 0
    with images.open(path) as image:
        assert image.n_frames == len(moves) + 1 and image.info["loop"] == 0
        for ply in range(image.n_frames):
            image.seek(ply)
            wanted = render_rgb(Position.from_moves(game, moves[:ply]), 20).astype(int)
            shown = np.asarray(image.convert("RGB")).astype(int)
            assert np.abs(shown - wanted).mean() < 2  # 256 colours
            assert image.info["duration"] == (500 if ply < len(moves) else 2000)


def test_without_pillow_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    for suffix in ("png", "gif"):
        assert cli.main(["render", "45", "-o", str(tmp_path / f"board.{suffix}")]) == 2
        assert 'pip install "tictac-env[video]"' in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_info_tells_what_is_installed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["info", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["version"] == tictac_env.__version__
    assert found["packages"][""]["numpy"] == np.__version__
    assert {"TicTacToe-v0", "ConnectFour-v0", "KInARow-v0"} <= {*found["games"]} & {*found["gymnasium"]}
    assert "tictac_env/ConnectFour-v0" in found["pettingzoo"]
    assert "perfect" in found["players"] and Path(found["cache"]["folder"]).is_dir()
    assert cli.main(["info"]) == 0
    out = capsys.readouterr().out
    assert found["cache"]["folder"] in out and f"numpy {np.__version__}" in out


def test_info_names_the_extra_of_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    needed = ["numpy>=1.26", 'a-package-that-is-not-there>=2; extra == "plot"']
    monkeypatch.setattr("tictac_apps.cli.show.requires", lambda _: needed)
    assert cli.main(["info"]) == 0
    assert 'plot: a-package-that-is-not-there missing; pip install "tictac-env[plot]"' in capsys.readouterr().out


def test_stones_have_colours_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    board = str(Position.from_moves("ConnectFour-v0", "445"))
    print_board(board)
    assert capsys.readouterr().out == board + "\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    print_board(board)
    painted = capsys.readouterr().out
    for stone, colour in (("X", 31), ("O", 33)):
        assert painted.count(f"\x1b[1;{colour}m{stone}\x1b[0m") == painted.count(stone) == 2
    monkeypatch.setenv("NO_COLOR", "1")
    print_board(board)
    assert capsys.readouterr().out == board + "\n"
