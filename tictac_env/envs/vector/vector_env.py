"""The native Gymnasium vector environment: many boards at once, stepped by compiled loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, NoReturn, Self, TypeAlias

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from tictac_env.arrays import Bools, Bytes, Floats, Ints
from tictac_env.checks import flag, one_of, positive, whole
from tictac_env.compiled import in_one_line
from tictac_env.envs.protocol import NOT_GIVEN, PLAY_AS, REWARDS
from tictac_env.envs.single import Arguments, SharesOpponent, check_options, refuse_opponent, unfinished
from tictac_env.envs.vector.board_batch import (
    BoardBatch,
    StepFrame,
    final_infos,
    illegal_infos,
    read_only,
    shared_infos,
)
from tictac_env.envs.vector.boards import OVER, ResetOptions, StepBuffers
from tictac_env.games import Game, describe_game, game_name, shown
from tictac_env.observation import Infos, Observation, Observer
from tictac_env.policies import PlayerLike, Policy
from tictac_env.position import Position, illegal_move
from tictac_env.position_batch import PositionBatch
from tictac_env.render.window import RENDER_FPS, RENDER_MODES, Display
from tictac_env.storage import JsonObject

MAX_ENVS, MAX_THREADS = 1 << 22, 256
"""4,194,304 boards of Connect Four take 4 GB."""

Step: TypeAlias = tuple[Observation, Floats, Bools, Bools, Infos]


class BoardVectorEnv(SharesOpponent, gym.vector.VectorEnv[Any, Any, Any]):
    """Many boards of one game at once, as `gym.make_vec` makes them.

    ## Description
    `gym.make_vec("ConnectFour-v0", num_envs=4096)` gives `num_envs` boards that are stepped together by compiled loops,
    tens of millions of plies a second on one core. With seed s, board i plays the same game as
    `gym.make("ConnectFour-v0")` with seed s + i, whatever `num_envs` is.

    ## Action Space
    `MultiDiscrete`: an action of the single environment for each board, as an integer array of shape (num_envs,).
    Anything else, and an action out of range, raises `ValueError` and changes nothing. `sample_actions()` draws a legal
    action for each board, much faster than `action_space.sample(mask)`.

    ## Observation Space
    That of the single environment, batched: `"planes"` int8 (num_envs, 2, rows, cols), `"board"` int8 (num_envs, rows,
    cols), `"code"` int64 (num_envs,).

    ## Rewards, Starting State, Episode End
    As on the single environment; rewards are float64, terminations bool (num_envs,), truncations all False.

    ## Information
    Gymnasium's vector infos: `action_mask` int8 (num_envs, num_actions), `seat`, `opponent_action`, `outcome` and
    `illegal_action` int64 (num_envs,), each with a `_key` bool (num_envs,), True if the board has one. `outcome` is
    there only if a game has ended, `illegal_action` only if an illegal action ended one. In the mode SAME_STEP,
    `final_obs` (an object array) and `final_info` are those of the games that have ended.

    ## Arguments
    ```python
    envs = gym.make_vec("ConnectFour-v0", num_envs=4096, copy=True, autoreset_mode=AutoresetMode.NEXT_STEP, threads=1)
    ```

    and all those of the single environment.

    * `copy`: True if the arrays of a step are yours: a later step fills them again only if you hold none of them, nor a
      view. With False all arrays belong to the environment, and the next step overwrites them (infos are then
      read-only): faster, but keep no array across steps.
    * `autoreset_mode`: Gymnasium's. NEXT_STEP: after the end of a game the board's next step ignores its action and
      begins a game, with reward 0. Its mask is all 1 for that step, as any action will do, so that a distribution over
      the masked actions exists. SAME_STEP: a new game begins in the step that ends one. DISABLED: only
      `reset(options={"reset_mask": ...})` begins games.
    * `num_envs`: up to 4,194,304.
    * `threads`: the number of threads that share the boards, up to 256; the games are the same. Threads pay from some
      thousand boards on, if the opponent is compiled: "random", "rule", None, or a pool of these. They do not survive a
      fork.
    * `opponent`: other opponents are called by `Policy.act_many`, for all boards that wait for them at once.
      `set_opponent` replaces it on all boards.
    * `render_mode`: "ansi" and "rgb_array" give a tuple of num_envs frames; "human" shows the first board.

    `reset(seed=, options=)`: a seed s seeds board i with s + i; a list has a seed for each board, or None to keep its
    RNG state. The options are "position" and "play_as", a value for all or a sequence of num_envs, and "reset_mask",
    bool (num_envs,), True for boards to reset: the others, and their entries in a sequence, are ignored. `batch` is the
    `PositionBatch` on the boards. `call`, `get_attr` and `set_attr` are Gymnasium's. Single boards cannot be wrapped:
    use `gymnasium.wrappers.vector`, or `gym.make_vec(..., vectorization_mode="sync", wrappers=...)`.

    ## Version History
    * v0: initial version
    """

    _views: list[BoardView] | None = None
    metadata: dict[str, Any] = {  # noqa: RUF012  # as gym.vector.VectorEnv
        "render_modes": list(RENDER_MODES),
        "render_fps": RENDER_FPS,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        game: Game,
        num_envs: int = 1,
        opponent: PlayerLike | None = "random",
        play_as: str = "first",
        obs_type: str = "planes",
        illegal: str = "lose",
        rewards: Sequence[float] = REWARDS,
        start: str | Sequence[Position | str] | PositionBatch | None = None,
        render_mode: str | None = None,
        copy: bool = True,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        threads: int = 1,
    ) -> None:
        self.num_envs = positive("num_envs", num_envs, MAX_ENVS)
        self.threads = positive("threads", threads, MAX_THREADS)
        self.copy = flag("copy", copy)
        if not isinstance(autoreset_mode, AutoresetMode):
            autoreset_mode = AutoresetMode(
                one_of("autoreset_mode", autoreset_mode, [mode.value for mode in AutoresetMode])
            )
        self.autoreset_mode = mode = autoreset_mode
        self.metadata = self.metadata | {"autoreset_mode": mode}
        self.single_observation_space = Observer(game, obs_type).space
        self.arguments = Arguments.check(game, opponent, play_as, obs_type, illegal, rewards, start)
        self.single_action_space = spaces.Discrete(game.num_actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.render_mode = render_mode
        self._display = Display(render_mode, game_name(game) or repr(game))

        self._game = game
        ignores = mode == AutoresetMode.NEXT_STEP
        self._batch = BoardBatch(self.arguments, self.num_envs, self.threads, ignores=ignores)
        self._bind()

    def _bind(self) -> None:
        """Makes the arrays of steps; copies of the environment need arrays of their own."""
        self._frames = [StepFrame(self._new_output()) for _ in range(2 if self.copy else 1)]
        if not self.copy:
            self._infos = shared_infos(self._batch.boards, self._frames[0].output)
            self._truncated = read_only(np.zeros(self.num_envs, np.bool_))

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        twin = super().__deepcopy__(memo)
        twin._bind()
        return twin

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._bind()

    @property
    def game(self) -> Game:
        """The rules."""
        return self._game

    @property
    def opponent(self) -> Policy | None:
        """The policy that answers the learners' moves in the next games; None if both sides step."""
        return self.arguments.opponent

    @opponent.setter
    def opponent(self, opponent: object) -> None:
        refuse_opponent(opponent)

    def set_opponent(self, opponent: PlayerLike | None) -> None:
        """Replaces the opponent on all boards, on each from its next game on: at a reset, or an autoreset.

        Games under way keep the opponent they have. Each board plays the games of the single environment that calls
        `set_opponent` before the same step. A learner is taken as it is, and may continue to learn; `Snapshot` makes a
        frozen copy of a model.

        Args:
            opponent: as in `gym.make_vec`.

        Raises:
            ValueError: it does not play this game; or it is None and there is an opponent, or the other way round. Then
                nothing changes.
        """
        arguments = self.arguments.against(opponent)
        self._batch.set_opponent(arguments)
        self.arguments = arguments

    @property
    def batch(self) -> PositionBatch:
        """The positions on the boards."""
        return self._batch.batch

    def describe(self) -> JsonObject:
        """The arguments for JSON: equal for environments that play the same games."""
        return self.arguments.describe() | {"num_envs": self.num_envs, "autoreset_mode": self.autoreset_mode.value}

    def state_dict(self) -> JsonObject:
        """The state that `load_state_dict` continues from, RNG states included, for JSON. It does not have the
        opponents: a game whose opponent has been replaced cannot be continued from its state.
        """
        return {"game": describe_game(self._game), "boards": self._batch.save().tolist()}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Continues from a state of `state_dict`.

        Raises:
            ValueError: `state` is not such a dict, is of another game or another number of boards, or the opponent of a
                game had been replaced.
        """
        if not isinstance(state, Mapping) or set(state) != {"game", "boards"}:
            raise ValueError(f"a state is a dict with the keys 'boards' and 'game', not {shown(state)}")
        if state["game"] != describe_game(self._game):
            raise ValueError(f"it is a state of {state['game']!s:.200}, not of {describe_game(self._game)}")
        rows = state["boards"]
        if not isinstance(rows, list) or not all(
            isinstance(row, list) and len(row) == self.num_envs and all(type(number) is int for number in row)
            for row in rows
        ):
            raise ValueError(f"the boards of a state are lists of {self.num_envs} integers, not {rows!r:.200}")
        try:
            self._batch.load(np.array(rows, np.int64))
        except (OverflowError, ValueError) as error:
            raise ValueError(f"it is not a state of these boards: {error}") from None

    @property
    def opponent_names(self) -> list[str | None]:
        """The name of the opponent in the game on each board, of a pool that of the member drawn; None if both sides
        step.
        """
        names = [None if policy is None else str(policy) for policy in self._batch.opponents.policies]
        return [names[member] for member in self._batch.boards.member.tolist()]

    def action_masks(self) -> Bytes:
        """The action masks, int8 (num_envs, num_actions): 1 if legal. If a game is over: all 1 in the mode NEXT_STEP,
        which ignores the board's next action, all 0 in the other modes and before the first reset.
        """
        output = self._new_output()
        self._batch.show(output)
        return output.action_masks

    def sample_actions(self) -> Ints:
        """A uniformly drawn legal action for each board: int64 (num_envs,); 0 if its game is over.

        The draws are seeded by `reset(seed=...)` and do not depend on the number of boards.

        Raises:
            gymnasium.error.ResetNeeded: there has been no reset.
        """
        self._check_reset()
        return self._batch.sample()

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Observation, Infos]:
        """Begins games.

        Args:
            seed: s seeds board i with s + i, a sequence has a seed or None for each board, None seeds no board. On a
                seeded board `play_as="alternate"` starts again with the first seat.
            options: for these games only: "position" and "play_as", a value for all or a sequence of num_envs; and
                "reset_mask", bool (num_envs,), True for the boards to reset.

        Raises:
            ValueError: a seed or an option is invalid, a position is finished or of another game, or the opponent
                always ends the game before the learner has moved. No board is changed.
            IllegalMove: an opponent's first move is illegal.
            gymnasium.error.ResetNeeded: only some boards are to be reset, and there has been no reset.
        """
        # Everything is read and checked before a board changes.
        seeds = read_seeds(seed, self.num_envs)
        options = check_options(options, ("position", "play_as", "reset_mask"))
        chosen = read_mask(options.get("reset_mask"), self.num_envs)
        own, opp = read_starts(options.get("position"), self._game, chosen)
        starts = ResetOptions(own, opp, read_play_as(options.get("play_as"), self.arguments, chosen))
        if not chosen.all():
            self._check_reset()
        # The first reset compiles the kernels of steps too, so that no step of a training does; one line announces all.
        output = self._next_frame().output
        with in_one_line():
            is_first = not self._batch.were_reset
            self._batch.begin(chosen, seeds, starts)
            if is_first:
                self._batch.compile_step(output)
            self._batch.show(output)
        if isinstance(seed, (int, np.integer)):
            super().reset(seed=int(seed))
        if self.render_mode == "human":
            self.render()
        arrays = {
            "action_mask": output.action_masks * chosen[:, None],
            "seat": self._batch.boards.learner * chosen,
            "opponent_action": self._batch.boards.opponent_action * chosen,
        }
        return output.observations, arrays | {f"_{key}": chosen.copy() for key in arrays}

    def step(self, actions: npt.ArrayLike) -> Step:
        """Plays an action on each board, and the opponent's answer; without an opponent, only the action.

        Args:
            actions: integers in [0, num_actions), (num_envs,).

        Returns:
            observations, rewards, terminations, truncations, infos.

        Raises:
            ValueError: an action is not such an integer; the message names the first wrong one.
            IllegalMove: an action is illegal and illegal="raise"; or an opponent's choice is illegal.
            gymnasium.error.ResetNeeded: there has been no reset, or a game is over and autoreset is disabled.
        """
        self._check_steppable()
        chosen = read_actions(actions, self.num_envs, self._game.num_actions)
        frame = self._next_frame()
        invalid, num_illegal, num_ended = self._batch.step(chosen, frame.output)
        if invalid >= 0:
            raise self._refusal(invalid, int(chosen[invalid]))
        if self.render_mode == "human":
            self.render()
        return self._returned(frame, num_illegal, num_ended)

    @property
    def board_views(self) -> list[BoardView]:
        """A view of each board."""
        if self._views is None:
            self._views = [BoardView(self, number) for number in range(self.num_envs)]
        return self._views

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The results of a method of each board, or the values of an attribute: a tuple of num_envs.

        Raises:
            AttributeError: boards have no such method or attribute; the message lists those they have.
        """
        if name in CALLED_ONCE:
            results = getattr(self, name)(*args, **kwargs)
            return (None,) * self.num_envs if results is None else tuple(results)
        values = [getattr(board, name) for board in self.board_views]
        return tuple(value(*args, **kwargs) if callable(value) else value for value in values)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """An attribute of each board, such as "position": a tuple of num_envs. A method is called, as in Gymnasium.

        Raises:
            AttributeError: as for `call`.
        """
        return self.call(name)

    def set_attr(self, name: str, values: object) -> None:
        """Sets an attribute of your own on each board, for `get_attr`.

        Args:
            name: the attribute's name.
            values: a list or tuple of num_envs values, or one value for all boards.

        Raises:
            ValueError: there are more or fewer values.
            AttributeError: it is a built-in attribute of boards.
        """
        each = values if isinstance(values, (list, tuple)) else [values] * self.num_envs
        if len(each) != self.num_envs:
            raise ValueError(f"{name} needs a value, or a list of {self.num_envs}, not of {len(each)}: {values!r:.200}")
        for board, value in zip(self.board_views, each, strict=True):
            setattr(board, name, value)

    def render(self) -> tuple[Any, ...] | None:
        """The boards in the render mode: "ansi" strings, "rgb_array" uint8 (H, W, 3); "human" None, the first board.

        Raises:
            tictac_env.render.WindowClosed: the person closed the window.
        """
        batch, ended = self.batch, self._batch.ended.tolist()
        if self.render_mode in (None, "human"):
            self._display.render(batch[0], ended[0])
            return None
        return tuple(self._display.render(batch[i], ended[i]) for i in range(self.num_envs))

    def close_extras(self, **kwargs: object) -> None:
        """Closes the window, if there is one."""
        self._display.close()

    def _all_opponents(self) -> Sequence[Any]:
        return self.arguments.opponent, *self._batch.opponents.policies

    def _next_frame(self) -> StepFrame:
        """The frame for a step: without `copy` the only one, otherwise the older one, or a new one if it is held."""
        if self.copy:
            older, newer = self._frames
            self._frames = [newer, older if older.is_free else StepFrame(self._new_output())]
        return self._frames[-1]

    def _returned(self, frame: StepFrame, num_illegal: int, num_ended: int) -> Step:
        output = frame.output
        # How games ended stands in `final_info` if the next ones have begun in the same step, otherwise in the infos.
        final = output.finals.size > 0
        ending: Infos = {}
        if final and num_ended:
            ending = final_infos(output, num_illegal)
        elif num_illegal:
            ending = illegal_infos(self._batch.boards.illegal)
        with_outcomes = num_ended > 0 and not final
        if self.copy:
            infos, truncated = frame.infos(self._batch.boards, with_outcomes), frame.truncated
        else:
            infos, truncated = self._infos[with_outcomes].copy(), self._truncated
        infos.update(ending)
        return output.observations, output.rewards, output.terminated, truncated, infos

    def _new_output(self) -> StepBuffers:
        same_step = self.autoreset_mode == AutoresetMode.SAME_STEP
        return StepBuffers(self._game, self.arguments.obs_type, self.num_envs, same_step)

    def _check_reset(self) -> None:
        if not self._batch.were_reset:
            raise ResetNeeded("no game is under way, call reset() first")

    def _check_steppable(self) -> None:
        self._check_reset()
        if self.autoreset_mode == AutoresetMode.DISABLED:
            over = np.flatnonzero(self._batch.boards.phase == OVER)
            if len(over):
                raise ResetNeeded(
                    f"the games of {len(over)} boards are over, on board {over[0]} {self.batch[int(over[0])]!r}; "
                    'call reset(options={"reset_mask": ...}), as autoreset is disabled'
                )

    def _refusal(self, board: int, action: int) -> ValueError:
        position = self.batch[board]
        if 0 <= action < self._game.num_actions:
            return illegal_move(position, action, f"the learner of board {board}")
        return ValueError(
            f"board {board}: an action must be in [0, {self._game.num_actions}), not {action}: {position!r}"
        )


CALLED_ONCE = ("action_masks", "render", "set_opponent")
"""Methods that the vector environment calls once for all boards."""


class BoardView:
    """One board of many, with the attributes of a single environment."""

    game = property(attrgetter("_envs.game"))
    opponent = property(attrgetter("_envs.opponent"))
    arguments = property(attrgetter("_envs.arguments"))
    spec = property(attrgetter("_envs.spec"))
    metadata = property(attrgetter("_envs.metadata"))
    render_mode = property(attrgetter("_envs.render_mode"))
    observation_space = property(attrgetter("_envs.single_observation_space"))
    action_space = property(attrgetter("_envs.single_action_space"))

    def __init__(self, envs: BoardVectorEnv, number: int) -> None:
        self._envs = envs
        self._number = number

    @property
    def position(self) -> Position:
        position: Position = self._envs.batch[self._number]
        return position

    def action_masks(self) -> Bytes:
        """The board's action mask, int8 (num_actions,), as `BoardVectorEnv.action_masks` gives it."""
        mask: Bytes = self._envs.action_masks()[self._number]
        return mask

    def render(self) -> Any:
        """The board as "ansi" (str) or "rgb_array" (uint8 (H, W, 3)); None for "human", which shows the first board."""
        frames = self._envs.render()
        return None if frames is None else frames[self._number]

    @property
    def opponent_name(self) -> str | None:
        batch = self._envs._batch
        policy = batch.opponents.policies[batch.boards.member[self._number]]
        return None if policy is None else str(policy)

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"a board of a vector environment has no {name!r}: boards are reset, stepped and closed together. It has"
            f" {', '.join(public for public in vars(BoardView) if public[0] != '_')}, and attributes set by set_attr. "
            'gym.make_vec(..., vectorization_mode="sync") makes an environment for each, which is much slower'
        )

    def __setattr__(self, name: str, value: object) -> None:
        if hasattr(type(self), name):
            raise AttributeError(
                f"{name!r} of a board cannot be set. It is set by the arguments of the environment; set_opponent "
                "replaces the opponent, and reset(options=...) sets positions"
            )
        super().__setattr__(name, value)


def read_mask(mask: object, num_envs: int) -> Bools:
    """The boards to reset, bool (num_envs,): all if `mask` is None."""
    if mask is None:
        return np.ones(num_envs, np.bool_)
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (num_envs,) or not mask.any():
        raise ValueError(
            f"reset_mask must be a bool array of shape ({num_envs},) with at least one True, not {shown(mask)}"
        )
    return mask.copy()


def read_seeds(seed: object, num_envs: int) -> list[int | None]:
    """A seed, or None, for each board: s + i for board i if `seed` is a single number s."""
    if seed is None:
        return [None] * num_envs
    if isinstance(seed, (int, np.integer)) and not isinstance(seed, bool):
        first = whole("seed", int(seed))
        return [first + i for i in range(num_envs)]
    if isinstance(seed, str) or not isinstance(seed, (Sequence, np.ndarray)) or len(seed) != num_envs:
        raise ValueError(f"seed must be an integer, None, or a sequence of {num_envs} of these, not {shown(seed)}")
    seeds = seed.tolist() if isinstance(seed, np.ndarray) else seed
    return [
        None if number is None else whole(f"seed[{i}]", int(number) if isinstance(number, np.integer) else number)
        for i, number in enumerate(seeds)
    ]


def read_starts(positions: Any, game: Game, chosen: Bools) -> Ints:
    """The stones that the chosen boards begin with: int64 (2, num_envs), own and opp, otherwise `NOT_GIVEN`.

    Args:
        positions: None, an unfinished position or move string for all, a sequence of these or None, or a batch.
        game: the rules.
        chosen: bool (num_envs,); the entries of other boards are not read.
    """
    each = _each("position", positions, (str, Position, type(None)), len(chosen))
    starts = np.full((2, len(chosen)), NOT_GIVEN, np.int64)
    for i in () if positions is None else np.flatnonzero(chosen).tolist():
        start = each[i]
        if start is not None:
            position = unfinished(start, game)
            starts[:, i] = position.own, position.opp
    return starts


def read_play_as(seats: Any, arguments: Arguments, chosen: Bools) -> Ints:
    """The learners' seats as indices of `PLAY_AS`: int64 (num_envs,), by default the environment's `play_as`."""
    each = _each("play_as", seats, (str, int, type(None)), len(chosen))
    indices = np.full(len(chosen), PLAY_AS.index(arguments.play_as), np.int64)
    for i in np.flatnonzero(chosen).tolist() if seats is not None else ():
        play_as = each[i]
        if play_as is not None:
            indices[i] = PLAY_AS.index(arguments.check_play_as(play_as))
    return indices


def _each(name: str, option: Any, single: tuple[type, ...], num_envs: int) -> Any:
    """The value of an option for each board; a value of a type in `single` is that of all boards."""
    if isinstance(option, single):
        return [option] * num_envs
    if not isinstance(option, (Sequence, PositionBatch, np.ndarray)) or len(option) != num_envs:
        raise ValueError(f"{name} must be a single value or a sequence of {num_envs} values, not {shown(option)}")
    return option


def read_actions(actions: Any, num_envs: int, num_actions: int) -> Ints:
    """The actions of a step for the kernels, which check their range: int64 (num_envs,)."""
    chosen: Ints = actions
    if type(actions) is not np.ndarray or actions.dtype != np.int64 or not actions.flags.carray:
        try:
            array = np.array(actions)
        except ValueError:
            raise ValueError(f"actions must be {num_envs} integers, not {shown(actions)}") from None
        if not np.issubdtype(array.dtype, np.integer) or (array.dtype == np.uint64 and (array >> 63).any()):
            raise ValueError(f"actions must be integers in [0, {num_actions}), not {array.dtype}: {shown(actions)}")
        chosen = array.astype(np.int64)
    if chosen.shape != (num_envs,):
        raise ValueError(f"actions must have the shape ({num_envs},), not {chosen.shape}")
    return chosen
