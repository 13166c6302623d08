"""Q-learning learns: by the exact measure, by the updates worked by hand, and through any environment of ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest
from gymnasium.wrappers import FlattenObservation, RecordEpisodeStatistics, TimeLimit
from scipy.stats import binomtest, chisquare

from tictac_agents import QLearning
from tictac_agents.tabular.learner import Learner
from tictac_env.arena import verdict
from tictac_env.position import Position


def trained(env: gym.Env[Any, Any], episodes: int, **settings: Any) -> QLearning:
    return QLearning(env, **settings).learn(total_episodes=episodes, progress_bar=False)


def tic_tac_toe(**kwargs: Any) -> gym.Env[Any, Any]:
    return gym.make("TicTacToe-v0", **kwargs)


def table_of(agent: QLearning) -> dict[tuple[int, int], dict[int, float]]:
    return {(own, opp): agent.values(own, opp) for own, opp, _ in agent.positions.tolist()}


@pytest.mark.parametrize("settings", [{}, {"updates": "online"}, {"obs_type": "code"}], ids=str)
def test_self_play_becomes_unbeatable(settings: dict[str, Any]) -> None:
    settings = dict(settings)
    env = tic_tac_toe(opponent=None, obs_type=settings.pop("obs_type", "planes"))
    agent = QLearning(env, learning_rate=(0.8, 0.4, 0.1), seed=0, **settings)
    assert verdict(agent).exploitability == 1
    agent.learn(total_episodes=5000, progress_bar=False)
    assert verdict(agent).exploitability == 0
    assert len(agent) <= 627  # unfinished positions up to symmetry


@pytest.mark.parametrize("opponent", ["random", None])
def test_observations_of_any_type_teach_the_same(opponent: str | None) -> None:
    runs = [
        table_of(trained(tic_tac_toe(opponent=opponent, obs_type=obs_type), 200, seed=3))
        for obs_type in ("planes", "board", "code")
    ]
    flat = trained(FlattenObservation(tic_tac_toe(opponent=opponent)), 200, seed=3)
    watched = trained(RecordEpisodeStatistics(tic_tac_toe(opponent=opponent)), 200, seed=3)
    assert runs[0] == runs[1] == runs[2] == table_of(flat) == table_of(watched)


class Transitions(gym.Wrapper[Any, Any, Any, Any]):
    """Keeps each episode's transitions: position, action, reward, the next position or None."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self.episodes: list[list[tuple[Any, int, float, Any]]] = []

    def reset(self, **kwargs: Any) -> Any:
        self.episodes.append([])
        return self.env.reset(**kwargs)

    def step(self, action: Any) -> Any:
        before = self.unwrapped.position  # type: ignore[attr-defined]  # of a BoardEnv
        result = self.env.step(action)
        following = None if result[2] else self.unwrapped.position  # type: ignore[attr-defined]
        self.episodes[-1].append((before, action, float(result[1]), following))
        return result


@pytest.mark.parametrize("decay", [None, 0.6])
@pytest.mark.parametrize("opponent", ["random", None])
@pytest.mark.parametrize("updates", ["backward", "online"])
def test_the_table_is_what_watkins_rule_makes_of_the_games(
    opponent: str | None, updates: str, decay: float | None
) -> None:
    """With steps of 0.3, or of N(s, a) ** -0.6."""
    env = Transitions(tic_tac_toe(opponent=opponent, rewards=(2, 0.5, -1, -0.1)))
    step = {"learning_rate": 0.3} if decay is None else {"learning_rate": None, "decay": decay}
    agent = trained(env, 150, updates=updates, symmetry=False, **step, gamma=0.8, initial_value=0.2, seed=0)
    sign = -1 if opponent is None else 1
    q: dict[Position, dict[int, float]] = {}
    counts: Counter[tuple[Position, int]] = Counter()
    for episode in env.episodes:
        for before, action, reward, following in reversed(episode) if updates == "backward" else episode:
            row = q.setdefault(before, dict.fromkeys(before.legal_actions, 0.2))
            after = 0.0
            if following is not None:
                after = sign * 0.8 * max(q.get(following, dict.fromkeys(following.legal_actions, 0.2)).values())
            counts[before, action] += 1
            rate = 0.3 if decay is None else counts[before, action] ** -decay
            row[action] += rate * (reward + after - row[action])
    assert len(q) > 100
    assert len(agent) == len(q)
    for position, row in q.items():
        assert agent.values(position.own, position.opp) == pytest.approx(row)


@pytest.mark.parametrize("opponent", ["random", None])
@pytest.mark.parametrize(("updates", "both"), [("backward", False), ("online", False), ("backward", True)])
def test_double_q_learns_from_the_other_tables_value(opponent: str | None, updates: str, both: bool) -> None:
    """Each step changes one table, towards what the other one thinks of the action that it holds best itself. Which
    one it was is known by its result, as no position occurs twice in a game. The last step may change both."""
    env = Transitions(tic_tac_toe(opponent=opponent))
    settings: dict[str, Any] = {"updates": updates, "end_teaches_both": both, "learning_rate": 0.5, "gamma": 0.9}
    agent = QLearning(env, double=True, symmetry=False, **settings, seed=0)
    sign = -0.9 if opponent is None else 0.9
    q: list[dict[Position, dict[int, float]]] = [{}, {}]
    chosen = Counter[int]()

    def check_episode(learner: Learner) -> None:
        episode = env.episodes[-1]
        for before, action, reward, following in reversed(episode) if updates == "backward" else episode:
            for position in (before, following):
                for table in q:
                    if position is not None:
                        table.setdefault(position, dict.fromkeys(position.legal_actions, 0.0))
            [row] = np.flatnonzero((agent.positions[:, :2] == (before.own, before.opp)).all(axis=1))
            matching = []
            for coin in (0, 1):
                mine, others = q[coin], q[1 - coin]
                after = 0.0
                if following is not None:
                    after = sign * others[following][max(mine[following], key=mine[following].__getitem__)]
                expected = [table[before][action] for table in q]
                for table in (0, 1) if both and following is None else (coin,):
                    expected[table] += 0.5 * (reward + after - expected[table])
                if expected == pytest.approx([table[row][action] for table in agent.tables], abs=1e-12):
                    matching.append((coin, expected))
            assert matching, "neither table learned by the rule"
            chosen.update(coin for coin, _ in matching if len(matching) == 1)
            for table, value in zip(q, matching[0][1], strict=True):
                table[before][action] = value

    agent.learn(total_episodes=400, callback=check_episode, progress_bar=False)
    assert min(chosen[0], chosen[1]) > 100
    assert binomtest(chosen[0], chosen.total()).pvalue > 1e-4


def script(*replies: int) -> Callable[[Any, npt.NDArray[np.int8]], int]:
    """An opponent that plays the first of `replies` that is legal, else the lowest action."""

    def scripted(observation: Any, mask: npt.NDArray[np.int8]) -> int:
        return next((action for action in replies if mask[action]), int(mask.argmax()))

    return scripted


@pytest.mark.parametrize("symmetry", [False, True])
def test_a_won_game_is_backed_up_at_once(symmetry: bool) -> None:
    """The game X0, O7, X1, O3, X2, at a rate of 0.9, by hand. The game is found among the first seeds."""
    env = tic_tac_toe(opponent=script(7, 3))
    for seed in range(5000):
        agent = QLearning(env, learning_rate=0.9, symmetry=symmetry, seed=seed)
        agent.learn(total_episodes=1, progress_bar=False)
        game = env.unwrapped.position  # type: ignore[attr-defined]
        if game.moves == (0, 7, 1, 3, 2):
            break
    else:
        pytest.fail("no seed plays the game")
    values = []
    for ply in (4, 2, 0):
        position = Position.from_moves("TicTacToe-v0", game.moves[:ply])
        values.append(agent.values(position.own, position.opp)[game.moves[ply]])
    assert values == pytest.approx([0.9, 0.81, 0.729])
    at_the_start = agent.values(0, 0)
    corners = {action for action, value in at_the_start.items() if value == pytest.approx(0.729)}
    assert corners == ({0, 2, 6, 8} if symmetry else {0})
    assert all(value == 0 for action, value in at_the_start.items() if action not in corners)


def test_each_table_of_double_q_counts_for_itself() -> None:
    """With steps of 1 / N the first one forgets the initial value, in both tables (van Hasselt, 2010)."""
    env = tic_tac_toe(opponent="random", start=["1425"])  # 3 wins at once
    settings = {"learning_rate": None, "decay": 1.0, "epsilon": 1.0, "initial_value": 5.0, "symmetry": False}
    agent = QLearning(env, double=True, seed=0, **settings).learn(total_episodes=200)  # type: ignore[arg-type]
    start = Position.from_moves("TicTacToe-v0", "1425")
    [row] = np.flatnonzero((agent.positions[:, :2] == (start.own, start.opp)).all(axis=1))
    assert agent.tables[:, row, 2].tolist() == [1.0, 1.0]
    assert np.nansum(agent.counts[row]) == 200


def test_double_q_plays_by_the_mean_of_its_tables() -> None:
    """Two tables (0, 1) and (-0.5, 0.5) have the mean (-0.25, 0.75)."""
    position = Position.from_moves("TicTacToe-v0", "1235468")
    env = tic_tac_toe(opponent=None, start=[position])
    agent = trained(env, 1, double=True, symmetry=False, seed=0)
    agent.tables[:, 0, [6, 8]] = (0, 1), (-0.5, 0.5)
    assert agent.values(position.own, position.opp) == {6: -0.25, 8: 0.75}
    assert agent.act(position, 0) == 8


@pytest.mark.parametrize("counter", ["timesteps", "episodes"])
def test_schedules_run_in_equal_parts(counter: str) -> None:
    seen: list[tuple[int, float]] = []

    def watch(agent: Learner) -> None:
        assert isinstance(agent, QLearning)
        seen.append((getattr(agent, f"num_{counter}") - begin, agent.scheduled(agent.settings.epsilon)))

    agent = QLearning(tic_tac_toe(), epsilon=[0.9, 0.5, 0.1], seed=0)
    for _ in range(2):  # a second run starts the schedule again
        seen.clear()
        begin = getattr(agent, f"num_{counter}")
        agent.learn(callback=watch, progress_bar=False, **{f"total_{counter}": 300})
        assert seen[-1][0] >= 300
        for done, epsilon in seen:
            assert epsilon == (0.9 if done < 100 else 0.5 if done < 200 else 0.1)


def test_a_truncated_episode_is_learned_from() -> None:
    env = Transitions(TimeLimit(tic_tac_toe(opponent=None), max_episode_steps=3))
    agent = trained(env, 50, seed=0)
    assert {len(episode) for episode in env.episodes} == {3}
    assert agent.num_timesteps == 150 and agent.num_episodes == 50
    assert not any(value for row in table_of(agent).values() for value in row.values())  # nobody can have won


def test_epsilon_is_the_chance_of_a_random_action() -> None:
    agent = trained(tic_tac_toe(), 200, epsilon=0.25, seed=0)
    observation, _ = tic_tac_toe().reset()
    best = agent.predict(observation)[0]
    counts = Counter(agent.predict(observation, deterministic=False)[0] for _ in range(3000))
    expected = [3000 * (0.75 * (action == best) + 0.25 / 9) for action in range(9)]
    assert chisquare([counts[action] for action in range(9)], expected).pvalue > 1e-4
    assert {agent.predict(observation)[0] for _ in range(20)} == {best}


def test_epsilon_is_the_chance_of_a_random_action_in_training_too() -> None:
    """From a position with five legal actions, of which the best one stays the best."""
    env = Transitions(tic_tac_toe(opponent="random", start=["1425"]))
    agent = trained(env, 1, epsilon=0.25, learning_rate=1e-9, symmetry=False, seed=0)
    agent.tables[0, 0, 2] = 1.0  # what it pays: 3 wins at once
    env.episodes.clear()
    agent.learn(total_episodes=600, progress_bar=False)
    counts = Counter(episode[0][1] for episode in env.episodes)
    legal = Position.from_moves("TicTacToe-v0", "1425").legal_actions
    expected = [600 * (0.75 * (action == 2) + 0.25 / len(legal)) for action in legal]
    assert chisquare([counts[action] for action in legal], expected).pvalue > 1e-4


def test_predict_obeys_the_mask() -> None:
    agent = trained(tic_tac_toe(), 500, seed=0)
    position = Position.from_moves("TicTacToe-v0", "15")
    values = agent.values(position.own, position.opp)
    for obs_type in ("planes", "board", "code"):
        env = tic_tac_toe(obs_type=obs_type, opponent=None)
        observation, info = env.reset(options={"position": position})
        free, state = agent.predict(observation, action_masks=info["action_mask"])
        assert (free, state) == (max(values, key=values.__getitem__), None)
        assert agent.predict(observation) == (free, None)
        for allowed in ([2], [7, 8], [0, 3]):  # 0 is taken: a mask cannot make it legal
            mask = np.isin(range(9), allowed)
            legal = [action for action in allowed if action in values]
            assert agent.predict(observation, action_masks=mask)[0] == max(legal, key=values.__getitem__)
            assert agent.predict(observation, action_masks=mask.tolist(), deterministic=False)[0] in legal


@pytest.mark.parametrize("mask", [np.zeros(9), [1, 0, 0, 0, 0, 0, 0, 0, 0], [1] * 8, [1] * 10, 1, "all"], ids=str)
def test_masks_that_allow_nothing_or_fit_no_board_are_refused(mask: Any) -> None:
    observation, _ = tic_tac_toe(opponent=None).reset(options={"position": "1"})
    with pytest.raises(ValueError, match="mask"):
        QLearning(tic_tac_toe(), seed=0).predict(observation, action_masks=mask)


@pytest.mark.parametrize("observation", [np.zeros(7), np.zeros((2, 3, 4)), 3**9, -1, 2, None, "x", 1.5], ids=str)
def test_what_is_no_observation_is_refused(observation: Any) -> None:
    with pytest.raises(ValueError):
        QLearning(tic_tac_toe(), seed=0).predict(observation)


def test_a_finished_game_has_no_prediction() -> None:
    final = Position.from_moves("TicTacToe-v0", "14253")
    with pytest.raises(ValueError, match="no legal action"):
        QLearning(tic_tac_toe(), seed=0).predict(final.code)


@pytest.mark.parametrize(
    "totals",
    [{}, {"total_timesteps": 5, "total_episodes": 5}, {"total_timesteps": 0}, {"total_episodes": -1}]
    + [{"total_timesteps": value} for value in (2.0, True, "10")],
    ids=str,
)
def test_impossible_totals_are_named(totals: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="total_timesteps or total_episodes"):
        QLearning("TicTacToe-v0", seed=0).learn(progress_bar=False, **totals)


def test_only_boards_of_ours_are_learned() -> None:
    with pytest.raises(ValueError, match="CartPole"):
        QLearning(gym.make("CartPole-v1"))
