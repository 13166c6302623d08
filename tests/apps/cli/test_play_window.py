"""`tictac play --window`, by events that a script posts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import pytest

from tictac_apps import cli
from tictac_apps.cli.play import WindowTable
from tictac_apps.cli.session import Session
from tictac_env import Position, play_match
from tictac_env.policies import load_player
from tictac_env.render import Window

pygame = pytest.importorskip("pygame")

TTT = "TicTacToe-v0"


class Script:
    """A person before the window: does one thing each time a position is shown, and keeps the titles."""

    def __init__(self, *deeds: str) -> None:
        self.deeds = list(deeds)
        self.titles: list[str] = []

    def watch(self, window: Window, position: Position, fps: float = 0) -> None:
        self.show(window, position)
        self.titles.append(window.title)
        assert len(self.titles) < 3_000, f"nothing ends the game; last shown: {self.titles[-1]}"
        waits = fps > 0 and "thinks" not in window.title and "solving" not in window.title
        if not waits or not self.deeds:
            return
        deed = self.deeds.pop(0)
        if deed == "close":
            pygame.event.post(pygame.event.Event(pygame.QUIT))
        elif deed.startswith("click "):
            row, col = divmod(int(deed.split()[1]) - 1, position.game.cols)
            at = (round((col + 0.875) * window.cell_size), round((row + 0.875) * window.cell_size))
            pygame.event.post(pygame.event.Event(pygame.MOUSEBUTTONDOWN, button=1, pos=at))
        else:
            pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=pygame.key.key_code(deed), unicode=""))

    show = staticmethod(Window.show)


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Makes a script the person before every window; without a screen."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setattr("tictac_env.render.window.RENDER_FPS", 0)
    yield lambda *deeds: (
        script := Script(*deeds),
        monkeypatch.setattr(Window, "show", lambda window, position, fps=0: script.watch(window, position, fps)),
    )[0]
    pygame.display.quit()


def test_a_game_is_played_by_clicks_and_keys_with_a_hint(person: Any) -> None:
    script = person("click 5", "f1", "8", "escape")  # 5 is taken: nothing happens
    table, game = WindowTable(), Session(Position.from_moves(TTT, "1532"), (None, load_player("rule", TTT)), 0)
    assert table.play(game) is False and not script.deeds
    assert "X to move - F1: hint, backspace: undo" in script.titles
    assert "8: a draw | 4 6 7 9: a loss in 1 move" in script.titles
    assert game.position.to_moves().startswith("15328") and game.position.ply == 6


def test_the_window_stays_after_the_last_move_and_undo_goes_on(person: Any) -> None:
    script = person("click 9", "backspace", "click 8", "escape")
    game = Session(Position.from_moves(TTT, "1542"), (None, load_player("rule", TTT)), 0)
    assert WindowTable().play(game) is False
    assert "rule wins. - Enter: again, backspace: undo" in script.titles
    assert game.position.to_moves().startswith("15428") and not script.deeds


def test_closing_the_window_ends_the_command(person: Any) -> None:
    person("click 5", "close")
    assert cli.main(["play", "random", "--game", TTT, "--window"]) == 0


def test_two_players_are_watched_in_the_window(person: Any) -> None:
    script = person("space", "escape")
    assert cli.main(["play", "rule", "random", "--game", TTT, "--window", "--delay", "0", "--seed", "1"]) == 0
    assert {"rule (X) thinks ...", "random (O) thinks ..."} <= set(script.titles)
    assert script.titles[-1].endswith(" - Esc: close") and not script.deeds


def test_a_taken_cell_typed_is_told(person: Any) -> None:
    script = person("5", "f8", "escape")
    assert cli.main(["play", "random", "--game", TTT, "--window", "--position", "51"]) == 0
    assert "5 is taken" in script.titles


def test_the_policy_human_window_plays_by_clicks_and_waits_at_the_end(person: Any) -> None:
    script = person("click 1", "click 2", "click 3", "space")
    match = play_match("human:window", lambda observation, mask: 3 if mask[3] else 4, TTT, games=1)
    assert match.as_first.wins == 1 and not script.deeds
    person("click 1", "click 2", "click 3", "close")  # at the end it interrupts nothing
    assert play_match("human:window", lambda observation, mask: 3 if mask[3] else 4, TTT, games=1) == match
    person("close")
    with pytest.raises(KeyboardInterrupt):
        play_match("human:window", "random", TTT, games=1)


def test_a_person_clicks_in_the_window_of_an_environment(person: Any) -> None:
    person("click 5", "click 1")
    env = gym.make(TTT, opponent="human:window", play_as="second", render_mode="human")
    env.reset(seed=0)
    assert env.unwrapped.position.to_moves() == "5"
    env.step(8)
    assert env.unwrapped.position.to_moves() == "591"
    env.close()


def test_a_missing_screen_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    pygame.display.quit()
    for name in ("SDL_VIDEODRIVER", "WAYLAND_DISPLAY", "DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    if sys.platform == "linux":
        assert cli.main(["play", "random", "--window"]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    monkeypatch.setenv("DISPLAY", ":987")  # nobody answers there
    monkeypatch.setenv("SDL_VIDEODRIVER", "x11")
    assert cli.main(["play", "random", "--window"]) == 2
    assert "no window can be opened" in capsys.readouterr().err


def test_a_missing_pygame_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    assert cli.main(["play", "random", "--window"]) == 2
    assert capsys.readouterr().err.endswith('pip install "tictac-env[human]"\n')
