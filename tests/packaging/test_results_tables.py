"""Every table of results in the README and in the docs shows the record."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

MARKERS = "<!-- results: levels -->\n{}<!-- /results -->\n"


@pytest.fixture
def script() -> Any:
    return importlib.import_module("tools.results_tables")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A README with an empty table and words around it."""
    (tmp_path / "README.md").write_text(f"before\n\n{MARKERS.format('')}\nafter\n")
    return tmp_path


def test_the_tables_show_the_records(script: Any) -> None:
    script.main(["--check"])


def test_every_table_stands_on_a_page(script: Any) -> None:
    text = "".join(page.read_text() for page in script.pages())
    assert [name for name in script.TABLES if f"<!-- results: {name} -->" not in text] == []


def test_a_table_is_written_and_the_words_around_it_stay(script: Any, root: Path) -> None:
    script.main([], root)
    text = (root / "README.md").read_text()
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "| `level:10` |" in text
    script.main(["--check"], root)


def test_a_changed_figure_is_found_and_nothing_is_written(script: Any, root: Path) -> None:
    script.main([], root)
    page = root / "README.md"
    page.write_text(changed := page.read_text().replace("0.838", "0.739"))
    with pytest.raises(SystemExit, match=r"README\.md: out of date"):
        script.main(["--check"], root)
    assert page.read_text() == changed


def test_an_unknown_table_is_named(script: Any, root: Path) -> None:
    (root / "README.md").write_text("<!-- results: leveles -->\n<!-- /results -->\n")
    with pytest.raises(SystemExit, match=r"'leveles'.*levels"):
        script.main([], root)


def test_numbers_are_shown_to_three_digits(script: Any) -> None:
    shown = map(script.significant, ["0.010054", "1.3529", "25.44", "811.2", "22763.8", "0.0", "0", ""])
    assert list(shown) == ["0.0101", "1.35", "25.4", "811", "22,764", "0.0", "0", ""]
