"""The page as a folder that opens from a disk or any web host, without a server and without Python.

It is the page of `tictac serve` without trainings and tournaments. The modules in `offline/` take the server's place;
they use the rules, network and opening book of each game, which are packed here.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

import tictac_env
from tictac_apps.web.insight import levels_in_words, title
from tictac_env.arrays import Array
from tictac_env.games import GAMES, KInARow
from tictac_env.policies import make_policy
from tictac_env.policies.loading import policy_class
from tictac_env.policies.pool import level_settings
from tictac_env.render.text import picture_names
from tictac_env.solver.book import opening_book_of
from tictac_env.solver.enumerate import SMALL_CELLS
from tictac_env.storage import read_json, save_text

STATIC, OFFLINE = Path(__file__).parent / "static", Path(__file__).parent / "offline"
MODULES = (
    *(STATIC / f"{name}.js" for name in ("base", "board", "insight", "play")),
    *(OFFLINE / f"{name}.js" for name in ("rules", "known", "search", "prover", "ntuple", "levels", "tree", "answers")),
    STATIC / "main.js",
)
"""The page's script, in an order in which each module comes after those that it imports."""
SHEETS = ("base.css", "board.css", "icon.svg")
PAGE, RECORD, SCRIPT = "index.html", "export.json", "page.js"
KIND = "tictac export-page"
"""The kind of folder that `RECORD` states; it also names the files of the export."""
CHANGES = (
    (r'^ *<link rel="stylesheet" href="views\.css">\n', ""),
    (r'(?<= id="show-exact")(?=>)', " checked"),
    (r"Play, watch and train tic-tac-toe and Connect Four agents\.", "Play tic-tac-toe and Connect Four."),
)
"""The changes to the page without a server, with their patterns: among others, values are shown from the beginning."""
MAIN = re.compile(r'^( *)<script type="module" src="main\.js"></script>$', re.MULTILINE)
MODULE_WORDS = re.compile(r'^import \{[^}]*\} from "[\w./]+";\n|^export ', re.MULTILINE)
BITS = 8
"""The bits of a weight of the network: its moves are as good as with all of them."""
WEIGHT_UNIT = 2.0**-26
"""The unit of the network's weights."""


def joined_modules(modules: Iterable[Path]) -> str:
    """The text of modules in one scope, without imports and exports: browsers do not load modules from a disk.

    A name that two of them declare would be a syntax error, so all their names must differ.
    """
    text = "".join(path.read_text(encoding="utf-8") for path in modules)
    return MODULE_WORDS.sub("", text)


def export_page(folder: str | os.PathLike[str]) -> dict[str, int]:
    """Writes the page, so that it opens from `folder` or from any web host, without a server.

    Each file is written atomically. Files of an earlier export that are no longer needed are removed; files that were
    added to it stay.

    Args:
        folder: made if it is missing; otherwise it must be empty or an earlier export.

    Returns:
        The bytes of each file, by its name within the folder.

    Raises:
        ValueError: the folder holds something else.
        OSError: it cannot be written.
    """
    target = Path(folder)
    earlier = _earlier(target)
    files = page_files()
    for name, text in files.items():
        save_text(target / name, text)
    for name in sorted(earlier - files.keys()):
        (target / name).unlink(missing_ok=True)
    return {name: len(text.encode()) for name, text in files.items()}


def page_files() -> dict[str, str]:
    """The text of each file by its name, the page last: until it is there, nothing refers to the others."""
    data = {
        f"data/{name}.js": f"(globalThis.TICTAC ??= {{}})[{json.dumps(name)}] = {json.dumps(packed_game(game))};\n"
        for name, game in GAMES.items()
        if type(game) is KInARow
    }
    files = {sheet: (STATIC / sheet).read_text(encoding="utf-8") for sheet in SHEETS}
    files |= data | {SCRIPT: f'"use strict";\n{{\n{joined_modules(MODULES)}}}\n'}
    page = _page([*data, SCRIPT])
    hashes = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in (files | {PAGE: page}).items()}
    record = {"kind": KIND, "version": tictac_env.__version__, "sha256": hashes}
    return files | {RECORD: json.dumps(record, indent=1) + "\n", PAGE: page}


def _page(scripts: list[str]) -> str:
    """The page of `tictac serve` with plain scripts, which run in this order once the page is read."""
    text = (STATIC / PAGE).read_text(encoding="utf-8")
    tags = "\n".join(rf'\1<script defer src="{script}"></script>' for script in scripts)
    text, fewest = MAIN.subn(tags, text)
    for pattern, replacement in CHANGES:
        text, count = re.subn(pattern, replacement, text, flags=re.MULTILINE)
        fewest = min(fewest, count)
    if not fewest:
        raise RuntimeError(f"{STATIC / PAGE} is not the page that the export was written for")
    return text


def _earlier(folder: Path) -> set[str]:
    """The files that an earlier export has written.

    Raises:
        ValueError: the folder holds something else.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return set()
    if not folder.is_dir():
        raise ValueError(f"{str(folder)!r} is a file; a folder is needed that is new, empty, or an earlier export")
    try:
        record = read_json((folder / RECORD).read_text(encoding="utf-8"))
        names = set(record["sha256"]) if record["kind"] == KIND else None
    except (OSError, ValueError, KeyError, TypeError):
        names = None
    if names is None:
        raise ValueError(f"{str(folder)!r} is neither empty nor an earlier export, so nothing was written there")
    return {name for name in names if re.fullmatch(r"(data/)?[\w-][\w.-]*", name)}  # nothing outside the folder


def packed_game(game: KInARow) -> dict[str, object]:
    """The data to play a game with, for JSON: the arguments of `KInARow.make`, the names of the sides, the network, the
    levels, and the book.

    If the game is `small`, the page searches all positions and needs no book.

    Raises:
        ValueError: the package has no network for the game.
    """
    data: dict[str, object] = {
        "title": title(game),
        "rules": game.arguments,
        "sides": picture_names(game),
        "network": _packed_network(make_policy("ntuple", game)),
        "about": {name: policy_class(name).about for name in ("level", "ntuple", "perfect", "random")},
        "levels": {f"level:{number}": level for number, level in enumerate(level_settings(game), start=1)},
        "words": levels_in_words(game),
    }
    if game.cells <= SMALL_CELLS:
        return data | {"small": True}
    book = opening_book_of(game)
    if book is None:
        return data
    # The sorted keys as the differences between them, of which there are few different values.
    steps, numbers = np.unique(np.diff(book.keys, prepend=0), return_inverse=True)
    keys = {"steps": _packed(steps.astype(np.uint64)), "step": _packed(numbers.astype(np.uint16))}
    return data | {"book": {"plies": book.plies, "stride": book.game.stride, **keys, "scores": _packed(book.scores)}}


def _packed_network(network: Any) -> dict[str, object]:
    """An n-tuple network (`tictac_agents.NTupleNetwork`), its weights rounded to `BITS` bits; see `Network.load`."""
    whole, unit = network.quantised(BITS)
    pairs = whole.reshape(-1, 2).astype(np.int8)
    used = pairs.any(axis=1)
    return {
        "tuples": len(network.tuples),
        "length": len(network.tuples[0]),
        "images": _packed(np.array(network.images, np.int8)),
        "used": _packed(np.packbits(used, bitorder="little")),
        "weights": _packed(pairs[used]),
        "unit": unit * WEIGHT_UNIT,
    }


def _packed(array: Array) -> str:
    """The bytes of an array, little-endian, deflated, in base64."""
    content = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()
    return base64.b64encode(zlib.compress(content, 9)).decode()
