"""OpenSpiel: our games as its games, our policies as its bots, and its bots as our policies.

Importing this module registers every known game with OpenSpiel, under its own name:

    >>> import pyspiel
    >>> import tictac_apps.bridges.openspiel
    >>> pyspiel.load_game("KInARow-v0(rows=4,cols=5,connect=3)").num_distinct_actions()
    5

OpenSpiel: Lanctot et al., "OpenSpiel: a framework for reinforcement learning in games", 2019.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tictac_env.lazy import needing

with needing("OpenSpiel is missing", "openspiel"):
    import pyspiel
    from open_spiel.python import policy as spiel
    from open_spiel.python.observation import IIGObserverForPublicInfoGame

from tictac_env.arena.basis import action_probabilities, gives_probabilities
from tictac_env.checks import whole
from tictac_env.games import UNFINISHED, Game, KInARow, describe_game, game_name, get_game, make_game
from tictac_env.games.registry import FAMILIES, known_names
from tictac_env.observation import Observer
from tictac_env.policies import PlayerLike, Policy, as_policy
from tictac_env.policies.loading import Reading, object_named
from tictac_env.policies.policy import action_of
from tictac_env.position import Position, format_moves, parse_moves
from tictac_env.position_batch import PositionBatch
from tictac_env.storage import JsonObject

SEEDS = 2**63
MARKS = ".xo"
TIC_TAC_TOE = ("tic_tac_toe", "python_tic_tac_toe")
CONNECT_FOUR = "connect_four"
Parameters = JsonObject
"""OpenSpiel's parameters of a game or an observer."""


class SpielGame(pyspiel.Game):  # type: ignore[misc]  # OpenSpiel has no type annotations
    """A game of ours as OpenSpiel plays it; `pyspiel.load_game` makes it by the name of the game.

    Its actions are ours. A win is worth 1, a loss -1 and a draw 0. The observation tensor is the environments' planes,
    (2, rows, cols): the player's own stones, then the other player's.

    Attributes:
        rules: the game as ours.

    Example:
        >>> load_game("ConnectFour-v0").observation_tensor_shape()
        [2, 6, 7]
    """

    GAME_TYPE: ClassVar[pyspiel.GameType]
    """OpenSpiel's description of the game, which it needs before a game is made; `register_games` sets it."""

    def __init__(self, params: Parameters | None = None) -> None:
        sizes = dict(params or {})
        self.rules: Game = make_game(self.GAME_TYPE.short_name, **sizes)
        info = pyspiel.GameInfo(self.rules.num_actions, 0, 2, -1.0, 1.0, 0.0, self.rules.cells)
        super().__init__(self.GAME_TYPE, info, sizes)

    def new_initial_state(self, state: object = None) -> SpielState:
        """The beginning of a game.

        Raises:
            ValueError: `state` is not None: a state is made by applying actions (`state_of`).
        """
        if state is not None:
            raise ValueError(f"a state is made by applying actions (see state_of), not from {state!r}")
        return SpielState(self)

    def make_py_observer(
        self, iig_obs_type: pyspiel.IIGObservationType | None = None, params: Parameters | None = None
    ) -> BoardObserver | IIGObserverForPublicInfoGame:
        """An observer of the board or, with perfect recall, of the actions so far."""
        if iig_obs_type is None or (iig_obs_type.public_info and not iig_obs_type.perfect_recall):
            return BoardObserver(self.rules, params)
        return IIGObserverForPublicInfoGame(iig_obs_type, params)


class SpielState(pyspiel.State):  # type: ignore[misc]
    """A state of a `SpielGame`. It keeps only its two sets of stones, as OpenSpiel copies states deeply.

    An illegal action, an action after the end and a player other than 0 and 1 raise `pyspiel.SpielError`, as in
    OpenSpiel's own games.

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
        legal = self.rules.legal(self.own, self.opp)
        return [action for action in range(self.rules.num_actions) if legal & self.rules.choice(action)]

    def _apply_action(self, action: int) -> None:
        try:
            action = self.position.check(action)
        except ValueError as error:
            raise pyspiel.SpielError(str(error)) from None
        self.own, self.opp = self.rules.play(self.own, self.opp, action)

    def _action_to_string(self, player: int, action: int) -> str:
        check_seat(player)
        if not 0 <= action < self.rules.num_actions:
            raise pyspiel.SpielError(f"an action must be in [0, {self.rules.num_actions}), not {action}")
        return MARKS[1 + player] + format_moves(self.rules, [action])

    def is_terminal(self) -> bool:
        """True if the game is over."""
        return self.rules.result(self.own, self.opp) != UNFINISHED

    def returns(self) -> list[float]:
        """The return of each player so far: 0 until a game is won."""
        result = self.rules.result(self.own, self.opp)
        gain = 0.0 if result == UNFINISHED else float(result)
        return [0.0 - gain, gain] if self.rules.seat(self.own, self.opp) else [gain, 0.0 - gain]

    def __str__(self) -> str:
        """The board, a line for each row from the top: x the first player's stones, o the second's."""
        rows = Position(self.rules, self.own, self.opp).to_array().tolist()
        return "\n".join("".join(MARKS[cell] for cell in row) for row in rows)


def check_seat(player: int) -> None:
    """Checks the number of a player.

    Raises:
        pyspiel.SpielError: it is neither 0 nor 1.
    """
    if player not in (0, 1):
        raise pyspiel.SpielError(f"a player must be 0 or 1, not {player}")


class BoardObserver:
    """Shows a state to a player, as planes and as text.

    Attributes:
        tensor: float32 (2 * rows * cols,), the planes in a row.
        dict: views of the same memory by name: "observation", float32 (2, rows, cols).

    Raises:
        ValueError: `params` is not empty: observations have no parameters.
    """

    def __init__(self, rules: Game, params: Parameters | None = None) -> None:
        if params:
            raise ValueError(f"observations have no parameters, so params must be empty, not {params}")
        self._observer = Observer(rules, "planes")
        self.tensor = np.zeros(2 * rules.cells, np.float32)
        self.dict = {"observation": self.tensor.reshape(2, rules.rows, rules.cols)}

    def set_from(self, state: SpielState, player: int) -> None:
        """Writes the observation of `player`.

        Raises:
            pyspiel.SpielError: there is no such player.
        """
        check_seat(player)
        mine = state.rules.seat(state.own, state.opp) == player
        stones = (state.own, state.opp) if mine else (state.opp, state.own)
        self.dict["observation"][...] = self._observer.observe(*stones, player)

    def string_from(self, state: SpielState, player: int) -> str:
        """The board, which is the same for both players.

        Raises:
            pyspiel.SpielError: there is no such player.
        """
        check_seat(player)
        return str(state)


def register_games() -> list[str]:
    """Registers with OpenSpiel all games that have a name here and not yet there.

    The sizes of a family are OpenSpiel's parameters: "KInARow-v0(rows=5,cols=6,connect=4,gravity=True)". Importing
    `tictac_apps.bridges.openspiel` calls it; call it again after `tictac_env.register_game`.

    Returns:
        The names that are new.

    Example:
        >>> register_games()  # importing this module has registered them
        []
    """
    new = sorted(set(known_names()) - set(pyspiel.registered_names()))
    kind = pyspiel.GameType
    for name in new:
        game_type = kind(
            short_name=name,
            long_name=name,
            dynamics=kind.Dynamics.SEQUENTIAL,
            chance_mode=kind.ChanceMode.DETERMINISTIC,
            information=kind.Information.PERFECT_INFORMATION,
            utility=kind.Utility.ZERO_SUM,
            reward_model=kind.RewardModel.TERMINAL,
            max_num_players=2,
            min_num_players=2,
            provides_information_state_string=True,
            provides_information_state_tensor=False,
            provides_observation_string=True,
            provides_observation_tensor=True,
            parameter_specification=FAMILIES[name].default.arguments if name in FAMILIES else {},
        )
        # OpenSpiel calls the class with the parameters alone, so each name has a class with its own GAME_TYPE.
        pyspiel.register_game(game_type, type(f"{SpielGame.__name__}_{name}", (SpielGame,), {"GAME_TYPE": game_type}))
    return new


def load_game(game: str | Game) -> SpielGame:
    """The game as OpenSpiel's, from a name such as "KInARow-v0:5x6-4", or from a game of ours.

    Raises:
        ValueError: there is no such game, or it is not registered.

    Example:
        >>> load_game("KInARow-v0:4x5-3").max_game_length()
        20
    """
    register_games()
    description = describe_game(get_game(game))
    sizes = {"id": description} if isinstance(description, str) else dict(description)
    spiel_game: SpielGame = pyspiel.load_game(sizes.pop("id"), sizes)
    return spiel_game


def rules_of(game: pyspiel.Game) -> Game:
    """Our game for a game of OpenSpiel's: a `SpielGame`, or its own tic-tac-toe or Connect Four (of any size).

    Raises:
        ValueError: it is none of these, or too large for us.

    Example:
        >>> rules_of(pyspiel.load_game("connect_four")) == get_game("ConnectFour-v0")
        True
    """
    if isinstance(game, SpielGame):
        return game.rules
    name = game.get_type().short_name
    if name in TIC_TAC_TOE:
        return get_game("TicTacToe-v0")
    if name == CONNECT_FOUR:
        sizes = game.get_parameters()
        return KInARow.make(sizes["rows"], sizes["columns"], sizes["x_in_row"])
    raise ValueError(f"{game} is neither a game of tictac_env nor one of {', '.join((*TIC_TAC_TOE, CONNECT_FOUR))}")


def position_of(state: pyspiel.State) -> Position:
    """The position of a state, with the moves that led to it.

    Raises:
        ValueError: the state is of a game that is not one of ours (see `rules_of`).

    Example:
        >>> state = pyspiel.load_game("connect_four").new_initial_state()
        >>> state.apply_action(3)
        >>> position_of(state).to_moves()
        '4'
    """
    if isinstance(state, SpielState):
        return state.position
    return Position.from_moves(rules_of(state.get_game()), state.history())


def state_of(position: Position, game: pyspiel.Game) -> pyspiel.State:
    """The state of a game of OpenSpiel's for a position, by the position's own moves, or by some that lead there.

    Args:
        position: the position.
        game: the game of OpenSpiel's (see `rules_of`).

    Raises:
        ValueError: the position is of another game.

    Example:
        >>> state_of(Position.from_moves("ConnectFour-v0", "445"), pyspiel.load_game("connect_four")).history()
        [3, 3, 4]
    """
    rules = rules_of(game)
    if position.game != rules:
        names = [game_name(game) or repr(game) for game in (position.game, rules)]
        raise ValueError(f"a position of {names[0]} is not a state of {game}, which is {names[1]}: {position!r}")
    state = game.new_initial_state()
    for action in parse_moves(rules, position.to_moves()):
        state.apply_action(action)
    return state


class PolicyBot(pyspiel.Bot):  # type: ignore[misc]
    """Any player of this package as a `pyspiel.Bot` for either side.

    A move depends on the state alone, so one bot may play both sides.

    Args:
        player: whatever `as_policy` accepts.
        game: the game of OpenSpiel's to play: one of ours, or its own tic-tac-toe or Connect Four.
        seed: the seed of its draws, an integer of at least 0; None for fresh entropy.

    Raises:
        ValueError: the game is not one of ours (see `rules_of`), or there is no such policy.

    Example:
        >>> game = pyspiel.load_game("connect_four")
        >>> bots = [PolicyBot("rule", game, seed=0), PolicyBot("random", game, seed=1)]
        >>> pyspiel.evaluate_bots(game.new_initial_state(), bots, 0)
        [1.0, -1.0]
    """

    def __init__(self, player: PlayerLike, game: pyspiel.Game, seed: int | None = None) -> None:
        super().__init__()
        self.rules = rules_of(game)
        self.policy = as_policy(player, self.rules)
        self._random = np.random.default_rng(seed)
        self._draws = gives_probabilities(self.policy, self.rules)

    def step(self, state: pyspiel.State) -> int:
        """The action in a state.

        Raises:
            IllegalMove: the policy's choice is illegal; the message names it.
        """
        position = position_of(state)
        return position.check(action_of(self.policy, position, int(self._random.integers(SEEDS))))

    def restart_at(self, state: pyspiel.State) -> None:
        """Does nothing: the bot has no memory."""

    def provides_policy(self) -> bool:
        """True if the policy gives the probability of each action."""
        return self._draws

    def get_policy(self, state: pyspiel.State) -> list[tuple[int, float]]:
        """The probability of each legal action.

        Raises:
            ValueError: the policy does not give them; see `provides_policy`.
        """
        position = position_of(state)
        chances = self.policy.probabilities(position)
        if chances is None:
            raise ValueError(f"{self.policy} gives no probabilities: {position!r}")
        return [(action, float(chances[action])) for action in position.legal_actions]

    def step_with_policy(self, state: pyspiel.State) -> tuple[list[tuple[int, float]], int]:
        """`get_policy` and `step`."""
        return self.get_policy(state), self.step(state)


class BotPolicy(Policy):
    """A bot of OpenSpiel's as a policy, to play, rate and judge like any other.

    Args:
        bot: a `pyspiel.Bot`; or a function that makes a bot from a seed in [0, 2**31), called for each move. Bots that
            draw have an RNG of their own, so only with such a function is their move a pure function of position and
            seed. A bot that is made for one seat plays that seat only.
        game: the game of OpenSpiel's whose states the bot reads; a name or a game of ours stands for our game there.
            OpenSpiel's own "connect_four" and "tic_tac_toe" are faster, as they are C++.
        name: its name in tables.

    Raises:
        ValueError: the game is not one of ours (see `rules_of`).

    Example:
        >>> from tictac_env.arena import play_match
        >>> game = pyspiel.load_game("tic_tac_toe")
        >>> def search(seed):
        ...     return pyspiel.MCTSBot(game, pyspiel.RandomRolloutEvaluator(1, seed), 2.0, 100, 10, True, seed, False)
        >>> play_match(BotPolicy(search, game, "OpenSpiel"), "random", "TicTacToe-v0", games=10, seed=0).total.losses
        0
    """

    def __init__(
        self, bot: pyspiel.Bot | Callable[[int], pyspiel.Bot], game: pyspiel.Game | str | Game, name: str = ""
    ) -> None:
        self.game = load_game(game) if isinstance(game, (str, Game)) else game
        self.rules = rules_of(self.game)
        self._bot = bot
        self.name = name or type(bot).__name__

    @property
    def one_game_at_a_time(self) -> bool:
        """True for a bot, as it may remember its game."""
        return isinstance(self._bot, pyspiel.Bot)

    def act(self, position: Position, seed: int) -> int:
        state, bot = self._restarted(position, seed)
        return int(bot.step(state))

    def probabilities(self, position: Position) -> npt.NDArray[np.float64] | None:
        """The bot's own probabilities, float64 (num_actions,); None if it gives none."""
        state, bot = self._restarted(position, 0)
        if not bot.provides_policy():
            return None
        chances = np.zeros(self.rules.num_actions)
        for action, chance in bot.step_with_policy(state)[0]:
            chances[action] = chance
        return chances

    def _restarted(self, position: Position, seed: int) -> tuple[pyspiel.State, pyspiel.Bot]:
        """The state of a position, and the bot, restarted at it.

        Raises:
            ValueError: the game is over; some of OpenSpiel's bots would end the process.
        """
        if position.is_over:
            raise ValueError(f"the game is over, so there is no move to play: {position!r}")
        state = state_of(position, self.game)
        bot = self._bot if isinstance(self._bot, pyspiel.Bot) else self._bot(seed & 0x7FFFFFFF)
        try:
            bot.restart_at(state)
        except (pyspiel.SpielError, RuntimeError):  # most bots have no memory, and so no `restart_at`
            bot.restart()
        return state, bot


class SpielPolicy(spiel.Policy):  # type: ignore[misc]
    """A policy of ours for both players, for OpenSpiel's `exploitability`, `best_response` and the like.

    It plays as `tictac_env.arena.exploitability` judges it: by its own probabilities if it gives them, else as a fixed
    map with seeds derived from the positions. So both must give the same number.

    Args:
        game: the game of OpenSpiel's: one of ours, or its own tic-tac-toe or Connect Four.
        player: whatever `as_policy` accepts.
        seed: the seeds of a fixed map are derived from it and the position; in [0, 2**63).

    Raises:
        ValueError: the game is not one of ours (see `rules_of`), or there is no such policy.

    Example:
        >>> from open_spiel.python.algorithms.exploitability import exploitability
        >>> game = load_game("KInARow-v0:2x2-2")  # the first player wins with its second stone
        >>> round(exploitability(game, SpielPolicy(game, "minimax")), 9)
        0.0
    """

    def __init__(self, game: pyspiel.Game, player: PlayerLike, seed: int = 0) -> None:
        super().__init__(game, list(range(game.num_players())))
        self.rules = rules_of(game)
        self.policy = as_policy(player, self.rules)
        self.seed = whole("seed", seed, SEEDS - 1)
        self._draws = gives_probabilities(self.policy, self.rules)
        self._cache: dict[Position, dict[int, float]] = {}

    def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
        """The probability of each legal action in an unfinished state.

        Raises:
            ValueError, IllegalMove: the policy's answer is not valid.
        """
        position = position_of(state)
        if position not in self._cache:
            batch = PositionBatch.of([position])
            legal = batch.action_masks() != 0
            chances = action_probabilities(self.policy, batch, legal, self.seed, self._draws)[0]
            self._cache[position] = {int(action): float(chances[action]) for action in np.flatnonzero(legal[0])}
        return dict(self._cache[position])


def openspiel_bot(text: str, game: Game, reading: Reading) -> BotPolicy:
    """The bot at "module:name" or "file.py:name": a `pyspiel.Bot`, or a function that makes a bot from a seed.

    It gets states of OpenSpiel's own "tic_tac_toe" or "connect_four" (of any size); of other games, states of ours.

    Raises:
        ValueError: the object is neither a bot nor a function.
        DependencyNotInstalled: OpenSpiel is not installed.
    """
    bot = object_named(text)
    if isinstance(bot, type) or not (isinstance(bot, pyspiel.Bot) or callable(bot)):
        raise ValueError(f"{text!r} is neither an OpenSpiel bot nor a function that makes one from a seed: {bot!r}")
    if isinstance(game, KInARow) and game.gravity:
        sizes = {"rows": game.rows, "columns": game.cols, "x_in_row": game.connect}
        spiel_game = pyspiel.load_game("connect_four", sizes)
    elif isinstance(game, KInARow) and (game.rows, game.cols, game.connect) == (3, 3, 3):
        spiel_game = pyspiel.load_game("tic_tac_toe")
    else:
        spiel_game = load_game(game)
    return BotPolicy(bot, spiel_game, text.rpartition(":")[2])


register_games()
