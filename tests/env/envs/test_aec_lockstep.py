"""PettingZoo's own games beside ours, ply by ply."""

from __future__ import annotations

import copy
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pettingzoo
import pytest
from pettingzoo.utils import wrappers

from tictac_env import connect_four_v0, tictactoe_v0

with warnings.catch_warnings():
    # These modules warn, when they are imported, that pettingzoo.make is the newer way.
    warnings.simplefilter("ignore", DeprecationWarning)
    from pettingzoo.classic import connect_four_v3, tictactoe_v3

Env = pettingzoo.AECEnv
AGENTS = ["player_0", "player_1"]


class Pair:
    """Our environment and PettingZoo's, the names and places of tic-tac-toe translated."""

    def __init__(self, ours: Env, theirs: Env) -> None:
        self.ours, self.theirs = ours, theirs
        self.by_column = str(theirs) == "tictactoe_v3"
        self.name = dict(zip(AGENTS, theirs.possible_agents, strict=True))

    def action(self, ours: int) -> int:
        """The migration note's formula, which is its own inverse."""
        return ours % 3 * 3 + ours // 3 if self.by_column else ours

    def legal_actions(self) -> list[int]:
        mask = self.ours.observe(self.ours.agent_selection)["action_mask"]
        return np.flatnonzero(mask).tolist()

    def reset(self) -> None:
        self.ours.reset()
        self.theirs.reset()
        self.compare()

    def step(self, action: int | None) -> None:
        self.ours.step(action)
        self.theirs.step(action if action is None else self.action(action))
        self.compare()

    def compare(self) -> None:
        ours, theirs = self.ours, self.theirs
        assert [self.name[agent] for agent in ours.agents] == theirs.agents
        assert self.name[ours.agent_selection] == theirs.agent_selection
        for what in ("rewards", "_cumulative_rewards", "terminations", "truncations"):
            expected = getattr(theirs, what)
            assert {self.name[agent]: value for agent, value in getattr(ours, what).items()} == expected, what
        for agent in AGENTS:
            self.compare_views(agent)
        assert (ours.state() == ours.observe("player_0")["observation"]).all()
        if ours.agents:
            assert ours.last(observe=False)[:4] == theirs.last(observe=False)[:4]

    def compare_views(self, agent: str) -> None:
        # A copy, as PettingZoo's wrapper judges the next action by the very observation it has handed out.
        ours, theirs = self.ours.observe(agent), copy.deepcopy(self.theirs.observe(self.name[agent]))
        assert ours.keys() == theirs.keys()
        for key, mine in ours.items():
            assert (mine.dtype, mine.shape, mine.strides) == (theirs[key].dtype, theirs[key].shape, theirs[key].strides)
            assert mine.flags.writeable
        if self.by_column:
            theirs["observation"] = theirs["observation"].transpose(1, 0, 2)
            theirs["action_mask"] = theirs["action_mask"].reshape(3, 3).T.reshape(-1)
        if not self.ours.agents or any(self.ours.terminations.values()):
            # The one difference: the game is over, but theirs still calls the loser's moves legal.
            theirs["action_mask"][:] = 0
        assert (ours["observation"] == theirs["observation"]).all()
        assert (ours["action_mask"] == theirs["action_mask"]).all()


def with_pettingzoos_wrappers() -> Env:
    env = wrappers.TerminateIllegalWrapper(connect_four_v0.raw_env(), illegal_reward=-1)
    return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(env))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(connect_four_v0, connect_four_v3), (tictactoe_v0, tictactoe_v3)],
    ids=["connect_four", "tictactoe"],
)
def test_games_are_those_of_pettingzoo_ply_by_ply(ours: Any, theirs: Any) -> None:
    """One random game of Connect Four in 400 is drawn: with this seed, one of the first 100."""
    pair, rng, ends = Pair(ours.raw_env(), theirs.raw_env()), random.Random(7), set()
    for agent, name in pair.name.items():
        assert pair.ours.observation_space(agent) == pair.theirs.observation_space(name)
        assert pair.ours.action_space(agent) == pair.theirs.action_space(name)
    for _ in range(100):
        pair.reset()
        while not pair.ours.terminations["player_0"]:
            pair.step(rng.choice(pair.legal_actions()))
            assert pair.ours.infos == {"player_0": {}, "player_1": {}}
        ends.add(pair.ours.rewards["player_0"])
        pair.step(None)
        pair.step(None)
        assert pair.ours.agents == []
    assert ends == {1, 0, -1}


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (connect_four_v0.env, connect_four_v3.env),
        (with_pettingzoos_wrappers, connect_four_v3.env),
        (tictactoe_v0.env, tictactoe_v3.env),
    ],
    ids=["connect_four", "connect_four-wrapped", "tictactoe"],
)
def test_illegal_moves_end_games_as_in_pettingzoo(ours: Callable[[], Env], theirs: Callable[[], Env]) -> None:
    pair, rng, illegal = Pair(ours(), theirs()), random.Random(0), 0
    for _ in range(60):
        pair.reset()
        while pair.ours.agents:
            agent = pair.ours.agent_selection
            if pair.ours.terminations[agent]:
                pair.step(None)
                continue
            action = rng.randrange(int(pair.ours.action_space(agent).n))
            illegal += action not in pair.legal_actions()
            pair.step(action)
    assert illegal > 10
