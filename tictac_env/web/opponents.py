"""Who plays: policies by name within the server's limits, and agents from the folder of checkpoints."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from gymnasium.error import DependencyNotInstalled

from tictac_env.checks import parse_whole
from tictac_env.games import GAMES, Game, game_name
from tictac_env.games.registry import FAMILIES
from tictac_env.policies import POLICIES, Mixture, Policy, named_policy
from tictac_env.policies.loading import REMOVED, SUFFIXES, load_player
from tictac_env.policies.pool import level_settings
from tictac_env.solver.minimax import SMALL_CELLS
from tictac_env.web.asking import Refused
from tictac_env.web.limits import Limits
from tictac_env.web.solvers import LimitedPerfect, Solvers

FILE, TRAINING = "file:", "training:"
"""How the names of checkpoints and of trainings begin."""
KEPT_AGENTS = 16
"""How many agents stay loaded."""
MAX_FILE_BYTES = 256 << 20
DEFAULT = {True: "level:5", False: "level:4"}
"""The opponent that the page begins with on a small and on a large game."""


class Opponents:
    """Players by their names, as requests give them.

    A name is that of a policy ("rule", "mcts:400", "level:3"), "file:" and the name of a file in the folder of
    checkpoints, or "training:" and the token of a training. A name never imports a module and never is a path.

    Args:
        limits: how strong and how many.
        solvers: what the perfect player searches with.
        folder: of checkpoints; None for none.
        training_file: where the training of a token has saved its agent; raises `Refused` where there is none.
        games: what is offered, so that it does not count as a size of its own.

    Raises:
        ValueError: `folder` is no folder.
    """

    def __init__(
        self,
        limits: Limits,
        solvers: Solvers,
        folder: Path | None = None,
        training_file: Callable[[str], Path] | None = None,
        games: Iterable[Game] = GAMES.values(),
    ) -> None:
        if folder is not None and not folder.is_dir():
            raise ValueError(f"there is no folder {str(folder)!r} of checkpoints")
        self.limits = limits
        self.solvers = solvers
        self.folder = folder
        self._training_file = training_file
        self._known = {*games, *(family.default for family in FAMILIES.values())}
        self._sizes: set[Game] = set()
        self._loaded: OrderedDict[tuple[Path, float, Game], Policy] = OrderedDict()
        self._lock = threading.Lock()

    def files(self) -> list[str]:
        """The names of the checkpoints in the folder."""
        if self.folder is None:
            return []
        return sorted(path.name for path in self.folder.iterdir() if path.suffix in SUFFIXES and path.is_file())

    def admit(self, game: Game) -> None:
        """Lets a game be played, searched and solved here.

        Raises:
            Refused: it is of one size too many.
        """
        with self._lock:
            if game in self._known or game in self._sizes:
                return
            if len(self._sizes) >= self.limits.sizes:
                names = ", ".join(sorted(str(game_name(one)) for one in self._sizes))
                raise Refused(f"this server plays no more than {self.limits.sizes} sizes of board by now: {names}", 422)
            self._sizes.add(game)

    def get(self, name: str, game: Game, waited: float = 0.0) -> Policy:
        """The player of that name.

        Args:
            name: as above.
            game: what it is to play.
            waited: how many seconds of its time for a move are over.

        Raises:
            Refused: there is none, it is stronger than is allowed here, or it does not play this game.
        """
        if name.startswith((FILE, TRAINING)):
            return self._from_file(name, game)
        return self._named(name, game, max(0.05, self.limits.move_seconds - waited))

    def _named(self, name: str, game: Game, seconds: float) -> Policy:
        base, _, argument = name.partition(":")
        if base not in POLICIES or base == "human":
            known = ", ".join(one for one in POLICIES if one != "human")
            there_are = f"there are {known}, with arguments, and {FILE}NAME"
            raise Refused(f"no opponent is called {name!r}; {REMOVED.get(base, there_are)}", 404)
        if base == "perfect":
            error = _share(argument)
            return LimitedPerfect(self.solvers, error, seconds)
        self._check_strength(base, argument, game)
        try:
            if base == "level":
                return self._level(argument, game, seconds)
            policy = named_policy(name, game)
        except ValueError as error:
            raise Refused(str(error)) from None
        if base == "ntuple":
            self._check_look_ahead(policy)
        return policy

    def _level(self, argument: str, game: Game, seconds: float) -> Policy:
        """A level, whose perfect player, if it has one, keeps to the limit of time."""
        level = named_policy(f"level:{argument}", game)
        setting = level_settings(game)[int(argument) - 1]
        if setting.policy.partition(":")[0] != "perfect" or not isinstance(level, Mixture):
            return level
        limited = Mixture([self._named(setting.policy, game, seconds), "random"], [1 - setting.random, setting.random])
        limited.name = level.name
        return limited

    def _check_strength(self, base: str, argument: str, game: Game) -> None:
        if base == "mcts" and (parse_whole(argument) or 0) > self.limits.simulations:
            raise Refused(f"at most {self.limits.simulations:,} simulations a move are run here, not {argument}")
        if base.startswith("minimax"):
            most = game.cells if game.cells <= SMALL_CELLS else self.limits.depth if game.num_actions <= 9 else 4
            if (parse_whole(argument) or 0) > most:
                raise Refused(f"minimax looks at most {most} plies ahead here, not {argument}")

    def _check_look_ahead(self, network: Any) -> None:
        depth, milliseconds = self.limits.depth, 1000 * self.limits.move_seconds
        if network.plies > depth or (network.milliseconds or 0) > milliseconds:
            raise Refused(f"{network} is too slow here: at most {depth} plies are looked ahead, or {milliseconds:g} ms")

    def _from_file(self, name: str, game: Game) -> Policy:
        kind, _, rest = name.partition(":")
        if kind == "training":
            if self._training_file is None:
                raise Refused("this server trains no agents", 404)
            path = self._training_file(rest)
        elif rest in self.files() and self.folder is not None:
            path = self.folder / rest
        else:
            raise Refused(f"there is no checkpoint {rest!r} here", 404)
        try:
            found = path.stat()
        except OSError:
            raise Refused("nothing has been saved yet; try again in a moment", 409) from None
        if found.st_size > MAX_FILE_BYTES:
            raise Refused(f"{name!r} is too large to load")
        key = path, found.st_mtime, game
        with self._lock:
            if key in self._loaded:
                self._loaded.move_to_end(key)
                return self._loaded[key]
        try:
            policy = load_player(path, game).policy
        except (OSError, ValueError, DependencyNotInstalled) as error:
            told = str(error).replace(str(path), path.name)  # where the folder lies is nobody's business
            raise Refused(told, 422) from None
        with self._lock:
            self._loaded[key] = policy
            while len(self._loaded) > KEPT_AGENTS:
                self._loaded.popitem(last=False)
        return policy


def menu(game: Game) -> list[dict[str, Any]]:
    """The opponents that the page offers for a game: names, and what they are."""
    levels = level_settings(game)
    found = [_offer(f"level:{number}", f"level {number}") for number in range(1, len(levels) + 1)]
    small = game.cells <= SMALL_CELLS
    minimax = ("minimax", "minimax-first") if small else ("minimax:2", "minimax", "minimax:8", "minimax-first")
    names = ("random", "rule", *minimax, "mcts:50", "mcts:400", "mcts", "mcts:10000", "perfect", "perfect:0.1")
    offered = {name.partition(":")[0] for name in names} | {"level", "human"}
    return [*found, *(_offer(name, name) for name in (*names, *(one for one in POLICIES if one not in offered)))]


def _offer(name: str, shown: str) -> dict[str, Any]:
    return {"name": name, "shown": shown}


def _share(argument: str) -> float:
    """The error of `perfect:<error>`."""
    try:
        error = float(argument) if argument else 0.0
    except ValueError:
        error = -1.0
    if not 0 <= error <= 1:
        raise Refused(f"the error of 'perfect' must be a number from 0 to 1, not {argument!r}")
    return error
