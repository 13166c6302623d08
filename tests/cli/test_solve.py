"""`tictac solve`."""

from __future__ import annotations

import pytest

from tictac_env import cli


def test_solve_prints_board_scores_best_moves_and_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["solve", "52753311433677442422121"]) == 0
    out = capsys.readouterr().out
    for move, score in enumerate((2, 3, 7, 7, 8, 7, 2), 1):
        assert f"{move:>3} {score:>4}{'  best' if move == 5 else ''}\n" in out
    assert "score 8: the first player wins on ply " in out or "score 8: the second player wins on ply " in out
    line = out.split("best play: ")[1].split("\n")[0]
    ply = int(out.split("on ply ")[1].split("\n")[0])
    assert ply == len("52753311433677442422121") + len(line)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["15243", "--game", "TicTacToe-v0"], "score "),
        (["15", "--game", "TicTacToe-v0", "--weak"], "score 0: a draw"),
        (["12", "--game", "TicTacToe-v0", "--weak"], "score 1: the first player wins"),
        (["4455336"], "score -18: the first player has won"),
    ],
)
def test_positions_of_other_games_are_solved(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["solve", *arguments]) == 0
    assert said in capsys.readouterr().out


def test_a_limit_is_said_plainly(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["solve", "4", "--seconds", "0.05", "--no-book", "--table", "4"]) == 1
    assert "not proven: in [" in capsys.readouterr().out


def test_the_line_of_best_play_ends_where_time_does(capsys: pytest.CaptureFixture[str]) -> None:
    """The opening book has the score and the first moves; the rest would take long."""
    assert cli.main(["solve", "--seconds", "0"]) == 0
    out = capsys.readouterr().out
    assert "score 1: the first player wins on ply 41" in out
    assert "best play: 44444" in out
    assert "...\n" in out


def test_errors_name_what_was_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["solve", "48"]) == 2
    assert "8" in capsys.readouterr().err
    assert cli.main(["solve", "4", "--game", "ConnectFive"]) == 2
    assert "did you mean ConnectFour-v0?" in capsys.readouterr().err
