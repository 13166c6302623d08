"""Stable-Baselines3's and sb3-contrib's algorithms on many boards at once."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from tictac_env.arrays import Array, Ints
from tictac_env.envs.single import check_options
from tictac_env.envs.vector.vector_env import CALLED_ONCE, BoardVectorEnv
from tictac_env.games import Game, gym_keywords, shown
from tictac_env.lazy import needing
from tictac_env.observation import Infos, Observation
from tictac_env.wrappers.observations import INFO_KEY, KEYS, DictForm, Keys

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvStepReturn

with needing("Stable-Baselines3 is missing", "rl"):
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper


class SB3VecEnv(VecEnv):
    """Many boards stepped together by compiled loops, as Stable-Baselines3's `VecEnv`.

    DQN, PPO, A2C and sb3-contrib's MaskablePPO train on it as they are. They see, game for game, what they would see
    of a `DummyVecEnv` over as many `Monitor(gym.make(...))`: the same observations, float32 rewards, dones and infos.

    ## Arguments
    ```python
    envs = SB3VecEnv("ConnectFour-v0", num_envs=64, opponent="rule", play_as="alternate")
    ```

    * `env`: an id, for which `gym.make_vec` is called; a rule book (`tictac_env.games.Game`); or a `BoardVectorEnv`
      with `copy=True` and `autoreset_mode=AutoresetMode.SAME_STEP`.
    * `num_envs`: the number of boards, 1 by default.
    * all keywords of the environment (`opponent`, `play_as`, `obs_type`, `illegal`, `rewards`, `start`, `threads`,
      `render_mode`, a `KInARow-v0`'s sizes), as in `tictac_env.envs.vector.vector_env.BoardVectorEnv`; not `copy` and
      `autoreset_mode`, which Stable-Baselines3 dictates: it keeps the last observations during the next step.

    ## Observations
    The usual "MlpPolicy" flattens "planes" and "board". "code" becomes a one-hot vector with one entry a code: 19,683
    on tic-tac-toe, too many on larger boards. ("CnnPolicy" is for images, and refuses all of these.)

    ## Infos
    A list of dicts, one a board, with all that the single environment gives: `action_mask`, `seat`, `opponent_action`,
    `TimeLimit.truncated` (always False) and, at the end of a game, `outcome`, `illegal_action` if there was one,
    `terminal_observation`, and `episode` as a `Monitor` gives it: the sum of the rewards "r", the number of steps "l",
    and the seconds since the boards were made "t". They then describe the game that has ended; the info of the next
    game is in `reset_infos`. They cost 0.2 us a board, where the algorithms themselves take 10 us and more.

    From `episode` Stable-Baselines3 logs mean returns and lengths, and `evaluate_policy` takes them. `VecMonitor` is
    needed only to write a file; as over any monitored environment it warns that its figures replace these.

    ## Masks
    sb3-contrib finds `action_masks` by itself; in code, `envs.env_method("action_masks")`. The other algorithms may
    choose illegal actions, which lose the game at once unless `illegal="raise"`.

    ## Seeds and options
    `seed(s)` seeds board i with s + i at the next reset; a model with a seed calls it. `set_options` takes one
    dict for all boards or a list, with the keys "position" and "play_as", for the next reset.

    ## Attributes
    `get_attr`, `set_attr` and `env_method` find on each board: `position`, `action_masks`, `render`, `game`,
    `opponent`, `arguments`, `spec`, `metadata`, `render_mode`, `observation_space`, `action_space`, and what `set_attr`
    has set. `envs` is the `BoardVectorEnv`: `envs.envs.batch` are all positions, `envs.envs.state_dict()` its state.
    Opponents may join an `OpponentPool`, or change their weights, while a model trains.

    With `render_mode="human"` the first board is shown.

    Raises:
        ValueError: an argument is not one of these.
        gymnasium.error.DependencyNotInstalled: at the import, Stable-Baselines3 is missing.

    Example:
        >>> envs = SB3VecEnv("TicTacToe-v0", num_envs=2, opponent="rule")
        >>> envs.seed(0)
        [0, 1]
        >>> envs.reset().shape
        (2, 2, 3, 3)
        >>> observations, rewards, dones, infos = envs.step([0, 8])
        >>> [info["opponent_action"] for info in infos]
        [4, 4]
    """

    def __init__(self, env: str | Game | BoardVectorEnv, num_envs: int | None = None, **kwargs: Any) -> None:
        self.envs = _board_vector_env(env, num_envs, kwargs)
        self.boards = self.envs.board_views
        super().__init__(self.envs.num_envs, self.envs.single_observation_space, self.envs.single_action_space)
        self.metadata = self.envs.metadata
        self._began = time.time()
        self._returns, self._lengths = np.zeros(self.num_envs), np.zeros(self.num_envs, np.int64)

    def reset(self) -> Array:
        """Begins a game on every board, with the seeds and options set before, which hold for this reset only.

        Returns:
            The observations, of the space `observation_space`, one for each board.

        Raises:
            ValueError: the options are not such; see `BoardVectorEnv.reset`.
        """
        if len(self._options) != self.num_envs:
            raise ValueError(f"options must be a dict, or a list of {self.num_envs}, not {shown(self._options)}")
        keys = ("position", "play_as")
        each = [check_options(options, keys) for options in self._options]
        # One value for each board, as the boards' reset takes them; an option that no board has is left out.
        options = {key: [row.get(key) for row in each] for key in keys if any(key in row for row in each)}
        observations, infos = self.envs.reset(seed=self._seeds, options=options)
        self.reset_infos = _board_infos(infos)
        self._reset_seeds()
        self._reset_options()
        self._returns[:], self._lengths[:] = 0, 0
        return np.asarray(observations)

    def step_async(self, actions: Ints) -> None:
        """Stores the actions that `step_wait` plays: integers in [0, num_actions), (num_envs,)."""
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Plays the actions. After the end of a game the next one begins at once.

        Returns:
            observations, rewards float32 (num_envs,), dones bool (num_envs,), and the infos, a list of dicts.

        Raises:
            ValueError, IllegalMove, gymnasium.error.ResetNeeded: as `BoardVectorEnv.step`.
        """
        observations, rewards, dones, _, arrays = self.envs.step(self._actions)
        infos = _board_infos(arrays)
        self._returns += rewards
        self._lengths += 1
        if "final_info" in arrays:
            finals, ended = arrays["final_info"], np.flatnonzero(dones)
            seconds = round(time.time() - self._began, 6)
            for board, info in zip(ended.tolist(), _board_infos(finals, ended), strict=True):
                self.reset_infos[board], infos[board] = infos[board], info
                info["outcome"] = int(finals["outcome"][board])
                if "illegal_action" in finals and finals["_illegal_action"][board]:
                    info["illegal_action"] = int(finals["illegal_action"][board])
                info["terminal_observation"] = arrays["final_obs"][board]
                total = round(float(self._returns[board]), 6)
                info["episode"] = {"r": total, "l": int(self._lengths[board]), "t": seconds}
            self._returns[ended], self._lengths[ended] = 0, 0
        for info in infos:
            info["TimeLimit.truncated"] = False
        self.buf_rews, self.buf_dones, self.buf_infos = rewards.astype(np.float32), dones, infos  # as in a DummyVecEnv
        return observations, self.buf_rews, dones, infos

    def close(self) -> None:
        self.envs.close()

    def get_images(self) -> list[npt.NDArray[np.uint8] | None]:
        """The boards as pictures, uint8 (H, W, 3) each, with `render_mode="rgb_array"`; otherwise None for each."""
        return list(self.envs.render() or ()) if self.render_mode == "rgb_array" else [None] * self.num_envs

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        return [getattr(self.boards[i], attr_name) for i in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: object, indices: VecEnvIndices = None) -> None:
        """Sets an attribute of your own on the boards `indices`, all if None.

        Raises:
            AttributeError: the boards share this attribute, and it cannot be changed.
        """
        for i in self._get_indices(indices):
            setattr(self.boards[i], attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: VecEnvIndices = None, **method_kwargs: Any
    ) -> Any:
        """The results of a method on each of the boards `indices`, all if None, as a list."""
        numbers = self._get_indices(indices)
        if method_name in CALLED_ONCE:
            results = self.envs.call(method_name, *method_args, **method_kwargs)
            return [results[i] for i in numbers]
        return [getattr(self.boards[i], method_name)(*method_args, **method_kwargs) for i in numbers]

    def env_is_wrapped(self, wrapper_class: type[gym.Wrapper], indices: VecEnvIndices = None) -> list[bool]:
        """True for `Monitor`, whose work the boards do, and False for any other wrapper, one for each board."""
        return [wrapper_class is Monitor for _ in self._get_indices(indices)]


def unwrapped_boards(env: VecEnv) -> BoardVectorEnv | None:
    """The boards under Stable-Baselines3's wrappers; None if they are not ours."""
    while isinstance(env, VecEnvWrapper):
        env = env.venv
    return env.envs if isinstance(env, SB3VecEnv) else None


def _board_vector_env(env: Any, num_envs: int | None, kwargs: dict[str, Any]) -> BoardVectorEnv:
    for name in ("copy", "autoreset_mode"):
        if name in kwargs:
            raise ValueError(f"Stable-Baselines3 dictates {name}; leave out {name}={shown(kwargs[name])}")
    required: dict[str, Any] = {"copy": True, "autoreset_mode": AutoresetMode.SAME_STEP}
    if isinstance(env, BoardVectorEnv):
        if num_envs is not None or kwargs:
            raise ValueError(f"num_envs and keywords belong to the BoardVectorEnv that is given, {env}; leave them out")
        for name, value in required.items():
            if getattr(env, name) != value:
                raise ValueError(f"the boards must have {name}={value!s}, not {name}={getattr(env, name)!s}")
        return env
    num_envs = 1 if num_envs is None else num_envs
    if isinstance(env, str):
        boards = gym.make_vec(**gym_keywords(env), num_envs=num_envs, **required, **kwargs)
        if isinstance(boards, BoardVectorEnv):
            return boards
    elif isinstance(env, Game):
        return BoardVectorEnv(env, num_envs, **required, **kwargs)
    raise ValueError(f"env must be the id of an environment of ours, a rule book or a BoardVectorEnv, not {shown(env)}")


def _board_infos(infos: Infos, boards: slice | Ints = slice(None)) -> list[Infos]:
    """The entries that the infos of `boards` always have, as a dict for each board."""
    masks, seats, answers = (infos[key][boards] for key in ("action_mask", "seat", "opponent_action"))
    return [
        {"action_mask": mask, "seat": seat, "opponent_action": answer}
        for mask, seat, answer in zip(masks, seats.tolist(), answers.tolist(), strict=True)
    ]


class MaskedVecEnv(VecEnvWrapper):
    """Stable-Baselines3's boards with dict observations, for its "MultiInputPolicy": `MaskedObservation` makes it.

    Args:
        venv: a `VecEnv` whose boards have `action_masks`.
        keys, dtype, ones_when_over: see `tictac_env.wrappers.MaskedObservation`.

    Raises:
        ValueError: `venv` has no action masks, or an argument is not one of these.

    Example:
        >>> from tictac_agents import SB3VecEnv
        >>> envs = MaskedVecEnv(SB3VecEnv("TicTacToe-v0", num_envs=2))
        >>> {key: array.shape for key, array in envs.reset().items()}
        {'observation': (2, 2, 3, 3), 'action_mask': (2, 9)}
    """

    def __init__(
        self, venv: VecEnv, keys: Keys = KEYS, dtype: npt.DTypeLike = np.int8, ones_when_over: bool = False
    ) -> None:
        self._form = DictForm.check(keys, dtype, ones_when_over)
        if not venv.has_attr("action_masks"):
            raise ValueError(f"{venv} has no action_masks")
        super().__init__(venv, self._form.space(venv.observation_space, venv.action_space))

    def reset(self) -> Observation:
        return self._joined(self.venv.reset())

    def step_wait(self) -> VecEnvStepReturn:
        observations, rewards, dones, infos = self.venv.step_wait()
        for board in np.flatnonzero(dones).tolist():
            info = infos[board]
            mask = np.asarray(info.get(INFO_KEY, np.zeros(self.action_space.n)))  # type: ignore[attr-defined]
            info["terminal_observation"] = self._form.join(info["terminal_observation"], mask)
        return self._joined(observations), rewards, dones, infos

    def _joined(self, observations: Observation) -> Observation:
        return self._form.join(observations, np.stack(self.env_method("action_masks")))
