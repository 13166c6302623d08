"""The Gymnasium environment of every game: one board, a learner, and an opponent that answers inside `step`."""

from __future__ import annotations

import copy
import hashlib
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NoReturn, Self, TypeAlias

import cloudpickle
import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from tictac_env.arrays import Bytes
from tictac_env.checks import flag, one_of
from tictac_env.envs import protocol
from tictac_env.envs.protocol import CONTINUES, ILLEGAL, NOT_GIVEN, PLAY_AS, REWARDS, BoardOpponents, Numbers, Setup
from tictac_env.games import UNFINISHED, Game, describe_game, game_name, shown
from tictac_env.observation import Infos, Observation, Observer
from tictac_env.policies import PlayerLike, Policy, as_policy
from tictac_env.policies.pool import OpponentPool
from tictac_env.position import Position, as_action, illegal_move
from tictac_env.position_batch import PositionBatch
from tictac_env.render.window import RENDER_FPS, RENDER_MODES, Display
from tictac_env.rng import STATES, new_state
from tictac_env.storage import JsonObject

ON_ILLEGAL = ("lose", "raise")
Start: TypeAlias = str | Sequence[Position | str] | PositionBatch
"""The name of starting positions, or these as positions or move strings."""
NOT_SEEDED = -1
"""The RNG state of a board before its first reset."""
REPLACED = -1
"""Stands in a saved state for the opponent of a game under way that `set_opponent` has replaced."""
OPPONENT_REPLACED = "its game under way has an opponent that set_opponent had replaced, and that no state holds"
MAX_INT = 2**63 - 1


def refuse_opponent(opponent: object) -> NoReturn:
    """Raises the error for an opponent that is assigned to an environment."""
    raise AttributeError(
        f"the opponent of an environment cannot be assigned, here {shown(opponent)}: call set_opponent, which gives it "
        "another one for the next games"
    )


@dataclass(frozen=True)
class Arguments:
    """The checked arguments that the games of an environment depend on."""

    game: Game
    opponent: Policy | None
    play_as: str
    obs_type: str
    illegal: str
    rewards: tuple[float, float, float, float]
    start: tuple[Position, ...] | None

    @classmethod
    def check(
        cls,
        game: Game,
        opponent: PlayerLike | None,
        play_as: str,
        obs_type: str,
        illegal: str,
        rewards: Sequence[float],
        start: Start | None,
    ) -> Self:
        """The checked arguments of an environment; the `Observer` checks `obs_type`.

        Raises:
            ValueError: an argument is not allowed; the message names it and what is allowed.
        """
        policy = check_opponent(opponent, game, obs_type)
        illegal = one_of("illegal", illegal, ON_ILLEGAL)
        rewards, positions = check_rewards(rewards), check_start(start, game)
        arguments = cls(game, policy, play_as, obs_type, illegal, rewards, positions)
        arguments.check_play_as(play_as)
        return arguments

    def check_play_as(self, play_as: str | int) -> str:
        """`play_as`, if it is allowed.

        Raises:
            ValueError: there is no such seat, or there is no opponent and `play_as` is not the default.
        """
        if type(play_as) is int and play_as in (0, 1):
            raise ValueError(f'play_as must be a name: write play_as="{PLAY_AS[play_as]}" for {play_as}')
        if self.opponent is None and play_as != PLAY_AS[0]:
            raise ValueError(f"play_as={shown(play_as)} needs an opponent: with opponent=None both sides step")
        return one_of("play_as", play_as, PLAY_AS)

    def against(self, opponent: PlayerLike | None) -> Self:
        """The arguments with another opponent.

        Raises:
            ValueError: it does not play the game; or it is None and there is an opponent, or the other way round.
        """
        if (opponent is None) != (self.opponent is None):
            raise ValueError(
                f"opponent={shown(opponent)} cannot replace opponent={self.opponent}: with None both sides step, so "
                "rewards and observations mean something else; make an environment with it"
            )
        return replace(self, opponent=check_opponent(opponent, self.game, self.obs_type))

    def setup(self, as_numbers: Callable[[list[int]], Numbers] = tuple) -> Setup:
        """The setup for `protocol.begin`; `as_numbers` makes its sequences."""
        starts = self.start or ()
        owns, opps = [start.own for start in starts], [start.opp for start in starts]
        return Setup(self.opponent is None, as_numbers(owns), as_numbers(opps))

    def describe(self) -> JsonObject:
        """The arguments for JSON: equal for environments that play the same games."""
        start = None
        if self.start is not None:
            stones = [(position.own, position.opp) for position in self.start]
            start = hashlib.sha256(repr(stones).encode()).hexdigest()
        return {
            "game": describe_game(self.game),
            "opponent": None if self.opponent is None else str(self.opponent),
            "play_as": self.play_as,
            "illegal": self.illegal,
            "rewards": list(self.rewards),
            "start": start,
        }


def check_opponent(opponent: PlayerLike | None, game: Game, obs_type: str) -> Policy | None:
    """The opponent as a policy; a pool as it is, whose members then get observations of this type; None for None.

    Raises:
        ValueError: it does not play `game`.
    """
    policy = None if opponent is None else as_policy(opponent, game, obs_type)
    return opponent if isinstance(opponent, OpponentPool) else policy


def check_rewards(rewards: object) -> tuple[float, float, float, float]:
    """The rewards for a win, a draw, a loss and a step that does not end the game (0 if not given).

    Raises:
        ValueError: `rewards` is not three or four finite numbers.
    """
    try:
        numbers = tuple(float(reward) for reward in rewards) if isinstance(rewards, (list, tuple, np.ndarray)) else ()
    except (TypeError, ValueError):
        numbers = ()
    if len(numbers) not in (3, 4) or not all(map(math.isfinite, numbers)):
        raise ValueError(
            f"rewards must be finite numbers (win, draw, loss) or (win, draw, loss, step), not {shown(rewards)}"
        )
    win, draw, loss, step = (*numbers, 0.0)[:4]
    return win, draw, loss, step


def check_start(start: Start | None, game: Game) -> tuple[Position, ...] | None:
    """The starting positions, from their name or from the positions themselves; None for the empty board.

    Raises:
        ValueError: `start` is not a name of starting positions, nor a sequence of unfinished positions of `game`.
    """
    if start is None:
        return None
    if isinstance(start, str):
        from tictac_env.arena.game_record import starting_positions  # may need the solver's tables

        return starting_positions(game, start)
    if not isinstance(start, (Sequence, PositionBatch)):
        raise ValueError(f"start must be a name such as 'random:8' or a list of positions, not {shown(start)}")
    positions = tuple(unfinished(start[i], game) for i in range(len(start)))
    if not positions:
        raise ValueError("start is empty; give positions, or None for the empty board")
    return positions


def unfinished(position: object, game: Game) -> Position:
    """`position` (or the position of a move string), if the game is not over there.

    Raises:
        ValueError: `position` is not a position of `game`, or the game is over there.
    """
    if isinstance(position, str):
        position = Position.from_moves(game, position)
    if not isinstance(position, Position):
        raise ValueError(f"a position must be a Position or a move string, not {shown(position)}")
    if position.game != game:
        raise ValueError(f"{position!r} is not a position of this environment's game, {game!r}")
    if position.is_over:
        raise ValueError(f"no game can begin in the finished position {position!r}")
    return position


def check_options(options: object, keys: Sequence[str]) -> Mapping[str, Any]:
    """The options of a reset; an empty dict if there are none.

    Raises:
        ValueError: `options` is not a dict, or a key is unknown.
    """
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise ValueError(f"options must be a dict, not {shown(options)}")
    for key in options:
        one_of("options key", key, keys)
    return options


@dataclass(slots=True)
class BoardState:
    """The state of the game on one board.

    Attributes:
        own: the stones of the side to move.
        opp: the other side's.
        learner: the seat whose observation is shown.
        over: True if no game is under way.
        random_state: the board's RNG state, or `NOT_SEEDED`.
        games_begun: the number of games begun since the last seeded reset.
        member: the opponent that a pool has drawn; 0 without a pool.
        moves: the actions that led here.
    """

    own: int
    opp: int
    learner: int = 0
    over: bool = True
    random_state: int = NOT_SEEDED
    games_begun: int = 0
    member: int = 0
    moves: list[int] = field(default_factory=list)

    @classmethod
    def from_json(cls, saved: object, game: Game, num_members: int | None) -> Self:
        """The checked state of a `BoardEnv.state_dict`, for a pool of `num_members`, None without a pool.

        Raises:
            ValueError: `saved` is not such a dict, is of another game or a larger pool, is an impossible state, or the
                opponent of its game had been replaced.
        """
        # A state may come from anyone's file: types and ranges first, then the stones by the rules.
        keys = {"game", *cls.__slots__}
        if not isinstance(saved, Mapping) or set(saved) != keys:
            raise ValueError(f"a state is a dict with the keys {sorted(keys)}, not {saved!r:.200}")
        if saved["game"] != describe_game(game):
            raise ValueError(f"it is a state of {saved['game']!s:.200}, not of {describe_game(game)}")
        if saved["member"] == REPLACED:
            raise ValueError(OPPONENT_REPLACED)
        limits = {
            "own": (0, MAX_INT),
            "opp": (0, MAX_INT),
            "learner": (0, 1),
            "random_state": (NOT_SEEDED, STATES),
            "games_begun": (0, MAX_INT),
            "member": (0, MAX_INT if num_members is None else num_members - 1),
        }
        for name, (low, high) in limits.items():
            if type(saved[name]) is not int or not low <= saved[name] <= high:
                raise ValueError(f"{name} of a state must be an integer in [{low}, {high}], not {shown(saved[name])}")
        over, moves = flag("over of a state", saved["over"]), saved["moves"]
        if not isinstance(moves, list) or not all(type(move) is int and 0 <= move < game.num_actions for move in moves):
            raise ValueError(
                f"moves of a state must be a list of numbers in [0, {game.num_actions}), not {moves!r:.200}"
            )
        own, opp = saved["own"], saved["opp"]
        reason = why_impossible(game, own, opp, not over, saved["random_state"], saved["learner"])
        if reason:
            raise ValueError(f"a state cannot have the stones {own} and {opp}: {reason}")
        # The moves must be able to have led to the stones: take them back, the last one first.
        before = own, opp
        for move in reversed(moves):
            after, before = before, game.undo(*before, move)
            if after == before:
                raise ValueError(f"the moves {shown(moves)} of a state do not lead to its stones {own} and {opp}")
        return cls(moves=list(moves), **{name: saved[name] for name in (*limits, "over")})


def why_impossible(game: Game, own: int, opp: int, playing: bool, random_state: int, learner: int) -> str:
    """The reason why no board, `playing` or not, can have these stones; "" if there is none."""
    reason = game.status(own, opp).explain(game, own, opp)
    if not reason and playing and (random_state == NOT_SEEDED or game.result(own, opp) != UNFINISHED):
        reason = "the game is over, or never began"
    if not reason and playing and learner != game.seat(own, opp):
        reason = "the learner is not to move"
    return reason


class Trial(cloudpickle.CloudPickler):  # type: ignore[misc]  # cloudpickle ships no types
    """Checks if an object can be pickled. Arrays and tensors, the bulk of a model, are left out: they always can be."""

    def persistent_id(self, thing: object) -> str | None:
        return "array" if hasattr(type(thing), "__array__") else None


class SharesOpponent:
    """An environment whose copies share its opponents, as a model may be large, and copy everything else."""

    def _all_opponents(self) -> Sequence[Any]:
        """The opponent of the next games, and those of the games under way."""
        raise NotImplementedError

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        twin: Self = object.__new__(type(self))
        for shared in (*self._all_opponents(), getattr(self, "spec", None)):
            memo[id(shared)] = shared
        memo[id(self)] = twin
        twin.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return twin

    def __copy__(self) -> Self:
        return copy.deepcopy(self)

    def __getstate__(self) -> dict[str, object]:
        """The state to pickle. The pickler is unknown here, so everything that cloudpickle can pickle is accepted.

        Raises:
            TypeError: not even cloudpickle can pickle an opponent; the message names it.
        """
        for opponent in self._all_opponents():
            try:
                Trial(io.BytesIO()).dump(opponent)
            except Exception as error:
                raise TypeError(
                    f"the environment cannot be pickled, because its opponent {opponent} cannot: {error}"
                ) from error
        return self.__dict__


class BoardEnv(SharesOpponent, gym.Env[Any, int]):
    """One board of any game. The environments' pages are the docstrings in `tictac_env.envs.shipped`.

    Args:
        game: the rules.
        opponent: a player that `as_policy` accepts, or None: then `step` plays for both sides in turn.
        play_as: the learner's seat: "first", "second", "random" (drawn at each reset) or "alternate".
        obs_type: "planes", "board" or "code".
        illegal: what an illegal move of the learner does: "lose" the game or "raise" `IllegalMove`.
        rewards: for a win, a draw, a loss and, if given, a step that does not end the game.
        start: None for the empty board; "random:8", "reachable" or unfinished positions, from which each reset draws.
        render_mode: None or one of `metadata["render_modes"]`.

    Raises:
        ValueError: an argument is not allowed; the message names it and what is allowed.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": RENDER_FPS}  # noqa: RUF012  # as gym.Env

    def __init__(
        self,
        game: Game,
        opponent: PlayerLike | None = "random",
        play_as: str = "first",
        obs_type: str = "planes",
        illegal: str = "lose",
        rewards: Sequence[float] = REWARDS,
        start: str | Sequence[Position | str] | PositionBatch | None = None,
        render_mode: str | None = None,
    ) -> None:
        self._game = game
        self._obs_type = obs_type
        self._observer = Observer(game, obs_type, follow=True)
        self._observe = self._observer.observe
        self._mask = self._observer.mask
        self.arguments = Arguments.check(game, opponent, play_as, obs_type, illegal, rewards, start)
        self._rewards = self.arguments.rewards
        self.render_mode = render_mode
        self._display = Display(render_mode, game_name(game) or repr(game))
        self.observation_space = self._observer.space
        self.action_space = spaces.Discrete(game.num_actions)  # type: ignore[assignment]  # a Space[np.int64]

        self._opponents = BoardOpponents(self.arguments.opponent, game, obs_type)  # of this game
        self._setup = self.arguments.setup()
        self._self_play = self._setup.self_play
        self._starts = (*(self.arguments.start or ()), Position(game, *game.start()))  # by number; the last is -1
        self._board = BoardState(*game.start())

    @property
    def position(self) -> Position:
        """The position on the board."""
        board = self._board
        return Position(self._game, board.own, board.opp, tuple(board.moves))

    @property
    def game(self) -> Game:
        """The rules."""
        return self._game

    @property
    def opponent(self) -> Policy | None:
        """The policy that answers the learner's moves in the next games; None if both sides step."""
        return self.arguments.opponent

    @opponent.setter
    def opponent(self, opponent: object) -> None:
        refuse_opponent(opponent)

    @property
    def opponent_name(self) -> str | None:
        """The name of the opponent in this game, of a pool that of the member drawn; None if both sides step."""
        opponents = self._opponents
        return None if opponents.opponent is None else str(opponents.policy(self._board.member))

    def set_opponent(self, opponent: PlayerLike | None) -> None:
        """Replaces the opponent from the next `reset` on; a game under way keeps the one it has.

        After a seeded reset the games are those of an environment made with this opponent. A learner is taken as it
        is, and may continue to learn; `Snapshot` makes a frozen copy of a model.

        Args:
            opponent: as in `gym.make`.

        Raises:
            ValueError: it does not play this game; or it is None and there is an opponent, or the other way round. Then
                nothing changes.
        """
        self.arguments = self.arguments.against(opponent)

    def describe(self) -> JsonObject:
        """The arguments for JSON: equal for environments that play the same games."""
        return self.arguments.describe()

    def state_dict(self) -> JsonObject:
        """The state that `load_state_dict` continues from, RNG state included, for JSON. It does not have the opponent:
        a game whose opponent has been replaced cannot be continued from its state.
        """
        board = self._board
        member = board.member
        if self._opponents.opponent is not self.arguments.opponent:
            member = 0 if board.over else REPLACED
        return {"game": describe_game(self._game), **asdict(board), "member": member}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Continues from a state of `state_dict`.

        Raises:
            ValueError: `state` is not such a dict, is of another game or a larger pool, is an impossible state, or the
                opponent of its game had been replaced. Then nothing changes.
        """
        opponents = self._next_opponents()
        board = BoardState.from_json(state, self._game, opponents.num_members)
        self._opponents = opponents
        self._restore(board)

    def action_masks(self) -> Bytes:
        """The action mask, int8 (num_actions,), under the name that sb3-contrib looks for: 1 where legal."""
        board = self._board
        return self._mask(0 if board.over else self._game.legal(board.own, board.opp))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Infos]:
        """Begins a game.

        Args:
            seed: seeds the board's RNG state, and makes `play_as="alternate"` start again with the first seat.
            options: for this game only: "position" (a `Position` or a move string), "play_as".

        Raises:
            ValueError: an option is unknown, the position is finished or of another game, or the opponent ends the
                game before the learner has moved.
            IllegalMove: the opponent's first move is illegal.
        """
        position, play_as = self._check_options(options)
        super().reset(seed=seed)
        board, opponents = self._board, self._next_opponents()
        fresh = seed is not None or board.random_state == NOT_SEEDED
        state = new_state(seed) if fresh else board.random_state
        games_begun = 0 if seed is not None else board.games_begun
        opponents.starts = starts = self._starts if position is None else (position,)
        own, opp = (NOT_GIVEN, NOT_GIVEN) if position is None else (position.own, position.opp)
        opening = protocol.begin(
            self._game, self._setup, opponents, PLAY_AS.index(play_as), own, opp, games_begun, state
        )
        has_begun, own, opp, learner, member, start, reply, state = opening
        moves = list(starts[start].recent_moves)
        # Until here nothing of this environment has changed but the starts, so an error leaves the game as it was.
        if not has_begun:
            raise ValueError(f"the opponent ends the game before the learner's first move, from {starts[start]!r}")
        if reply >= 0:
            moves.append(reply)
        self._opponents = opponents
        self._restore(BoardState(own, opp, learner, False, state, games_begun + 1, member, moves))
        if self.render_mode == "human":
            self.render()
        return self._view(reply)

    def step(self, action: int) -> tuple[Observation, float, bool, bool, Infos]:
        """Plays the learner's move and the opponent's answer; without an opponent, one move for the side to move.

        Args:
            action: a Python int, NumPy integer or 0-d integer array in [0, num_actions).

        Returns:
            observation, reward, terminated, False, info.

        Raises:
            ValueError: `action` is not an integer or out of range.
            IllegalMove: `action` is illegal and illegal="raise"; or the opponent's choice is illegal.
            gymnasium.error.ResetNeeded: no game is under way.
        """
        board = self._board
        if board.over:
            raise ResetNeeded(f"no game is under way, call reset() first: {self.position!r}")
        game, self_play, moves = self._game, self._self_play, board.moves
        if type(action) is not int or not 0 <= action < game.num_actions:
            action = as_action(action, game.num_actions)
        # The opponent sees the moves, so the learner's is appended before it is known to be legal, and removed if not.
        moves.append(action)
        try:
            event, outcome, own, opp, reply, state = protocol.step(
                game, self_play, self._opponents, board.member, board.own, board.opp, action, board.random_state
            )
        except BaseException:  # Ctrl-C included: nothing else has changed yet
            moves.pop()
            raise
        if event == ILLEGAL:
            moves.pop()
            if self.arguments.illegal == "raise":
                raise illegal_move(self.position, action)
        if reply >= 0:
            moves.append(reply)
        board.own, board.opp, board.random_state = own, opp, state
        if self_play:
            board.learner ^= 1
        if event == CONTINUES:
            if self.render_mode == "human":
                self.render()
            learner = board.learner  # is to move
            info = {"action_mask": self._mask(game.legal(own, opp)), "seat": learner, "opponent_action": reply}
            return self._observe(own, opp, learner), protocol.reward(self._rewards, False, outcome), False, False, info
        board.over = True
        if self.render_mode == "human":
            self.render()
        observation, info = self._view(reply)
        info["outcome"] = outcome
        if event == ILLEGAL:
            info["illegal_action"] = action
        return observation, protocol.reward(self._rewards, True, outcome), True, False, info

    def render(self) -> Any:
        """The board in the environment's render mode: "ansi" a str, "rgb_array" uint8 (H, W, 3), "human" None.

        Raises:
            tictac_env.render.WindowClosed: the person closed the window.
        """
        board = self._board
        return self._display.render(self.position, board.over and board.random_state != NOT_SEEDED)

    def close(self) -> None:
        """Closes the window, if there is one."""
        self._display.close()

    def _view(self, reply: int) -> tuple[Observation, Infos]:
        board = self._board
        own, opp, learner = board.own, board.opp, board.learner
        if board.over:
            own, opp = protocol.seen(self._game, own, opp, learner)
            mask = self._mask(0)
        else:  # the learner is to move
            mask = self._mask(self._game.legal(own, opp))
        return self._observe(own, opp, learner), {"action_mask": mask, "seat": learner, "opponent_action": reply}

    def _next_opponents(self) -> BoardOpponents:
        """The opponents of the next game."""
        arguments = self.arguments
        if self._opponents.opponent is arguments.opponent:
            return self._opponents
        return BoardOpponents(arguments.opponent, self._game, self._obs_type)

    def _all_opponents(self) -> Sequence[Any]:
        return self.arguments.opponent, self._opponents.opponent

    def _restore(self, board: BoardState) -> None:
        self._board = board
        self._opponents.moves = board.moves

    def _check_options(self, options: Mapping[str, Any] | None) -> tuple[Position | None, str]:
        if options is None:
            return None, self.arguments.play_as
        options = check_options(options, ("position", "play_as"))
        play_as = options.get("play_as", self.arguments.play_as)
        position = options.get("position")
        return None if position is None else unfinished(position, self._game), self.arguments.check_play_as(play_as)
