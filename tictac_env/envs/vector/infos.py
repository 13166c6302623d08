"""The infos that Gymnasium wants of a step of many boards."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tictac_env.envs.vector.boards import LEARNER, OPPONENT_ACTION, OUTCOME, Ints
from tictac_env.envs.vector.buffers import StepBuffers

Infos = dict[str, Any]


class LentInfos:
    """The infos of steps that all write to the same arrays: read-only views of these, made once.

    Args:
        rows: the boards, int64 (ROWS, N).
        output: what the steps are written to.
    """

    def __init__(self, rows: Ints, output: StepBuffers) -> None:
        every = read_only(np.ones(rows.shape[1], np.bool_))
        shown = {
            "action_mask": read_only(output.action_masks),
            "seat": read_only(rows[LEARNER]),
            "opponent_action": read_only(rows[OPPONENT_ACTION]),
        }
        self._infos = shown | {f"_{key}": every for key in shown}
        self._ending = {"outcome": read_only(rows[OUTCOME]), "_outcome": read_only(output.terminated)}

    def of_step(self, with_outcomes: bool) -> Infos:
        """What the last step has to say, but for illegal actions and final infos."""
        return self._infos | self._ending if with_outcomes else self._infos.copy()


def fresh_infos(rows: Ints, output: StepBuffers, with_outcomes: bool) -> Infos:
    """What `LentInfos.of_step` gives, in arrays of its own; the mask is that of `output`."""
    shown = {
        "action_mask": output.action_masks,
        "seat": rows[LEARNER].copy(),
        "opponent_action": rows[OPPONENT_ACTION].copy(),
    }
    infos: Infos = shown | {f"_{key}": np.ones(rows.shape[1], np.bool_) for key in shown}
    if with_outcomes:
        infos |= {"outcome": rows[OUTCOME].copy(), "_outcome": output.terminated.copy()}
    return infos


def illegal_infos(answers: Ints) -> Infos:
    """The illegal actions that have ended games.

    Args:
        answers: int64 (N,), what the opponents have played; -2 - a for an illegal action a, which becomes -1 here.
    """
    illegal = answers < -1
    infos = {"illegal_action": np.where(illegal, -2 - answers, 0), "_illegal_action": illegal}
    answers[illegal] = -1
    return infos


def final_infos(output: StepBuffers, num_illegal: int) -> Infos:
    """`final_obs` and `final_info` of the games that have ended in a step."""
    ended = output.terminated.copy()
    seats, answers, outcomes = output.finals
    final: Infos = {"outcome": outcomes, "_outcome": ended.copy()}
    if num_illegal:
        final |= illegal_infos(answers)
    arrays = {"action_mask": np.zeros_like(output.action_masks), "seat": seats, "opponent_action": answers}
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
