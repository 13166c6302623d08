"""`tictac play` at the terminal, by scripts of what a person types."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import breadth
from oracle import Hurried

import tictac_agents
from tictac_agents import NTupleNetwork, QLearning
from tictac_apps import cli
from tictac_apps.cli.play import TerminalTable
from tictac_apps.cli.session import Session, hints
from tictac_env import Policy, Position, solve
from tictac_env.policies import OpponentPool, load_player, own_game

TTT, C4 = "TicTacToe-v0", "ConnectFour-v0"


class Person:
    """Types the answers one after the other, then ends the input; keeps what was shown and asked."""

    def __init__(self, *answers: str) -> None:
        self.answers: Iterator[str] = iter(answers)
        self.seen: list[str] = []

    def ask(self, question: str) -> str:
        self.seen.append(question)
        try:
            return next(self.answers)
        except StopIteration:
            raise EOFError from None

    def play(self, session: Session, show_hints: bool = False) -> bool:
        return TerminalTable(show_hints, self.ask, self.seen.append).play(session)

    def said(self, text: str) -> bool:
        return any(text in seen for seen in self.seen)


def session(opponent: Any, game: str = TTT, seat: int = 0, moves: str = "") -> Session:
    start = Position.from_moves(game, moves)
    player = None if opponent is None else load_player(opponent, game)
    return Session(start, (player, None) if seat else (None, player), 0)


def test_a_game_is_played_to_its_end_and_the_winner_named() -> None:
    person, game = Person("5", "1", "9", "no"), session(lambda observation, mask: 1 if mask[1] else 3)
    assert person.play(game) is False
    assert game.position.to_moves() == "52149"
    assert person.said("X wins with 1 5 9\nYou win.")
    assert person.said("O) plays 2.") and person.said("O) plays 4.")


def test_a_loss_and_a_draw_are_told() -> None:
    person = Person("9", "no")
    assert not person.play(session("rule", moves="1542"))
    assert person.said("O wins with 2 5 8\nrule wins.")
    person = Person("9", "y")
    assert person.play(session("rule", moves="51374682")) is True
    assert person.said("draw\nA draw.")


def test_two_players_are_watched_move_by_move(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("tictac_apps.cli.play.time.sleep", pauses.append)
    words = ["play", "minimax", "random", "--game", TTT, "--seed", "3", "--delay", "0.25"]
    assert cli.main([*words, "--position", "5"]) == 0
    out = capsys.readouterr().out
    game = Position.from_moves(TTT, out.split()[-1])
    assert game.is_over and game.moves[0] == 4 and pauses == [0.25] * (game.ply - 1)
    for ply in range(1, game.ply + 1):
        assert f"\n{Position.from_moves(TTT, game.moves[:ply])}\n" in out
    assert "minimax (X) plays first, random (O) second" in out and "random (O) plays " in out
    assert cli.main([*words, "--position", "5"]) == 0 and capsys.readouterr().out == out


def failing(observation: Any, mask: Any) -> int:
    return int(mask.argmax()) if mask.sum() > 6 else 1 // 0


def test_a_player_that_fails_forfeits_the_game_to_a_person_and_undo_goes_back() -> None:
    person, game = Person("5", "9", "undo", "2", "no"), session(failing)
    assert person.play(game) is False and game.position.to_moves() == "512"
    assert sum("failing forfeits: ZeroDivisionError" in seen and "You win." in seen for seen in person.seen) == 2
    assert game.over and not game.persons_turn and "test_play.py, line" in game.result()


def test_a_player_that_fails_forfeits_the_game_that_is_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "failing_bot.py").write_text("def stuck(observation, mask):\n    return 4\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert cli.main(["play", "failing_bot.py:stuck", "minimax", "--game", TTT, "--delay", "0", "--seed", "3"]) == 0
    out, err = capsys.readouterr()
    assert "stuck (X) fails." in out and "stuck forfeits: illegal move: stuck chose action 4" in out and err == ""
    assert "minimax wins. The game: 5" in out


def test_two_people_share_a_keyboard() -> None:
    person, game = Person("5", "1", "undo", "2", "quit"), session(None)
    assert not person.play(game)
    assert game.position.to_moves() == "52"
    assert person.said("X, your move") and person.said("O, your move")
    assert person.said("The game stands at 52.")
    finishing = Person("9", "no")
    assert not finishing.play(Session(Position.from_moves(TTT, "1253"), (None, None), 0))
    assert finishing.said("X wins.")


WRONG = [
    ("0", "'0' is not a move: type 1-9 or qwe/asd/zxc, or hint, undo, moves, help or quit."),
    ("10", "'10' is not a move"),
    ("", "'' is not a move"),
    ("²", "'²' is not a move"),
    ("5", "5 is taken; you can play 2, 3, 4, 6, 7, 8, 9."),
    ("q", "q is taken"),
    ("undo", "There is no move of yours to take back."),
    ("?", "undo  takes your last move back"),
    ("moves", "51"),
]


@pytest.mark.parametrize(("typed", "answer"), WRONG, ids=ascii)
def test_everything_but_a_move_gets_one_answer_and_a_new_prompt(typed: str, answer: str) -> None:
    person, game = Person(typed, "9"), session("minimax", moves="51")
    assert not person.play(game)  # the input ends
    first, told, again = person.seen[2:5]
    assert first == again and first.startswith("X, your move")
    assert answer in told
    assert game.position.moves[2] == 8


def test_letters_are_the_cells_of_a_small_board_and_commands_elsewhere() -> None:
    game = session("minimax")
    Person("q").play(game)
    assert game.position.moves[0] == 0
    person, game = Person("q"), session("random", C4)
    assert not person.play(game)
    assert person.said("The game stands at the empty board.") and game.position.ply == 0


def test_undo_takes_back_a_move_and_the_answer_and_goes_back_to_the_first() -> None:
    person, game = Person("5", "9", "undo", "u", "u", "3"), session("minimax-first")
    person.play(game)
    assert game.position.moves[0] == 2 and game.position.ply == 2
    assert person.seen.count("There is no move of yours to take back.") == 1
    person, game = Person("3", "undo", "7"), session("minimax-first", seat=1)
    person.play(game)
    assert game.position.moves[:2] == (0, 6)


def test_a_lost_game_can_be_taken_back() -> None:
    person, game = Person("9", "undo", "8"), session("rule", moves="1542")
    assert not person.play(game)
    assert person.said("rule wins.")
    assert game.position.to_moves().startswith("15428")


@pytest.mark.parametrize("name", breadth([TTT], ["KInARow-v0:3x4-3", C4]))
def test_hints_are_the_exact_values(name: str) -> None:
    position = Position.start(name)
    while not position.is_over:
        solution = solve(position)
        told: dict[int, str] = {}
        for line in hints(position, 1000):
            moves, _, value = line.partition(": ")
            told |= {int(move) - 1: value for move in moves.split()}
        assert {*told} == {*position.legal_actions}
        for action, value in told.items():
            score = solution.action_scores[action]
            assert score is not None
            assert value.startswith("a win" if score > 0 else "a loss" if score < 0 else "a draw")
            if score:
                assert (plies(position, action) + 1) // 2 == int(re.findall(r"\d+", value)[0])
        position = position.play(solution.best_actions[-1])
        if name == C4 and position.ply < 20:
            position = Position.from_moves(C4, "44444132222423111112333356556"[: position.ply + 8])


def plies(position: Position, action: int) -> int:
    """How many plies the game goes on after perfect play, played out."""
    before, position = position.ply, position.play(action)
    while not position.is_over:
        position = position.play(solve(position).best_actions[0])
    return position.ply - before


def test_what_is_not_proven_in_time_is_said() -> None:
    lines = hints(Position.from_moves(C4, "13176632116276"), 0.0)  # past the tables
    assert lines == ["1 2 3 4 5 6 7: not known within 0 s"]


def test_hints_say_what_is_proven_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    for known, told in (
        ({2: (1, 3), 5: (-3, -1), 6: (-1, 1)}, ["3: a win", "7: not known within 1 s", "6: a loss"]),
        ({2: (0, 3), 5: (-3, 0), 6: (0, 0)}, ["3: at least a draw", "7: a draw", "6: at most a draw"]),
    ):
        solver = Hurried(known)
        monkeypatch.setattr("tictac_apps.cli.session.shared_solver", lambda game, solver=solver: solver)
        assert hints(Position.from_moves(TTT, "152489"), 1) == told


def test_hints_are_shown_on_request_or_always() -> None:
    asked, always = Person("hint", "quit"), Person("quit")
    asked.play(session("random", moves="15"))
    always.play(session("random", moves="15"), show_hints=True)
    lines = [f"  {line}" for line in hints(Position.from_moves(TTT, "15"))]
    assert [line for line in asked.seen if line.startswith("  ")] == lines
    assert [line for line in always.seen if line.startswith("  ")] == lines


def test_a_pool_plays_a_whole_game_with_one_of_its_members() -> None:
    class Marked(Policy):
        def __init__(self, action: int) -> None:
            self.action, self.asked = action, 0

        def act(self, position: Position, seed: int) -> int:
            self.asked += 1
            legal = position.legal_actions
            return self.action if self.action in legal else legal[0]

    members = Marked(1), Marked(8)
    game = Session(Position.start(TTT), (None, load_player(OpponentPool(members), TTT)), 7)
    Person("5", "3").play(game)
    assert sorted(member.asked for member in members) == [0, 2]


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


@pytest.mark.parametrize("name", [TTT, C4, "KInARow-v0:5x6-4", "KInARow-v0:4x4-3,gravity=False"])
def test_every_game_can_be_played_from_the_command_line(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed(monkeypatch, "1\n2\nmoves\nquit\n")
    assert cli.main(["play", "rule", "--game", name, "--seed", "3"]) == 0
    out, err = capsys.readouterr()
    side = "yellow O" if name in (C4, "KInARow-v0:5x6-4") else "O"
    assert out.count(f"rule ({side}) plays ") == 2 and "Traceback" not in err
    moves = re.findall(r"The game stands at (\w+)\.", out)[0]
    assert Position.from_moves(name, moves).ply == 4


def test_the_same_seed_and_answers_are_the_same_game(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = []
    for seed in ("5", "5", "6"):
        typed(monkeypatch, "1\n2\n3\n4\nmoves\nquit\n")
        assert cli.main(["play", "random", "--seed", seed]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1] != shown[2]


def test_seats_alternate_from_game_to_game(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    typed(monkeypatch, "9\nyes\nquit\n")
    assert cli.main(["play", "rule", "--game", TTT, "--position", "12534786"]) == 0
    out = capsys.readouterr().out
    assert "You are X and play first, against rule." in out and "You are O and play second, against rule." in out
    typed(monkeypatch, "quit\n")
    assert cli.main(["play", "rule", "--game", TTT, "--seat", "second"]) == 0
    assert "rule (X) plays " in capsys.readouterr().out


def test_a_table_plays_without_the_compiler(tmp_path: Path) -> None:
    QLearning(TTT, seed=0).learn(total_episodes=200, progress_bar=False).save(tmp_path / "pupil.npz")
    played = subprocess.run(
        [sys.executable, "-m", "tictac_apps", "play", str(tmp_path / "pupil.npz")],
        input="1\nquit\n", capture_output=True, text=True, check=True,
        env=os.environ | {"TICTAC_CACHE_DIR": str(tmp_path / "cache")},
    )  # fmt: skip
    assert "plays" in played.stdout and played.stderr == ""


@pytest.mark.parametrize("agent", ["QLearning", "NTupleNetwork", "DQN"])
def test_the_game_is_that_of_the_agents_file(
    agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / ("agent.zip" if agent == "DQN" else "agent.npz")
    if agent == "QLearning":
        QLearning("KInARow-v0:3x4-3", seed=0).save(path)
    elif agent == "NTupleNetwork":
        NTupleNetwork.shipped(TTT).save(path)
    else:
        pytest.importorskip("stable_baselines3")
        boards = tictac_agents.SB3VecEnv(TTT, num_envs=1)
        tictac_agents.DQN("MlpPolicy", boards, buffer_size=100, device="cpu").save(path)
    actions = 4 if agent == "QLearning" else 9
    assert own_game(path).num_actions == actions  # type: ignore[union-attr]
    typed(monkeypatch, "quit\n")
    assert cli.main(["play", str(path)]) == 0
    assert f"(1-{actions}" in capsys.readouterr().out
    assert own_game("rule") is own_game(len) is None
