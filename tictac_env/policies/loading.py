"""A player from anything that names one or plays: a policy's name, a file, a "module:name", an object."""

from __future__ import annotations

import contextlib
import inspect
import json
import math
import os
import pkgutil
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from tictac_env.checks import number, one_of
from tictac_env.games import Game, describe_game, did_you_mean, game_name, game_of, get_game, shown
from tictac_env.lazy import AGENTS, import_named, of_agents
from tictac_env.observation import OBSERVATION_TYPES, observation_type
from tictac_env.policies.adapters import ModelPolicy, adapted, signature_of
from tictac_env.policies.policy import Policy
from tictac_env.storage import check_regular, sha256

POLICIES: dict[str, str] = {
    "random": "tictac_env.policies.heuristics:RandomPolicy",
    "rule": "tictac_env.policies.heuristics:RulePolicy",
    "minimax": "tictac_env.solver.players:Minimax",
    "minimax-first": "tictac_env.solver.players:MinimaxFirst",
    "mcts": AGENTS["mcts"],
    "ntuple": AGENTS["ntuple"],
    "level": "tictac_env.policies.pool:Level",
    "perfect": "tictac_env.solver.players:Perfect",
    "human": "tictac_env.policies.human:HumanPolicy",
}
"""The class of each named policy; it is imported when it is first used."""
REMOVED = {"network": "it was removed in 1.1.0 (use 'ntuple')"}
"""The names of policies of earlier versions, and what to use instead."""
SUFFIXES = (".npz", ".zip")
"""The ends of the names of agents' files."""
READERS: dict[str, str] = {
    ".onnx": "tictac_env.policies.third_party:onnx_network",
    ".py": "tictac_env.policies.third_party:submission",
}
"""The functions that read third-party files, by suffix: (path, game, reading) -> policy, settings."""
FORMS: dict[str, str] = {
    "kaggle": "tictac_env.policies.third_party:kaggle_agent",
    "openspiel": "tictac_env.policies.third_party:openspiel_bot",
    "pettingzoo": "tictac_env.policies.third_party:pettingzoo_agent",
    "program": "tictac_env.policies.third_party:program",
}
"""The functions that make the players named with a form, such as "program:./bot": (text, game, reading) -> policy."""
AT_AN_ADDRESS = "tictac_env.text_players.text_policy:TextPolicy.at"
"""Makes a policy of the address of a language model."""
ADDRESSES = ("http://", "https://")
ACCEPTED = (
    "a name (random, rule, minimax:4, mcts:1000, perfect:0.1, level:5, ...), an agent's file (.npz), "
    "a Stable-Baselines3 model (.zip), a network (.onnx), "
    '"module:name" or "file.py:name" of a function or policy, a Kaggle submission ("kaggle:file.py"), a PettingZoo '
    'agent ("pettingzoo:file.py:name"), an OpenSpiel bot ("openspiel:file.py:name"), a program ("program:./bot '
    "--depth 4\"), or a language model's address "
    "(http://localhost:8000/v1#model)"
)
"""Help text: the accepted player names."""
PLANES_LAST = "planes-last"
"""Flattened planes in PettingZoo's order: both planes of a cell side by side."""


def make_policy(name: str | os.PathLike[str], game: str | Game | None = None) -> Policy:
    """The policy of a name or a file, for `game`.

    Args:
        name: "random", "rule", "minimax:4", ...: a name of `POLICIES`, for some with an argument after a colon; or the
            file of an agent, such as "q.npz", or any other string that `load_player` accepts. Some of these run code:
            take a name from elsewhere by `named_policy`.
        game: a game's name or its rules; None for the one that the agent in the file plays, else tic-tac-toe.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: there is no policy or game of that name, the argument is not one the policy knows, or the file
            holds no agent of the game.

    Example:
        >>> from tictac_env import Position, make_policy
        >>> make_policy("rule", "ConnectFour-v0").act(Position.from_moves("ConnectFour-v0", "112233"), seed=0)
        3
    """
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
    base, _, argument = _check_name(name).partition(":")
    cls: type[Policy] = pkgutil.resolve_name(POLICIES[base])
    return cls.from_name(game, argument)


def as_policy(player: Any, game: Game, obs_type: str = "planes") -> Policy:
    """Anything that plays, as a policy: a name, a file, a policy, a model with `predict`, or a function `(observation,
    mask) -> action`.

    Functions and models with an attribute `batched` that is True are asked for many positions at once; see
    `BatchedPolicy` and `ModelPolicy`.

    Args:
        player: the player. A function with a parameter `seed` gets the seed too. Strings are read by `make_policy`.
        game: the game.
        obs_type: the observation that a function gets, also one of a mixture's.

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
    if isinstance(player, (str, os.PathLike)):
        return make_policy(player, game)
    if hasattr(getattr(player, "model", player), "save") and (own := own_game(player)) not in (None, game):
        learned, wanted = (game_name(one) or repr(one) for one in (own, game))
        who = player if isinstance(player, Policy) else type(player).__name__
        raise ValueError(f'{who} has learned {learned}, not {wanted}; what fits it is game="{learned}"')
    if isinstance(player, Policy):
        return player.seeing(game, obs_type)
    return adapted(player, obs_type) or _refuse(player)


def check_player(player: Any) -> None:
    """Checks what can be checked of a player before the game is known.

    Raises:
        ValueError: it does not play, or no policy has this name.
    """
    if isinstance(player, str):
        if is_name(player):
            _check_name(player)
    elif not isinstance(player, (Policy, os.PathLike)) and adapted(player) is None:
        _refuse(player)


def _check_name(name: str) -> str:
    base = str(name).partition(":")[0]
    if not isinstance(name, str) or base not in POLICIES:
        raise ValueError(f"no policy is called {shown(name)}; {REMOVED.get(base) or did_you_mean(base, POLICIES)}")
    return name


def _refuse(thing: Any) -> Any:
    if isinstance(thing, type):
        raise ValueError(f"{thing!r} does not play: it is a class; give an instance, such as {thing.__name__}(...)")
    raise ValueError(
        f"an object of type {type(thing).__name__} does not play: give a policy's name ({', '.join(POLICIES)}), an "
        "agent's file, a Policy, a model with `predict`, or a function, such as lambda observation, mask: ...; "
        f"not {shown(thing)}"
    )


@dataclass(frozen=True)
class Reading:
    """Options for loading a third-party player that does not say them itself.

    Args:
        observation: the observation of a function or a network: a name of `OBSERVATION_TYPES`; of a network whose input
            is flat also "planes-last". None for "planes" of functions, and for what fits its input of a network.
        time_limit: the seconds that a program has for a move, its start included, and a network in an ONNX file for up
            to 64.

    Raises:
        ValueError: one of them is unknown, or out of its range.

    Example:
        >>> from tictac_env.policies import Reading
        >>> Reading(observation="board", time_limit=2.0).observation
        'board'
    """

    observation: str | None = None
    time_limit: float = 10.0

    def __post_init__(self) -> None:
        if self.observation is not None:
            one_of("observation", self.observation, (*OBSERVATION_TYPES, PLANES_LAST))
        if number("time_limit", self.time_limit, 0, math.inf) in (0, math.inf):
            raise ValueError(f"time_limit must be a finite number of seconds above 0, not {self.time_limit}")

    @property
    def of_function(self) -> str:
        """The observation type of a function.

        Raises:
            ValueError: it is one of networks only.
        """
        if self.observation == PLANES_LAST:
            raise ValueError(f'observation "{PLANES_LAST}" is for networks; an agent that sees them: "pettingzoo:..."')
        return self.observation or "planes"


@dataclass(frozen=True)
class Player:
    """A policy with its identity, as records of results need it.

    Attributes:
        policy: what plays.
        name: the name in tables: the policy's own name, or the name of its file without the suffix.
        kind: what it was made from: "name", "file", "import" (a "module:name"), "address", "object", or a form such as
            "program".
        source: the name, the path, the "module:name" or the command; of an object its class.
        agent: the class of what plays, such as "MCTS" or "QLearning".
        settings: what it was made with, as far as it says so and JSON can hold it.
        checkpoint_sha256: the hash of the file's content in hexadecimal, None without a file, or of a command.
        budget: how much it searches a move, in words; "not stated" if it does not say.

    Example:
        >>> from tictac_env.policies import load_player
        >>> player = load_player("mcts:100", "TicTacToe-v0")
        >>> player.name, player.budget
        ('mcts:100', '100 simulations; one-move rule in rollouts')
    """

    policy: Policy
    name: str
    kind: str
    source: str
    agent: str
    settings: dict[str, Any]
    checkpoint_sha256: str | None
    budget: str

    @property
    def identity(self) -> dict[str, Any]:
        """All but the policy, as JSON can hold it."""
        return {name: value for name, value in vars(self).items() if name != "policy"}

    def __str__(self) -> str:
        return self.name


def load_player(player: Any, game: str | Game | None = None, reading: Reading | None = None) -> Player:
    """A player from anything that names one or plays.

    Args:
        player: one of these:

            - the name of a policy, such as "mcts:1000" (`make_policy`);
            - the path of a file of which no code is run: an agent of `tictac_agents` (.npz or .zip); a model that
              Stable-Baselines3 or sb3-contrib saved (.zip); a network (.onnx). Of networks without masks the illegal
              actions are left out if that is possible (see `tictac_agents.Snapshot`);
            - "module:name" or "file.py:name", the name of a function or of anything else that plays in a module that
              can be imported, or in a Python file. A subclass of `Policy` is made as `make_policy` makes one without
              an argument;
            - "kaggle:file.py", "pettingzoo:module:name", "openspiel:module:name" or "program:command": third-party
              players of these forms; also "file.py" alone if its last function has Kaggle's parameters;
            - the address of a language model, "http://localhost:8000/v1#model", which is asked for moves
              (`tictac_env.text_players`);
            - a policy, a model, a function: whatever `as_policy` accepts; or a `Player`, which is returned.
        game: the game it is to play: a name or the rules; None for its own (`own_game`), else tic-tac-toe.
        reading: options for a player that does not say them itself.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: there is no policy of that name, or no such module or name in it; the file is damaged, holds no
            agent, or one of another game; `player` is none of these; or `reading` has an option that the player does
            not need. The message names it.
        DependencyNotInstalled: the file needs Stable-Baselines3 or ONNX Runtime, which is not installed.

    Example:
        >>> load_player("mcts:50", "ConnectFour-v0").budget
        '50 simulations; one-move rule in rollouts'
        >>> load_player("tictac_env.policies:RulePolicy").agent
        'RulePolicy'
    """
    if isinstance(player, Player):
        return player
    rules, how = game_for(game, player), reading or Reading()
    kind = _kind_of(player)
    text = "" if kind == "object" else os.fspath(player)
    sees = kind in ("object", "import") or (kind == "file" and Path(text).suffix in READERS and text[-3:] != ".py")
    if how.observation is not None and not sees:  # without effect: refused, before anybody believes in it
        raise ValueError(f"observation {how.observation!r} is for functions and networks, not for {text!r}")
    if kind == "file":
        return _from_file(text, rules, how)
    if kind == "object":
        policy = as_policy(player, rules, how.of_function)
        playing = getattr(policy, "function", player)
        named = playing if inspect.isroutine(playing) else type(playing)
        text = f"{named.__module__}:{named.__qualname__}"
    elif kind == "address":
        policy = pkgutil.resolve_name(AT_AN_ADDRESS)(text)
    elif kind == "name":
        policy = _named(text, rules)
    elif kind == "import":
        found = object_named(text)
        obs_type = observation_type(how.of_function).name
        made = inspect.isclass(found) and issubclass(found, Policy)
        policy = found.from_name(rules, "") if made else as_policy(found, rules, obs_type)
    else:
        text = text.partition(":")[2]
        policy = pkgutil.resolve_name(FORMS[kind])(text, rules, how)
    file = Path(text.rpartition(":")[0] if kind in ("import", "openspiel", "pettingzoo") else text)
    is_code = kind in ("import", *FORMS) and file.suffix == ".py" and file.is_file()
    return _described(policy, kind, text, digest=sha256(file) if is_code else None)


def own_game(player: Any) -> Game | None:
    """The game that an agent, or the file of one, says it plays; None if it says none, and for all else that plays.

    Args:
        player: as `load_player` takes it. A model of Stable-Baselines3 plays the game of its environment.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no regular file, is damaged, or holds no agent.
        DependencyNotInstalled: the file needs Stable-Baselines3, which is not installed.

    Example:
        >>> from tictac_agents import QLearning
        >>> from tictac_env.policies import own_game
        >>> own_game(QLearning("TicTacToe-v0")).num_actions
        9
        >>> own_game("rule") is None
        True
    """
    if _kind_of(player) == "file":
        path = _check_file(os.fspath(player))
        found: Game | None = of_agents("game")(path) if path.suffix in SUFFIXES else None
        return found
    policy: Any = player.policy if isinstance(player, Player) else player
    agent: Any = getattr(policy, "model", policy)
    if isinstance(game := getattr(agent, "game", None), Game):
        return game
    with contextlib.suppress(AttributeError, IndexError, TypeError, ValueError):  # it says none, or it is "unknown"
        return game_of(agent.settings.game)
    with contextlib.suppress(AttributeError, IndexError, TypeError, OSError, EOFError):  # closed, or of others
        of_env = agent.env.get_attr("game")[0]
        return of_env if isinstance(of_env, Game) else None
    return None


def game_for(game: str | Game | None, *players: Any, default: str = "TicTacToe-v0") -> Game:
    """The game that players are to play: `game` if it is given, else their own (`own_game`), else `default`.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: there is no such game; the players' own are different ones; or a file is damaged.

    Example:
        >>> from tictac_agents import QLearning
        >>> from tictac_env.policies import game_for
        >>> game_for(None, "random", QLearning("ConnectFour-v0")).num_actions
        7
    """
    if game is not None:
        return get_game(game)
    own = dict.fromkeys(found for player in players if (found := own_game(player)) is not None)
    if len(own) > 1:
        names = " and ".join(game_name(one) or repr(one) for one in own)
        raise ValueError(f"the players play different games, {names}; say which by game=")
    return next(iter(own), None) or get_game(default)


def is_name(text: str) -> bool:
    """Whether a string can only be a policy's name, known or not: it has no other form that `load_player` reads."""
    return _kind_of(text) == "name"


def _kind_of(player: Any) -> str:
    """The `kind` of a player; names of policies and forms go before paths."""
    if isinstance(player, os.PathLike):
        return "file"
    if not isinstance(player, str):
        return "object"
    base, colon, _ = player.partition(":")
    if base in FORMS and colon:
        return base
    if player.startswith(ADDRESSES):
        return "address"
    if base in POLICIES or base in FORMS:
        return "name"
    place, colon, name = player.rpartition(":")
    is_module = place.endswith(".py") or all(part.isidentifier() for part in place.split("."))
    if colon and name.isidentifier() and is_module:
        return "import"
    is_path = player.endswith((*SUFFIXES, *READERS)) or os.sep in player or Path(player).is_file()
    return "file" if is_path else "name"


def _named(name: str, game: Game) -> Policy:
    try:
        return named_policy(name, game)
    except ValueError as error:
        if name.partition(":")[0] in POLICIES:
            raise
        tried = f'{error} (nor is it the path of a file, or a "module:name")'
        raise ValueError(f"{tried}. A player is {ACCEPTED}") from None


def _from_file(source: str, game: Game, reading: Reading) -> Player:
    path = _check_file(source)
    try:
        digest = sha256(path)
    except OSError as error:
        raise ValueError(f"{source!r} cannot be read: {error.strerror}") from error
    settings: dict[str, Any] | None
    if path.suffix in SUFFIXES:
        agent, settings = of_agents("load")(path, game)
        policy = as_policy(agent, game)
    elif path.suffix in READERS:
        policy, settings = pkgutil.resolve_name(READERS[path.suffix])(path, game, reading)
    else:
        known = ", ".join((*SUFFIXES, *READERS))
        raise ValueError(
            f"{source!r} is a file, but ends in none of {known}, so it cannot be read; a program is named "
            f'"program:{source}", and a network of PyTorch plays by a function that builds it, "file.py:name". A '
            f"player is {ACCEPTED}"
        )
    policy.name = path.stem
    return _described(policy, "file", source, settings, digest)


def _check_file(source: str) -> Path:
    try:
        check_regular(source)
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {source!r}") from None
    except (OSError, ValueError) as error:
        raise ValueError(f"{source!r} cannot be read: {error}") from error
    return Path(source)


def _described(
    policy: Policy, kind: str, source: str, settings: dict[str, Any] | None = None, digest: str | None = None
) -> Player:
    agent: Any = policy.model if isinstance(policy, ModelPolicy) else policy
    known = settings_of(agent) if settings is None else settings
    return Player(policy, str(policy), kind, source, type(agent).__name__, known, digest, policy.budget or "not stated")


def settings_of(agent: Any) -> dict[str, Any]:
    """The settings of an agent, as JSON can hold them: its `settings`, or those arguments of its constructor that it
    keeps in attributes of the same name.
    """
    to_dict = getattr(getattr(agent, "settings", None), "to_dict", None)
    if callable(to_dict):
        return dict(json.loads(json.dumps(to_dict())))
    found = {}
    signature = signature_of(type(agent))
    for name in signature.parameters if signature else ():
        with contextlib.suppress(AttributeError, TypeError, ValueError):
            value = getattr(agent, name)
            found[name] = json.loads(json.dumps(describe_game(value) if isinstance(value, Game) else value))
    return found


def object_named(text: str) -> Any:
    """The object that "module:name" or "file.py:name" names.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: there is no such module; the file cannot be run; or there is nothing of that name.
        ModuleNotFoundError: the module exists, but not one that it imports.
    """
    place, _, name = text.rpartition(":")
    if place.endswith(".py"):
        found = vars(run_file(Path(place)))
        if name not in found:
            own = [known for known in found if not known.startswith("_")]
            raise ValueError(f"{text!r}: the file {place} has no {name!r}; {did_you_mean(name, own)}")
        return found[name]
    if not (place and name):
        raise ValueError(f'{text!r} is neither "module:name" nor "file.py:name"')
    home = import_named(place, text)
    if not hasattr(home, name):
        raise ValueError(f"{text!r}: the module {place!r} has no {name!r}")
    return getattr(home, name)


def run_file(path: Path) -> ModuleType:
    """A Python file as a module. Modules beside it can be imported, at once and later.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no Python, or raises an error; the message names both.
    """
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    target = path.resolve()
    module = ModuleType(f"tictac_player_{target.stem}")
    module.__file__ = str(target)
    sys.modules[module.__name__] = module  # where dataclasses look for it
    if str(target.parent) not in sys.path:
        sys.path.append(str(target.parent))
    try:
        exec(compile(target.read_bytes(), str(target), "exec"), vars(module))
    except (Exception, SystemExit) as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(target)]
        where = getattr(error, "lineno", None) or (lines[-1] if lines else None)
        at = f", line {where}" if where else ""
        raise ValueError(f"{path} cannot be run as Python: {type(error).__name__}: {error}{at}") from error
    return module
