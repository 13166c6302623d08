"""The example that learns in plain Python ends with the exact verdict "infallible"."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "plain_q_learning.py"


def test_plain_q_learning_is_proven_infallible() -> None:
    done = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "as first: infallible" in done.stdout and "as second: infallible" in done.stdout
    assert "exploitability 0.00000" in done.stdout


def test_it_is_short_and_needs_nothing_but_the_environment() -> None:
    source = EXAMPLE.read_text(encoding="utf-8")
    lines = source.splitlines()
    assert len(lines) - lines.index("# ///") - 1 <= 70  # below what it needs, for programs that install it
    modules = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            modules |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add(str(node.module).split(".")[0])
    assert modules - {"__future__", "typing"} == {"gymnasium", "tictac_env"}
