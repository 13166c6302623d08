"""The compiled loop and the reset/step loop are one and the same, to the last bit: table, counters, draws, board."""

from __future__ import annotations

import pickle
from itertools import product
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from conftest import OBLONG, breadth, make_env, own_settings
from test_learners import check_equal

from tictac_agents import LearningCurve, MonteCarlo, QLearning, S0ValueTD, Sarsa, ValueTD
from tictac_agents.tabular import table_learner
from tictac_agents.tabular.learner import Learner
from tictac_agents.tabular.table_learner import can_play, play_whole_games
from tictac_env.envs.single import BoardEnv
from tictac_env.games import GAMES, Game, KInARow
from tictac_env.policies.pool import OpponentPool

ENVIRONMENTS: dict[str, dict[str, Any]] = {
    "random": {"opponent": "random", "play_as": "random"},
    "rule": {"opponent": "rule", "play_as": "alternate", "rewards": (2, 0.5, -1, -0.1)},
    "alone": {"opponent": None, "rewards": (1, 0.2, -1, -0.05)},
    "starts": {"opponent": "random", "play_as": "second", "start": ["", "5", "15", "1593"]},
    "alone, starts": {"opponent": None, "start": ["", "5", "15"]},
    "pool": {"opponent": OpponentPool(["random", "rule"], [2, 1]), "play_as": "random"},
}
S0 = own_settings("S0ValueTD", "S0") | {"epsilon": [0.95, 0.3, 0.1]}
SETTINGS: dict[str, tuple[type[Learner], dict[str, Any]]] = {
    "S0": (S0ValueTD, S0 | {"block": 0}),
    "S0, blocks": (S0ValueTD, S0 | {"block": 30}),
    "TD backward": (ValueTD, {"learning_rate": [0.5, 0.1]}),
    "TD own plies": (
        S0ValueTD,
        {"plies": "own", "learn_exploring": False, "learning_rate": None, "dead_draws": True},
    ),
    "TD traces": (ValueTD, {"updates": "online", "trace_decay": 0.7, "gamma": 0.9, "learn_exploring": False}),
    "TD traces, 1 / N": (ValueTD, {"updates": "online", "trace_decay": 0.7, "learning_rate": None, "epsilon": 0.4}),
    "Q": (QLearning, {}),
    "Q online": (QLearning, {"updates": "online", "learning_rate": None, "decay": 0.6, "gamma": 0.9}),
    "Q double": (QLearning, {"double": True, "learning_rate": [0.9, 0.3], "initial_value": 0.2}),
    "Q no symmetry": (QLearning, {"symmetry": False, "double": True, "updates": "online"}),
    "Sarsa": (Sarsa, {}),
    "expected Sarsa": (Sarsa, {"expected": True, "learning_rate": None}),
    "Monte Carlo": (MonteCarlo, {"gamma": 0.9}),
    "Monte Carlo, constant steps": (MonteCarlo, {"learning_rate": 0.3}),
}
PAIRS = [pair for pair in product(SETTINGS, ENVIRONMENTS) if "blocks" not in pair[0] or "alone" not in pair[1]]
EPISODES = 700
CONNECT_FOUR = GAMES["ConnectFour-v0"]


@pytest.fixture(autouse=True)
def short_runs_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_learner, "LONG", 0)
    monkeypatch.setattr(table_learner, "HOT", 0)


@pytest.fixture
def compiled_games(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of games the compiled loop has played each time."""
    played: list[int] = []

    def watched(*arguments: Any) -> tuple[int, int]:
        games, steps = play_whole_games(*arguments)
        played.append(games)
        return games, steps

    monkeypatch.setattr(table_learner, "play_whole_games", watched)
    monkeypatch.setattr(table_learner, "is_kept", lambda kernel, *arguments: kernel is watched)
    return played


def make(settings: str, env: str, compiled: bool = True) -> Any:
    learner, arguments = SETTINGS[settings]
    agent = learner(gym.make("TicTacToe-v0", **ENVIRONMENTS[env]), seed=7, **arguments)  # type: ignore[call-arg]
    agent.compiled = compiled
    return agent


@pytest.mark.parametrize(
    ("settings", "env"),
    breadth(
        [pair for pair in PAIRS if "random" in pair or pair[0] in ("S0", "TD traces", "Q online", "Monte Carlo")], PAIRS
    ),
)
def test_both_loops_learn_the_same(settings: str, env: str, tmp_path: Path, compiled_games: list[int]) -> None:
    agents = [make(settings, env, compiled).learn(total_episodes=200, progress_bar=False) for compiled in (0, 1)]
    assert sum(compiled_games) > 100
    check_equal(*agents, tmp_path)
    assert agents[0].env.unwrapped.state_dict() == agents[1].env.unwrapped.state_dict()


@pytest.mark.parametrize("settings", breadth(["S0", "Q", "Q double", "Monte Carlo"], SETTINGS))
def test_a_short_run_learns_the_same_without_machine_code(
    settings: str, tmp_path: Path, compiled_games: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = make(settings, "random").learn(total_episodes=300, progress_bar=False)
    assert sum(compiled_games) > 150
    values = [expected.values(own, opp) for own, opp, _ in expected.positions.tolist()]
    compiled_games.clear()
    monkeypatch.setattr(table_learner, "HOT", 1_000_000)
    monkeypatch.setattr(table_learner, "LONG", 1_000_000)
    monkeypatch.setattr(table_learner, "is_kept", lambda *arguments: False)
    agent = make(settings, "random").learn(total_episodes=300, progress_bar=False)
    assert not compiled_games
    check_equal(expected, agent, tmp_path)
    assert [agent.values(own, opp) for own, opp, _ in agent.positions.tolist()] == values


@pytest.mark.parametrize(
    ("settings", "counter"),
    breadth(
        [("S0, blocks", "timesteps"), ("Q double", "episodes")], [("S0, blocks", "episodes"), ("Q double", "timesteps")]
    ),
)
def test_schedules_and_totals_are_kept_to_the_step(settings: str, counter: str, tmp_path: Path) -> None:
    for total in (600, 601, 602):
        agents = [make(settings, "random", compiled) for compiled in (False, True)]
        for agent in agents:
            agent.learn(**{f"total_{counter}": total}, progress_bar=False).learn(300, progress_bar=False)
        check_equal(*agents, tmp_path)


@pytest.mark.parametrize("settings", ["S0", "Q", "Monte Carlo"])
@pytest.mark.parametrize("stop", breadth([1, 101], [99, 350, EPISODES - 1]))
def test_a_run_broken_off_anywhere_ends_as_an_unbroken_one(settings: str, stop: int, tmp_path: Path) -> None:
    expected = make(settings, "random", False).learn(total_episodes=EPISODES, progress_bar=False)
    agent = make(settings, "random")

    def end(learner: Learner) -> bool:
        return learner.num_episodes < stop

    end.called_every = stop  # type: ignore[attr-defined]
    agent.learn(total_episodes=EPISODES, callback=end, progress_bar=False)
    assert agent.num_episodes == stop
    agent.save(tmp_path / "agent.npz")
    env = gym.make("TicTacToe-v0", **ENVIRONMENTS["random"])
    for resumed in (agent, type(agent).load(tmp_path / "agent.npz", env)):
        check_equal(resumed.resume(progress_bar=False), expected, tmp_path)


def test_a_callback_is_called_when_it_asks_to_be(compiled_games: list[int]) -> None:
    seen: dict[str, list[int]] = {"each": [], "some": []}

    def each(learner: Learner) -> None:
        seen["each"].append(learner.num_episodes)

    def some(learner: Learner) -> None:
        seen["some"].append(learner.num_episodes)

    some.called_every = 150  # type: ignore[attr-defined]
    make("Q", "random").learn(total_episodes=EPISODES, callback=each, progress_bar=False)
    assert seen["each"] == list(range(1, EPISODES + 1)) and not compiled_games
    make("Q", "random").learn(total_episodes=EPISODES, callback=some, progress_bar=False)
    assert {150, 300, 450, 600, 700} <= set(seen["some"]) and compiled_games
    assert (LearningCurve(every=30, until_proven=True).called_every, LearningCurve(every=5).called_every) == (30, 5)
    assert LearningCurve(every=20, callback=LearningCurve(every=30, until_proven=True)).called_every == 10
    assert LearningCurve(every=20, callback=each).called_every == 1


def test_verdicts_come_at_the_same_episodes_and_forgetting_too(tmp_path: Path) -> None:
    agents = [make("Q", "random", compiled) for compiled in (False, True)]
    proofs = [LearningCurve(every=130, start_afresh=260, until_proven=True) for _ in agents]
    for agent, proof in zip(agents, proofs, strict=True):
        agent.learn(total_episodes=EPISODES, callback=proof, progress_bar=False)
    check_equal(*agents, tmp_path)
    assert [[row.games for row in proof.rows] for proof in proofs] == [[130, 260, 390, 520, 650, 700]] * 2


@pytest.mark.parametrize(
    ("learner", "game", "opponent"),
    breadth([(QLearning, CONNECT_FOUR, "random")], product([QLearning, ValueTD], [OBLONG], ["random", None])),
)
def test_tables_grow_and_games_of_other_sizes_are_the_same(
    learner: Any, game: Game, opponent: str | None, tmp_path: Path, compiled_games: list[int]
) -> None:
    agents = [learner(make_env(game, opponent=opponent), seed=1) for _ in range(2)]
    agents[0].compiled = False
    for agent in agents:
        agent.learn(total_episodes=700, progress_bar=False)
    check_equal(*agents, tmp_path)
    assert len(agents[0]) > 2 * 1024 and agents[0].capacity >= len(agents[0])  # it has grown more than once
    assert sum(compiled_games) > 300


@pytest.mark.parametrize("compiled", [False, True])
def test_an_opponent_that_spoils_every_beginning_is_named(compiled: bool) -> None:
    """Any first stone of two in a row of one decides the game."""
    env = make_env(KInARow.make(1, 1, 1, False), opponent="random", play_as="second")
    agent = QLearning(env, seed=0)
    agent.compiled = compiled
    with pytest.raises(ValueError, match="before the learner's first move"):
        agent.learn(total_episodes=300, progress_bar=False)


def test_copies_go_on_alike(tmp_path: Path) -> None:
    agent = make("Q", "random").learn(total_episodes=150, progress_bar=False)
    copied = pickle.loads(pickle.dumps(agent))
    for learner in (agent, copied):
        learner.learn(total_episodes=300, progress_bar=False)
    check_equal(agent, copied, tmp_path)


@pytest.mark.parametrize(
    ("opponent", "playable"),
    [(None, True), ("random", True), ("rule", True), (OpponentPool(["random", "rule"]), True), ("minimax", False)],
    ids=str,
)
def test_the_compiled_loop_plays_on_boards_of_ours_with_compiled_opponents(opponent: Any, playable: bool) -> None:
    board = gym.make("TicTacToe-v0", opponent=opponent)
    assert can_play(board) == playable
    assert not can_play(gym.Wrapper(board)), "a wrapper may change what the learner sees"


@pytest.mark.parametrize("method", ["reset", "step"])
def test_a_board_with_a_step_or_reset_of_its_own_is_not_played_in_the_compiled_loop(method: str) -> None:
    own = type("Own", (BoardEnv,), {method: lambda self, *arguments, **options: None})
    assert not can_play(own(GAMES["TicTacToe-v0"]))
    assert can_play(type("Same", (BoardEnv,), {})(GAMES["TicTacToe-v0"])), "other methods may differ"
