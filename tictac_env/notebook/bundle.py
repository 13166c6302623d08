"""One script of the modules that the board in a notebook shares with the page in the browser.

A widget is given to the browser as one text, whose imports it could not find. Modules are few and plain, so that two
rules are enough: each becomes a function that returns what it exports, and imports become assignments.
"""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path

HERE = Path(__file__).parent / "static"
PAGE = Path(__file__).parents[1] / "web" / "static"

IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";$', re.MULTILINE)
EXPORT = re.compile(r"^export ((?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
LEFT = re.compile(r"^(?:import|export)\b(?! default).*", re.MULTILINE)


@functools.cache
def widget_script() -> str:
    """The widget's ES module, complete: its styles, the modules it uses, and itself."""
    return f"const STYLE = {json.dumps(_style())};\n{bundled(HERE / 'widget.js')}"


def bundled(entry: Path) -> str:
    """An ES module without imports that does what `entry` does, which may export a default.

    Raises:
        ValueError: a module imports or exports in another form than `import { names } from "file";` and
            `export function`, `class` or `const`; or modules import each other.
    """
    written: dict[Path, str] = {}
    body = _body(entry.resolve(), written, ())
    return "\n".join([*written.values(), body])


def _body(path: Path, written: dict[Path, str], above: tuple[Path, ...]) -> str:
    """The text of a module whose imports are assignments; the modules it uses are written before it."""
    if path in above:
        raise ValueError(f"{path.name} imports itself, by way of {above[-1].name}")

    def assign(found: re.Match[str]) -> str:
        used = (path.parent / found[2]).resolve()
        if used not in written:
            text = _body(used, written, (*above, path))
            names = ", ".join(name for _, name in EXPORT.findall(text))
            body = EXPORT.sub(r"\1", text)
            written[used] = f"const {_name(used)} = (() => {{\n{body}\nreturn {{ {names} }};\n}})();"
        return f"const {{{found[1].replace(' as ', ': ')}}} = {_name(used)};"

    text = IMPORT.sub(assign, path.read_text(encoding="utf-8"))
    if left := LEFT.search(EXPORT.sub(r"\1", text)):
        raise ValueError(f"{path.name} has {left[0]!r}, which cannot be put into one script")
    return text


def _name(path: Path) -> str:
    return f"{path.stem}_module"


def _style() -> str:
    """The page's styles for the shadow root that the board stands in, where they and the notebook's do not meet."""
    page = "".join((PAGE / name).read_text(encoding="utf-8") for name in ("base.css", "board.css"))
    page = re.sub(r":root(\[[^\]]*\])", r":host(\1)", page).replace(":root", ":host")
    return page + (HERE / "widget.css").read_text(encoding="utf-8")
