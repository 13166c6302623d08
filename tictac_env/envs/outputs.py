"""The arrays that a step of many boards is written to, and the infos that Gymnasium wants made of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tictac_env.envs.boards import Ints
from tictac_env.games import Game

Infos = dict[str, Any]
Bools = npt.NDArray[np.bool_]


class Output:
    """The arrays that a step of N boards is written to.

    Attributes:
        cells: int8, the planes or boards, one after another; empty for codes.
        codes: int64, the codes; else empty.
        masks: int8, the action masks, one after another.
        rewards: float64 (N,).
        ended: int8 (N,), 1 where a game has ended.
        terminated: the same as bool (N,).
        finals: int64 (3, N), seat, answer and outcome of games that have ended, with `with_finals`; else (3, 0). Cells,
            codes and masks then have N more rows, for their last observations.
        observations: what the environment returns: (N, ...).
        action_masks: int8 (N, num_actions).
        last_observations: of games that have ended; (N, ...) or (0, ...).
    """

    def __init__(self, game: Game, obs_type: str, num_envs: int, with_finals: bool) -> None:
        rows = num_envs * (1 + with_finals)
        shape = {"planes": (2, game.rows, game.cols), "board": (game.rows, game.cols), "code": ()}[obs_type]
        of_codes = obs_type == "code"
        size = 0 if of_codes else game.cells * (1 + (obs_type == "planes"))
        self.cells = np.empty(rows * size, np.int8)
        self.codes = np.empty(rows if of_codes else 0, np.int64)
        self.masks = np.empty(rows * game.num_actions, np.int8)
        self.rewards = np.empty(num_envs)
        self.ended = np.empty(num_envs, np.int8)
        self.terminated = self.ended.view(np.bool_)
        self.finals = np.zeros((3, num_envs if with_finals else 0), np.int64)
        every = self.codes if of_codes else self.cells.reshape(rows, *shape)
        self.observations: Any = every[:num_envs]
        self.last_observations: Any = every[num_envs:]
        self.action_masks = self.masks.reshape(rows, game.num_actions)[:num_envs]


def end_infos(answers: Ints, outcomes: Ints, ended: Bools, num_illegal: int) -> Infos:
    """The infos of games that have ended.

    Args:
        answers: int64 (N,), what the opponents have played; -2 - a for an illegal action a, which becomes -1 here.
        outcomes: int64 (N,), 0 where no game has ended.
        ended: bool (N,), where one has.
        num_illegal: in how many an illegal action has.
    """
    infos: Infos = {"outcome": outcomes, "_outcome": ended.copy()}
    if num_illegal:
        illegal = answers < -1
        infos |= {"illegal_action": np.where(illegal, -2 - answers, 0), "_illegal_action": illegal}
        answers[illegal] = -1
    return infos


def final_infos(output: Output, num_illegal: int) -> Infos:
    """`final_obs` and `final_info` of the games that have ended in this step."""
    ended = output.terminated.copy()
    seats, answers, outcomes = output.finals
    final = end_infos(answers, outcomes, ended, num_illegal)
    arrays = {"action_mask": np.zeros_like(output.action_masks), "seat": seats, "opponent_action": answers}
    final |= arrays | {f"_{key}": ended.copy() for key in arrays}
    last = np.full(len(ended), None, object)
    for i in np.flatnonzero(ended).tolist():
        observation = output.last_observations[i]
        last[i] = observation.copy() if observation.ndim else int(observation)
    return {"final_obs": last, "_final_obs": ended, "final_info": final, "_final_info": ended.copy()}
