"""The infos that Gymnasium wants of a step of many boards."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tictac_env.envs.vector.boards import Boards, Ints
from tictac_env.envs.vector.buffers import StepBuffers

Infos = dict[str, Any]


class LentInfos:
    """The infos of steps that all write to the same arrays: read-only views of these, made once.

    Args:
        boards: the boards.
        output: what the steps are written to.
    """

    def __init__(self, boards: Boards, output: StepBuffers) -> None:
        every = read_only(np.ones(len(boards.own), np.bool_))
        shown = {
            "action_mask": read_only(output.action_masks),
            "seat": read_only(boards.learner),
            "opponent_action": read_only(boards.opponent_action),
        }
        self._infos = shown | {f"_{key}": every for key in shown}
        self._ending = {"outcome": read_only(boards.outcome), "_outcome": read_only(output.terminated)}

    def of_step(self, with_outcomes: bool) -> Infos:
        """What the last step has to say, but for illegal actions and final infos."""
        return self._infos | self._ending if with_outcomes else self._infos.copy()


def fresh_infos(boards: Boards, output: StepBuffers, with_outcomes: bool) -> Infos:
    """What `LentInfos.of_step` gives, in arrays of its own; the mask is that of `output`."""
    every = np.ones(len(boards.own), np.bool_)
    shown = {
        "action_mask": output.action_masks,
        "seat": boards.learner.copy(),
        "opponent_action": boards.opponent_action.copy(),
    }
    infos: Infos = shown | {f"_{key}": every.copy() for key in shown}
    if with_outcomes:
        infos |= {"outcome": boards.outcome.copy(), "_outcome": output.terminated.copy()}
    return infos


def illegal_infos(actions: Ints) -> Infos:
    """The illegal actions that have ended games, of int64 (N,) with -1 where none has."""
    illegal = actions >= 0
    return {"illegal_action": np.where(illegal, actions, 0), "_illegal_action": illegal}


def final_infos(output: StepBuffers, num_illegal: int) -> Infos:
    """`final_obs` and `final_info` of the games that have ended in a step."""
    ended = output.terminated.copy()
    seats, replies, outcomes, illegal = output.finals
    final: Infos = {"outcome": outcomes, "_outcome": ended.copy()}
    if num_illegal:
        final |= illegal_infos(np.where(ended, illegal, -1))
    arrays = {"action_mask": np.zeros_like(output.action_masks), "seat": seats, "opponent_action": replies}
    final |= arrays | {f"_{key}": ended.copy() for key in arrays}
    last = np.full(len(ended), None, object)
    for i in np.flatnonzero(ended).tolist():
        observation = output.last_observations[i]
        last[i] = observation.copy() if observation.ndim else int(observation)
    return {"final_obs": last, "_final_obs": ended, "final_info": final, "_final_info": ended.copy()}


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A view of an array that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view
