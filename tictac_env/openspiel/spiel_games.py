"""Our rule books as OpenSpiel's Python games: what its algorithms ask of a game, a state and an observer."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pyspiel
from open_spiel.python.observation import IIGObserverForPublicInfoGame

from tictac_env.games import UNFINISHED, Game, describe_game, get_game, make_game
from tictac_env.games.registry import FAMILIES, known_names
from tictac_env.observation import Observer
from tictac_env.position import Position, format_moves

PLAYERS = 2
MARKS = ".xo"


class SpielGame(pyspiel.Game):  # type: ignore[misc]  # OpenSpiel says nothing about its types
    """A game of ours as OpenSpiel plays it; `pyspiel.load_game` makes it, by the name of the game.

    Its actions are ours. A win is worth 1, a loss -1 and a draw 0. The observation tensor is that of the environments'
    planes, (2, rows, cols): the player's own stones, the other's.

    Attributes:
        rules: the rule book.

    Example:
        >>> load_game("ConnectFour-v0").observation_tensor_shape()
        [2, 6, 7]
    """

    GAME_TYPE: ClassVar[Any]
    """What OpenSpiel knows of the game before one is made; `register_games` sets it."""

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        given = dict(params or {})
        self.rules: Game = make_game(self.GAME_TYPE.short_name, **given)
        super().__init__(self.GAME_TYPE, _game_info(self.rules), given)

    def new_initial_state(self, state: Any = None) -> SpielState:
        """The beginning of a game.

        Raises:
            ValueError: `state` is given: a state is made by applying actions (`tictac_env.openspiel.state_of`).
        """
        if state is not None:
            raise ValueError(f"a state is made by applying actions (see state_of), not from {state!r}")
        return SpielState(self)

    def make_py_observer(self, iig_obs_type: Any = None, params: dict[str, Any] | None = None) -> Any:
        """What shows a state: the board, or, with perfect recall, the actions so far."""
        if iig_obs_type is None or (iig_obs_type.public_info and not iig_obs_type.perfect_recall):
            return BoardObserver(self.rules, params)
        return IIGObserverForPublicInfoGame(iig_obs_type, params)


class SpielState(pyspiel.State):  # type: ignore[misc]
    """A state of a `SpielGame`. Its two sets of stones are all that it keeps, as OpenSpiel copies states deeply.

    Example:
        >>> load_game("TicTacToe-v0").new_initial_state().legal_actions()
        [0, 1, 2, 3, 4, 5, 6, 7, 8]
    """

    def __init__(self, game: SpielGame) -> None:
        super().__init__(game)
        self.rules = game.rules
        self.own, self.opp = game.rules.start()

    @property
    def position(self) -> Position:
        """The position, with all moves that led to it."""
        return Position(self.rules, self.own, self.opp, tuple(self.history()))

    def current_player(self) -> int:
        """0 or 1, or OpenSpiel's number for the end of the game."""
        if self.is_terminal():
            return int(pyspiel.PlayerId.TERMINAL)
        return self.rules.seat(self.own, self.opp)

    def _legal_actions(self, player: int) -> list[int]:
        rules = self.rules
        legal = rules.legal(self.own, self.opp)
        return [action for action in range(rules.num_actions) if legal & rules.choice(action)]

    def _apply_action(self, action: int) -> None:
        self.own, self.opp = self.rules.play(self.own, self.opp, action)

    def _action_to_string(self, player: int, action: int) -> str:
        return MARKS[1 + player] + format_moves(self.rules, [action])

    def is_terminal(self) -> bool:
        """Whether the game is over."""
        return self.rules.result(self.own, self.opp) != UNFINISHED

    def returns(self) -> list[float]:
        """What each player has got so far: 0, but at the end of a game that somebody won."""
        result = self.rules.result(self.own, self.opp)
        gain = 0.0 if result == UNFINISHED else float(result)
        return [0.0 - gain, gain] if self.rules.seat(self.own, self.opp) else [gain, 0.0 - gain]

    def __str__(self) -> str:
        """The board, one line a row from the top: x the first player's stones, o the second's."""
        rows = Position(self.rules, self.own, self.opp).to_array().tolist()
        return "\n".join("".join(MARKS[cell] for cell in row) for row in rows)


class BoardObserver:
    """Shows a state to a player: as planes, and as the board in text.

    Attributes:
        tensor: float32 (2 * rows * cols,), the planes in a row.
        dict: the same memory by its name: "observation", float32 (2, rows, cols).

    Raises:
        ValueError: parameters are given; there are none.
    """

    def __init__(self, rules: Game, params: dict[str, Any] | None = None) -> None:
        if params:
            raise ValueError(f"there are no parameters of observations, and not {params}")
        self._observer = Observer(rules, "planes")
        self.tensor = np.zeros(2 * rules.cells, np.float32)
        self.dict = {"observation": self.tensor.reshape(2, rules.rows, rules.cols)}

    def set_from(self, state: SpielState, player: int) -> None:
        """Writes what `player` sees of a state."""
        mine = state.rules.seat(state.own, state.opp) == player
        stones = (state.own, state.opp) if mine else (state.opp, state.own)
        self.dict["observation"][...] = self._observer.observe(*stones, player)

    def string_from(self, state: SpielState, player: int) -> str:
        """The board, which is the same for both players."""
        return str(state)


def register_games() -> list[str]:
    """Registers all games that are known by name and that OpenSpiel does not know yet.

    The sizes of a family are OpenSpiel's parameters: "KInARow-v0(rows=5,cols=6,connect=4,gravity=True)". Call it again
    after `tictac_env.register_game`; importing `tictac_env.openspiel` has called it once.

    Returns:
        The names that are new.

    Example:
        >>> register_games()  # as they were registered when this was imported
        []
    """
    new = sorted(set(known_names()) - set(pyspiel.registered_names()))
    for name in new:
        sizes = FAMILIES[name].default.arguments if name in FAMILIES else {}
        kind: Any = type(f"{SpielGame.__name__}_{name}", (SpielGame,), {"GAME_TYPE": _game_type(name, sizes)})
        pyspiel.register_game(kind.GAME_TYPE, kind)
    return new


def load_game(game: str | Game) -> SpielGame:
    """The game as OpenSpiel's, from a name such as "KInARow-v0:5x6-4", or from a rule book.

    Raises:
        ValueError: there is no such game, or it is not registered.

    Example:
        >>> load_game("KInARow-v0:4x5-3").max_game_length()
        20
    """
    register_games()
    described = describe_game(get_game(game))
    sizes = {} if isinstance(described, str) else {size: value for size, value in described.items() if size != "id"}
    name = described if isinstance(described, str) else described["id"]
    loaded: SpielGame = pyspiel.load_game(name, sizes)
    return loaded


def _game_type(name: str, sizes: dict[str, Any]) -> Any:
    kind = pyspiel.GameType
    return kind(
        short_name=name,
        long_name=name,
        dynamics=kind.Dynamics.SEQUENTIAL,
        chance_mode=kind.ChanceMode.DETERMINISTIC,
        information=kind.Information.PERFECT_INFORMATION,
        utility=kind.Utility.ZERO_SUM,
        reward_model=kind.RewardModel.TERMINAL,
        max_num_players=PLAYERS,
        min_num_players=PLAYERS,
        provides_information_state_string=True,
        provides_information_state_tensor=False,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=sizes,
    )


def _game_info(rules: Game) -> Any:
    return pyspiel.GameInfo(
        num_distinct_actions=rules.num_actions,
        max_chance_outcomes=0,
        num_players=PLAYERS,
        min_utility=-1.0,
        max_utility=1.0,
        utility_sum=0.0,
        max_game_length=rules.cells,
    )
