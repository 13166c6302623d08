"""A learner is told where it failed, never what would have been right: rounds of self-play from there.

In each round positions are looked for in which the learned network errs. They become starting points: a part of the
games of the next round begins with one of these. What is done is kept: a checkpoint and the positions of each round.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from benchmarks.report import Row, show
from tictac_agents import NTupleNetwork, NTupleTD
from tools.kept_runs import Files, kept, learned

Found = tuple[list[list[str]], Row]
"""The games after which the network errs, in one list or one for each seat; and a row of a table."""
Find = Callable[[NTupleNetwork, int], Found]
"""Looks for errors of a network after the round of that number, counted from 0."""


class Rounds(NamedTuple):
    """How a learner goes on."""

    rounds: int
    games: int
    """In each of them."""
    step: float
    chance: float
    """That a game begins where the network was refuted."""
    fall: float = 1.0
    """What the step is multiplied with from round to round."""
    repeated: bool = False
    """Whether a game after which it erred in several rounds is begun with so much more often."""


def refined(agent: NTupleTD, plan: Rounds, find: Find, files: Files) -> tuple[NTupleNetwork, list[Row]]:
    """A network whose seats are those of the rounds in which they erred least, and a row for each round.

    Each seat has tables of its own, so those of the first may be taken from one round and those of the second from
    another. The rounds end when no errors are left.

    Args:
        agent: what has been learned so far.
        plan: see there.
        find: see there.
        files: see there.
    """
    starts = list[str]()
    best = list[tuple[int, NTupleNetwork]]()
    rows = list[Row]()
    for number in range(plan.rounds + 1):
        if number:
            agent.step = agent.final_step = plan.step * plan.fall**number
            agent.start_from(starts, plan.chance if starts else 0)
            agent = learned(agent, plan.games, files, number)
        network = agent.network
        found, row = where_refuted(network, find, files, number)
        rows.append({"games": agent.num_games, **row})
        show("Errors after each round", rows)
        latest = [(len(games), network) for games in found]
        best = [min(both, key=lambda one: one[0]) for both in zip(best or latest, latest, strict=True)]
        if not any(errors for errors, _ in best):
            break
        starts += [game for games in found for game in games]
        starts = starts if plan.repeated else list(dict.fromkeys(starts))
    return with_tables([network for _, network in best]), rows


def with_tables(networks: list[NTupleNetwork]) -> NTupleNetwork:
    """The first of some networks with the tables that the second has for the second seat, if there is one."""
    first, last = networks[0], networks[-1]
    weights = first.weights.copy()
    weights[1::2] = last.weights[1::2]
    return NTupleNetwork(first.game, first.tuples, weights, first.symmetric)


def where_refuted(network: NTupleNetwork, find: Find, files: Files, number: int) -> Found:
    """The games after which a network errs, and a row of the table; kept in a file."""
    games, row = kept(files, f"{number}", lambda: find(network, number))
    return games, row
