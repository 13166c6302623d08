"""The cast of the benchmark: the record that the docs show is of it, and each learner's command says how it trains."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tictac_apps.bench.bench_record import read_record
from tictac_apps.bench.cast import (
    FULL,
    NOTES,
    USUAL,
    Contestant,
    RunScale,
    TrainingRun,
    cast,
    most_positions,
    one_move_rule,
    scale_of,
    without_networks,
)
from tictac_apps.bench.guard import TIME_LIMIT
from tictac_apps.bench.run import OPENING_PLIES
from tictac_env.games import GAMES
from tictac_env.games.registry import TITLES
from tictac_env.policies import load_player

RECORD = Path(__file__).parents[3] / "benchmarks" / "results" / "tournament.json"
TTT, C4 = TITLES
ONE = RunScale(2, 3, 4, 5, 6, 7, points=20)
"""A scale of one training of each learner."""


def of_cast(names: list[str], game: str, scale: RunScale = ONE, **yours: str) -> dict[str, Contestant]:
    return {one.name: one for one in cast(names, game, "agents", scale, 3, yours)}


def training(name: str, game: str, scale: RunScale = ONE) -> TrainingRun:
    found = of_cast([name], game, scale)[name].training
    assert found is not None
    return found


def test_the_record_shown_is_of_this_cast_and_these_settings() -> None:
    record = read_record(RECORD)
    settings = record.settings
    assert (settings.opening_plies, settings.time_limit) == (OPENING_PLIES, TIME_LIMIT)
    for results in record.games:
        game, scale = results.game, scale_of(results.game, settings.setting == "full")
        assert scale == results.settings and TITLES[game] == results.title
        players = {one.name: one for one in cast(USUAL[game], game, "agents", scale, settings.seed, {})}
        assert set(players) == {agent.name for agent in results.agents}
        for agent in results.agents:
            learned, trained = players[agent.name].training, agent.training
            assert (learned is None) == (trained is None) and agent.note == NOTES.get(agent.name, "")
            if learned and trained:
                sentence = learned.sentence(trained.games, trained.steps)
                assert (learned.command, sentence) == (trained.command, trained.sentence)
            else:
                player = load_player(agent.name, game)
                assert one_move_rule(player, GAMES[game]) == agent.one_move_rule
                assert player.budget == agent.budget


@pytest.mark.parametrize("game", TITLES)
def test_everybody_of_the_full_cast_plays_and_each_learner_with_each_seed(game: str) -> None:
    scale = replace(scale_of(game, True), seeds=2)
    players = cast(FULL[game], game, "agents", scale, 3, {"mine": "my.py:player"})
    learners = {one.name.removesuffix(", seed 4") for one in players if one.name.endswith(", seed 4")}
    others = [name for name in FULL[game] if name not in learners]
    assert {one.name for one in players} == {
        *(f"{name}, seed {seed}" for name in learners for seed in (3, 4)),
        *(*others, "mine"),
    }
    assert [one.source for one in players if one.training is None] == [*others, "my.py:player"]
    assert all(one.source == f"agents/{one.training.file}" for one in players if one.training)
    assert [one.name for one in players if one.yours] == ["mine"]
    levels = {int(name.removeprefix("level:")) for name in FULL[game] if name.startswith("level:")}
    assert levels == ({3, 5, 8} if game == TTT else set(range(2, 11)))


COMMANDS = {
    ("ValueIteration", TTT): 'python -c "from tictac_agents import ValueIteration; '
    "ValueIteration.preset('S1').learn().save('ValueIteration.npz')\"",
    ("QLearning", TTT): "tictac train QLearning --preset S2 --game TicTacToe-v0 --seed 3",
    ("Sarsa", TTT): "tictac train Sarsa --game TicTacToe-v0 --seed 3",
    (
        "QLearning",
        C4,
    ): "tictac train QLearning --preset self-play --game ConnectFour-v0 --total-episodes 20000 --seed 3",
}


@pytest.mark.parametrize(("name", "game"), COMMANDS)
def test_a_command_has_the_settings_that_differ_from_the_usual(name: str, game: str) -> None:
    assert training(name, game).command == COMMANDS[name, game]


def test_the_command_of_a_network_of_a_small_game_judges_as_often_as_its_curve() -> None:
    steps = training("DQN", TTT).plan.length  # type: ignore[union-attr]
    assert f"--stop-when-proven --eval-freq {steps // 20} --seed 3" in training("DQN", TTT).command
    assert "--stop-when-proven" not in training("DQN", C4).command


@pytest.mark.parametrize(("total", "every"), [(1, 1), (19, 1), (20, 1), (39, 1), (40, 2), (1_000, 50)])
def test_a_curve_has_about_the_points_of_the_scale(total: int, every: int) -> None:
    assert training("Sarsa", TTT).every(total) == every


def test_a_file_is_named_by_all_that_decides_its_training() -> None:
    files = [
        *(training("QLearning", game).file for game in TITLES),
        *(training("QLearning", C4, replace(ONE, **change)).file for change in ({"points": 7}, {"shorter": 0.5})),
        *(training(name, TTT).file for name in ("QLearning infallible", "Sarsa", "DQN", "ValueIteration")),
    ]
    assert len(set(files)) == len(files) and files[0] == training("QLearning", TTT).file
    assert [Path(file).suffix for file in files] == [*[".npz"] * 6, ".zip", ".npz"]
    assert all(file.startswith("QLearning-3-") for file in files[:5])


@pytest.mark.parametrize(
    ("name", "game", "shorter", "length"),
    [
        *(("QLearning", C4, shorter, length) for shorter, length in ((1, 20_000), (0.5, 10_000), (1e-9, 1))),
        ("QLearning", C4, 0.00013, 3),  # 2.6 are 3
        ("QLearning", TTT, 0.5, 7_000),  # of the 14,000 of the preset
    ],
)
def test_a_shorter_training_is_a_part_of_the_usual_one(name: str, game: str, shorter: float, length: int) -> None:
    scale = replace(ONE, shorter=shorter)
    assert training(name, game, scale).plan.length == length  # type: ignore[union-attr]
    tree = of_cast(["GameTree"], C4, scale)["GameTree"]
    assert tree.seconds == pytest.approx(300 * shorter + 1) and tree.training is not None
    assert (tree.training.plan.total is None) == (shorter == 1)  # a whole one needs no length


def test_a_training_is_told_in_a_sentence() -> None:
    told = training("QLearning", TTT).sentence(14_000, None)
    assert told.endswith(": 14,000 games against random.") and told[0].isupper()
    assert training("DQN", C4).sentence(None, 400_000).endswith(": 400,000 steps against itself.")
    assert training("ValueIteration", TTT).sentence(None, None).endswith("swept until no value changes.")


def test_players_that_need_torch_are_left_out_by_their_names() -> None:
    names = ["rule", "DQN", "my.zip", "MaskablePPO", "QLearning", "FittedQ", "AlphaZero"]
    assert without_networks(names) == ["rule", "QLearning", "AlphaZero"]


def lowest(observation: Any, mask: npt.NDArray[np.int8]) -> int:
    return int(mask.argmax())


@pytest.mark.parametrize(
    ("player", "rule", "fixed"),
    [
        ("random", "off", False),  # it neither searches nor always plays the same
        ("rule", "on", False),
        ("ntuple", "on", True),
        ("minimax:2", "off", False),
        ("mcts:100", "in rollouts", False),
        ("level:1", "off", False),
        ("level:2", "on", False),  # level 2 plays as rule, most of the time
        ("level:4", "off", False),
        ("level:9", "in rollouts", False),
        (lowest, "not stated", False),
    ],
)
def test_how_a_player_is_judged_follows_from_its_budget(player: Any, rule: str, fixed: bool) -> None:
    found = load_player(player, C4)
    assert one_move_rule(found, GAMES[C4]) == rule
    assert most_positions(found.policy, GAMES[C4], ONE) == (ONE.fixed_positions if fixed else ONE.max_positions)


def test_the_amount_of_work_can_be_changed() -> None:
    assert scale_of(C4, False, seeds=None) == scale_of(C4, False) != scale_of(C4, True)
    assert scale_of(TTT, True, seeds=2, points=None) == replace(scale_of(TTT, True), seeds=2)
    assert scale_of("Own-v0", False) == scale_of(C4, False)
