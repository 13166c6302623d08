"""Any two-player, turn-taking PettingZoo environment, with an opponent, as a Gymnasium environment."""

from __future__ import annotations

import copy
from collections.abc import Hashable
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.error import ResetNeeded

from tictac_env.checks import one_of
from tictac_env.envs.protocol import PLAY_AS, draw_seat
from tictac_env.envs.single import SharesOpponent
from tictac_env.games import shown
from tictac_env.lazy import Undivided
from tictac_env.observation import Infos, Observation
from tictac_env.policies import FunctionPolicy, PlayerLike, Policy, as_policy
from tictac_env.policies.adapters import Mask, ModelPolicy, adapted
from tictac_env.policies.pool import Mixture, OpponentPool
from tictac_env.position import IllegalMove, Position, as_action, as_integer
from tictac_env.rng import advance, mix, new_state

RANDOM_PLAYER = "random"


class OpponentPolicyEnv(SharesOpponent, gym.Env[Any, int]):
    """A two-player AEC environment seen by one player, the opponent's turns being part of `step`.

    The learner's observation is the plain one (without the mask); the mask is in `info["action_mask"]` and
    `action_masks()`. The observation after a step is always the learner's own, also at the end, and the reward is all
    that the learner has earned since its last action: a loser gets its -1 when the opponent wins.

    Args:
        env: an AEC environment with two agents in turn and an action mask, in the observation
            (`{"observation", "action_mask"}`) or in the info.
        opponent: a function `(observation, action_mask) -> action` of the opponent's own observation; a model with
            `predict`, which gets `action_masks` if it takes them; "random"; for environments of this package
            (`tictac_env.connect_four_v0`, `tictactoe_v0`) whatever `as_policy` accepts; or several of these, an
            `OpponentPool` (one is drawn at each reset) or a `Mixture` (at each move). Copies of the environment share
            it.
        play_as: "first", "second", "random" (drawn at each reset) or "alternate" (a seeded reset begins again with
            first). The first agent of `env.possible_agents` moves first.

    Raises:
        ValueError: `env` does not have two agents or no action masks, the agents' spaces differ, or an argument is not
            one of these.

    Example:
        >>> import pettingzoo
        >>> env = OpponentPolicyEnv(pettingzoo.make("aec", "classic/connect_four_v3"), play_as="second")
        >>> observation, info = env.reset(seed=0)
        >>> observation.shape, info["seat"]
        ((6, 7, 2), 1)
    """

    def __init__(self, env: Any, opponent: PlayerLike = "random", play_as: str = "first") -> None:
        agents = list(getattr(env, "possible_agents", []))
        if len(agents) != 2:
            raise ValueError(f"env must be an AEC environment of two agents, not {shown(env)} with {agents}")
        for kind, space_of in (("observation", env.observation_space), ("action", env.action_space)):
            if space_of(agents[0]) != space_of(agents[1]):
                raise ValueError(f"the {kind} spaces of the agents {agents} of {env} differ")
        _check_masks(env, agents)
        self.env = env
        self.metadata = env.metadata
        self.render_mode = env.render_mode
        self._play_as = one_of("play_as", play_as, PLAY_AS)
        position = getattr(env.unwrapped, "position", None)
        self._game = position.game if isinstance(position, Position) else None  # which policies need to know
        space = env.observation_space(agents[0])
        self.observation_space = space["observation"] if isinstance(space, gym.spaces.Dict) else space
        self._opponent = self._playing = self._as_player(opponent)
        self.action_space = env.action_space(agents[0])
        self._num_actions = int(env.action_space(agents[0]).n)
        self._state = -1  # RNG state, for the seat and the opponent's seeds; not seeded yet
        self._resets = 0
        self._learner = agents[0]
        self._reward = 0.0
        self._over = True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Infos]:
        """Begins a game; if the opponent moves first, it has moved.

        Args:
            seed: seeds the environment, the seat and the opponent.
            options: handed to the environment; "play_as" sets the seat for this game.

        Raises:
            ValueError: `options["play_as"]` is unknown, or the opponent ends the game before the learner's first move.
            IllegalMove: the opponent's first move is illegal.
        """
        options = dict(options or {})
        play_as = one_of("play_as", options.pop("play_as", self._play_as), PLAY_AS)
        super().reset(seed=seed)
        if seed is not None or self._state < 0:
            self._state, self._resets = new_state(seed), 0
        seat, self._state = draw_seat(PLAY_AS.index(play_as), self._resets, self._state)
        self._resets += 1
        self._over = True  # until the opponent has moved, where it moves first
        playing = self._opponent
        if isinstance(playing, OpponentPool):
            playing = self._member(playing, self._draw())
        self._playing = playing
        self.env.reset(seed=seed, options=options)
        self._learner = self.env.possible_agents[seat]
        reply = self._let_opponent_play()
        if self._ended():
            raise ValueError(f"the opponent ends the game of {self.env} before the learner's first move")
        self._over = False
        return self._view(reply)

    def step(self, action: int) -> tuple[Observation, float, bool, bool, Infos]:
        """Plays the learner's action and the opponent's answer.

        Returns:
            The learner's observation, its reward since the last step, terminated, truncated, info.

        Raises:
            ValueError: `action` is not an integer in range.
            IllegalMove: the opponent's choice is illegal; the game cannot continue.
            gymnasium.error.ResetNeeded: no game is under way.
        """
        if self._over:
            raise ResetNeeded("no game is under way, call reset() first")
        action = as_action(action, self._num_actions)
        self._reward = 0.0
        self._play(action)
        self._over = True  # should the opponent fail, the learner is not to play its move
        reply = self._let_opponent_play()
        self._over = self._ended()
        observation, info = self._view(reply)
        # PettingZoo calls the end by an illegal move both; a game that is lost has not been cut short.
        terminated = bool(self.env.terminations[self._learner])
        return observation, self._reward, terminated, self._over and not terminated, info

    def action_masks(self) -> Mask:
        """The learner's action mask, int8 (num_actions,), under the name that sb3-contrib looks for: all 0 if no game
        is under way.
        """
        if self._over:
            return np.zeros(self._num_actions, np.int8)
        return self._observe(self._learner)[1]

    def render(self) -> Any:
        return self.env.render()

    def close(self) -> None:
        self.env.close()

    def _let_opponent_play(self) -> int:
        """Lets the opponent play while it is its turn; its last action, -1 if it has not moved."""
        reply = -1
        while not self._ended() and (agent := self.env.agent_selection) != self._learner:
            reply = self._answer(agent)
            self._play(reply)
        return reply

    def _answer(self, agent: Hashable) -> int:
        opponent = self._playing
        observation, mask = self._observe(agent)
        legal = np.flatnonzero(mask).tolist()  # before the opponent gets at the mask
        seed = self._draw()
        while isinstance(opponent, Mixture):  # as it does by itself, but a function gets this environment's observation
            opponent, seed = self._member(opponent, seed), mix(seed)
        if isinstance(opponent, ModelPolicy):
            opponent.check_boards(self.observation_space)
        with Undivided():
            if opponent == RANDOM_PLAYER:
                choice = legal[seed % len(legal)]
            elif isinstance(opponent, FunctionPolicy):
                choice = opponent.ask(observation, mask, seed)
            else:
                choice = opponent.act(self.env.unwrapped.position, seed)
        action = as_integer(choice)
        if action is None:
            what = f"must return an int, not {shown(choice)} ({type(choice).__name__})"
            raise IllegalMove(f"the opponent {opponent} {what}, as {agent}; legal are {legal}")
        if action not in legal:
            raise IllegalMove(f"the opponent {opponent} chose {action} as {agent}; legal are {legal}")
        return action

    def _as_player(self, opponent: Any) -> Any:
        """The opponent, checked: a Policy (a FunctionPolicy gets observations), or where the environment does not know
        positions RANDOM_PLAYER, a FunctionPolicy or a mixture of these.
        """
        if self._game is not None:
            return as_policy(opponent, self._game)
        if isinstance(opponent, Mixture):
            for member in opponent.players:
                self._as_player(member)
            return opponent
        if isinstance(opponent, FunctionPolicy) or (isinstance(opponent, str) and opponent == RANDOM_PLAYER):
            return opponent
        policy = None if isinstance(opponent, (str, Policy)) else adapted(opponent)
        if policy is None:
            raise ValueError(
                f"{shown(opponent)} cannot play {self.env}; give {RANDOM_PLAYER!r}, a model with `predict`, a "
                "function of observation and mask, or several of these in a Mixture or OpponentPool (other policies "
                "play this package's games only)"
            )
        return policy

    def _member(self, mixture: Mixture, seed: int) -> Any:
        number = mixture.draw(seed)
        if self._game is not None:
            return mixture.member(number, self._game)
        return self._as_player(mixture.players[number])

    def _play(self, action: int) -> None:
        self.env.step(action)
        self._reward += float(self.env.rewards.get(self._learner, 0))

    def _ended(self) -> bool:
        return bool(self.env.terminations[self._learner] or self.env.truncations[self._learner])

    def _observe(self, agent: Hashable) -> tuple[Observation, Mask]:
        """An agent's plain observation and its mask, all zeros once the game is over; both its own copies."""
        seen = self.env.observe(agent)
        if isinstance(seen, dict) and "action_mask" in seen:
            observation, mask = seen["observation"], seen["action_mask"]
        else:
            observation, mask = seen, self.env.infos[agent]["action_mask"]
        if self._ended():
            mask = np.zeros_like(mask)
        return copy.copy(observation), np.array(mask, np.int8)

    def _view(self, reply: int) -> tuple[Observation, Infos]:
        observation, mask = self._observe(self._learner)
        seat = self.env.possible_agents.index(self._learner)
        return observation, {"action_mask": mask, "seat": seat, "opponent_action": reply}

    def _draw(self) -> int:
        self._state = advance(self._state)
        return mix(self._state)


def _check_masks(env: Any, agents: list[Hashable]) -> None:
    """Checks that an AEC environment gives action masks. If its spaces do not say so, its infos must."""
    space = env.observation_space(agents[0])
    if isinstance(space, gym.spaces.Dict) and "action_mask" in space.spaces:
        return
    if not getattr(env, "infos", None):  # there are none before the first reset
        env.reset()
    if not all("action_mask" in env.infos.get(agent, {}) for agent in agents):
        raise ValueError(
            f"{env} gives no action masks, by which an opponent knows what is legal: they must be in its observations "
            f'({{"observation", "action_mask"}}) or in the info of each agent; they are {space} and {env.infos}'
        )
