"""OpponentPolicyEnv over PettingZoo's games, a stranger's and ours: what it shows, pays and lets play."""

from __future__ import annotations

import random
import warnings
from collections import Counter
from itertools import product
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pettingzoo
import pytest
from conftest import breadth, highest, lowest
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from pettingzoo.utils import BaseWrapper

from tictac_env import connect_four_v0, tictactoe_v0
from tictac_env.policies import BatchedPolicy, RulePolicy
from tictac_env.wrappers import Mixture, OpponentPolicyEnv, OpponentPool

OURS = {"connect_four_v0": connect_four_v0.env, "tictactoe_v0": tictactoe_v0.env}
SEATS = ["first", "second", "random", "alternate"]
Mask = npt.NDArray[np.int8]


class Nim(pettingzoo.AECEnv):
    """A stranger: the mask is in the info, observations are numbers, and who takes 2 moves again.

    Each agent in turn takes 1 to 3 of 10; who takes the last one gets 5. Every move costs its agent 1. After 8 moves
    the game is cut short.
    """

    metadata = {"name": "nim", "render_modes": []}
    render_mode = None
    possible_agents = ["one", "two"]

    def observation_space(self, agent: str) -> spaces.Discrete:
        return spaces.Discrete(11)

    def action_space(self, agent: str) -> spaces.Discrete:
        return spaces.Discrete(3)

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        self.agents = list(self.possible_agents)
        self.heap, self.moves = (options or {}).get("heap", 10), 0
        self.agent_selection = "one"
        self.rewards = {"one": 0, "two": 0}
        self.terminations = {"one": False, "two": False}
        self.truncations = {"one": False, "two": False}
        self._tell()

    def observe(self, agent: str) -> int:
        return self.heap

    def step(self, action: int) -> None:
        agent = self.agent_selection
        self.heap = max(0, self.heap - action - 1)
        self.moves += 1
        self.rewards = {"one": 0, "two": 0} | {agent: -1 if self.heap else 4}
        self.terminations = dict.fromkeys(self.agents, self.heap == 0)
        self.truncations = dict.fromkeys(self.agents, self.heap > 0 and self.moves == 8)
        if action != 1:
            self.agent_selection = "two" if agent == "one" else "one"
        self._tell()

    def _tell(self) -> None:
        mask = (np.arange(3) < self.heap).astype(np.int8)
        self.infos = {agent: {"action_mask": mask} for agent in self.agents}


def make(name: str) -> pettingzoo.AECEnv:
    """An AEC environment by name: ours, Nim or PettingZoo's."""
    if name == "chess_v6":
        pytest.importorskip("chess")
    if name == "nim":
        return Nim()
    return OURS[name]() if name in OURS else pettingzoo.make("aec", f"classic/{name}")


THEIRS = ["connect_four_v3", "tictactoe_v3"]
GAMES = [*OURS, *THEIRS, "chess_v6"]
every_game = pytest.mark.parametrize("name", GAMES)


def seated(names: list[str]) -> pytest.MarkDecorator:
    """Each environment from each seat; chess, which is slow, from all seats in `make test-all` only."""
    pairs = list(product(names, SEATS))
    few = [(name, seat) for name, seat in pairs if name != "chess_v6" or seat == "random"]
    return pytest.mark.parametrize(("name", "play_as"), breadth(few, pairs))


class Journal(BaseWrapper):
    """Writes down what the AEC environment itself says of every ply."""

    def __init__(self, env: pettingzoo.AECEnv) -> None:
        super().__init__(env)
        self.plies: list[tuple[str, int, dict[str, float]]] = []

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        self.plies = []
        super().reset(seed=seed, options=options)

    def step(self, action: Any) -> None:
        agent = self.env.agent_selection
        super().step(action)
        self.plies.append((agent, action, dict(self.env.rewards)))

    @property
    def actions(self) -> list[int]:
        return [action for _, action, _ in self.plies]


def observed(env: OpponentPolicyEnv, agent: str) -> Any:
    """What the AEC environment shows an agent, without the mask."""
    seen = env.env.observe(agent)
    return seen["observation"] if isinstance(seen, dict) else seen


def learner(env: OpponentPolicyEnv, info: dict[str, Any]) -> str:
    agent: str = env.env.possible_agents[info["seat"]]
    return agent


def go_on(env: gym.Env[Any, Any], seed: int = 0) -> list[Any]:
    """Everything that is returned until the end of the game, the learner playing at random."""
    rng, heard = random.Random(seed), []
    over = False
    while not over:
        action = rng.choice(np.flatnonzero(env.unwrapped.action_masks()).tolist())
        observation, reward, terminated, truncated, info = env.step(action)
        over = terminated or truncated
        heard.append((np.asarray(observation).tobytes(), reward, terminated, truncated, repr(info)))
    return heard


def transcript(env: gym.Env[Any, Any], seed: int | None = None, games: int = 5) -> list[Any]:
    """Everything that is returned in some games."""
    heard: list[Any] = []
    for game in range(games):
        observation, info = env.reset(seed=seed if game == 0 else None)
        heard += [(np.asarray(observation).tobytes(), repr(info)), *go_on(env, game)]
    return heard


# Checkers and wrappers


def take_one(observation: Any, mask: Any) -> int:
    return 0


@seated([*GAMES, "nim"])
def test_the_checkers_of_gymnasium_and_stable_baselines3_find_no_fault(name: str, play_as: str) -> None:
    # The checkers reset without a seed, and at random the opponent may take the whole heap before the learner moves.
    opponent: Any = take_one if name == "nim" else "random"
    check_env(OpponentPolicyEnv(make(name), opponent, play_as), skip_render_check=True)
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        checker.check_env(OpponentPolicyEnv(make(name), opponent, play_as))
    assert all("image" in str(warning.message) for warning in caught), "what it says of any board"


# What the learner sees and gets


@seated([*GAMES])
def test_the_learner_sees_its_own_board(name: str, play_as: str) -> None:
    env, rng = OpponentPolicyEnv(make(name), play_as=play_as), random.Random(1)
    for game in range(1 if name == "chess_v6" else 5):
        observation, info = env.reset(seed=game if game < 3 else None)
        over = False
        while True:
            agent = learner(env, info)
            assert observation in env.observation_space
            assert np.array_equal(observation, observed(env, agent))
            mask = info["action_mask"]
            assert mask.dtype == np.int8 and mask.shape == (env.action_space.n,)
            assert np.array_equal(mask, env.action_masks())
            if over:
                assert not mask.any()
                break
            assert agent == env.env.agent_selection
            assert np.array_equal(mask, env.env.observe(agent)["action_mask"])
            action = rng.choice(np.flatnonzero(mask).tolist())
            observation, _, terminated, truncated, info = env.step(action)
            over = terminated or truncated


@pytest.mark.parametrize("play_as", ["first", "second", "random"])
@pytest.mark.parametrize("name", [*GAMES[:4], "nim"])
def test_the_rewards_are_all_that_the_environment_gave(name: str, play_as: str) -> None:
    journal = Journal(make(name))
    env = OpponentPolicyEnv(journal, play_as=play_as)
    totals: Counter[float] = Counter()
    for game in range(20):
        _, info = env.reset(seed=1 if game == 0 else None)
        agent = learner(env, info)
        before = sum(rewards[agent] for _, _, rewards in journal.plies)
        assert name == "nim" or before == 0
        heard = go_on(env, game)
        total = sum(reward for _, reward, *_ in heard)
        assert all(type(reward) is float for _, reward, *_ in heard)
        assert total == sum(rewards[agent] for _, _, rewards in journal.plies) - before
        totals[total] += 1
    assert name == "nim" or {1, -1} <= set(totals) <= {1, 0, -1}


def test_an_agent_may_move_twice_and_a_game_may_be_truncated() -> None:
    """The rewards of all plies since the last step count, whoever made them."""
    answers: list[int] = []
    env = OpponentPolicyEnv(Nim(), lambda observation, mask: answers.pop(0))
    observation, info = env.reset()
    assert (observation, info["opponent_action"]) == (10, -1)
    answers[:] = [1, 1, 0]  # twice two, and one more
    observation, reward, *_, info = env.step(0)
    assert (observation, reward, info["opponent_action"]) == (4, -1, 0)
    observation, reward, *_, info = env.step(1)  # moves again
    assert (observation, reward, info["opponent_action"]) == (2, -1, -1)
    assert info["action_mask"].tolist() == [1, 1, 0]
    assert env.step(1)[1:4] == (4, True, False)

    env = OpponentPolicyEnv(Nim(), lowest)
    env.reset()
    rest = [env.step(0)[1:4] for _ in range(4)]
    assert rest == [(-1, False, False)] * 3 + [(-1, False, True)]
    assert not env.action_masks().any()
    with pytest.raises(ResetNeeded):
        env.step(0)


# Our modules, PettingZoo's and gym.make play the same games


@pytest.mark.parametrize("opponent", ["random", highest])
def test_ours_and_pettingzoos_are_the_same(opponent: Any) -> None:
    ours, theirs = (
        OpponentPolicyEnv(make(name), opponent, "alternate") for name in ("connect_four_v0", "connect_four_v3")
    )
    assert transcript(ours, seed=3, games=100) == transcript(theirs, seed=3, games=100)


# Opponents


@every_game
def test_the_opponent_sees_its_own_board(name: str) -> None:
    agents = []

    def spy(observation: Any, mask: Mask) -> int:
        agent = env.env.agent_selection
        agents.append(agent)
        assert np.array_equal(observation, observed(env, agent))
        assert np.array_equal(mask, env.env.observe(agent)["action_mask"]) and mask.dtype == np.int8
        return lowest(observation, mask)

    env = OpponentPolicyEnv(make(name), spy, play_as="alternate")
    transcript(env, seed=0, games=2)
    assert set(agents) == set(env.env.possible_agents)


@pytest.mark.parametrize("name", [*THEIRS, "nim"])
def test_an_opponent_that_writes_to_what_it_sees_changes_nothing(name: str) -> None:
    """PettingZoo's wrappers judge an action by the very mask that they have handed out."""

    def spoil(observation: Any, mask: Mask) -> int:
        action = lowest(observation, mask)
        np.asarray(observation)[...], mask[:] = 1, 0
        return action

    plain, spoiled = (OpponentPolicyEnv(make(name), opponent, "alternate") for opponent in (lowest, spoil))
    assert transcript(spoiled, seed=3) == transcript(plain, seed=3)


@pytest.mark.parametrize("opponent", ["rule", "minimax:2", RulePolicy(), Mixture(["random", "rule"])], ids=str)
def test_policies_play_our_games_and_no_others(opponent: Any) -> None:
    for module in (connect_four_v0, tictactoe_v0):
        for made in (module.env(), module.raw_env()):
            assert len(transcript(OpponentPolicyEnv(made, opponent, "alternate"), seed=0)) > 5
    for name in ("connect_four_v3", "tictactoe_v3"):
        with pytest.raises(ValueError, match=rf"cannot play {name}; give 'random'.*this package's games only"):
            OpponentPolicyEnv(make(name), opponent)
        for several in (OpponentPool(["random", opponent]), Mixture(["random", opponent])):
            with pytest.raises(ValueError, match=f"cannot play {name}"):
                OpponentPolicyEnv(make(name), several)


# Misuse


def test_an_illegal_move_of_the_learner_does_what_pettingzoos_wrappers_say() -> None:
    """With them it loses the game, without them it is an error and the game goes on."""
    wrapped, raw = (
        OpponentPolicyEnv(env, lowest) for env in (make("connect_four_v3"), make("connect_four_v3").unwrapped)
    )
    for env in (wrapped, raw):
        env.reset()
        for _ in range(3):
            assert not env.step(0)[2]
    observation, reward, terminated, truncated, info = wrapped.step(0)
    assert (reward, terminated, truncated, info["opponent_action"]) == (-1, True, False, -1)
    assert observation[..., 0].sum() == 3 and not info["action_mask"].any()
    with pytest.raises(ResetNeeded):
        wrapped.step(1)
    with pytest.raises(AssertionError):
        raw.step(0)
    assert raw.action_masks().tolist() == [0, 1, 1, 1, 1, 1, 1], "the game goes on"
    assert raw.step(1)[1:4] == (0, False, False)


def test_what_is_no_such_environment_is_refused() -> None:
    for env in (gym.make("TicTacToe-v0"), SimpleNamespace(possible_agents=["a", "b", "c"]), None):
        with pytest.raises(ValueError, match="must be an AEC environment of two agents"):
            OpponentPolicyEnv(env)
    unlike = Nim()
    unlike.observation_space = lambda agent: spaces.Discrete(11 if agent == "one" else 12)  # type: ignore[method-assign]
    with pytest.raises(ValueError, match=r"observation spaces of the agents .* differ"):
        OpponentPolicyEnv(unlike)
    unlike = Nim()
    unlike.action_space = lambda agent: spaces.Discrete(3 if agent == "one" else 5)  # type: ignore[method-assign]
    with pytest.raises(ValueError, match=r"action spaces of the agents .* differ"):
        OpponentPolicyEnv(unlike)


class Unmasked(Nim):
    """Nim without masks."""

    def _tell(self) -> None:
        self.infos = {agent: {} for agent in self.agents}


def test_a_game_without_masks_is_refused_at_once() -> None:
    used = Unmasked()
    used.reset(seed=1)
    used.step(2)
    for env in (Unmasked(), Journal(Unmasked()), used):
        with pytest.raises(ValueError, match=r"gives no action masks.*in the info of each agent"):
            OpponentPolicyEnv(env)
    assert used.heap == 7, "a game under way is left as it was"


def test_a_batched_opponent_gets_the_observations_of_the_game_too() -> None:
    asked = []

    def last(observations: Any, masks: Mask) -> Any:
        asked.append((np.shape(observations), masks.shape))
        return masks.shape[1] - 1 - masks[:, ::-1].argmax(axis=1)

    def last_of_one(observation: Any, mask: Mask) -> int:
        return int(np.flatnonzero(mask)[-1])

    for name, shape in (("nim", ()), ("tictactoe_v0", (3, 3, 2))):
        one, other = OpponentPolicyEnv(make(name), BatchedPolicy(last)), OpponentPolicyEnv(make(name), last_of_one)
        assert transcript(one, seed=1) == transcript(other, seed=1)
        assert asked[-1] == ((1, *shape), (1, one.action_space.n))


def test_options_and_rendering_are_those_of_the_environment_inside() -> None:
    env = OpponentPolicyEnv(connect_four_v0.env(render_mode="ansi"), lowest)
    assert env.render_mode == "ansi" and env.metadata["name"] == "connect_four_v0"
    env.reset(options={"position": "4453"})
    assert env.render() == str(env.env.position) and env.env.position.to_moves() == "4453"
    _, info = env.reset(options={"position": "4453", "play_as": "second"})
    assert env.env.position.to_moves() == "44531" and info["opponent_action"] == 0
    env.close()
    env.close()
