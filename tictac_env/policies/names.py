"""Policies by name, and anything that plays as a policy."""

from __future__ import annotations

import importlib
import os
from typing import Any

from tictac_env.games import Game, did_you_mean, game_name, shown
from tictac_env.policies.adapters import adapted
from tictac_env.policies.policy import Policy
from tictac_env.policies.pool import Mixture

POLICIES: dict[str, str] = {
    "random": "tictac_env.policies.heuristics:RandomPolicy",
    "rule": "tictac_env.policies.heuristics:RulePolicy",
    "minimax": "tictac_env.solver.minimax:Minimax",
    "minimax-first": "tictac_env.solver.minimax:MinimaxFirst",
    "mcts": "tictac_agents.mcts:MCTS",
    "ntuple": "tictac_agents.ntuple.network:NTupleNetwork",
    "level": "tictac_env.policies.levels:Level",
    "perfect": "tictac_env.solver.perfect:Perfect",
    "human": "tictac_env.policies.human:HumanPolicy",
}
"""Where each named policy lives; it is imported when it is first used."""

REMOVED = {"network": "it was removed in 1.1.0 (use 'ntuple')"}
"""The names of policies of earlier versions, and what to use instead."""


def make_policy(name: str | os.PathLike[str], game: str | Game | None = None) -> Policy:
    """The policy of a name or a file, for `game`.

    Args:
        name: "random", "rule", "minimax:4", ...: a name of `POLICIES`, for some with an argument after a colon; or the
            file of an agent, such as "q.npz", or any other string that `load_player` accepts. Some of these run code:
            take a name that comes from elsewhere by `named_policy`.
        game: a game's name or rule book; None for the one that the agent in the file plays, else tic-tac-toe.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: there is no policy or game of that name, the argument is not one the policy knows, or the file
            holds no agent of the game.

    Example:
        >>> from tictac_env import Position, make_policy
        >>> make_policy("rule", "ConnectFour-v0").act(Position.from_moves("ConnectFour-v0", "112233"), seed=0)
        3
    """
    from tictac_env.policies.loading import load_player  # which knows the names of this module

    if not isinstance(name, (str, os.PathLike)):
        raise ValueError(f"a policy's name must be a string, not {shown(name)}")
    return load_player(name, game).policy


def named_policy(name: str, game: Game) -> Policy:
    """The policy called `name`, and no file, module, program or address: for names of saved files and of requests.

    Raises:
        ValueError: no name of `POLICIES` is before the colon, or the argument after it is not one the policy knows.

    Example:
        >>> from tictac_env.games import get_game
        >>> from tictac_env.policies import named_policy
        >>> str(named_policy("mcts:50", get_game("ConnectFour-v0")))
        'mcts:50'
    """
    check_name(name)
    base, _, argument = name.partition(":")
    module, _, attribute = POLICIES[base].partition(":")
    cls: type[Policy] = getattr(importlib.import_module(module), attribute)
    return cls.from_name(game, argument)


def check_name(name: str) -> None:
    """Raises a ValueError, which has the near names, if no policy has this name (its argument is not looked at)."""
    base = str(name).partition(":")[0]
    if not isinstance(name, str) or base not in POLICIES:
        raise ValueError(f"no policy is called {shown(name)}; {REMOVED.get(base) or did_you_mean(base, POLICIES)}")


def check_player(player: Any) -> None:
    """Checks what can be checked of a player of which the game is not known yet.

    Raises:
        ValueError: it is nothing that plays, or a name that no policy has.
    """
    from tictac_env.policies.loading import is_name

    if isinstance(player, str):
        if is_name(player):
            check_name(player)
    elif not isinstance(player, (Policy, os.PathLike)) and adapted(player) is None:
        raise _no_player(player)


def as_policy(player: Any, game: Game, obs_type: str = "planes") -> Policy:
    """Anything that plays, as a policy: a name, a file, a policy, a model with `predict`, or a function `(observation,
    mask) -> action`.

    Functions and models with an attribute `batched` that is True are asked for many positions at once; see
    `BatchedPolicy` and `ModelPolicy`.

    Args:
        player: the player. A function with a parameter `seed` gets the seed too. Strings are read by `make_policy`.
        game: for which game.
        obs_type: which observation a function gets, also one of a mixture's.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: `player` (or one of a mixture's policies) is not one of these, or an unknown name; or it has learned
            another game.

    Example:
        >>> from tictac_env import Position
        >>> from tictac_env.games import get_game
        >>> from tictac_env.policies import as_policy
        >>> last = as_policy(lambda observation, mask: int(mask.nonzero()[0][-1]), get_game("TicTacToe-v0"))
        >>> last.act(Position.start("TicTacToe-v0"), seed=0)
        8
    """
    from tictac_env.policies.loading import own_game  # which knows the names of this module

    if isinstance(player, (str, os.PathLike)):
        return make_policy(player, game)
    if hasattr(getattr(player, "model", player), "save") and (own := own_game(player)) not in (None, game):
        learned, wanted = (game_name(one) or repr(one) for one in (own, game))
        who = player if isinstance(player, Policy) else type(player).__name__
        raise ValueError(f'{who} has learned {learned}, not {wanted}; what fits it is game="{learned}"')
    if isinstance(player, Mixture):
        return player.seeing(game, obs_type)
    if isinstance(player, Policy):
        return player
    policy = adapted(player, obs_type)
    if policy is None:
        raise _no_player(player)
    return policy


def _no_player(thing: Any) -> ValueError:
    """The error for what does not play."""
    if isinstance(thing, type):
        return ValueError(f"{thing!r} does not play: it is a class; give an instance, such as {thing.__name__}(...)")
    return ValueError(
        f"an object of type {type(thing).__name__} does not play: give a policy's name ({', '.join(POLICIES)}), an "
        "agent's file, a Policy, a model with `predict`, or a function, such as lambda observation, mask: ...; "
        f"not {shown(thing)}"
    )
