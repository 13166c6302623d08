"""`tictac solve`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tictac_env import Position, cli, solve


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


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["48"], "move 2 of '48' is '8'; moves of this game are 1234567"),
        (["4444444"], "move 7 of '4444444': column 4 is full"),
        (["44553365"], "move 8 of '44553365': the game was over before it"),
        (["55", "--game", "TicTacToe-v0"], "move 2 of '55': 5 is taken"),
        (["4", "--game", "ConnectFive"], "did you mean ConnectFour-v0?"),
    ],
)
def test_wrong_moves_and_games_are_named(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["solve", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == "" and told in err and err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--seconds", "-1"], "argument --seconds: must be a number of at least 0, not '-1'"),
        (["--seconds", "nan"], "argument --seconds: must be a number of at least 0, not 'nan'"),
        (["--threads", "0"], "argument --threads: must be a whole number from 1 to 64, not '0'"),
    ],
)
def test_an_option_out_of_range_is_named_before_anything_happens(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(["solve", *arguments])
    out, err = capsys.readouterr()
    assert out == "" and told in err and err.count("\n") == 1


def test_programs_get_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["solve", "52753311433677442422121", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["game"] == "ConnectFour-v0" and told["moves"] == "52753311433677442422121"
    solution = solve(Position.from_moves("ConnectFour-v0", told["moves"]))
    assert (told["score"], tuple(told["action_scores"])) == (solution.score, solution.action_scores)
    assert tuple(told["best_actions"]) == solution.best_actions
    assert Position.from_moves("ConnectFour-v0", told["moves"] + told["best_play"]).is_over
    assert cli.main(["solve", "4", "--seconds", "0.02", "--no-book", "--table", "4", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["score"] is None and told["lower"] <= -1 <= told["upper"]


def test_a_search_on_a_terminal_says_what_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    """Here the terminal is a text buffer that says it is one."""
    shown = []

    @contextmanager
    def bar(total: float, what: str, show: bool = True) -> Iterator[Callable[[float, str], None]]:
        yield lambda done, text="": shown.append(text)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tictac_env.solver.exact.progress_bar", bar)
        assert cli.main(["solve", "44444", "--seconds", "1.5", "--no-book", "--table", "4"]) == 1
    told = [text for text in shown if text]  # on a busy machine the search may not begin at once
    assert told and all(re.fullmatch(r"in \[-?\d+, -?\d+\], [\d,]+ nodes", text) for text in told)
