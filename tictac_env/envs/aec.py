"""The PettingZoo environment of every game: two players on one board, one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from pettingzoo import AECEnv

from tictac_env.checks import one_of
from tictac_env.envs.arguments import ILLEGAL
from tictac_env.games import UNFINISHED, Game, game_name, get_game
from tictac_env.observation import Cells
from tictac_env.position import Position, as_action

Planes = npt.NDArray[np.int8]

AGENTS = ("player_0", "player_1")


class NotYetReset(ResetNeeded, AttributeError):
    """Something was asked of an environment that has not begun its first game."""


class BoardAECEnv(AECEnv):  # type: ignore[misc]  # PettingZoo ships no types
    """PLACEHOLDER"""

    metadata: dict[str, Any] = {  # noqa: RUF012  # as AECEnv
        "render_modes": ["human", "ansi", "rgb_array"],
        "is_parallelizable": False,
        "render_fps": 2,
    }

    agents: list[str]
    agent_selection: str
    rewards: dict[str, float]
    terminations: dict[str, bool]
    truncations: dict[str, bool]
    infos: dict[str, dict[str, Any]]
    _cumulative_rewards: dict[str, float]

    def __init__(
        self, game: str | Game, render_mode: str | None = None, illegal: str = "raise", name: str | None = None
    ) -> None:
        super().__init__()
        self._game = rules = get_game(game)
        self._loses = one_of("illegal", illegal, ILLEGAL) == "lose"
        if render_mode is not None:
            one_of("render_mode", render_mode, self.metadata["render_modes"])
        self.render_mode = render_mode
        self.metadata = {**self.metadata, "name": name or game_name(rules) or repr(rules)}
        self._cells = Cells(rules)
        self._window: Any = None

        self.possible_agents = list(AGENTS)
        self.action_spaces = {agent: spaces.Discrete(rules.num_actions) for agent in AGENTS}
        self.state_space = spaces.Box(0, 1, (rules.rows, rules.cols, 2), np.int8)
        self.observation_spaces = {
            agent: spaces.Dict(
                {
                    "observation": spaces.Box(0, 1, (rules.rows, rules.cols, 2), np.int8),
                    "action_mask": spaces.Box(0, 1, (rules.num_actions,), np.int8),
                }
            )
            for agent in AGENTS
        }

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return self.action_spaces[agent]

    @property
    def position(self) -> Position:
        """The position on the board."""
        return Position(self._game, self._own, self._opp, tuple(self._moves))

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begins a game.

        Args:
            seed: changes nothing, since nothing is random.
            options: changes nothing.
        """
        self._own, self._opp = self._game.start()  # of the side to move
        self._mover = 0
        self._moves: list[int] = []
        self.agents = list(AGENTS)
        self.agent_selection = AGENTS[0]
        self._skip_agent_selection = None
        self.rewards = dict.fromkeys(AGENTS, 0)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self.infos = {agent: {} for agent in AGENTS}
        if self.render_mode == "human":
            self.render()

    def observe(self, agent: str) -> dict[str, Planes]:
        if agent not in AGENTS:
            raise ValueError(f"no agent is called {agent!r}; the agents are {' and '.join(AGENTS)}")
        own, opp = self._own, self._opp
        legal = 0
        if agent == self.agent_selection and not self._is_done(agent):
            legal = self._game.legal(own, opp)
        if agent != AGENTS[self._mover]:
            own, opp = opp, own
        return {
            "observation": self._cells.planes(own, opp).transpose(1, 2, 0).copy(),
            "action_mask": self._cells.mask(legal),
        }

    def state(self) -> Planes:
        return self._cells.planes(*self.position.stones).transpose(1, 2, 0).copy()

    def step(self, action: Any) -> None:
        agent = self.agent_selection
        if not self.agents:
            raise ResetNeeded(f"the game is over and both players have left, call reset() first: {self.position!r}")
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        game = self._game
        if type(action) is not int or not 0 <= action < game.num_actions:
            action = as_action(action, game.num_actions)
        before = self._own, self._opp
        after = game.play(*before, action)
        if after == before:
            self._refuse(agent, action)
            return
        self._own, self._opp = after
        self._mover = 1 - self._mover
        self._moves.append(action)
        self.agent_selection = following = AGENTS[self._mover]
        result = game.result(*after)
        if result != UNFINISHED:
            self.rewards[following] += result
            self.rewards[agent] -= result
            self._accumulate_rewards()
            self.terminations = dict.fromkeys(AGENTS, True)
        if self.render_mode == "human":
            self.render()

    def _is_done(self, agent):
        return self.terminations.get(agent, True) or self.truncations[agent]

    def __getattr__(self, name: str) -> Any:
        if "agents" in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise NotYetReset(f"there is no {name!r} before the first reset()")
