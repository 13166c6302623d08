"""Opponents: policies by name within the server's limits; and agents, from checkpoints, in training, or kept."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypedDict

from gymnasium.error import DependencyNotInstalled

from tictac_apps.web.insight import levels_in_words, own_solver
from tictac_apps.web.kept import KeptAgents
from tictac_apps.web.limits import ServerLimits
from tictac_apps.web.requests import Refused
from tictac_env.checks import parse_whole
from tictac_env.games import GAMES, Game, game_name
from tictac_env.games.registry import FAMILIES
from tictac_env.policies import POLICIES, Mixture, Policy, named_policy, own_game
from tictac_env.policies.loading import AGENT_FILES, load_player, policy_class
from tictac_env.policies.pool import level_settings
from tictac_env.solver.enumerate import SMALL_CELLS
from tictac_env.solver.players import Perfect

FILE, TRAINING, LEAGUE = FILES = "file:", "training:", "league:"
"""The prefixes of the names of checkpoints, of trainings and of kept agents."""
LOADED_AGENTS = 16
"""The number of agents that stay loaded."""
MAX_FILE_BYTES = 256 << 20


class MenuEntry(TypedDict):
    """An agent in a menu."""

    name: str
    shown: str


class OpponentMenu(TypedDict):
    """The opponents that the page offers."""

    opponents: list[MenuEntry]
    """The policies."""
    about: dict[str, str]
    """A sentence on each policy by the first part of its name."""
    league: list[MenuEntry]
    """The kept agents."""
    files: list[MenuEntry]
    """The checkpoints of the game, and those that do not name their game."""
    default: str
    """The name of the opponent that is chosen at first."""


class NamedOpponents:
    """Players by their names, as requests give them.

    A name is that of a policy ("rule", "mcts:400", "level:3"), "file:" and the name of a file in the folder of
    checkpoints, "training:" and the token of a training, or "league:" and the name of a kept agent. A name is never a
    path, and never imports a module.

    Args:
        limits: the server's.
        folder: the folder of checkpoints; None for none.
        training_file: returns the file of the training with a token, or raises `Refused`; None if the server does not
            train.
        games: the games that the server offers, which do not count as a size of their own.
        kept_agents: the agents that visitors have kept; None if the server keeps none.

    Raises:
        ValueError: `folder` is not a folder.
    """

    def __init__(
        self,
        limits: ServerLimits,
        folder: Path | None = None,
        training_file: Callable[[str], Path] | None = None,
        games: Iterable[Game] = GAMES.values(),
        kept_agents: KeptAgents | None = None,
    ) -> None:
        if folder is not None and not folder.is_dir():
            raise ValueError(f"there is no folder {str(folder)!r} of checkpoints")
        self.limits = limits
        self.folder = folder
        self._training_file = training_file
        self._kept = kept_agents
        self._offered = {*games, *(family.default for family in FAMILIES.values())}
        self._sizes: set[Game] = set()
        self._loaded = functools.lru_cache(LOADED_AGENTS)(_loaded)
        self._lock = threading.Lock()

    def files(self) -> dict[str, Path]:
        """The checkpoints in the folder, by name."""
        if self.folder is None:
            return {}
        return {
            path.name: path for path in sorted(self.folder.iterdir()) if path.suffix in AGENT_FILES and path.is_file()
        }

    def menu(self, game: Game) -> OpponentMenu:
        """The opponents that the page offers for a game."""
        agents = self._kept.agents(game) if self._kept else []
        classes = {name: policy_class(name) for name in POLICIES}
        names = [
            f"{name}:{argument}" if argument else name
            for name, policy in classes.items()
            for argument in policy.variants(game)
        ]
        levels = levels_in_words(game)
        return {
            "opponents": [{"name": name, "shown": levels.get(name, name)} for name in names],
            "about": {name: policy.about for name, policy in classes.items()},
            "league": [{"name": LEAGUE + agent.name, "shown": agent.name} for agent in agents],
            "files": [
                {"name": FILE + name, "shown": name}
                for name, path in self.files().items()
                if _game_of(path) in (None, game)
            ],
            "default": "level:5" if game.cells <= SMALL_CELLS else "level:4",
        }

    def admit(self, game: Game) -> None:
        """Admits a game to be played, searched and solved here.

        Raises:
            Refused: the server has admitted as many sizes as it may.
        """
        with self._lock:
            if game in self._offered or game in self._sizes:
                return
            if len(self._sizes) >= self.limits.sizes:
                names = ", ".join(sorted(str(game_name(size)) for size in self._sizes))
                raise Refused(f"this server plays at most {self.limits.sizes} sizes of board, by now: {names}", 422)
            self._sizes.add(game)

    def get(self, name: str, game: Game, waited: float = 0.0) -> Policy:
        """The player of a name, for the calling thread.

        Args:
            name: as above.
            game: the game to play.
            waited: the seconds of its time for a move that have passed.

        Raises:
            Refused: there is no such player, it is stronger than is allowed here, or it does not play this game.
        """
        if name.startswith(FILES):
            return self._from_file(name, game)
        base, _, argument = name.partition(":")
        if base not in POLICIES or base == "human":
            names = ", ".join(policy for policy in POLICIES if policy != "human")
            there_are = f"there are {names}, with arguments, {FILE}NAME and {LEAGUE}NAME"
            raise Refused(f"no opponent is called {name!r}; {there_are}", 404)
        self._check_strength(base, parse_whole(argument) or 0, game)
        try:
            policy: Any = named_policy(name, game)
        except ValueError as error:
            raise Refused(str(error)) from None
        depth, milliseconds = self.limits.depth, 1000 * self.limits.move_seconds
        if base == "ntuple" and (policy.plies > depth or (policy.milliseconds or 0) > milliseconds):
            raise Refused(f"{policy} is too slow here: at most {depth} plies are looked ahead, or {milliseconds:g} ms")
        seconds = max(0.05, self.limits.move_seconds - waited)
        if base == "perfect":
            return Perfect(float(argument or 0), seconds, own_solver(game))
        if base == "level":
            setting = level_settings(game)[int(argument) - 1]
            if setting.policy.startswith("perfect"):
                policy = Mixture(
                    [self.get(setting.policy, game, waited), "random"], [1 - setting.random, setting.random]
                )
                policy.name = name
        return policy  # type: ignore[no-any-return]

    def _check_strength(self, base: str, strength: int, game: Game) -> None:
        """Refuses more simulations or plies than the server allows."""
        if base == "mcts" and strength > self.limits.simulations:
            raise Refused(f"at most {self.limits.simulations:,} simulations a move are run here, not {strength:,}")
        if base.startswith("minimax"):
            most = game.cells if game.cells <= SMALL_CELLS else self.limits.depth if game.num_actions <= 9 else 4
            if strength > most:
                raise Refused(f"minimax looks at most {most} plies ahead here, not {strength}")

    def _path(self, name: str, game: Game) -> Path:
        """The file of an agent."""
        key = name.partition(":")[2]
        if name.startswith(TRAINING):
            if self._training_file is None:
                raise Refused("this server trains no agents", 404)
            return self._training_file(key)
        if name.startswith(LEAGUE):
            if self._kept is None:
                raise Refused("this server keeps no agents", 404)
            return self._kept.get(key, game).path
        files = self.files()
        if key not in files:
            raise Refused(f"there is no checkpoint {key!r} here", 404)
        return files[key]

    def _from_file(self, name: str, game: Game) -> Policy:
        path = self._path(name, game)
        try:
            status = path.stat()
        except OSError:
            raise Refused("nothing has been saved yet; try again in a moment", 409) from None
        if status.st_size > MAX_FILE_BYTES:
            raise Refused(f"{name!r} is too large to load")
        try:
            return self._loaded(path, status.st_mtime, game)
        except (OSError, ValueError, DependencyNotInstalled) as error:
            reason = str(error).replace(str(path), path.name)  # visitors need not know where the folder is
            raise Refused(reason, 422) from None


def _loaded(path: Path, changed: float, game: Game) -> Policy:
    """The agent in a file, for a game; `changed`, the time of the file, is a part of the cache's key."""
    return load_player(path, game).policy


def _game_of(path: Path) -> Game | None:
    """The game that a checkpoint names; None if it names none or cannot be read: playing it then gives the error."""
    with contextlib.suppress(OSError):
        return _game_read(path, path.stat().st_mtime)
    return None


@functools.lru_cache(1024)
def _game_read(path: Path, changed: float) -> Game | None:
    with contextlib.suppress(OSError, ValueError, DependencyNotInstalled):
        return own_game(path)
    return None
