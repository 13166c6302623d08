"""Tables and examples in README and docs show the records; examples are run with what they need."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tools import results_tables
from tools.run_examples import Example, as_installed, main, recorded, try_out

MARKERS = "<!-- results: levels -->\n{}<!-- /results -->\n"
HEADER = '# /// script\n# requires-python = ">=3.11"\n# dependencies = ["tictac-env[rl]", "numpy>=1"]\n# ///\n'


def test_the_tables_show_the_records_and_each_stands_on_a_page() -> None:
    results_tables.main(["--check"])
    text = "".join(page.read_text() for page in results_tables.pages())
    assert [name for name in results_tables.TABLES if f"<!-- results: {name} -->" not in text] == []


def test_a_table_is_written_and_a_changed_figure_is_found(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text(f"before\n\n{MARKERS.format('')}\nafter\n")
    results_tables.main([], tmp_path)
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "| `level:10` |" in text
    results_tables.main(["--check"], tmp_path)
    page.write_text(changed := text.replace("0.838", "0.739"))
    with pytest.raises(SystemExit, match=r"README\.md: out of date"):
        results_tables.main(["--check"], tmp_path)
    assert page.read_text() == changed
    page.write_text("<!-- results: leveles -->\n<!-- /results -->\n")
    with pytest.raises(SystemExit, match=r"'leveles'.*levels"):
        results_tables.main([], tmp_path)


def test_numbers_are_shown_to_three_digits() -> None:
    shown = map(results_tables.significant, ["0.010054", "1.3529", "25.44", "811.2", "22763.8", "0.0", "0", ""])
    assert list(shown) == ["0.0101", "1.35", "25.4", "811", "22,764", "0.0", "0", ""]


def written(folder: Path, code: str, header: str = HEADER) -> Path:
    (path := folder / "shown.py").write_text(f'{header}"""Shows something.\n\nAnd more.\n"""\n{code}\n')
    return path


def test_a_header_names_what_an_example_needs(tmp_path: Path) -> None:
    example = Example.read(written(tmp_path, "print(1)"))
    assert (example.title, example.dependencies) == ("Shows something.", ("numpy>=1", "tictac-env[rl]"))
    for header in ("", HEADER.replace("tictac-env[rl]", "torch")):
        with pytest.raises(ValueError, match=r"shown\.py must"):
            Example.read(written(tmp_path, "print(1)", header))
    root = str(Path(__file__).parents[2])  # this package is installed as it is here
    assert as_installed(Requirement("tictac-env[web,rl]>=0.1")) == ["-e", f"{root}[rl,web]"]
    assert as_installed(Requirement("torchrl>=0.14")) == ["torchrl>=0.14"]


def test_a_success_is_recorded_and_a_failure_changes_no_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tools.run_examples.environment", lambda _: sys.executable)
    for code, limit, words in (
        ("raise SystemExit('no board')", 60, "no board"),
        ("import time; time.sleep(9)", 1, "timed"),
    ):
        assert not try_out(Example.read(written(tmp_path, code)), limit, tmp_path / "records.json")
        assert words in capsys.readouterr().out and not (tmp_path / "records.json").exists()
    example = Example.read(written(tmp_path, "print(1)"))
    assert try_out(example, 60, tmp_path / "records.json")
    found = recorded(example, tmp_path / "records.json")
    assert found is not None and found["output"] == ["1"]
    with pytest.raises(SystemExit, match="2"):
        main(["hexx"])
