"""The Gymnasium environment of every game: one board, a learner, and an opponent that answers inside `step`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from tictac_env.checks import flag
from tictac_env.envs.arguments import Arguments, unfinished
from tictac_env.envs.copies import SharesOpponent
from tictac_env.envs.options import check_options
from tictac_env.games import LOST, UNFINISHED, Game, describe_game, game_name
from tictac_env.observation import Observer
from tictac_env.policies import Policy, answer
from tictac_env.policies.pool import OpponentPool
from tictac_env.position import Position, PositionBatch, as_action, illegal_move
from tictac_env.render.display import RENDER_FPS, RENDER_MODES, Display
from tictac_env.rng import STATES, advance, mix, new_state

STATE = ("own", "opp", "mover", "learner", "over", "state", "resets", "drawn")
NOT_SEEDED = -1
MAX_INT = 2**63 - 1
MAX_STARTS = 1000
"""How often a reset draws anew when the opponent ends the game before the learner's first move."""


class BoardEnv(SharesOpponent, gym.Env[Any, int]):
    """One board of any game. The environments' pages are the docstrings of the classes in `tictac_env.envs.pages`.

    Args:
        game: the rule book.
        opponent: what `as_policy` accepts, or None: then `step` plays for both sides in turn.
        play_as: the learner's seat: "first", "second", "random" (drawn at each reset) or "alternate".
        obs_type: "planes", "board" or "code".
        illegal: what an illegal move of the learner does: "lose" the game or "raise" `IllegalMove`.
        rewards: for a win, a draw, a loss and, if given, a step that does not end the game.
        start: None for the empty board, or unfinished positions, one of which is drawn at each reset.
        render_mode: None or one of `metadata["render_modes"]`.

    Raises:
        ValueError: an argument is not one of these; the message names it and what is allowed.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": RENDER_FPS}  # noqa: RUF012  # as gym.Env

    _opponent: Policy | None
    _playing: Policy

    def __init__(
        self,
        game: Game,
        opponent: Any = "random",
        play_as: str = "first",
        obs_type: str = "planes",
        illegal: str = "lose",
        rewards: Sequence[float] = (1, 0, -1),
        start: Sequence[Position | str] | PositionBatch | None = None,
        render_mode: str | None = None,
    ) -> None:
        self._game = game
        self._obs_type = obs_type
        self._observer = Observer(game, obs_type, follow=True)
        self._observe = self._observer.observe
        self._mask = self._observer.mask
        self.arguments = Arguments.check(game, opponent, play_as, obs_type, illegal, rewards, start)
        self._opponent = self.arguments.opponent
        self._rewards = self.arguments.rewards
        self.render_mode = render_mode
        self._display = Display(render_mode, game_name(game) or repr(game))
        self.observation_space = self._observer.space
        self.action_space = spaces.Discrete(game.num_actions)  # type: ignore[assignment]  # a Space[np.int64]

        self._state = NOT_SEEDED  # of the board's randomness
        self._resets = 0  # since the last seeded one
        self._own, self._opp = game.start()  # of the side to move
        self._drawn = -1  # which opponent of a pool plays this game
        self._playing = self._player(self._drawn)
        self._mover = 0
        self._learner = 0
        self._moves: list[int] = []
        self._over = True

    @property
    def position(self) -> Position:
        """The position on the board."""
        return Position(self._game, self._own, self._opp, tuple(self._moves))

    @property
    def game(self) -> Game:
        """The rule book."""
        return self._game

    @property
    def opponent(self) -> Policy | None:
        """Who answers the learner's moves; None if both sides step."""
        return self._opponent

    def describe(self) -> dict[str, Any]:
        """What the games played here depend on, for JSON: to see whether another environment plays the same games."""
        return self.arguments.describe()

    def state_dict(self) -> dict[str, Any]:
        """Everything that a later `load_state_dict` needs to go on with this game, randomness included, for JSON."""
        numbers = {name: getattr(self, "_" + name) for name in STATE}
        return {"game": describe_game(self._game), **numbers, "moves": list(self._moves)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on where the environment that `state_dict` was called on stood.

        Raises:
            ValueError: `state` is not such a dict, of another game, of a larger pool, or of no game that there can be.
                Nothing has changed then.
        """
        self._check_state(state)
        playing = self._player(state["drawn"])
        for name in STATE:
            setattr(self, "_" + name, state[name])
        self._moves = list(state["moves"])
        self._playing = playing

    def action_masks(self) -> npt.NDArray[np.int8]:
        """The action mask, int8 (num_actions,), under the name that sb3-contrib looks for: 1 where legal."""
        return self._mask(0 if self._over else self._game.legal(self._own, self._opp))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins a game.

        Args:
            seed: seeds the board's randomness, and makes `play_as="alternate"` start again at first.
            options: for this game only: "position" (a `Position` or a move string), "play_as".

        Raises:
            ValueError: an option is unknown, the position is finished or of another game, or the opponent ends the
                game before the learner has moved.
            IllegalMove: the opponent's first move is illegal.
        """
        given, play_as = self._check_options(options)
        super().reset(seed=seed)
        fresh = seed is not None or self._state < 0
        state = new_state(seed) if fresh else self._state
        resets = 0 if seed is not None else self._resets
        for _ in range(MAX_STARTS):
            position = given
            if position is None and self.arguments.start:
                state = advance(state)
                position = self.arguments.start[mix(state) % len(self.arguments.start)]
            if position is None:
                position = Position(self._game, *self._game.start())
            own, opp, mover, moves = position.own, position.opp, position.seat, list(position.moves)
            if play_as == "random":
                state = advance(state)
                learner = mix(state) & 1
            else:
                learner = resets & 1 if play_as == "alternate" else int(play_as == "second")
            reply, drawn = -1, -1
            if isinstance(self._opponent, OpponentPool):
                state = advance(state)
                drawn = self._opponent.draw(mix(state))
            if self._opponent is None:
                learner = mover
            elif mover != learner:
                state = advance(state)
                reply, own, opp = answer(self._player(drawn), self._game, own, opp, moves, mix(state))
                moves.append(reply)
                mover = learner
            if self._game.result(own, opp) == UNFINISHED:
                break
        else:
            raise ValueError(f"the opponent ends the game before the learner's first move, from {position!r}")
        self._own, self._opp, self._mover, self._learner, self._moves = own, opp, mover, learner, moves
        self._state, self._resets, self._over = state, resets + 1, False
        self._drawn, self._playing = drawn, self._player(drawn)
        return self._view(reply)

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Plays the learner's move and the opponent's answer; without an opponent, one move for the side to move.

        Args:
            action: a Python int, NumPy integer or 0-d integer array in [0, num_actions).

        Returns:
            observation, reward, terminated, False, info.

        Raises:
            ValueError: `action` is no integer or out of range.
            IllegalMove: `action` is illegal and illegal="raise"; or the opponent's choice is illegal.
            gymnasium.error.ResetNeeded: no game is under way.
        """
        if self._over:
            raise ResetNeeded(f"no game is under way, call reset() first: {self.position!r}")
        game, own, opp = self._game, self._own, self._opp
        if type(action) is not int or not 0 <= action < game.num_actions:
            action = as_action(action, game.num_actions)
        next_own, next_opp = game.play(own, opp, action)
        if next_own == own and next_opp == opp:
            return self._lose(action)
        result = game.result(next_own, next_opp)
        outcome = -result
        reply = -1
        self._moves.append(action)
        if result == UNFINISHED and self._opponent is not None:
            state = advance(self._state)
            try:
                reply, next_own, next_opp = answer(self._playing, game, next_own, next_opp, self._moves, mix(state))
            except BaseException:  # Ctrl-C included: nothing else has changed yet
                self._moves.pop()
                raise
            outcome = result = game.result(next_own, next_opp)
            self._moves.append(reply)
            self._state = state
        else:
            self._mover ^= 1
            if self._opponent is None:
                self._learner = self._mover
        self._own, self._opp = next_own, next_opp
        if result == UNFINISHED:
            observation, info = self._view(reply)
            return observation, self._rewards[3], False, False, info
        self._over = True
        observation, info = self._view(reply)
        info["outcome"] = outcome
        return observation, self._rewards[1 - outcome], True, False, info

    def render(self) -> Any:
        """The board in the environment's render mode: "ansi" a str, "rgb_array" uint8 (H, W, 3), "human" None.

        Raises:
            tictac_env.render.WindowClosed: the person closed the window.
        """
        return self._display.render(self.position)

    def close(self) -> None:
        """Closes the window, if there is one."""
        self._display.close()

    def _view(self, reply: int) -> tuple[Any, dict[str, Any]]:
        """The learner's observation and the info that goes with it."""
        own, opp = self._own, self._opp
        if self._learner != self._mover:
            own, opp = opp, own
        mask = self._mask(0 if self._over else self._game.legal(own, opp))
        if self.render_mode == "human":
            self.render()
        info = {"action_mask": mask, "seat": self._learner, "opponent_action": reply}
        return self._observe(own, opp, self._learner), info

    def _lose(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """What an illegal action of the learner does: an error, or the loss of the game."""
        if self.arguments.illegal == "raise":
            raise illegal_move(self.position, action)
        self._over = True
        if self._opponent is None:
            self._learner = 1 - self._mover
        observation, info = self._view(-1)
        info |= {"outcome": LOST, "illegal_action": action}
        return observation, self._rewards[2], True, False, info

    def _player(self, drawn: int) -> Policy:
        """The policy that answers: the opponent, or the one of the pool that was drawn (its first, if none was)."""
        if isinstance(self._opponent, OpponentPool):
            return self._opponent.member(max(drawn, 0), self._game, self._obs_type)
        return self._opponent  # type: ignore[return-value]  # nothing is asked of None

    def _check_state(self, state: Any) -> None:
        """Raises ValueError unless `state` can be that of a game here."""
        game, keys = self._game, {*STATE, "moves", "game"}
        if not isinstance(state, Mapping) or set(state) != keys:
            raise ValueError(f"a state is a dict with the keys {sorted(keys)}, not {state!r:.200}")
        if state["game"] != describe_game(game):
            raise ValueError(f"it is a state of {state['game']}, not of {describe_game(game)}")
        pool = self._opponent if isinstance(self._opponent, OpponentPool) else None
        limits = {
            "own": (0, MAX_INT),
            "opp": (0, MAX_INT),
            "mover": (0, 1),
            "learner": (0, 1),
            "state": (NOT_SEEDED, STATES),
            "resets": (0, MAX_INT),
            "drawn": (-1, len(pool.players) - 1 if pool else MAX_INT),  # without a pool it says nothing
        }
        for name, (low, high) in limits.items():
            if type(state[name]) is not int or not low <= state[name] <= high:
                raise ValueError(f"{name} of a state must be a whole number in [{low}, {high}], not {state[name]!r}")
        over, moves = flag("over of a state", state["over"]), state["moves"]
        if not isinstance(moves, list) or not all(type(move) is int and 0 <= move < game.num_actions for move in moves):
            raise ValueError(
                f"moves of a state must be a list of numbers in [0, {game.num_actions}), not {moves!r:.200}"
            )
        own, opp, mover = state["own"], state["opp"], state["mover"]
        wrong = game.status(own, opp).explain(game, own, opp)
        if not wrong and mover != game.seat(own, opp):
            wrong = "the other side is to move"
        if not wrong and not over:
            if state["state"] == NOT_SEEDED or game.result(own, opp) != UNFINISHED:
                wrong = "the game is over, or never began"
            elif mover != state["learner"]:
                wrong = "the learner is not to move"
        if wrong:
            raise ValueError(f"a state cannot have the stones {own} and {opp}: {wrong}")
        before = own, opp
        for move in reversed(moves):
            after, before = before, game.undo(*before, move)
            if after == before:
                raise ValueError(f"the moves {moves} of a state do not lead to its stones {own} and {opp}")

    def _check_options(self, options: Mapping[str, Any] | None) -> tuple[Position | None, str]:
        options = check_options(options, ("position", "play_as"))
        play_as = options.get("play_as", self.arguments.play_as)
        given = options.get("position")
        return None if given is None else unfinished(given, self._game), self.arguments.check_play_as(play_as)
