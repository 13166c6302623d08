"""A long run of a tool is kept in files as it goes, what was learned and what was found, so that it can be stopped."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tictac_agents import NTupleTD
from tictac_env.storage import save_text


class Files(NamedTuple):
    """Where a run is kept, and how fast it goes."""

    folder: Path
    name: str
    """That of its files, less the number of the round and the suffix."""
    threads: int = 1


def learned(agent: NTupleTD, games: int, files: Files, number: int) -> NTupleTD:
    """An agent after so many games more, or the one of a checkpoint that has already begun to play them."""
    checkpoint = files.folder / f"{files.name}-{number}.npz"
    if checkpoint.exists():
        agent = NTupleTD.load(checkpoint)
    agent.threads = files.threads
    if checkpoint.exists():
        agent.resume(checkpoint=checkpoint)
    else:
        agent.learn(games, checkpoint=checkpoint)
    if not agent.is_done:
        raise SystemExit("stopped; the same command goes on from here")
    return agent


def kept(files: Files, name: str, make: Callable[[], Any]) -> Any:
    """What is made once, and from then on read from a file of that name."""
    file = files.folder / f"{files.name}-{name}.json"
    if not file.exists():
        save_text(file, json.dumps(make()))
    return json.loads(file.read_text(encoding="utf-8"))
