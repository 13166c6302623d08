"""What every benchmark writes: its figures as CSV and JSON, with the machine and the versions they were taken on."""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import platform
import re
import sys
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tictac_env.storage import save_text

RESULTS = Path(__file__).parent / "results"
PACKAGES = (
    *("tictac-env", "numpy", "gymnasium", "pettingzoo", "numba", "stable-baselines3", "sb3-contrib", "torch"),
    *("open_spiel", "pgx", "jax", "envpool"),
)
VECTORS = re.compile("amx|avx|fma|s*se")

Row = Mapping[str, Any]


def positive(text: str) -> int:
    """An argument that must be a positive whole number."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not positive")
    return number


def machine() -> dict[str, Any]:
    """What the figures depend on: the machine, Python and the packages."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "processor": _processor("model name") or platform.processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {package: number for package in PACKAGES if (number := version_of(package))},
    }


def version_of(package: str) -> str | None:
    """The version of an installed package, None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def show(title: str, rows: Sequence[Row]) -> None:
    """Prints rows as a table, numbers to the right."""
    table = Table(title=title, title_justify="left")
    for name in rows[0]:
        number = all(isinstance(row[name], (int, float)) for row in rows)
        table.add_column(name, justify="right" if number else "left")
    for row in rows:
        table.add_row(*(cell(value) for value in row.values()))
    Console(width=None if sys.stdout.isatty() else 160).print(table)


def cell(value: Any) -> str:
    """A value as tables show it."""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


def save(name: str, settings: Mapping[str, Any], tables: Mapping[str, Sequence[Row]], folder: Path = RESULTS) -> None:
    """Writes `<name>.json` with everything and `<name>-<table>.csv` for each table."""
    content = {"settings": dict(settings), "machine": machine(), "tables": {key: list(tables[key]) for key in tables}}
    save_text(folder / f"{name}.json", json.dumps(content, indent=1, default=str) + "\n")
    for key, rows in tables.items():
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        save_text(folder / f"{name}-{key}.csv", text.getvalue())


def processor_features() -> str:
    """The maker, family and model of the processor and its vector instructions, which decide the order of sums.

    Processors of one name may differ in them, and then a network's weights differ too.
    """
    vectors = (flag for flag in _processor("flags").split() if VECTORS.match(flag))
    return " ".join([*map(_processor, ("vendor_id", "cpu family", "model")), *sorted(vectors)])


def _processor(key: str) -> str:
    """An entry of the first processor in /proc/cpuinfo; empty if there is none."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line.split(":", 1)[1].strip() for line in lines if line.split(":")[0].strip() == key), "")
