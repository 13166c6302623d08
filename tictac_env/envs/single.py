"""The Gymnasium environment of every game: one board, a learner, and an opponent that answers inside `step`."""

from __future__ import annotations

import copy
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import cloudpickle
import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from tictac_env.checks import flag
from tictac_env.envs import protocol
from tictac_env.envs.arguments import Arguments, check_options, unfinished
from tictac_env.envs.protocol import GOES_ON, ILLEGAL, NOT_GIVEN, PLAY_AS, BoardOpponents
from tictac_env.games import UNFINISHED, Game, describe_game, game_name, shown
from tictac_env.observation import Observer
from tictac_env.policies import Policy
from tictac_env.position import Position, as_action, illegal_move
from tictac_env.position_batch import PositionBatch
from tictac_env.render.display import RENDER_FPS, RENDER_MODES, Display
from tictac_env.rng import STATES, new_state

NOT_SEEDED = -1
"""The state of a board's randomness before its first reset."""
MAX_INT = 2**63 - 1


@dataclass(slots=True)
class BoardState:
    """Where the game on one board stands.

    Attributes:
        own: the stones of the side to move.
        opp: the other side's.
        learner: the seat whose observation is shown.
        over: whether no game is under way.
        random_state: the state of the board's randomness, or `NOT_SEEDED`.
        games_begun: how many games have begun since the last seeded reset.
        member: which opponent of a pool plays; 0 without a pool.
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

    @property
    def ended(self) -> bool:
        """Whether a game has ended here, unlike on a board that none has begun on."""
        return self.over and self.random_state != NOT_SEEDED

    def to_json(self, game: Game) -> dict[str, Any]:
        """What `from_json` takes, as JSON can hold it."""
        return {"game": describe_game(game), **asdict(self)}

    @classmethod
    def from_json(cls, saved: Any, game: Game, num_members: int | None) -> Self:
        """The state that was saved.

        Args:
            saved: what `to_json` gave.
            game: the environment's rule book.
            num_members: the size of its pool; None without one: `member` then says nothing.

        Raises:
            ValueError: `saved` is not such a dict, is of another game or a larger pool, or no game can be in it.
        """
        keys = {"game", *cls.__slots__}
        if not isinstance(saved, Mapping) or set(saved) != keys:
            raise ValueError(f"a state is a dict with the keys {sorted(keys)}, not {saved!r:.200}")
        check_game(saved["game"], game)
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
                raise ValueError(
                    f"{name} of a state must be a whole number in [{low}, {high}], not {shown(saved[name])}"
                )
        over, moves = flag("over of a state", saved["over"]), saved["moves"]
        if not isinstance(moves, list) or not all(type(move) is int and 0 <= move < game.num_actions for move in moves):
            raise ValueError(
                f"moves of a state must be a list of numbers in [0, {game.num_actions}), not {moves!r:.200}"
            )
        own, opp = saved["own"], saved["opp"]
        reason = why_impossible(game, own, opp, not over, saved["random_state"])
        if not reason and not over and saved["learner"] != game.seat(own, opp):
            reason = "the learner is not to move"
        if reason:
            raise ValueError(f"a state cannot have the stones {own} and {opp}: {reason}")
        before = own, opp
        for move in reversed(moves):
            after, before = before, game.undo(*before, move)
            if after == before:
                raise ValueError(f"the moves {moves} of a state do not lead to its stones {own} and {opp}")
        return cls(moves=list(moves), **{name: saved[name] for name in (*limits, "over")})


def check_game(saved: Any, game: Game) -> None:
    """Checks that a state is one of `game`.

    Raises:
        ValueError: it is of another game.
    """
    if saved != describe_game(game):
        raise ValueError(f"it is a state of {saved}, not of {describe_game(game)}")


def why_impossible(game: Game, own: int, opp: int, playing: bool, random_state: int) -> str:
    """Why no board can have these stones, "" if one can.

    Args:
        game: the rule book.
        own: the stones of the side to move.
        opp: the other side's.
        playing: whether the board waits for an action.
        random_state: the state of its randomness.
    """
    reason = game.status(own, opp).explain(game, own, opp)
    if not reason and playing and (random_state == NOT_SEEDED or game.result(own, opp) != UNFINISHED):
        reason = "the game is over, or never began"
    return reason


class Trial(cloudpickle.CloudPickler):  # type: ignore[misc]  # cloudpickle ships no types
    """Finds out whether something can be pickled. Arrays and tensors, a model's bulk, are left out: they always can."""

    def persistent_id(self, thing: Any) -> str | None:
        return "array" if hasattr(type(thing), "__array__") else None


class SharesOpponent:
    """An environment whose copies share its opponent, since a model may be large, and copy everything else."""

    _opponent: Any
    _playing: Any = None
    """The opponent of this game: of a pool, the member that was drawn."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin: Self = object.__new__(type(self))
        for shared in (self._opponent, self._playing, getattr(self, "spec", None)):
            memo[id(shared)] = shared
        memo[id(self)] = twin
        twin.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return twin

    def __copy__(self) -> Self:
        return copy.deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled. It cannot know which pickler is at work, so it accepts whatever cloudpickle can pickle.

        Raises:
            TypeError: not even cloudpickle can pickle the opponent; the message names it.
        """
        try:
            Trial(io.BytesIO()).dump(self._opponent)
        except Exception as error:
            raise TypeError(
                f"the environment cannot be pickled, because its opponent {self._opponent} cannot: {error}"
            ) from error
        return self.__dict__


class BoardEnv(SharesOpponent, gym.Env[Any, int]):
    """One board of any game. The environments' pages are the docstrings in `tictac_env.envs.shipped`.

    Args:
        game: the rule book.
        opponent: what `as_policy` accepts, or None: then `step` plays for both sides in turn.
        play_as: the learner's seat: "first", "second", "random" (drawn at each reset) or "alternate".
        obs_type: "planes", "board" or "code".
        illegal: what an illegal move of the learner does: "lose" the game or "raise" `IllegalMove`.
        rewards: for a win, a draw, a loss and, if given, a step that does not end the game.
        start: None for the empty board; "random:8", "reachable" or unfinished positions, one of which is drawn at
            each reset.
        render_mode: None or one of `metadata["render_modes"]`.

    Raises:
        ValueError: an argument is not one of these; the message names it and what is allowed.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": RENDER_FPS}  # noqa: RUF012  # as gym.Env

    _opponent: Policy | None

    def __init__(
        self,
        game: Game,
        opponent: Any = "random",
        play_as: str = "first",
        obs_type: str = "planes",
        illegal: str = "lose",
        rewards: Sequence[float] = (1, 0, -1),
        start: str | Sequence[Position | str] | PositionBatch | None = None,
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

        self._opponents = BoardOpponents(self._opponent, game, obs_type)
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
        """The rule book."""
        return self._game

    @property
    def opponent(self) -> Policy | None:
        """The policy that answers the learner's moves; None if both sides step."""
        return self._opponent

    def describe(self) -> dict[str, Any]:
        """What the games played here depend on, for JSON: to see whether another environment plays the same games."""
        return self.arguments.describe()

    def state_dict(self) -> dict[str, Any]:
        """Everything that a later `load_state_dict` needs to go on with this game, randomness included, for JSON."""
        return self._board.to_json(self._game)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on where the environment that `state_dict` was called on stood.

        Raises:
            ValueError: `state` is not such a dict, is of another game or a larger pool, or no game can be in it.
                Nothing has changed then.
        """
        self._go_on(BoardState.from_json(state, self._game, self._opponents.num_members))

    def action_masks(self) -> npt.NDArray[np.int8]:
        """The action mask, int8 (num_actions,), under the name that sb3-contrib looks for: 1 where legal."""
        board = self._board
        return self._mask(0 if board.over else self._game.legal(board.own, board.opp))

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
        board, opponents = self._board, self._opponents
        fresh = seed is not None or board.random_state == NOT_SEEDED
        state = new_state(seed) if fresh else board.random_state
        games_begun = 0 if seed is not None else board.games_begun
        opponents.starts = starts = self._starts if given is None else (given,)
        own, opp = (NOT_GIVEN, NOT_GIVEN) if given is None else (given.own, given.opp)
        opening = protocol.begin(
            self._game, self._setup, opponents, PLAY_AS.index(play_as), own, opp, games_begun, state
        )
        found, own, opp, learner, member, start, reply, state = opening
        moves = list(starts[start].recent_moves)
        if not found:
            raise ValueError(f"the opponent ends the game before the learner's first move, from {starts[start]!r}")
        if reply >= 0:
            moves.append(reply)
        self._go_on(BoardState(own, opp, learner, False, state, games_begun + 1, member, moves))
        if self.render_mode == "human":
            self.render()
        return self._view(reply)

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
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
        if event == GOES_ON:
            if self.render_mode == "human":
                self.render()
            learner = board.learner  # who is to move
            info = {"action_mask": self._mask(game.legal(own, opp)), "seat": learner, "opponent_action": reply}
            return self._observe(own, opp, learner), self._rewards[3], False, False, info
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
        return self._display.render(self.position, self._board.ended)

    def close(self) -> None:
        """Closes the window, if there is one."""
        self._display.close()

    def _view(self, reply: int) -> tuple[Any, dict[str, Any]]:
        """The learner's observation and the info that goes with it."""
        board = self._board
        own, opp, learner = board.own, board.opp, board.learner
        if board.over:
            own, opp = protocol.seen(self._game, own, opp, learner)
            mask = self._mask(0)
        else:  # the learner is to move
            mask = self._mask(self._game.legal(own, opp))
        return self._observe(own, opp, learner), {"action_mask": mask, "seat": learner, "opponent_action": reply}

    def _go_on(self, board: BoardState) -> None:
        """Makes this the state of the board."""
        self._board = board
        self._opponents.moves = board.moves

    def _check_options(self, options: Mapping[str, Any] | None) -> tuple[Position | None, str]:
        if options is None:
            return None, self.arguments.play_as
        options = check_options(options, ("position", "play_as"))
        play_as = options.get("play_as", self.arguments.play_as)
        given = options.get("position")
        return None if given is None else unfinished(given, self._game), self.arguments.check_play_as(play_as)
