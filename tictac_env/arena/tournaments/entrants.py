"""Who enters a tournament: players under names of their own, told apart by what they are made of."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tictac_env.arena.tournaments.game_record import Entrant
from tictac_env.arena.tournaments.play import WARM_UP, first_errors, told
from tictac_env.games import Game, shown
from tictac_env.policies import Player, Policy, load_player
from tictac_env.policies.adapters import FunctionPolicy, ModelPolicy
from tictac_env.position import Position


def load_entrants(players: Mapping[str, Any] | Sequence[Any], game: Game) -> dict[Entrant, Player]:
    """The players of a tournament and who they are, in their order.

    Args:
        players: whatever `load_player` accepts, under names of your own or under the players' own.
        game: the game they are to play.

    Raises:
        ValueError: there are fewer than two, two have the same name, or one does not play the game.
        FileNotFoundError: one is a file that is not there.
    """
    entrants: dict[Entrant, Player] = {}
    for name, player in given_players(players):
        loaded = load_player(player, game)
        entrant = entrant_of(loaded, str(name) or (player if isinstance(player, str) and loaded.kind == "name" else ""))
        if entrant.name in {one.name for one in entrants}:
            raise ValueError(f"two players are called {entrant.name!r}; give a dict of players by names of your own")
        entrants[entrant] = loaded
    if len(entrants) < 2:
        raise ValueError(f"a tournament needs two players or more, not {list(players)}")
    return entrants


def given_players(players: Mapping[str, Any] | Sequence[Any]) -> list[tuple[str, Any]]:
    """The players with their names, "" for a player without.

    Raises:
        ValueError: it is neither a list nor a dict.
    """
    if isinstance(players, str) or not isinstance(players, (Mapping, Sequence)):
        raise ValueError(f"players must be a list of players, or a dict of them by name, not {shown(players)}")
    return list(players.items()) if isinstance(players, Mapping) else [("", player) for player in players]


def check_first_moves(sides: Mapping[Entrant, Policy], position: Position, limited: bool) -> None:
    """Asks each player once, within `WARM_UP` seconds if its time is `limited`, and refuses those that raise an error.

    Raises:
        ValueError: a player raised an error; the message names the player, the error and the position.
    """
    errors = first_errors(sides.values(), position, WARM_UP if limited else None)
    for (entrant, policy), error in zip(sides.items(), errors, strict=True):
        if error is None:
            continue
        code = getattr(getattr(policy, "function", None), "__code__", None)
        graded = code is not None and code.co_varnames[:2] == ("cells", "legal")
        hint = "; functions of (cells, legal) enter by `tictac grade --tournament`" if graded else ""
        raise ValueError(f"{entrant.name} fails at its first move, in {position!r}: {told(error)}{hint}") from error


def entrant_of(player: Player, name: str = "") -> Entrant:
    """Who a player is; `name` is what to call it, its own name unless given."""
    known = player.identity
    kept = {key: known[key] for key in ("kind", "source", "agent", "settings", "budget") if key in known}
    checkpoint = player.checkpoint_sha256 or content_hash(player.policy)
    if checkpoint:
        del kept["source"]  # the same player wherever its file or code lies: the hash tells
    return Entrant(name or player.name, json.dumps(kept, sort_keys=True), checkpoint)


def content_hash(policy: Any) -> str:
    """The SHA-256 hash, in hexadecimal, of what a policy that came from no file has learned, or of its source code.

    Found are what a `Learner` has learned, the parameters of a model of Stable-Baselines3, arrays in attributes, and
    the source of a function or of a user's own class. What these read elsewhere, such as the weights that a function
    finds in its module, is not seen: enter such a player under a new name when it has changed.

    Returns:
        The hash; "" where nothing of that kind is found, as for policies of this package that have learned nothing.
    """
    parts = list(_content(policy))
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest() if parts else ""


def _content(thing: Any) -> Iterator[bytes]:
    if isinstance(thing, ModelPolicy):
        yield from _content(thing.model)
    elif isinstance(thing, FunctionPolicy):
        yield from _content(thing.function)
    elif inspect.isroutine(thing):
        yield from _source(thing)
    elif callable(getattr(thing, "learned", None)):
        yield from _values(thing.learned())
    elif callable(getattr(thing, "get_parameters", None)):
        yield from _values(thing.get_parameters())
    else:
        yield from _source(type(thing))
        for name, value in sorted(getattr(thing, "__dict__", {}).items()):
            if isinstance(value, np.ndarray) and not value.dtype.hasobject:
                yield from _values({name: value})
            elif name in ("model", "policy") and value is not thing:  # what a wrapper wraps
                yield from _content(value)


def _values(values: Any) -> Iterator[bytes]:
    """The arrays, tensors and numbers in nested dicts, with their names."""
    if isinstance(values, Mapping):
        for name in sorted(values, key=str):
            yield str(name).encode()
            yield from _values(values[name])
    elif isinstance(values, (list, tuple)):
        for value in values:
            yield from _values(value)
    elif hasattr(values, "detach"):  # a tensor
        yield from _values(values.detach().cpu().numpy())
    elif isinstance(values, np.ndarray):
        yield f"{values.dtype.str}{values.shape}".encode()
        yield np.ascontiguousarray(values).tobytes()
    else:
        yield repr(values).encode()


def _source(thing: Any) -> Iterator[bytes]:
    """The source of a function or class, unless it is this package's, which its name and settings tell."""
    if str(getattr(thing, "__module__", "")).partition(".")[0] in ("tictac_env", "tictac_agents", "builtins"):
        return
    try:
        yield inspect.getsource(thing).encode()
    except (OSError, TypeError):  # typed in, or written in C
        return
