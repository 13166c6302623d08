"""One script made of modules: browsers load no modules from a disk, and a widget is one text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

IMPORT = re.compile(r'^import \{ ([\w, ]+) \} from "\./([\w.]+)";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:(?:async )?function|class|const) (\w+))", re.MULTILINE)
LEFT = re.compile(r"^\s*(?:import\s[^(]|import\{|export\b).*", re.MULTILINE)


def plain_script(entry: str, folders: Sequence[Path]) -> str:
    """A script that does what the module `entry` does, and is no module; arguments and errors are `es_module`'s."""
    return f'"use strict";\n(() => {{\n{_bundled(entry, folders)}}})();\n'


def es_module(entry: str, folders: Sequence[Path]) -> str:
    """A module that imports nothing and does what `entry` does; its default export is an object of `entry`'s exports.

    Args:
        entry: a file's name.
        folders: where modules are looked for, in this order.

    Raises:
        FileNotFoundError: a module is in none of the folders.
        ValueError: a module imports or exports in another way than by `import { a, b } from "./name.js"` and `export`
            before a function, class or const; or modules import each other.
    """
    return f'{_bundled(entry, folders)}export default modules["{entry}"];\n'


def _bundled(entry: str, folders: Sequence[Path]) -> str:
    """The modules, each a function that returns what it exports, called after those that it imports from."""
    done: dict[str, str] = {}

    def add(name: str, importers: tuple[str, ...]) -> None:
        if name in importers:
            raise ValueError(f"modules import each other: {' -> '.join((*importers, name))}")
        if name in done:
            return
        source = _read(name, folders)
        for _, imported in IMPORT.findall(source):
            add(imported, (*importers, name))
        exported = EXPORT.findall(source)
        body = EXPORT.sub("", IMPORT.sub(r'const { \1 } = modules["\2"];', source))
        if left := LEFT.search(body):
            raise ValueError(f"{name} imports or exports in a way that cannot be bundled: {left[0].strip()!r}")
        returned = f"return {{ {', '.join(exported)} }};\n" if exported else ""
        done[name] = f'modules["{name}"] = (() => {{\n{body}{returned}}})();\n'

    add(entry, ())
    return f"const modules = {{}};\n{''.join(done.values())}"


def _read(name: str, folders: Sequence[Path]) -> str:
    for folder in folders:
        if (path := folder / name).is_file():
            return path.read_text(encoding="utf-8")
    raise FileNotFoundError(f"there is no module {name!r} in {', '.join(map(str, folders))}")
