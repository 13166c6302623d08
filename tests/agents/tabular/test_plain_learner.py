"""A learner in plain Python, a subclass of `Learner`, is trained, judged, saved and resumed like the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from npz_files import read, write

from tictac_agents import Learner, LearningCurve
from tictac_agents.settings import Schedule, Settings, setting, takes
from tictac_agents.tabular.learner import Environment
from tictac_env.arena import verdict
from tictac_env.checks import number
from tictac_env.policies import check_policy
from tictac_env.position import Position

State = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class DictQSettings(Settings):
    learning_rate: float = setting(0.5, "the step size", 0, 1)
    epsilon: Schedule | None = setting(0.3, "the chance of a random action", 0, 1)


class DictQ(Learner):
    """Q-learning of both sides with a dict, each step learned when its result is seen."""

    settings: DictQSettings

    @takes(DictQSettings)
    def __init__(self, env: Environment | str, settings: DictQSettings) -> None:
        super().__init__(env, settings)
        self.forget()

    def forget(self) -> None:
        self.q: dict[State, dict[int, float]] = {}

    def values_of(self, state: State) -> dict[int, float]:
        return self.q.setdefault(state, dict.fromkeys(Position(self.game, *state).legal_actions, 0.0))

    def choose_action(self, observation: Any, info: dict[str, Any]) -> int:
        self.state = self.read(observation)
        values = self.values_of(self.state)
        explores = self.explores(self.settings.epsilon or 0.0)
        self.action = list(values)[self.draw() % len(values)] if explores else max(values, key=values.__getitem__)
        return self.action

    def learn_from_result(
        self, observation: Any, reward: float, terminated: bool, truncated: bool, info: dict[str, Any]
    ) -> None:
        target = reward if terminated else reward - max(self.values_of(self.read(observation)).values())
        values = self.q[self.state]
        values[self.action] += self.settings.learning_rate * (target - values[self.action])

    def best_action(self, own: int, opp: int, allowed: Sequence[int]) -> int:
        return max(allowed, key=self.q.get((own, opp), dict.fromkeys(allowed, 0.0)).__getitem__)

    def learned(self) -> dict[str, Any]:
        """The states as an array, their values as JSON."""
        states = np.array(list(self.q), np.int64).reshape(-1, 2)
        return {"states": states, "values": [list(map(list, values.items())) for values in self.q.values()]}

    def set_learned(self, learned: dict[str, Any]) -> None:
        states, values = map(tuple, learned["states"].tolist()), learned["values"]
        self.q = {}
        for state, row in zip(states, values, strict=True):
            self.q[state] = {int(action): number("value", value, -99, 99) for action, value in row}
            if self.game.status(*state) or tuple(self.q[state]) != Position(self.game, *state).legal_actions:
                raise ValueError(f"{state} is no position, or its actions are not the legal ones")


def environment() -> gym.Env[Any, Any]:
    return gym.make("TicTacToe-v0", opponent=None)


def unbroken(episodes: int = 200) -> Any:
    return DictQ(environment(), epsilon=[0.9, 0.3], seed=5).learn(total_episodes=episodes, progress_bar=False)


def test_it_learns_and_is_judged() -> None:
    curve = LearningCurve(every=1_000)
    agent = DictQ(environment(), seed=0).learn(total_episodes=3_000, callback=curve, progress_bar=False)
    assert [row.games for row in curve.rows] == [1_000, 2_000, 3_000]
    assert verdict(agent).as_first.against_random.wins > 0.9
    assert agent.predict(environment().reset()[0])[0] == agent.act(Position.start("TicTacToe-v0"), 0)
    check_policy(agent, "TicTacToe-v0", positions=20)


def test_settings_are_checked_and_the_same_seed_learns_the_same_table() -> None:
    assert unbroken().q == unbroken().q
    with pytest.raises(ValueError, match=r"epsilon\[1\] must be a number in \[0, 1\], not 3"):
        DictQ(environment(), epsilon=[0.9, 3])
    with pytest.raises(TypeError, match="epsilom"):
        DictQ(environment(), epsilom=0.5)  # type: ignore[call-arg]


def test_its_file_holds_arrays_and_json_and_what_is_damaged_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "agent.npz"
    unbroken(20).save(path)
    header, arrays = read(path)
    assert header["kind"] == "tictac_agents.DictQ" and arrays["states"].dtype == np.int64
    wrong: list[tuple[Any, Any]] = [
        (header["meta"]["learned"] | {"values": []}, arrays),
        (header["meta"]["learned"] | {"values": "many"}, arrays),
        ({}, arrays),
        ([], arrays),
        (header["meta"]["learned"], arrays | {"states": arrays["states"][:-1]}),
        (header["meta"]["learned"], arrays | {"states": arrays["states"] + 2**40}),
        (header["meta"]["learned"], {}),
    ]
    for learned, others in wrong:
        write(tmp_path / "wrong.npz", header | {"meta": header["meta"] | {"learned": learned}}, others)
        with pytest.raises(ValueError, match=r"wrong\.npz"):
            DictQ.load(tmp_path / "wrong.npz")


def test_on_many_boards_it_is_refused() -> None:
    with pytest.raises(ValueError, match="DictQ learns on one board"):
        DictQ(gym.make_vec("TicTacToe-v0", num_envs=2, opponent=None))


def test_a_learner_without_epsilon_does_not_explore() -> None:
    agent = unbroken()
    agent.settings = Settings()
    position = Position.from_moves("TicTacToe-v0", "15")
    answers = {agent.predict(position.code, deterministic=False)[0] for _ in range(20)}
    assert answers == {agent.act(position, 0)}
