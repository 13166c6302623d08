"""A program answers line by line, in any language; whatever it does instead is told, and nothing of it is left."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import playout

from tictac_apps.bridges.program import Program, question_of
from tictac_env import verdict
from tictac_env.games import get_game
from tictac_env.policies import load_player
from tictac_env.policies.loading import Reading
from tictac_env.position import IllegalMove, Position

TTT, C4 = get_game("TicTacToe-v0"), get_game("ConnectFour-v0")
SHELL = """
while read -r moves cells side seed; do
    before=${cells%%.*}
    echo $((${#before} + 1))
done
"""
C = """
#include <stdio.h>
int main(void) {
    char moves[64], cells[64], side[2];
    unsigned long long seed;
    while (scanf("%63s %63s %1s %llu", moves, cells, side, &seed) == 4) {
        int cell = 0;
        while (cells[cell] != '.') cell++;
        printf("%d\\n", cell + 1);
        fflush(stdout);
    }
    return 0;
}
"""


def script(folder: Path, code: str) -> str:
    (folder / "bot.sh").write_text(code)
    return f"sh {folder / 'bot.sh'}"


def compiled(folder: Path) -> str:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    (folder / "bot.c").write_text(C)
    subprocess.run([compiler, "-o", folder / "bot", folder / "bot.c"], check=True)
    return str(folder / "bot")


def first_empty(observation: object, mask: object) -> int:
    return int(mask.argmax())  # type: ignore[attr-defined]


@pytest.mark.parametrize("language", ["c", "sh"])
def test_a_program_is_judged_as_the_function_that_plays_the_same(language: str, tmp_path: Path) -> None:
    command = compiled(tmp_path) if language == "c" else script(tmp_path, SHELL)
    player = load_player(f"program:{command}", TTT)
    assert (player.kind, player.source, player.agent, player.name) == ("program", command, "Program", command)
    found, wanted = verdict(player.policy), verdict(first_empty)
    assert (found.as_first, found.as_second) == (wanted.as_first, wanted.as_second)


@pytest.mark.parametrize("game", [TTT, C4, get_game("KInARow-v0:3x13-3,gravity=False")], ids=str)
def test_a_question_says_all_about_a_position(game: object) -> None:
    for seed in range(5):
        for position in playout(game, seed)[:-1]:  # type: ignore[arg-type]
            moves, cells, side, number = question_of(position, 7).split(" ")
            again = Position.from_moves(position.game, "" if moves == "-" else moves)
            assert (again.own, again.opp, number) == (position.own, position.opp, "7")
            stones = [".XO"[stone] for stone in position.to_array().ravel()]
            assert cells == "".join(stones) and side == "XO"[position.seat]


def test_the_environment_says_which_game(tmp_path: Path) -> None:
    code = 'read -r x; test "$TICTAC_GAME $TICTAC_ROWS $TICTAC_COLS" = "ConnectFour-v0 6 7" && echo 7; read -r x'
    assert load_player(f"program:{script(tmp_path, code)}", C4).policy.act(Position.start(C4), 0) == 6


@pytest.mark.parametrize(
    ("code", "error", "match"),
    [
        ("exit 3", ValueError, r"ended with status 3; the question was '- \.{9} X 5'"),
        ("read -r x; echo b2", ValueError, "the answer was 'b2', and must be an integer from 1 to 9"),
        ("read -r x; echo 10", ValueError, "the answer was '10', and must be an integer from 1 to 9"),
        ("read -r x; echo; read -r x", ValueError, "the answer was ''"),
        ("read -r x; printf '5\\n6\\n'; read -r x", ValueError, "more than one line"),
        ("sleep 60", TimeoutError, "no answer within 0.3 s .*flush"),
        ("trap '' TERM HUP; while :; do sleep 1; done", TimeoutError, "no answer within 0.3 s"),
        ("read -r x; printf 5; sleep 60", TimeoutError, "no answer within 0.3 s"),
        ("yes no | head -n 99999", ValueError, "more than one line|longer than 200"),
    ],
)
def test_what_is_no_answer_is_told_and_the_program_stopped(
    code: str, error: type[Exception], match: str, tmp_path: Path
) -> None:
    marked = f"echo $$ > {tmp_path / 'pid'}\n{code}\n"
    policy = Program(script(tmp_path, marked), TTT, time_limit=0.3 if error is TimeoutError else 20)
    with pytest.raises(error, match=match):
        policy.act(Position.start(TTT), 5)
    assert not alive(int((tmp_path / "pid").read_text()))


def test_a_program_is_stopped_at_the_end_with_what_it_started(tmp_path: Path) -> None:
    code = f"sleep 100 &\necho $! > {tmp_path / 'child'}\necho $$ > {tmp_path / 'pid'}\n{SHELL}"
    policy = Program(script(tmp_path, code), TTT)
    assert policy.act(Position.from_moves(TTT, "12"), 0) == 2
    ids = [int((tmp_path / name).read_text()) for name in ("pid", "child")]
    assert all(map(alive, ids))
    del policy
    gc.collect()
    assert not any(map(alive, ids))


def alive(pid: int) -> bool:
    """Whether a process runs, after a moment in which the system may clear it away; a zombie does not."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return False
        if state == "Z":
            return False
        time.sleep(0.005)
    return True


def test_after_an_answer_that_was_none_it_is_asked_anew(tmp_path: Path) -> None:
    code = f"test -e {tmp_path / 'once'} || {{ : > {tmp_path / 'once'}; read -r x; echo no; exit; }}\n{SHELL}"
    policy = Program(script(tmp_path, code), TTT)
    with pytest.raises(ValueError, match="'no'"):
        policy.act(Position.start(TTT), 0)
    assert policy.act(Position.start(TTT), 0) == 0
    policy.close()
    assert policy.act(Position.from_moves(TTT, "1"), 0) == 1


def test_an_illegal_answer_is_an_illegal_move(tmp_path: Path) -> None:
    policy = Program(script(tmp_path, "while read -r x; do echo 1; done"), TTT)
    with pytest.raises(IllegalMove, match=r"chose action 0, illegal here"):
        verdict(policy)


@pytest.mark.parametrize(
    ("command", "error", "match"),
    [
        ("", ValueError, "is empty"),
        ("bot 'open", ValueError, "No closing quotation"),
        ("/nowhere/bot", FileNotFoundError, "'/nowhere/bot' cannot be started: No such file"),
    ],
)
def test_what_is_no_command_is_told(command: str, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        load_player(f"program:{command}", TTT).policy.act(Position.start(TTT), 0)


def test_the_time_limit_is_the_readers(tmp_path: Path) -> None:
    player = load_player(f"program:{script(tmp_path, 'sleep 9')}", TTT, Reading(time_limit=0.2))
    began = time.monotonic()
    with pytest.raises(TimeoutError, match=r"within 0\.2 s"):
        player.policy.act(Position.start(TTT), 0)
    assert time.monotonic() - began < 5
    assert os.getpid() and sys.executable  # this process is still here
