"""The examples of the README and of the docs run as they stand."""

import csv
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = {
    f"{page.name}, example {number}": block
    for page in PAGES
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL), 1)
}


def test_there_are_examples():
    assert len(BLOCKS) >= 5


@pytest.mark.parametrize("name", BLOCKS)
def test_an_example_runs(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(BLOCKS[name], name, "exec"), {"__name__": "__main__"})


def test_the_figures_are_those_of_the_results():
    """Every row of the table at the top stands so in the results of `make bench`."""
    with (ROOT / "benchmarks/results/tournament-verdicts.csv").open(newline="") as file:
        results = {row["policy"]: row for row in csv.DictReader(file)}
    rows = re.findall(r"^\| (random|rule|minimax|Q-table, [\w ]+) \| (.*) \|$", README, re.MULTILINE)
    assert len(rows) == 7
    for name, rest in rows:
        exploitability, *figures = rest.split(" | ")
        assert float(exploitability) == pytest.approx(float(results[name]["exploitability"]), abs=1e-4)
        assert set(figures) <= set(results[name].values()), name


def test_the_table_of_the_five_systems_is_that_of_the_results():
    with (ROOT / "benchmarks/results/reproduce-summary.csv").open(newline="") as file:
        results = [row for row in csv.DictReader(file) if row["ours, first"] != "not yet"]
    seats = ("published, first", "ours, first", "published, second", "ours, second")
    columns = ("system", "learner", *seats, "infallible")
    for row in results:
        assert f"| {' | '.join(row[column] for column in columns)} |" in README
