"""Tournaments played by several processes are those played by one, whatever happens to the processes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from some_players import Mask, play, timeless

from tictac_env.arena import ResultStore, round_robin
from tictac_env.cli import main


def asleep(observation: object, mask: Mask) -> int:
    """Wakes up for the empty board only, which it is asked about before its time counts."""
    while mask.sum() < 9:
        pass
    return 0


posix = pytest.mark.skipif(os.name != "posix", reason="processes are killed by SIGKILL")


@posix
def test_the_same_games_though_a_worker_is_killed(tmp_path: Path) -> None:
    file, path = tmp_path / "killed", tmp_path / "games.sqlite"
    by_workers = play(file, store=path, workers=2)
    assert file.exists(), "nobody was killed"
    alone = play(file)
    assert timeless(by_workers) == timeless(alone) and str(by_workers) == str(alone)
    assert any(record.forfeit for record in alone)
    with ResultStore(path) as store:
        assert len(store) == len(alone.games)
        assert sorted(timeless(store)) == sorted(timeless(alone))


def test_what_is_in_the_store_is_not_given_to_workers(tmp_path: Path) -> None:
    path = tmp_path / "games.sqlite"
    first = round_robin(["random", "rule"], games=10, store=path, workers=2)
    assert round_robin(["random", "rule"], games=10, store=path, workers=2) == first  # the times, too
    longer = round_robin(["random", "rule"], games=30, store=path, workers=2)
    assert longer.games[:10] == first.games and len(ResultStore(path)) == 30


def test_a_time_limit_holds_in_a_worker() -> None:
    played = round_robin({"asleep": asleep, "random": "random"}, games=4, time_limit=0.05, workers=2)
    assert [record.forfeited_by for record in played.games] == ["asleep"] * 4
    assert all(0.05 < sum(record.seconds) < 1 for record in played.games)


CHANGING = """
from tictac_env.policies import RandomPolicy

with open(__file__, "a") as file:
    file.write("# loaded once more\\n")
"""
"""A file that is another one each time it is read."""


def test_a_player_that_is_another_one_in_a_worker_is_refused(tmp_path: Path) -> None:
    (tmp_path / "players.py").write_text(CHANGING)
    players = {"changing": f"{tmp_path / 'players.py'}:RandomPolicy", "random": "random"}
    assert len(round_robin(players, games=4).games) == 4
    with pytest.raises(ValueError, match="changing is another player in a worker than here"):
        round_robin(players, games=4, workers=2)


@posix
def test_a_player_that_kills_every_worker_is_told_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "dies.py").write_text("import os\ndef dies(observation, mask):\n    os.kill(os.getpid(), 9)\n")
    store = tmp_path / "store"
    words = ["tournament", f"{tmp_path / 'dies.py'}:dies", "random", "--games", "4", "--store", str(store)]
    assert main([*words, "--workers", "2"]) == 2
    told = capsys.readouterr().err.splitlines()
    assert told[-1].startswith("tictac: 3 workers ended without a result") and " v " in told[-1] and "dies" in told[-1]


def unready(observation: object, mask: Mask) -> int:
    raise ZeroDivisionError("a bug")


def test_who_fails_at_the_first_move_is_refused_by_workers_too() -> None:
    with pytest.raises(ValueError, match=r"unready fails at its first move, in Position.*: ZeroDivisionError: a bug"):
        round_robin([unready, "random"], games=4, workers=2)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["tournament", "random", "rule", "--games", "6", "--csv"]
    assert main(words) == 0
    alone = capsys.readouterr().out
    assert main([*words, "--workers", "2", "--store", str(tmp_path)]) == 0
    assert capsys.readouterr().out == alone
    assert main(["tournament", "--ray", "random", "rule", "minimax"]) == 2
    assert "'random' is no address of a Ray cluster" in capsys.readouterr().err
