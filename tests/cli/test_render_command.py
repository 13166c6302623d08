"""`tictac render` and `tictac info`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import tictac_env
from tictac_env import Position, cli
from tictac_env.render import render_rgb, render_svg

GAMES = [("ConnectFour-v0", "444413222242311111233335"), ("TicTacToe-v0", "15243"), ("KInARow-v0:5x6-4", "")]


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
    assert cli.main(["render", moves, "-o", str(path), "--cell-size", "20", "--seconds", "0.5"]) == 0
    with images.open(path) as image:
        assert image.n_frames == len(moves) + 1 and image.info["loop"] == 0
        for ply in range(image.n_frames):
            image.seek(ply)
            wanted = render_rgb(Position.from_moves(game, moves[:ply]), 20).astype(int)
            shown = np.asarray(image.convert("RGB")).astype(int)
            assert np.abs(shown - wanted).mean() < 2  # 256 colours
            assert image.info["duration"] == (500 if ply < len(moves) else 2000)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["44", "-o", "board.jpg"], "--output must end in .svg, .png, .gif, not 'board.jpg'"),
        (["49"], "move 2 of '49' is '9'"),
        (["44", "-o", f"{__file__}/board.svg"], "test_render_command.py"),
    ],
)
def test_wrong_moves_and_files_are_named(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["render", *words]) == 2
    out, err = capsys.readouterr()
    assert out == "" and told in err and err.count("\n") == 1


def test_without_pillow_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    for suffix in ("png", "gif"):
        assert cli.main(["render", "44", "-o", str(tmp_path / f"board.{suffix}")]) == 2
        assert 'run: pip install "tictac-env[video]"' in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_info_tells_what_is_installed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["info", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["version"] == tictac_env.__version__
    assert found["packages"][""]["numpy"] == np.__version__
    assert {"TicTacToe-v0", "ConnectFour-v0", "KInARow-v0"} <= {*found["games"]} & {*found["gymnasium"]}
    assert "tictac_env/ConnectFour-v0" in found["pettingzoo"]
    assert "perfect" in found["policies"] and Path(found["cache"]["folder"]).is_dir()
    assert cli.main(["info"]) == 0
    out = capsys.readouterr().out
    assert found["cache"]["folder"] in out and f"numpy {np.__version__}" in out


def test_info_names_the_extra_of_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    needed = ["numpy>=1.26", 'a-package-that-is-not-there>=2; extra == "plot"']
    monkeypatch.setattr("tictac_env.cli.show.requires", lambda _: needed)
    assert cli.main(["info"]) == 0
    assert 'plot: a-package-that-is-not-there missing; pip install "tictac-env[plot]"' in capsys.readouterr().out
