"""Policies of ours as bots of OpenSpiel's, and its bots as policies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyspiel

from tictac_env.arena.verdicts import gives_probabilities
from tictac_env.games import Game
from tictac_env.openspiel.spiel_games import load_game
from tictac_env.openspiel.states import position_of, rules_of, state_of
from tictac_env.policies import Policy, as_policy
from tictac_env.policies.policy import action_of
from tictac_env.position import Position

SEEDS = 2**63


class PolicyBot(pyspiel.Bot):  # type: ignore[misc]
    """Anything that plays here, as a `pyspiel.Bot` for either side.

    It looks at the state alone, so it needs no telling what was played, and one bot may play both sides.

    Args:
        player: whatever `as_policy` accepts.
        game: the game of OpenSpiel's that it is to play: one of ours, or its own tic-tac-toe or Connect Four.
        seed: of its randomness, a whole number of at least 0; None for fresh entropy.

    Raises:
        ValueError: we do not play the game, or there is no such policy.

    Example:
        >>> game = pyspiel.load_game("connect_four")
        >>> bots = [PolicyBot("rule", game, seed=0), PolicyBot("random", game, seed=1)]
        >>> pyspiel.evaluate_bots(game.new_initial_state(), bots, 0)
        [1.0, -1.0]
    """

    def __init__(self, player: Any, game: Any, seed: int | None = None) -> None:
        super().__init__()
        self.rules = rules_of(game)
        self.policy = as_policy(player, self.rules)
        self._random = np.random.default_rng(seed)
        self._draws = gives_probabilities(self.policy, self.rules)

    def step(self, state: Any) -> int:
        """The action in a state.

        Raises:
            IllegalMove: the policy's choice is illegal; the message names it.
        """
        position = position_of(state)
        return position.check(action_of(self.policy, position, int(self._random.integers(SEEDS))))

    def restart_at(self, state: Any) -> None:
        """Nothing is to be done: it has no memory."""

    def provides_policy(self) -> bool:
        """Whether the policy says with which chance it plays what."""
        return self._draws

    def get_policy(self, state: Any) -> list[tuple[int, float]]:
        """The chance of each legal action.

        Raises:
            ValueError: the policy does not say; see `provides_policy`.
        """
        position = position_of(state)
        chances = self.policy.probabilities(position)
        if chances is None:
            raise ValueError(f"{self.policy} gives no probabilities: {position!r}")
        return [(action, float(chances[action])) for action in position.legal_actions]

    def step_with_policy(self, state: Any) -> tuple[list[tuple[int, float]], int]:
        """`get_policy` and `step`."""
        return self.get_policy(state), self.step(state)


class BotPolicy(Policy):
    """A bot of OpenSpiel's as a policy, which then plays, is rated and is judged like any other.

    Args:
        bot: a `pyspiel.Bot`; or a function that makes one from a seed in [0, 2**31), anew for each move. Only with the
            latter is the policy a pure function of position and seed, unless the bot is one by itself: OpenSpiel's bots
            draw from randomness of their own. A bot that is made for one seat plays that seat only.
        game: the game of OpenSpiel's whose states the bot reads: by default ours of that name, else "connect_four" or
            "tic_tac_toe", which is faster as it is C++.
        name: what tables call it.

    Raises:
        ValueError: we do not play the game.

    Example:
        >>> from tictac_env.arena import play_match
        >>> game = pyspiel.load_game("tic_tac_toe")
        >>> def search(seed):
        ...     return pyspiel.MCTSBot(game, pyspiel.RandomRolloutEvaluator(1, seed), 2.0, 100, 10, True, seed, False)
        >>> play_match(BotPolicy(search, game, "OpenSpiel"), "random", "TicTacToe-v0", games=10, seed=0).total.losses
        0
    """

    def __init__(self, bot: Any | Callable[[int], Any], game: Any | str | Game, name: str = "") -> None:
        self.game = load_game(game) if isinstance(game, (str, Game)) else game
        self.rules = rules_of(self.game)
        self._bot = bot
        self.name = name or type(bot).__name__

    @property
    def one_game_at_a_time(self) -> bool:
        """As a bot may remember its game."""
        return isinstance(self._bot, pyspiel.Bot)

    def act(self, position: Position, seed: int) -> int:
        state, bot = self._placed(position, seed)
        return int(bot.step(state))

    def probabilities(self, position: Position) -> npt.NDArray[np.float64] | None:
        """The bot's own where it gives them, float64 (num_actions,), else None."""
        state, bot = self._placed(position, 0)
        if not bot.provides_policy():
            return None
        chances = np.zeros(self.rules.num_actions)
        for action, chance in bot.step_with_policy(state)[0]:
            chances[action] = chance
        return chances

    def _placed(self, position: Position, seed: int) -> tuple[Any, Any]:
        """The state of a position, and the bot, told of it.

        Raises:
            ValueError: the game is over: some bots of OpenSpiel's then end the process.
        """
        if position.is_over:
            raise ValueError(f"the game is over, there is nothing to play: {position!r}")
        state = state_of(position, self.game)
        bot = self._bot if isinstance(self._bot, pyspiel.Bot) else self._bot(seed & 0x7FFFFFFF)
        try:
            bot.restart_at(state)
        except (pyspiel.SpielError, RuntimeError):  # most bots have no memory, and so no `restart_at`
            bot.restart()
        return state, bot
