"""Agents that visitors keep under a name: files in a folder, which all visitors can play against and download."""

from __future__ import annotations

import json
import math
import re
import shutil
import sys
import tempfile
import threading
import unicodedata
import weakref
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote

from starlette.responses import FileResponse

from tictac_apps.web.insight import title
from tictac_apps.web.limits import ServerLimits
from tictac_apps.web.requests import Fields, Rates, Refused
from tictac_env.arena.game_record import name_of_game
from tictac_env.games import Game, get_game
from tictac_env.policies import POLICIES, own_game
from tictac_env.policies.loading import AGENT_FILES
from tictac_env.storage import archive_in, save_text, sha256, writing

SHORTEST, LONGEST = 2, 24
"""The characters of a name."""
TAKEN = {*POLICIES, "you", "nobody"}
"""Names that mean something else on the page."""

CAN_DELETE = "whoever runs the server can delete some"


class KeptAgent(NamedTuple):
    """An agent in the folder."""

    name: str
    path: Path
    sha256: str
    since: int
    """When its file was written, in nanoseconds: agents are listed by it."""


class KeptAgents:
    """The kept agents of each game, by name.

    The file of an agent is FOLDER/GAME/NAME.npz or .zip, the game's name as in an address ("%3A" for ":"). Beside it
    NAME.training.json tells how it learned. If a file is deleted, its agent is gone at once; files put there by hand
    are seen when the server starts. Files that are damaged or of another game are skipped with a message.

    Args:
        limits: the server's: their number and bytes.
        folder: the folder of the files, made if it is missing; None for a temporary folder, deleted at the end.

    Attributes:
        lasting: True if the agents outlast the server.

    Raises:
        OSError: the folder cannot be made or read.
    """

    def __init__(self, limits: ServerLimits, folder: Path | None = None) -> None:
        self.limits = limits
        self.lasting = folder is not None
        self.folder = folder or Path(tempfile.mkdtemp(prefix="tictac-league-"))
        self._removed = None if folder else weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self._rates = Rates(limits.keeps_a_minute / 60, limits.keeps_a_minute)
        self._lock = threading.RLock()
        self._of_game: dict[Game, dict[str, KeptAgent]] = {}  # of a game, by the name in small letters
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(self.folder.glob("*/*")):
            if path.suffix in AGENT_FILES and not path.name.startswith("."):
                self._add_file(path)

    def _add_file(self, path: Path) -> None:
        """Adds the agent of a file in the folder, or prints why it is skipped."""
        try:
            game, name = get_game(unquote(path.parent.name)), agent_name(path.stem)
            with archive_in(path) as archive:
                if damaged := archive.testzip():
                    raise ValueError(f"{damaged} in it is damaged")
            if own_game(path) != game:
                raise ValueError("it does not hold an agent of this game")
            if name.casefold() in self._of_game.get(game, {}):
                raise ValueError(f"the name {name!r} is taken already")
            self._add(game, name, path)
        except Exception as error:  # whatever a damaged archive provokes in zlib, zipfile, json, numpy or torch
            reason = error.detail if isinstance(error, Refused) else error
            print(f"{path.parent.name}/{path.name} is skipped: {reason}", file=sys.stderr)

    def _add(self, game: Game, name: str, path: Path) -> None:
        agents, key = self._of_game.setdefault(game, {}), name.casefold()
        agents.pop(key, None)  # so that a later copy is the last in the order, even if the clock has not moved
        agents[key] = KeptAgent(name, path, sha256(path), path.stat().st_mtime_ns)

    def games(self) -> list[Game]:
        """The games that have agents."""
        with self._lock:
            return [game for game in self._of_game if self.agents(game)]

    def agents(self, game: Game) -> list[KeptAgent]:
        """The agents of a game, in the order in which they were kept."""
        with self._lock:
            agents = self._of_game.get(game, {})
            for key in [key for key, agent in agents.items() if not agent.path.is_file()]:
                del agents[key]
            return sorted(agents.values(), key=lambda agent: agent.since)

    def get(self, name: str, game: Game) -> KeptAgent:
        """The agent of that name.

        Raises:
            Refused: there is no such agent.
        """
        with self._lock:
            agent = self._of_game.get(game, {}).get(name.casefold())
        if agent is None or not agent.path.is_file():
            raise Refused(f"no agent called {name!r} is kept here for {title(game)}", 404)
        return agent

    def keep(
        self,
        text: str,
        game: Game,
        file: Path,
        earlier: str = "",
        address: str = "",
        report: dict[str, object] | None = None,
    ) -> str:
        """Copies the file of an agent, and returns the name of the copy.

        Args:
            text: the name of the copy.
            game: the game that the agent plays.
            file: the agent's file.
            earlier: the name of a copy by the same owner, which may be replaced; "" for none.
            address: the owner's address.
            report: the progress of its training, for `training`; None if it was not trained here.

        Raises:
            Refused: there is no file, the name is not allowed or is taken, there are too many agents or they are too
                large, or the address keeps too many.
        """
        name, limits = agent_name(text), self.limits
        if not file.is_file():
            raise Refused("nothing has been learned yet; try again in a moment", 409)
        # All checks and the copy under one lock: two requests for the last place, or for one name, must not both pass.
        with self._lock:
            agents = self.agents(game)
            taken = self._of_game.get(game, {}).get(name.casefold())
            if taken is not None:
                name = taken.name
                if name != earlier:
                    raise Refused(f"another agent is called {name!r}; choose another name", 409)
            elif len(agents) >= limits.kept_agents:
                raise Refused(f"{len(agents):,} agents are kept for this game, as many as may; {CAN_DELETE}", 409)
            content = file.read_bytes()
            if len(content) > limits.kept_agent_bytes:
                most = f"at most {limits.kept_agent_bytes:,} are kept; train a smaller agent, or for a shorter time"
                raise Refused(f"this agent has {len(content):,} bytes; {most}", 413)
            used = sum(path.stat().st_size for path in self.folder.glob("*/*"))
            if used + len(content) > limits.kept_bytes:
                raise Refused(f"the agents kept here fill the {limits.kept_bytes:,} bytes they may; {CAN_DELETE}", 409)
            if wait := self._rates.wait(address):
                reason = f"at most {limits.keeps_a_minute} agents a minute are kept for one address"
                raise Refused(f"{reason}; try again in {math.ceil(wait)} s", 429, {"retry-after": f"{math.ceil(wait)}"})
            path = self.folder / quote(name_of_game(game), safe="") / f"{name}{file.suffix}"
            with writing(path) as copy:
                copy.write(content)
            if report is not None:
                save_text(_training_of(path), json.dumps(report, default=asdict))
            self._add(game, name, path)
        return name

    def training(self, fields: Fields) -> FileResponse:
        """The progress of the training of the agent of a `name` and a `game`, as of `Trainings.look`, when it was kept.

        Raises:
            Refused: there is no such agent, or it was not trained here.
        """
        path = _training_of(self.get(fields.words("name"), fields.game).path)
        if not path.is_file():
            raise Refused("this agent was not trained here, so there is no training to show", 404)
        return FileResponse(path, media_type="application/json")

    def download(self, fields: Fields) -> FileResponse:
        """The file of the agent of a `name` and a `game`."""
        path = self.get(fields.words("name"), fields.game).path
        return FileResponse(path, media_type="application/octet-stream", filename=path.name)

    def close(self) -> None:
        """Deletes the temporary folder."""
        if self._removed is not None:
            self._removed()


def _training_of(path: Path) -> Path:
    """The file that tells how the agent of a file learned."""
    return path.with_suffix(".training.json")


def agent_name(text: str) -> str:
    """The name in its normal form: composed characters, and single spaces.

    A name has 2 to 24 letters of any alphabet, digits, spaces, "-" and "_", and begins with a letter or a digit.

    Raises:
        Refused: the name is not of this form, or means something else on the page.
    """
    name = " ".join(unicodedata.normalize("NFC", text).split())
    kinds = "".join("-" if character in " -_" else unicodedata.category(character)[0] for character in name)
    # At most two marks (M) on a letter: piled up they would cover the rows above. No "-" first: a spreadsheet would
    # take the name for a formula.
    if not re.fullmatch(r"[LN]M{0,2}(-|[LN]M{0,2})*", kinds) or not SHORTEST <= len(name) <= LONGEST:
        allowed = f'{SHORTEST} to {LONGEST} letters, digits, spaces, "-" and "_", the first one a letter or a digit'
        raise Refused(f"a name has {allowed}, not {text!r}")
    if name.casefold() in TAKEN:
        raise Refused(f"{name!r} means something else on this page; choose another name")
    return name
