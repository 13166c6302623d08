"""A player from anything that names or is one: a policy's name, a file, a "module:name", an object; and who it is."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import math
import operator
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from tictac_env.checks import number, one_of
from tictac_env.games import Game, describe_game, did_you_mean, game_name, game_of, get_game
from tictac_env.lazy import import_named
from tictac_env.observation import OBSERVATION_TYPES, observation_type
from tictac_env.policies.adapters import ModelPolicy
from tictac_env.policies.names import POLICIES, as_policy, named_policy
from tictac_env.policies.policy import Policy
from tictac_env.storage import check_regular, sha256

PLANES_LAST = "planes-last"
"""Flattened planes in PettingZoo's order: both planes of a cell side by side."""
ACTIVATIONS = ("relu", "tanh", "elu", "leaky_relu", "silu", "gelu", "sigmoid")
"""The activation functions that weights may be read with: the names of `torch.nn.functional`."""


@dataclass(frozen=True)
class Reading:
    """How to read a player, where it does not say so itself.

    Args:
        observation: what a function or a network sees: a name of `OBSERVATION_TYPES`; of a network whose input is flat
            also "planes-last". None for "planes" of functions, and for what fits its input of a network.
        activation: between the layers of a network of which only the weights are known; None for what CleanRL uses.
        time_limit: how many seconds a program may take for a move, its start included, and a network in an ONNX file
            for up to 64.

    Raises:
        ValueError: one of them is not known, or out of its range.

    Example:
        >>> from tictac_env.policies import Reading
        >>> Reading(observation="board", time_limit=2.0).observation
        'board'
    """

    observation: str | None = None
    activation: str | None = None
    time_limit: float = 10.0

    def __post_init__(self) -> None:
        if self.observation is not None:
            one_of("observation", self.observation, (*OBSERVATION_TYPES, PLANES_LAST))
        if self.activation is not None:
            one_of("activation", self.activation, ACTIVATIONS)
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


def object_named(text: str) -> Any:
    """What "module:name" or "file.py:name" names.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: there is no such module; the file cannot be run; or there is nothing of that name.
        ModuleNotFoundError: the module is there, and what it imports is not.
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


def last_callable(path: Path) -> Any:
    """The last name in a Python file that can be called: by this rule Kaggle finds the agent in a submission.

    The order is that in which names were first bound; imported ones count.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it cannot be run, or has nothing that can be called.
    """
    found = [value for value in vars(run_file(path)).values() if callable(value)]
    if not found:
        raise ValueError(f"{path} has nothing that can be called, so it is no submission")
    return found[-1]


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
        where = getattr(error, "lineno", None) or _line_in(error, str(target))
        at = f", line {where}" if where else ""
        raise ValueError(f"{path} cannot be run as Python: {type(error).__name__}: {error}{at}") from error
    return module


def places(function: Any, most: int) -> int:
    """How many arguments, at most so many, a function can be given by their places."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some functions written in C do not say
        return most
    if any(one.kind is one.VAR_POSITIONAL for one in parameters):
        return most
    return min(most, sum(one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) for one in parameters))


def _line_in(error: BaseException, file: str) -> int | None:
    """The last line of `file` on an error's way."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


AGENT_FILES = "tictac_agents.agent_files:load_agent"
"""What reads the files of agents; imported when there is one to read."""
RECORDED_GAME = "tictac_agents.agent_files:recorded_game"
"""What reads from a file which game its agent plays."""
AT_AN_ADDRESS = "tictac_env.text_players.text_policy:TextPolicy.at"
"""What makes a policy of the address of a language model; imported when there is one."""
ADDRESSES = ("http://", "https://")
"""How the address of a language model begins."""
SUFFIXES = (".npz", ".zip")
"""How the files of agents end."""
READERS: dict[str, str] = {
    ".onnx": "tictac_env.policies.networks:read",
    **dict.fromkeys((".pt", ".pth", ".cleanrl_model"), "tictac_agents.deep.sb3_files:read"),
}
"""What reads the files of other people's networks, by how they end."""
FORMS: dict[str, str] = {
    "kaggle": "tictac_env.policies.third_party:kaggle_agent",
    "openspiel": "tictac_env.policies.third_party:openspiel_bot",
    "pettingzoo": "tictac_env.policies.third_party:pettingzoo_agent",
    "program": "tictac_env.policies.program:from_text",
}
"""What reads the players that are named with their form before a colon, such as "program:./bot"."""
ACCEPTED = (
    "a policy's name (random, rule, minimax:4, mcts:1000, perfect:0.1, level:5, ...), an agent's file (.npz), a model "
    "of Stable-Baselines3 (.zip), weights of PyTorch (.pt, .pth, .cleanrl_model), a network (.onnx), "
    '"module:name" or "file.py:name" of a function or policy, a Kaggle submission ("kaggle:file.py"), a PettingZoo '
    'agent ("pettingzoo:file.py:name"), a bot of OpenSpiel\'s ("openspiel:file.py:name"), a program ("program:./bot '
    "--depth 4\"), or a language model's address "
    "(http://localhost:8000/v1#model)"
)
"""What a string may be that names a player, in words."""


@dataclass(frozen=True)
class Player:
    """A policy, and who it is, as records of results need it.

    Attributes:
        policy: what plays.
        name: what tables call it: the policy's own name, or the name of its file without the suffix.
        kind: what it was made from: "name", "file", "import" (a "module:name"), "address", "object", or a form such as
            "program".
        source: the name, the path, the "module:name" or the command; of an object its class.
        agent: the class of what plays, such as "MCTS" or "QLearning".
        settings: what it was made with, as far as it says so and JSON can hold it.
        checkpoint_sha256: the hash of the file's content in hexadecimal, None where there is no file, or a command.
        budget: how much it searches a move, in words; "not stated" where it does not say.

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
    """A player from anything that names or is one.

    Args:
        player: one of these:

            - the name of a policy, such as "mcts:1000" (`make_policy`);
            - the path of a file of which no code is run: an agent of `tictac_agents` (.npz or .zip); a model that
              Stable-Baselines3 or sb3-contrib saved (.zip); weights that PyTorch saved (.pt, .pth, .cleanrl_model); a
              network (.onnx). Of networks without masks the illegal actions are left out where that is possible (see
              `tictac_agents.Snapshot`);
            - "module:name" or "file.py:name", the name of a function or of anything else that plays in a module that
              can be imported, or in a Python file. A subclass of `Policy` is made as `make_policy` makes one without
              an argument;
            - "kaggle:file.py", "pettingzoo:module:name", "openspiel:module:name" or "program:command": other people's
              players of these forms; also "file.py" alone where its last function has Kaggle's parameters;
            - the address of a language model, "http://localhost:8000/v1#model", which is asked for moves
              (`tictac_env.text_players`);
            - a policy, a model, a function: whatever `as_policy` accepts; or a `Player`, which is returned.
        game: the game it is to play: a name or a rule book; None for its own (`own_game`), else tic-tac-toe.
        reading: how to read it, where it does not say so itself.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: there is no policy of that name, or no such module or name in it; the file is damaged, holds no
            agent, or one of another game; `player` is none of these; or `reading` has what is not asked for here. The
            message names it.
        DependencyNotInstalled: the file needs Stable-Baselines3, PyTorch or ONNX Runtime, which is not installed.

    Example:
        >>> load_player("mcts:50", "ConnectFour-v0").budget
        '50 simulations; one-move rule in rollouts'
        >>> load_player("tictac_env.policies:RulePolicy").agent
        'RulePolicy'
    """
    if isinstance(player, Player):
        return player
    rules, how = game_for(game, player), reading or Reading()
    _refuse_unused(player, how)
    if not isinstance(player, (str, os.PathLike)):
        policy = as_policy(player, rules, how.of_function)
        return _described(policy, str(policy), "object", _class_of(getattr(policy, "function", player)))
    text = os.fspath(player)
    if isinstance(player, str) and text.startswith(ADDRESSES):
        return _from_address(text)
    form, colon, rest = text.partition(":")
    if isinstance(player, str) and colon and form in FORMS:
        return _of_form(form, rest, rules, how)
    if isinstance(player, str) and _is_import(text):
        return _imported(text, rules, how)
    if isinstance(player, os.PathLike) or _is_path(text):
        return _from_file(text, rules, how)
    policy = _named(text, rules)
    return _described(policy, str(policy), "name", text)


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
    if isinstance(player, os.PathLike) or (isinstance(player, str) and _is_path(player) and not _is_import(player)):
        _check_file(os.fspath(player))
        found: Game | None = _called(RECORDED_GAME)(Path(player)) if Path(player).suffix in SUFFIXES else None
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


def _called(text: str) -> Any:
    """What a "module:name" names."""
    module, _, name = text.partition(":")
    return operator.attrgetter(name)(importlib.import_module(module))


def is_name(text: str) -> bool:
    """Whether a string can only be a policy's name, known or not: it has no other form that `load_player` reads."""
    other = text.startswith(ADDRESSES) or text.partition(":")[0] in FORMS
    return not (other or _is_import(text) or _is_path(text))


def _is_path(text: str) -> bool:
    """Whether a string is meant as a path; the names of policies and of forms come first."""
    if text.partition(":")[0] in {*POLICIES, *FORMS} or text.startswith(ADDRESSES):
        return False
    return text.endswith((*SUFFIXES, *READERS, ".py")) or os.sep in text or Path(text).is_file()


def _is_import(text: str) -> bool:
    """Whether a string is "module:name" or "file.py:name"."""
    place, colon, name = text.rpartition(":")
    if place.partition(":")[0] in {*POLICIES, *FORMS} or not (colon and name.isidentifier()):
        return False
    return place.endswith(".py") or all(part.isidentifier() for part in place.split("."))


def _from_address(address: str) -> Player:
    policy: Policy = _called(AT_AN_ADDRESS)(address)
    return _described(policy, str(policy), "address", address)


def _refuse_unused(player: Any, reading: Reading) -> None:
    """Refuses what has no effect, before anybody believes in it.

    Raises:
        ValueError: the player says itself how it is to be read.
    """
    text = os.fspath(player) if isinstance(player, (str, os.PathLike)) else ""
    suffix = Path(text).suffix
    sees = not text or suffix in READERS or _is_import(text)
    for name, used in (("observation", sees), ("activation", suffix in READERS and suffix != ".onnx")):
        if getattr(reading, name) is not None and not used:
            what = {"observation": "functions and networks", "activation": "weights of PyTorch"}[name]
            raise ValueError(f"{name} {getattr(reading, name)!r} is for {what} that do not say it, not for {text!r}")


def _from_file(source: str, game: Game, reading: Reading) -> Player:
    path = _check_file(source)
    try:
        digest = sha256(path)
    except OSError as error:
        raise ValueError(f"{source!r} cannot be read: {error.strerror}") from error
    settings: dict[str, Any] | None = None
    if path.suffix in SUFFIXES:
        agent, settings = _called(AGENT_FILES)(path, game)
        policy = as_policy(agent, game)
    elif path.suffix in READERS:
        policy, settings = _called(READERS[path.suffix])(path, game, reading)
    elif path.suffix == ".py":
        policy = _submission(path, game)
    else:
        known = ", ".join((*SUFFIXES, *READERS, ".py"))
        raise ValueError(
            f"{source!r} is a file, but ends in none of {known}, so it cannot be read; a program is named "
            f'"program:{source}". A player is {ACCEPTED}'
        )
    policy.name = path.stem
    return _described(policy, path.stem, "file", source, settings, digest)


def _check_file(source: str) -> Path:
    """The path of a file that may be read."""
    try:
        check_regular(source)
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {source!r}") from None
    except (OSError, ValueError) as error:
        raise ValueError(f"{source!r} cannot be read: {error}") from error
    return Path(source)


def _submission(path: Path, game: Game) -> Policy:
    """The agent of a Kaggle submission that is named by its file alone."""
    from tictac_env.policies.third_party import KaggleAgent, looks_like_agent

    agent = last_callable(path)
    if not looks_like_agent(agent):
        name = getattr(agent, "__name__", "NAME")
        raise ValueError(
            f"{path} does not say how it plays: its last function, {name!r}, has not the parameters (observation, "
            f'configuration) of a Kaggle agent; give "{path}:{name}" for a function (observation, mask) -> action, or '
            f'"kaggle:{path}"'
        )
    return KaggleAgent(agent, game)


def _of_form(form: str, text: str, game: Game, reading: Reading) -> Player:
    """A player that is named with its form."""
    policy: Policy = _called(FORMS[form])(text, game, reading)
    file = Path(text.rpartition(":")[0] if form in ("openspiel", "pettingzoo") else text)
    digest = sha256(file) if file.suffix == ".py" and file.is_file() else None
    if form == "kaggle":
        policy.name = file.stem
    return _described(policy, str(policy), form, text, digest=digest)


def _named(name: str, game: Game) -> Policy:
    try:
        return named_policy(name, game)
    except ValueError as error:
        if name.partition(":")[0] in POLICIES:
            raise
        tried = f'{error} (nor is it the path of a file, or a "module:name")'
        raise ValueError(f"{tried}. A player is {ACCEPTED}") from None


def _imported(text: str, game: Game, reading: Reading) -> Player:
    found = object_named(text)
    obs_type = observation_type(reading.of_function).name
    if inspect.isclass(found) and issubclass(found, Policy):
        policy = found.from_name(game, "")
    else:
        policy = as_policy(found, game, obs_type)
    file = Path(text.rpartition(":")[0])
    return _described(policy, str(policy), "import", text, digest=sha256(file) if file.suffix == ".py" else None)


def _described(
    policy: Policy, name: str, kind: str, source: str, settings: dict[str, Any] | None = None, digest: str | None = None
) -> Player:
    agent: Any = policy.model if isinstance(policy, ModelPolicy) else policy
    known = settings_of(agent) if settings is None else settings
    return Player(policy, name, kind, source, type(agent).__name__, known, digest, policy.budget or "not stated")


def settings_of(agent: Any) -> dict[str, Any]:
    """What an agent was made with, as JSON can hold it: its `settings`, or those arguments of its constructor that it
    keeps in attributes of the same name.
    """
    to_dict = getattr(getattr(agent, "settings", None), "to_dict", None)
    if callable(to_dict):
        return dict(json.loads(json.dumps(to_dict())))
    try:
        names = list(inspect.signature(type(agent)).parameters)
    except (TypeError, ValueError):  # some classes written in C do not say
        names = []
    found = {}
    for name in names:
        with contextlib.suppress(AttributeError, TypeError, ValueError):
            value = getattr(agent, name)
            found[name] = json.loads(json.dumps(describe_game(value) if isinstance(value, Game) else value))
    return found


def _class_of(thing: Any) -> str:
    """Where a function or the class of an object is defined, as in "bots:Bot"."""
    named = thing if inspect.isroutine(thing) else type(thing)
    return f"{named.__module__}:{named.__qualname__}"
