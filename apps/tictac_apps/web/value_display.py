"""The learned values of an agent: those of a position's moves as data, text and picture; and the backups of a game."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tictac_agents.alphazero.alphazero import AlphaZero
from tictac_agents.curves import new_figure, save_figure
from tictac_agents.mcts.mcts import MCTS
from tictac_agents.ntuple.network import NTupleNetwork
from tictac_agents.ntuple.ntuple_td import NTupleTD
from tictac_agents.planning.dynamic_programming import DynamicProgramming
from tictac_agents.published.ariel_tree import GameTree
from tictac_agents.tabular.table_learner import TableLearner
from tictac_agents.tabular.value_td import ValueTD
from tictac_env.games import Game, game_name
from tictac_env.policies import ModelPolicy, Policy
from tictac_env.position import Position, format_moves
from tictac_env.position_batch import PositionBatch
from tictac_env.render.text import NAMES, status

AFTER_POINT = " " * 5
"""Sets a stone below the digit before the point of a value."""
NETWORK = "the network's values"


class HasValues(Protocol):
    """An agent that has a value for each legal action, as all tabular learners have."""

    @property
    def game(self) -> Game: ...

    def values(self, own: int, opp: int) -> Mapping[int, float]: ...


Valued = HasValues | DynamicProgramming


def move_values(learner: Valued, position: Position) -> dict[int, float]:
    """The value of each legal action, for the side to move.

    Raises:
        ValueError: the game is over, or it is not the learner's, or the position is not in the learner's model.
    """
    game = learner.model.game if isinstance(learner, DynamicProgramming) else learner.game
    if position.game != game:
        raise ValueError(f"{learner} has learned {game and (game_name(game) or game)}, and nothing of {position!r}")
    if position.is_over:
        raise ValueError(f"the game is over, so there are no moves to show: {position!r}")
    if not isinstance(learner, DynamicProgramming):
        return dict(learner.values(position.own, position.opp))
    row = learner.model.find(position.own, position.opp)
    if row is None:
        raise ValueError(f"the model of {learner} has no state {position!r}")
    return {action: float(learner.q[row, action]) for action in position.legal_actions}


def values_text(learner: Valued, position: Position) -> str:
    """The values of all moves, laid out as the board, with a star at the best; stones are X and O.

    If stones fall, the values are in a line above the board, one for each column.

    Raises:
        ValueError: as `move_values`.

    Example:
        >>> from tictac_agents import QLearning
        >>> agent = QLearning.preset("self-play", seed=0).learn(total_episodes=2_000)
        >>> print(values_text(agent, Position.from_moves("TicTacToe-v0", "152")))
           X        X       +0.000*
          -0.882    O       -0.993
          -0.956   -0.957   -0.715
        O to move
    """
    values = move_values(learner, position)
    best = max(values.values())
    shown = {action: f"{value:+.3f}{' *'[value == best]}" for action, value in values.items()}
    width = max(map(len, shown.values())) + 2
    board = [[mark and NAMES[mark - 1] + AFTER_POINT for mark in row] for row in position.to_array().tolist()]
    cols = position.game.cols
    if position.game.stones_fall:
        top = [shown.get(col, "-" + AFTER_POINT) for col in range(cols)]
        grid = [top, *([cell or "." + AFTER_POINT for cell in row] for row in board)]
    else:
        grid = [[cell or shown[row * cols + col] for col, cell in enumerate(line)] for row, line in enumerate(board)]
    lines = ["".join(cell.rjust(width) for cell in row).rstrip() for row in grid]
    return "\n".join([*lines, status(position)])


def values_picture(learner: Valued, position: Position, path: str | os.PathLike[str]) -> None:
    """Saves the values of all moves as a heat map with the best ones framed, a PNG file.

    Raises:
        ValueError: as `move_values`.
        gymnasium.error.DependencyNotInstalled: matplotlib is missing.
    """
    values = move_values(learner, position)
    best = max(values.values())
    marks = position.to_array()
    rows, cols = marks.shape
    heat = np.full((rows, cols), np.nan)
    figure = new_figure(0.9 * cols + 1.6, 0.9 * rows + 0.9)  # raises if matplotlib is missing
    from matplotlib.patches import Rectangle

    axis = figure.subplots()
    for action, value in values.items():
        row, col = np.argwhere(position.play(action).to_array() != marks)[0].tolist()
        heat[row, col] = value
        if value == best:
            axis.add_patch(Rectangle((col - 0.47, row - 0.47), 0.94, 0.94, fill=False, lw=2.5, edgecolor="tab:red"))
    image = axis.imshow(heat, cmap="YlGn")
    for row, col in np.ndindex(rows, cols):
        if not np.isnan(heat[row, col]):
            dark = image.norm(heat[row, col]) > 0.6
            text = f"{heat[row, col]:+.3f}"
            axis.text(col, row, text, ha="center", va="center", fontsize=9, color="white" if dark else "black")
        elif marks[row, col]:
            axis.text(col, row, NAMES[marks[row, col] - 1], ha="center", va="center", fontsize=20)
    for edge in range(1, cols):
        axis.axvline(edge - 0.5, color="0.8", linewidth=1)
    for edge in range(1, rows):
        axis.axhline(edge - 0.5, color="0.8", linewidth=1)
    actions = list(range(cols)) if position.game.stones_fall else []
    axis.set_xticks(actions, [str(col + 1) for col in actions])
    axis.set_yticks([])
    axis.set_title(f"{learner}, {status(position)}")
    figure.colorbar(image, shrink=0.8)
    save_figure(figure, path)


def game_text(learner: ValueTD, moves: str) -> str:
    """The moves of a game, then its backups in their order, with each value before and after.

    For `ValueTD.preset("S1")` this is figure 2 of that system. Positions are shown by their base-3 codes. The learner
    learns from the game (see `ValueTD.learn_game`); to look without learning, pass a loaded copy.

    Args:
        learner: the learner of the values.
        moves: the game, a move string.

    Raises:
        ValueError, IllegalMove: as `ValueTD.learn_game`.

    Example:
        >>> from tictac_agents import ValueTD
        >>> print(game_text(ValueTD.preset("S1", seed=0), "14253"))
        ply  move      position
          0                   0
          1  X 1              1
          2  O 4             55
          3  X 2             58
          4  O 5            220
          5  X 3            229
        X wins with 1 2 3
        <BLANKLINE>
        values of X
            position        before         after
                 220     0.5000000     0.5500000
                  58     0.5000000     0.5050000
                  55     0.5000000     0.5005000
                   1     0.5000000     0.5000500
                   0     0.5000000     0.5000050
        <BLANKLINE>
        values of O
            position        before         after
                 220     0.5000000     0.4500000
                  58     0.5000000     0.4950000
                  55     0.5000000     0.4995000
                   1     0.5000000     0.4999500
                   0     0.5000000     0.4999950
    """
    final = Position.from_moves(learner.game, moves)
    position = Position.start(learner.game)
    lines = [f"ply  move  {'position':>12}", f"{0:3}  {'':4}  {position.code:>12}"]
    for ply, action in enumerate(final.moves, 1):
        move = f"{NAMES[position.seat]} {format_moves(learner.game, [action])}"
        position = position.play(action)
        lines.append(f"{ply:3}  {move:4}  {position.code:>12}")
    backups = learner.learn_game(moves)
    lines.append(status(final))
    for seat, name in enumerate(NAMES):
        lines += ["", f"values of {name}", f"{'position':>12}  {'before':>12}  {'after':>12}"]
        for backup in backups:
            if backup.seat == seat:
                stones = (backup.opp, backup.own) if seat else (backup.own, backup.opp)
                code = Position(learner.game, *(stones[::-1] if learner.game.seat(*stones) else stones)).code
                lines.append(f"{code:>12}  {backup.before:>12.7f}  {backup.after:>12.7f}")
    return "\n".join(lines)


@dataclass(frozen=True)
class Thought:
    """An agent's numbers for a legal action; None for those that the agent does not have.

    Attributes:
        action: the action.
        value: for the side to move, on the agent's own scale: mostly 1 for a win and -1 for a loss.
        visits: the number of simulations that played it.
        proven: 1 for a win, 0 for a draw, -1 for a loss, if tree search has proven it.
        chance: the probability of playing it.
    """

    action: int
    value: float | None = None
    visits: int | None = None
    proven: int | None = None
    chance: float | None = None


@dataclass(frozen=True)
class Explanation:
    """An agent's numbers for a position.

    Attributes:
        kind: "visits" of tree search, "values", or "chances".
        text: names the numbers, in a few words.
        moves: one for each legal action, in ascending order.
    """

    kind: str
    text: str
    moves: tuple[Thought, ...]


def explain(policy: Policy, position: Position, seed: int = 0) -> Explanation | None:
    """A policy's numbers for each legal action of an unfinished position; None if it has none.

    Args:
        policy: any policy; those of this package have some.
        position: unfinished.
        seed: the seed of a search, in [0, 2**63); the seed of a move gives the numbers that led to it.

    Raises:
        ValueError: the position is over, or of another game than the policy has learned.

    Example:
        >>> from tictac_agents import QLearning
        >>> agent = QLearning.preset("self-play", seed=0).learn(total_episodes=2_000)
        >>> [round(thought.value, 2) for thought in explain(agent, Position.from_moves("TicTacToe-v0", "152")).moves]
        [0.0, -0.88, -0.99, -0.96, -0.96, -0.72]
    """
    if isinstance(policy, MCTS):
        report = policy.search(position, seed)
        thoughts = (
            Thought(move.action, move.value if move.visits else None, move.visits, move.proven) for move in report.moves
        )
        text = f"visits and mean results of {report.simulations:,} simulations"
        return Explanation("visits", text, tuple(thoughts))
    agent: Any = policy.model if isinstance(policy, ModelPolicy) else policy
    if isinstance(agent, AlphaZero):
        chances = agent.chances(position).items()
        text = "the policy of its search" if agent.settings.play_simulations else "the policy of its network"
        return Explanation("chances", text, tuple(Thought(action, chance=chance) for action, chance in chances))
    networks = NTupleNetwork, NTupleTD
    if isinstance(agent, (TableLearner, GameTree, DynamicProgramming, *networks)):
        values = move_values(agent, position)
        text = NETWORK if isinstance(agent, networks) else "the agent's values"
        return _valued(position, [values.get(action) for action in range(position.game.num_actions)], text)
    if hasattr(agent, "values_many"):  # FittedQ; below, S2Network: their classes cannot be imported without torch
        return _valued(position, agent.values_many(PositionBatch.of([position]), position.seat)[0].tolist(), NETWORK)
    if hasattr(agent, "layers"):
        return _valued(position, agent.values(position).tolist(), NETWORK)
    return _network(agent, position) if hasattr(agent, "scores_many") or hasattr(agent, "policy") else None


def _network(agent: object, position: Position) -> Explanation:
    from tictac_env.policies.snapshot import Snapshot

    copy = agent if isinstance(agent, Snapshot) else Snapshot(agent)
    scores = copy.scores_many(PositionBatch.of([position]))[0]
    if copy.gives_values:
        return _valued(position, scores.tolist(), NETWORK)
    legal = list(position.legal_actions)
    chances = np.exp(scores[legal] - scores[legal].max())
    shares = (chances / chances.sum()).tolist()
    thoughts = (Thought(action, chance=share) for action, share in zip(legal, shares, strict=True))
    return Explanation("chances", "the network's probability of each move", tuple(thoughts))


def _valued(position: Position, values: Sequence[float | None], text: str) -> Explanation:
    return Explanation("values", text, tuple(Thought(action, values[action]) for action in position.legal_actions))
