"""S2's network as it was published: Q-learning after each game, one gradient step a move.

One compiled loop plays and learns: a network this small is done before PyTorch has begun.
"""

from __future__ import annotations

import os
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from tictac_agents.deep.s2_training import Layers, Way, best_action, evaluate, learn_games, new_layers, new_scratch
from tictac_agents.games_learner import MAX_GAMES, GamesLearner
from tictac_env.checks import flag, number, one_of, positive, whole
from tictac_env.games import Game, describe_game, game_of, get_game
from tictac_env.position import Position
from tictac_env.rng import STATES, new_state
from tictac_env.storage import reading, save_arrays

KIND = "tictac_agents.S2Network"
PARTS = 10
"""In how many equal parts of a run exploration falls, by 0.1 after each."""
CHUNK = 5_000
"""How many games are played between two looks at the clock and for Ctrl-C."""
ORDERS = ("in turn", "alternate")


class S2Network(GamesLearner):
    """The network of S2 (nestedsoftware, tictac), 9-36-36-9, trained as it was published.

    ## Description

    It plays against random play, first all games as the first player, then as many as the second, with one network. Its
    inputs are the cells (1 the first player's stones, -1 the second's), its outputs, through a sigmoid, the values of
    all actions. A win and a draw are worth 1, a loss 0. In training it may choose an illegal action, which loses the
    game. After each game it learns from its moves, the last one first, by a step of gradient descent each: the target
    of the move is the highest value after the reply, or the result; that of illegal actions is 0. With each tenth of a
    seat's games exploration falls by 0.1.

    When it plays, it plays the legal action of the highest value. The other arguments leave out one thing each of what
    was published.

    Presets (`S2Network.preset(name)`):
        S2: as published, for a run of 4,000,000 games.

    Args:
        game: a game's name or rule book; one in which each cell is an action.
        games_a_seat: over how many games of each seat exploration falls; a run is twice as long.
        learning_rate: the step size.
        epsilon: the chance of a random action at first, in [0, 1].
        order: "in turn" for one seat after the other; "alternate" for the other seat after each game.
        networks: 1 for both seats, or 2, one for each.
        legal_only: whether only legal actions are played, learned, and looked at for targets.
        relative: whether the inputs are 1 for one's own stones and -1 for the other side's.
        seed: makes the run reproducible; None for fresh entropy.

    Attributes:
        num_games: how many games it has learned from.
        layers: the networks.

    Raises:
        ValueError: an argument is out of its range, or some cells are no actions.

    Example:
        >>> learner = S2Network(games_a_seat=100, seed=0).learn(200)
        >>> learner.num_games
        200
    """

    PRESETS: ClassVar[dict[str, dict[str, Any]]] = {
        "S2": {
            "games_a_seat": 2_000_000,
            "learning_rate": 0.1,
            "epsilon": 0.7,
            "order": "in turn",
            "networks": 1,
            "legal_only": False,
            "relative": False,
        }
    }
    budget = "no search; a pass of a network"

    def __init__(
        self,
        game: str | Game = "TicTacToe-v0",
        games_a_seat: int = 2_000_000,
        learning_rate: float = 0.1,
        epsilon: float = 0.7,
        order: str = "in turn",
        networks: int = 1,
        legal_only: bool = False,
        relative: bool = False,
        seed: int | None = None,
    ) -> None:
        self.game = get_game(game)
        if self.game.num_actions != self.game.cells:
            raise ValueError(f"S2's network needs a game in which each cell is an action, not {self.game!r}")
        self.games_a_seat = positive("games_a_seat", games_a_seat, MAX_GAMES // 2)
        self.learning_rate = number("learning_rate", learning_rate, 0, 10)
        self.epsilon = number("epsilon", epsilon, 0, 1)
        self.order = one_of("order", order, ORDERS)
        self.networks = positive("networks", networks, 2)
        self.legal_only = flag("legal_only", legal_only)
        self.relative = flag("relative", relative)
        self.seed = None if seed is None else whole("seed", seed)
        self.name = "S2Network"
        rng = np.random.default_rng(self.seed)
        self.layers = tuple(new_layers(self.game.num_actions, rng) for _ in range(self.networks))
        self._state = new_state(self.seed)
        self._scratch = new_scratch(self.game.num_actions)

    @classmethod
    def preset(cls, name: str, seed: int | None = None, **changes: Any) -> Self:
        """A learner with the settings of `PRESETS[name]`, with `changes`.

        Raises:
            ValueError: there is no such preset, or a changed setting is out of its range.
        """
        return cls(**(cls.PRESETS[one_of("preset", name, tuple(cls.PRESETS))] | changes), seed=seed)

    @property
    def settings(self) -> dict[str, Any]:
        """All it was made with but the game."""
        return {name: getattr(self, name) for name in (*self.PRESETS["S2"], "seed")}

    def _learn_some(self, most: int) -> int:
        """Learns from a few thousand games, of one part of the run."""
        alternate = self.order == "alternate"
        length = self.games_a_seat * (2 if alternate else 1)
        done = self.num_games % length
        part = done * PARTS // length
        end = -(-(part + 1) * length // PARTS)
        games = min(CHUNK, end - done, most)
        seat = self.num_games % 2 if alternate else self.num_games // length % 2
        self._state = learn_games(
            self.game,
            self.layers[0],
            self.layers[-1],
            seat,
            alternate,
            max(0.0, self.epsilon - 0.1 * part),
            games,
            self._way,
            self._scratch,
            self._state,
        )
        return games

    @property
    def _way(self) -> Way:
        return Way(float(self.learning_rate), self.legal_only, self.relative)

    def act(self, position: Position, seed: int) -> int:
        """The legal action of the highest value, the lowest among equals.

        Raises:
            ValueError: the position is of another game.
        """
        return int(best_action(self.game, position.own, position.opp, self.values(position), True))

    def values(self, position: Position) -> npt.NDArray[np.float64]:
        """The values of all actions, also of illegal ones: float64 (num_actions,), in (0, 1).

        Raises:
            ValueError: the position is of another game.
        """
        if position.game != self.game:
            raise ValueError(f"{self} has learned {describe_game(self.game)}, and nothing of {position!r}")
        scratch = new_scratch(self.game.num_actions)
        evaluate(
            self.game, self.layers[position.seat % self.networks], position.own, position.opp, self.relative, scratch
        )
        return scratch.values

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes everything to an .npz file (see `tictac_env.storage`)."""
        arrays = {
            f"{number_}_{field}": array
            for number_, net in enumerate(self.layers)
            for field, array in net._asdict().items()
        }
        meta = {
            "game": describe_game(self.game),
            "settings": self.settings,
            "num_games": self.num_games,
            "goal": self._goal,
            "state": self._state,
        }
        save_arrays(path, KIND, meta, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The learner that was saved.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is damaged, or holds something else.
        """
        with reading(path, KIND, "checkpoint of S2Network") as (meta, arrays):
            loaded = cls(game_of(meta["game"]), **meta["settings"])
            loaded.num_games = whole("num_games", meta["num_games"], MAX_GAMES)
            loaded._goal = whole("goal", meta["goal"], MAX_GAMES)
            loaded._state = whole("state", meta["state"], STATES)
            for number_, net in enumerate(loaded.layers):
                _read(net, number_, arrays)
        return loaded


def _read(net: Layers, number_: int, arrays: dict[str, npt.NDArray[Any]]) -> None:
    """Puts what was saved into a network.

    Raises:
        KeyError, ValueError: it is not there, or of another shape or type.
    """
    for field, array in net._asdict().items():
        saved = arrays[f"{number_}_{field}"]
        if saved.shape != array.shape or saved.dtype != array.dtype:
            raise ValueError(f"{field} must be {array.dtype} {array.shape}, not {saved.dtype} {saved.shape}")
        array[...] = saved
