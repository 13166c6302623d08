"""Temporal difference learning of state values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np

from tictac_agents.learner import UNIT, Arrays, Learner, Preset, Schedule
from tictac_agents.states import is_position
from tictac_agents.values import Backup, Node, Route
from tictac_env.checks import flag, number, one_of, schedule, whole
from tictac_env.envs.arguments import PLAY_AS, check_rewards
from tictac_env.games import DRAWN, LOST
from tictac_env.observation import read_observation
from tictac_env.position import Position

PLIES = ("all", "own")
UPDATES = ("backward", "online")


class ValueTD(Learner):
    """Learns the value of each position from the values of those that follow it: TD(lambda).

    It plays the move that leads to the position of highest value. As the game goes on from position s to s',

        v(s) += step * (reward + gamma * v(s') - v(s)),

    where `step` is the learning rate or 1 / N(s), and the value of a finished game is its reward (Sutton, "Learning to
    predict by the methods of temporal differences", 1988; Sutton and Barto, section 1.5 and chapter 6). With `trace`
    (lambda) the positions before s share in the correction, lambda * gamma times less with each ply.

    Values are those of one side; each seat has a table, or both share one. With `opponent=None` both sides play and
    learn.

    Presets (`ValueTD.preset(name)`):
        S0: one table whoever begins, every ply of both sides, 1 / N(s), almost always exploring; a game no side can
            win any more counts as drawn. Blocks of 10,000 games a seat, to be trained with
            `UntilProven(every=20_000, start_afresh=400_000)`.
        S1: self-play, both walk back the whole game at its end. (Ours draws some 6,500 of its 10,000 training games,
            with an epsilon of 0.05 some 7,500; the published one 8,250 to 8,295. How that explores was not said.)
        S3: self-play, the positions after one's own moves, nothing learned from exploring moves. (Published as
            "Monte Carlo".)
        S4-prequel: self-play, TD(0) on every ply as it is played. (Its step size and exploration were not published;
            these are ours.)

    Args:
        env: an environment of ours, or its id; any opponent, seat and type of observation.
        learning_rate: the step size, in (0, 1]: a number, or several for equal parts of a run; None for 1 / N(s).
        gamma: the discount, in [0, 1].
        epsilon: the chance of a random action, in [0, 1]: a number, or several for equal parts of a run.
        rewards: for a win, a draw, a loss and, if given, each ply that does not end the game. (What the environment
            pays does not matter.)
        initial_value: of a position that is met for the first time.
        plies: "all": every position is learned; "own": those after one's own moves.
        updates: "online": as the game is played; "backward": at its end, the last position first.
        trace: lambda, in [0, 1]; above 0 only online.
        shared: whether both seats share one table.
        dead_draws: whether a game that neither side can win any more ends as a draw.
        learn_exploring: whether what an exploring move led to is learned.
        block: how many games each seat gets in turn; 0 leaves the seats to the environment.
        seed: makes the run reproducible; None for fresh entropy.

    Raises:
        ValueError: an argument is out of its range; the message names it.
    """

    PRESETS: ClassVar[dict[str, Preset]] = {
        "S0": Preset(
            {
                "learning_rate": None,
                "gamma": 0.9,
                "epsilon": 0.95,
                "rewards": (10, 2, -30, -1),
                "initial_value": -1.0,
                "updates": "online",
                "shared": True,
                "dead_draws": True,
                "block": 10_000,
            },
            {"opponent": "random"},
            20_000_000,
        ),
        "S1": Preset({}, {"opponent": None}, 10_000),
        "S3": Preset({"plies": "own", "learn_exploring": False}, {"opponent": None}, 100_000),
        "S4-prequel": Preset({"updates": "online", "rewards": (1, 0.5, -1)}, {"opponent": None}, 50_000),
    }

    def __init__(
        self,
        env: gym.Env[Any, Any] | str,
        learning_rate: Schedule | None = 0.1,
        gamma: float = 1.0,
        epsilon: Schedule = 0.1,
        rewards: Sequence[float] = (1.0, 0.5, 0.0),
        initial_value: float = 0.5,
        plies: str = "all",
        updates: str = "backward",
        trace: float = 0.0,
        shared: bool = False,
        dead_draws: bool = False,
        learn_exploring: bool = True,
        block: int = 0,
        seed: int | None = None,
    ) -> None:
        super().__init__(env, seed)
        self.learning_rate = None if learning_rate is None else schedule("learning_rate", learning_rate, 1e-9, 1)
        self.gamma = number("gamma", gamma, 0, 1)
        self.epsilon = schedule("epsilon", epsilon, 0, 1)
        self.rewards = check_rewards(rewards)
        self.initial_value = number("initial_value", initial_value, -1e9, 1e9)
        self.plies = one_of("plies", plies, PLIES)
        self.updates = one_of("updates", updates, UPDATES)
        self.trace = number("trace", trace, 0, 1)
        if self.trace and self.updates == "backward":
            raise ValueError(f"trace={trace!r} needs updates='online': a backward sweep hands results on already")
        self.shared = flag("shared", shared)
        self.dead_draws = flag("dead_draws", dead_draws)
        self.learn_exploring = flag("learn_exploring", learn_exploring)
        self.block = whole("block", block)
        self._log: list[Backup] | None = None
        self.forget()

    def forget(self) -> None:
        one: dict[tuple[int, int], Node] = {}
        self.tables = (one, one) if self.shared else (one, {})
        self._seen: dict[int | bytes, tuple[int, int]] = {}

    def __len__(self) -> int:
        """How many positions have values, in both tables together."""
        return len(self.tables[0]) + (0 if self.shared else len(self.tables[1]))

    def value(self, seat: int, own: int, opp: int) -> float:
        """What a position, with the stones `own` of the player in `seat`, is worth to that player."""
        node = self.tables[seat].get((own, opp))
        return self._status(own, opp)[1] if node is None else node.value

    def values(self, own: int, opp: int) -> dict[int, float]:
        """The value of the position after each legal action, for the side to move."""
        seat, legal = self.game.seat(own, opp), self._legal(own, opp)
        return {action: self.value(seat, *self.game.play(own, opp, action)[::-1]) for action in legal}

    def best_action(self, own: int, opp: int, allowed: Sequence[int]) -> int:
        values = self.values(own, opp)
        return max(allowed, key=values.__getitem__)

    def _episode(self) -> int:
        self._rate = None if self.learning_rate is None else self.scheduled(self.learning_rate)
        self._chance = self.scheduled(self.epsilon)
        options = {"play_as": PLAY_AS[self.num_episodes // self.block % 2]} if self.block else None
        observation, info = self._reset(options)
        seat, (own, opp) = info["seat"], self._read(observation)
        board: Any = self.env.unwrapped
        alone = board.opponent is None
        routes = self._routes(seat, own, opp, alone)
        steps = 0
        terminated = truncated = False
        while not terminated and not truncated:
            node = self._node(seat, own, opp)
            action, explored = self._choose(node)
            reached = self._move(routes, seat, node, action, explored, alone)
            observation, _, terminated, truncated, info = self.env.step(action)
            steps += 1
            if reached.final:  # or dead, and then what is still played does not matter
                break
            seat, (own, opp) = info["seat"], self._read(observation)
            if not alone:
                reached = self._node(seat, own, opp)
                if self.plies == "all" or reached.final:
                    self._go(routes[seat], reached, False)
                if reached.final:
                    break
        self._sweep(routes)
        return steps

    def learn_game(self, moves: str) -> list[Backup]:
        """Learns from one finished game, as if both sides had played it in training, none of the moves exploring.

        As in training, with `dead_draws` what is played after neither side can win any more does not matter.

        Args:
            moves: a move string (see `Position.from_moves`).

        Returns:
            Every change of a value, in their order.

        Raises:
            ValueError, IllegalMove: it is no such string, or the game is not finished.
        """
        game = Position.from_moves(self.game, moves)
        if not game.is_over:
            raise ValueError(f"the game {moves!r} is not finished")
        self._rate = None if self.learning_rate is None else self.scheduled(self.learning_rate)
        position = Position.start(self.game)
        log = self._log = []
        try:
            routes = self._routes(position.seat, position.own, position.opp, True)
            for action in game.moves:
                node = self._node(position.seat, position.own, position.opp)
                if self._move(routes, position.seat, node, action, False, True).final:
                    break
                position = position.play(action)
            self._sweep(routes)
        finally:
            self._log = None
        return log

    def _routes(self, seat: int, own: int, opp: int, alone: bool) -> tuple[Route, Route]:
        """The routes of both seats at the start of a game; only those that learn have one."""
        routes = (Route(0), Route(1))
        if self.plies == "all":
            routes[seat].nodes.append(self._node(seat, own, opp))
            if alone:
                routes[1 - seat].nodes.append(self._node(1 - seat, opp, own))
        return routes

    def _move(
        self, routes: tuple[Route, Route], seat: int, node: Node, action: int, explored: bool, alone: bool
    ) -> Node:
        """Adds the position after a move to the routes of those who learn from it."""
        reached = self._after(seat, node, action)
        self._go(routes[seat], reached, explored and not self.learn_exploring)
        if alone and (self.plies == "all" or reached.final):
            self._go(routes[1 - seat], self._node(1 - seat, *reached.key[::-1]), False)
        return reached

    def _sweep(self, routes: tuple[Route, Route]) -> None:
        """At the end of a game: the last positions first, if that is the way to learn."""
        if self.updates == "backward":
            for route in routes:
                for index in reversed(range(1, len(route.nodes))):
                    if not route.skips[index - 1]:
                        self._update(route, route.nodes[index - 1], route.nodes[index])

    def _go(self, route: Route, node: Node, skip: bool) -> None:
        """Adds a position to a route, and learns what led to it if that is to be done at once."""
        if route.nodes:
            route.skips.append(skip)
            if self.updates == "online" and not skip:
                error = self._update(route, route.nodes[-1], node)
                weight = self.gamma * self.trace
                index = len(route.nodes) - 2
                while weight > 0 and index >= 0 and not route.skips[index]:
                    self._correct(route, route.nodes[index], weight * error)
                    weight *= self.gamma * self.trace
                    index -= 1
        route.nodes.append(node)

    def _update(self, route: Route, node: Node, following: Node) -> float:
        """Moves the value of a position towards that of the following one; returns the error."""
        node.visits += 1
        error = self.rewards[3] + self.gamma * following.value - node.value
        self._correct(route, node, error)
        return error

    def _correct(self, route: Route, node: Node, error: float) -> None:
        before = node.value
        node.value += (1 / node.visits if self._rate is None else self._rate) * error
        if self._log is not None:
            self._log.append(Backup(route.seat, *node.key, before, node.value))

    def _choose(self, node: Node) -> tuple[int, bool]:
        """The action to train with, and whether it explores: else one of the best, drawn among equals."""
        legal = node.legal
        explores = self._draw() * UNIT < self._chance
        if not explores:
            seat = self.game.seat(*node.key)
            values = [self._after(seat, node, action).value for action in legal]
            best = max(values)
            legal = tuple(action for action, value in zip(legal, values, strict=True) if value == best)
        return legal[self._draw() % len(legal)], explores

    def _after(self, seat: int, node: Node, action: int) -> Node:
        """The position after the owner's move."""
        after = node.after.get(action)
        if after is None:
            own, opp = self.game.play(*node.key, action)
            after = node.after[action] = self._node(seat, opp, own)
        return after

    def _node(self, seat: int, own: int, opp: int) -> Node:
        """The position in the table of `seat`, which gets it if it has not met it."""
        table = self.tables[seat]
        node = table.get((own, opp))
        if node is None:
            final, value = self._status(own, opp)
            node = table[own, opp] = Node((own, opp), self._legal(own, opp), final, value)
        return node

    def _status(self, own: int, opp: int) -> tuple[bool, float]:
        """Whether a position is final, and what it is worth when it is met for the first time."""
        game = self.game
        win, draw, loss, _ = self.rewards
        if game.result(own, opp) == LOST:
            return True, loss
        if game.result(opp, own) == LOST:
            return True, win
        if game.result(own, opp) == DRAWN or (self.dead_draws and game.is_dead(own, opp)):
            return True, draw
        return False, self.initial_value

    def _legal(self, own: int, opp: int) -> tuple[int, ...]:
        legal = self.game.legal(own, opp)
        return tuple(action for action in range(self.game.num_actions) if legal & self.game.choice(action))

    def _read(self, observation: Any) -> tuple[int, int]:
        """The bits of an observation, remembered."""
        key = observation.tobytes() if isinstance(observation, np.ndarray) else int(observation)
        bits = self._seen.get(key)
        if bits is None:
            bits = self._seen[key] = read_observation(self.game, observation)
        return bits

    def _arrays(self) -> Arrays:
        """For each table `positions` int64 (N, 2), owner's and other's, `values` float64 and `visits` int64 (N,)."""
        arrays: Arrays = {}
        for seat, table in enumerate(self.tables[:1] if self.shared else self.tables):
            nodes = list(table.values())
            arrays[f"positions_{seat}"] = np.array([node.key for node in nodes], np.int64).reshape(-1, 2)
            arrays[f"values_{seat}"] = np.array([node.value for node in nodes], np.float64)
            arrays[f"visits_{seat}"] = np.array([node.visits for node in nodes], np.int64)
        return arrays

    def _set_arrays(self, arrays: Arrays) -> None:
        self.forget()
        for seat in (0,) if self.shared else (0, 1):
            positions, values, visits = (arrays[f"{name}_{seat}"] for name in ("positions", "values", "visits"))
            if not positions.shape == (len(values), 2) or not values.shape == visits.shape == (len(values),):
                raise ValueError(f"the shapes of its table {seat} do not agree")
            if not np.isfinite(values).all() or visits.dtype != np.int64 or (visits < 0).any():
                raise ValueError(f"the numbers of its table {seat} are not in order")
            for (own, opp), value, count in zip(positions.tolist(), values.tolist(), visits.tolist(), strict=True):
                possible = is_position(self.game, own, opp) or is_position(self.game, opp, own)
                if not possible or (own, opp) in self.tables[seat]:
                    raise ValueError(f"its table {seat} holds an impossible position, or one twice: {own}, {opp}")
                node = self._node(seat, own, opp)
                node.value, node.visits = value, count
