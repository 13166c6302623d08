"""Somebody else's environment in the words of ours: what is asked of it, and how each kind of interface answers."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from tictac_env.games import shown

Rewards = tuple[float | None, float | None]
"""All that the first and the second player have been paid in a game; None where it is not told."""


class OpponentUnused(Exception):
    """An environment has not asked the opponent it was given."""


class GameGoesOn(Exception):
    """An environment has asked its opponent for a move, where the game should be over."""


class Peer(ABC):
    """One board of somebody else's environment, played game by game. Subclass it for an interface of your own.

    Seats are 0 for the side that moves first and 1 for the other; actions are the environment's own.

    Attributes:
        name: what reports call it.

    Example:
        >>> from tictac_env import tictactoe_v0
        >>> from tictac_env.arena.conformance import Peer, as_peer
        >>> isinstance(as_peer(tictactoe_v0.env()), Peer)
        True
    """

    name: str = ""

    @abstractmethod
    def reset(self, line: Sequence[int]) -> None:
        """Begins a game in which these actions will be played, for environments that answer by themselves."""

    @abstractmethod
    def play(self, action: int) -> None:
        """Plays an action for the side to move.

        Raises:
            Exception: of any kind: the environment refuses it.
        """

    @property
    @abstractmethod
    def over(self) -> bool:
        """Whether the game has ended."""

    @property
    @abstractmethod
    def rewards(self) -> Rewards:
        """What both sides have been paid so far, as they see it."""

    @property
    def ready(self) -> bool:
        """Whether the last action has been played; False while it waits for the next one."""
        return True

    @property
    def turn(self) -> int | None:
        """The seat to move, None if it is not told."""
        return None

    @property
    def legal_actions(self) -> frozenset[int] | None:
        """The legal actions of the side to move, None if they are not told."""
        return None

    def observe(self, seat: int) -> Any:
        """What a seat sees now, None if it is not told."""
        return None


def as_peer(env: Any) -> Peer:
    """An environment as a `Peer`.

    Args:
        env: a `Peer`; a PettingZoo AEC environment of two agents; a Gymnasium environment in which each step is one
            ply, for both sides in turn; a function or class with a parameter `opponent` that makes a Gymnasium
            environment which answers within `step`; a game of OpenSpiel; a functional environment with `init(key)` and
            `step(state, action)`, such as pgx's; or a function `(actions) -> dict` that says what the game stands at
            after them (`FunctionPeer`).

    Raises:
        ValueError: it is none of these.

    Example:
        >>> from tictac_env import tictactoe_v0
        >>> from tictac_env.arena.conformance import as_peer
        >>> peer = as_peer(tictactoe_v0.env())
        >>> peer.reset([4])
        >>> peer.play(4)
        >>> peer.turn, sorted(peer.legal_actions)
        (1, [0, 1, 2, 3, 5, 6, 7, 8])
    """
    from tictac_env.arena.conformance import functional_peers, gymnasium_peers, pettingzoo_peer

    if isinstance(env, Peer):
        return env
    if callable(env) and "opponent" in _parameters(env):
        return gymnasium_peers.AnsweringPeer(env)
    if hasattr(env, "possible_agents") and hasattr(env, "agent_iter"):
        return pettingzoo_peer.AECPeer(env)
    if hasattr(env, "new_initial_state"):
        return functional_peers.OpenSpielPeer(env)
    if hasattr(env, "init") and hasattr(env, "step"):
        return functional_peers.PgxPeer(env)
    if hasattr(env, "reset") and hasattr(env, "step"):
        return gymnasium_peers.TwoSidedPeer(env)
    if callable(env) and not inspect.isclass(env):
        return functional_peers.FunctionPeer(env)
    raise ValueError(
        f"{shown(env)} is no environment of a known kind: give an AEC or Gymnasium environment, a function with a "
        "parameter `opponent` that makes one, a game of OpenSpiel, an environment with init and step, a "
        "function from actions to a dict, or a Peer"
    )


def name_of(env: Any) -> str:
    """What a report calls an environment."""
    spec = getattr(env, "spec", None)
    named = getattr(spec, "id", None) or getattr(env, "__name__", None) or getattr(env, "id", None)
    if isinstance(named, str):
        return named
    own = getattr(env, "metadata", None)
    return str(own["name"]) if isinstance(own, dict) and "name" in own else type(env).__name__


def _parameters(env: Any) -> Sequence[str]:
    try:
        return list(inspect.signature(env).parameters)
    except (TypeError, ValueError):
        return []
