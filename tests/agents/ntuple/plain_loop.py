"""What `NTupleTD` learns, written as a plain loop over `reset` and `step`: slow, and an oracle of the fast one."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import gymnasium as gym
import numpy as np

from tictac_agents.mcts.simulation import first_state, random_below
from tictac_agents.ntuple.ntuple_td import MAX_BATCH, TOGETHER, NTupleTD
from tictac_agents.ntuple.values import ONE, squash

Board = np.ndarray[Any, Any]
"""(rows, cols): 0 for an empty cell, 1 and 2 for the stones of the first and the second seat."""


class PlainLoop:
    """Learns with the settings of an untrained `NTupleTD`; the weights are kept by what their names are made of."""

    def __init__(self, like: NTupleTD) -> None:
        self.like, self.game = like, like.game
        self.env = gym.make("KInARow-v0", **self.game.arguments, opponent=None, obs_type="board")
        self.weights: dict[Any, int] = defaultdict(int)
        self.net: dict[Any, int] = defaultdict(int)
        self.size: dict[Any, int] = defaultdict(int)
        symmetries = range(self.game.num_symmetries if like.settings.symmetric else 1)
        self.images = [
            (number, [self.game.image(*divmod(cell, self.game.cols), symmetry) for cell in cells])
            for number, cells in enumerate(like.network.tuples)
            for symmetry in symmetries
        ]

    def learn(self, games: int, step: float) -> None:
        """Plays games, all with this step."""
        size = min(MAX_BATCH, max(2, int(TOGETHER / step)))
        for first in range(0, games, size):
            numbers = range(first, min(first + size, games))
            for lesson in [self.play(step, first_state(self.like._rng_state + number)) for number in numbers]:
                self.take_in(lesson)

    def play(self, step: float, state: int) -> list[tuple[list[Any], int]]:
        """Plays a game; returns for each afterstate the names of its weights and what each of them gets."""
        like = self.like
        observation, info = self.env.reset()
        board, seat = np.zeros((self.game.rows, self.game.cols), int), 0
        values, bests, explored, names, result = [], [], [], [], 0
        erring = None
        state, draw = random_below(state, 1 << 30)
        if draw < like.settings.erring * (1 << 30):
            state, erring = random_below(state, 2)
            erring = erring if like.settings.erring_seat is None else like.settings.erring_seat
        state, _ = random_below(state, 1 << 30)  # whether to begin elsewhere
        over = False
        while not over:
            actions = [int(action) for action in np.flatnonzero(info["action_mask"])]
            actions.sort(key=lambda action: self.game.cell(*self.lands(board, action)))
            wins = [action for action in actions if self.wins(board, action, seat)]
            if wins:
                _, reward, over, _, _ = self.env.step(wins[0])
                assert over and reward == 1
                result = 1
                break
            if like.settings.rule:
                blocks = [action for action in actions if self.wins(board, action, 1 - seat)]
                safe = [action for action in blocks or actions if not self.opens(board, action, seat)]
                if len(blocks) > 1 or not safe:
                    result = -1
                    break
                actions = safe
            found = [squash(self.total(self.after(board, action, seat), seat)) for action in actions]
            state, draw = random_below(state, 1 << 30)
            among = [i for i, value in enumerate(found) if value >= max(found) - like.settings.margin]
            if draw < (0.3 if seat == erring else like.settings.epsilon) * (1 << 30):
                among = list(range(len(actions)))
            state, index = random_below(state, len(among))
            chosen = among[index]
            board = self.after(board, actions[chosen], seat)
            observation, _, over, _, info = self.env.step(actions[chosen])
            assert ((observation != 0) == (board != 0)).all()
            names.append([(name, seat) for name in self.names(board)])
            values.append(found[chosen])
            bests.append(max(found))
            counts = seat == erring == like.settings.erring_seat
            explored.append(found[chosen] < max(found) and not counts)
            seat = 1 - seat
        lessons = []
        target = -float(result)
        for ply in range(len(values) - 1, -1, -1):
            if ply < len(values) - 1:
                goes_on = like.settings.trace * target + (1.0 - like.settings.trace) * values[ply + 1]
                target = (bests[ply + 1] if explored[ply + 1] else goes_on) * -like.settings.discount
            error = target - values[ply]
            if not like.settings.logistic:
                error *= 1.0 - values[ply] * values[ply]
            lessons.append((names[ply], round(step * error * ONE / len(self.images))))
        return lessons[::-1]

    def take_in(self, lessons: list[tuple[list[Any], int]]) -> None:
        """Adds what a game teaches to the weights, each time the state of an image changes: with coherence it matters
        what is added at a time.
        """
        pending: list[dict[Any, int]] = [{} for _ in self.images]
        for names, amount in lessons:
            for waiting, name in zip(pending, names, strict=True):
                if any(name[0] != other[0] for other in waiting):
                    self.settle(waiting)
                waiting[name] = waiting.get(name, 0) + amount
        for waiting in pending:
            self.settle(waiting)

    def settle(self, waiting: dict[Any, int]) -> None:
        for name in sorted(waiting, key=lambda name: name[1]):
            amount, net, size = waiting[name], self.net[name], self.size[name]
            self.net[name] += amount
            self.size[name] += abs(amount)
            coherent = self.like.settings.coherence and size
            self.weights[name] += round(amount * (abs(net) / size)) if coherent else amount
        waiting.clear()

    def total(self, board: Board, seat: int) -> int:
        return sum(self.weights[name, seat] for name in self.names(board))

    def names(self, board: Board) -> list[Any]:
        """For each image its tuple's number and what stands on its cells."""
        seen = board.copy()
        if self.game.gravity:
            for col in range(self.game.cols):
                empty = np.flatnonzero(board[:, col] == 0)
                if len(empty):
                    seen[empty[-1], col] = 3
        return [(number, *(int(seen[place]) for place in places)) for number, places in self.images]

    def lands(self, board: Board, action: int) -> tuple[int, int]:
        """The cell that an action fills."""
        if not self.game.gravity:
            return divmod(action, self.game.cols)
        return int(np.flatnonzero(board[:, action] == 0)[-1]), action

    def after(self, board: Board, action: int, seat: int) -> Board:
        after = board.copy()
        after[self.lands(board, action)] = seat + 1
        return after

    def wins(self, board: Board, action: int, seat: int) -> bool:
        """Whether a stone of `seat` there makes a line."""
        row, col = self.lands(board, action)
        after = self.after(board, action, seat)
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
            count = 1
            for sign in (1, -1):
                r, c = row + sign * down, col + sign * right
                while 0 <= r < self.game.rows and 0 <= c < self.game.cols and after[r, c] == seat + 1:
                    count, r, c = count + 1, r + sign * down, c + sign * right
            if count >= self.game.connect:
                return True
        return False

    def opens(self, board: Board, action: int, seat: int) -> bool:
        """Whether the stone lets the other side win on top of it."""
        row, _ = self.lands(board, action)
        return self.game.gravity and row > 0 and self.wins(self.after(board, action, seat), action, 1 - seat)

    def flat_weights(self) -> Any:
        """The weights as `NTupleTD` keeps them."""
        flat = np.zeros(len(self.like._weights), np.int32)
        for ((number, *states), seat), weight in self.weights.items():
            address = number << 2 * len(states) | sum(state << 2 * place for place, state in enumerate(states))
            flat[2 * address + seat] = weight
        return flat
