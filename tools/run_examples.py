"""Runs the examples, each with what it needs, and records what they print and how long they take.

    python tools/run_examples.py                        # all
    python tools/run_examples.py hex plain_q_learning   # these
    python tools/run_examples.py --changed              # those that are not recorded as they are now
    python tools/run_examples.py --types pyright        # runs none: checks their types, against what each needs

Each file in `examples` begins with a header (PEP 723) that names the packages it needs:

    # /// script
    # requires-python = ">=3.11"
    # dependencies = ["tictac-env[rl]", "torchrl>=0.14"]
    # ///

Examples that need the same share a virtual environment under `.venv/examples`, in which this package is installed as it
is here. The versions are those of constraints.txt, or where these contradict what the examples need, whatever fits, but
for torch's. An example may take --limit seconds, is run in an empty folder, and fails if it exits with an error. Its
stdout is recorded (all of it, up to 60 lines), for docs/examples.md to show.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from benchmarks.records import RESULTS, parser_of
from tictac_apps.bench.records import machine, record_json
from tictac_env.storage import save_text

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
VENVS = ROOT / ".venv" / "examples"
OUTPUT = RESULTS / "examples.json"
PACKAGE = "tictac-env"
TORCH = "torch==2.13.0"
"""Constrained in every environment, so that the build without CUDA that is there is taken."""
LIMIT = 300
LONGEST = 60
"""Lines of output."""
HEADER = re.compile(r"(?m)^# /// script$\s(?P<content>(?:^#(?:| .*)$\s)+?)^# ///$")


@dataclass(frozen=True)
class Example:
    """A file that a user can read and run.

    Attributes:
        path: the file.
        title: the first line of its docstring.
        dependencies: the packages that its header names, in ascending order.
        source: a hash of the file.
    """

    path: Path
    title: str
    dependencies: tuple[str, ...]
    source: str

    @property
    def name(self) -> str:
        return self.path.stem

    @classmethod
    def read(cls, path: Path) -> Example:
        """An example from its file.

        Raises:
            ValueError: it has no docstring, or no header that names this package.
        """
        text = path.read_text(encoding="utf-8")
        found, words = HEADER.search(text), ast.get_docstring(ast.parse(text))
        if found is None or not words:
            raise ValueError(f"{path} must begin with a header (PEP 723) and have a docstring")
        lines = (line.removeprefix("#").removeprefix(" ") for line in found["content"].splitlines())
        dependencies = sorted(tomllib.loads("\n".join(lines)).get("dependencies", []))
        if PACKAGE not in {Requirement(one).name for one in dependencies}:
            raise ValueError(
                f"the header of {path} must name {PACKAGE} among its dependencies, not only {dependencies}"
            )
        return cls(path, words.splitlines()[0], tuple(dependencies), hashlib.sha256(text.encode()).hexdigest())


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of(__doc__)
    parser.add_argument("names", nargs="*", help="which examples, by the names of their files; all if none are named")
    parser.add_argument("--changed", action="store_true", help="only those that have no record, or have changed since")
    parser.add_argument("--limit", type=float, default=LIMIT, help=f"seconds that each may take ({LIMIT})")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="the file of the records")
    parser.add_argument("--types", type=Path, metavar="PYRIGHT", help="check types with this program, and run nothing")
    options = parser.parse_args(arguments)
    known = {example.name: example for example in examples()}
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"there is no example {unknown[0]!r}; there are {', '.join(known)}")
    chosen = [known[name] for name in options.names or known]
    if options.changed:
        chosen = [one for one in chosen if (recorded(one, options.output) or {}).get("source") != one.source]
    if options.types:
        failed = [example.name for example in chosen if not check_types(example, options.types)]
    else:
        failed = [example.name for example in chosen if not try_out(example, options.limit, options.output)]
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


def examples(folder: Path = EXAMPLES) -> list[Example]:
    """All examples, by name."""
    return [Example.read(path) for path in sorted(folder.glob("*.py"))]


def records(path: Path = OUTPUT) -> dict[str, Any]:
    """The records of the examples, by name."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def recorded(example: Example, path: Path = OUTPUT) -> dict[str, Any] | None:
    """The record of an example; None if it has none."""
    return records(path).get(example.name)


def try_out(example: Example, limit: float, output: Path) -> bool:
    """Runs an example and records it; False if it failed."""
    print(f"{example.name}: ", end="", flush=True)
    try:
        record = run(example, environment(example.dependencies), limit)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        told = [part.decode(errors="replace") for part in (error.stdout, error.stderr) if part]
        print("\n".join([f"failed: {error}", *told])[-5000:])
        return False
    save_text(output, record_json(dict(sorted({**records(output), example.name: record}.items()))))
    print(f"{record['seconds']} s, {record['CPU-s']} CPU-s")
    return True


def check_types(example: Example, pyright: Path) -> bool:
    """True if pyright finds no error in an example."""
    print(f"{example.name}: ", end="", flush=True)
    words = (pyright, "--pythonpath", environment(example.dependencies), example.path)
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False)
    print(done.stdout.strip() or done.stderr.strip())
    return done.returncode == 0


def environment(dependencies: Sequence[str]) -> Path:
    """The interpreter of a virtual environment that has these packages, which is made if it is not there.

    Raises:
        subprocess.CalledProcessError: the packages cannot be installed.
    """
    setup = "\n".join([*dependencies, sys.version, (ROOT / "pyproject.toml").read_text()])
    folder = VENVS / hashlib.sha256(setup.encode()).hexdigest()[:12]
    python, done = folder / "bin" / "python", folder / "done"
    if not done.exists():
        print(f"installing {', '.join(dependencies)} ... ", end="", flush=True)
        call(sys.executable, "-m", "venv", "--clear", "--without-pip", folder)
        (torch := folder / "torch.txt").write_text(TORCH + "\n")
        pip = (sys.executable, "-m", "pip", "--python", python, "--quiet", "--disable-pip-version-check")
        install = (*pip, "install", "--no-compile")
        wanted = [part for one in map(Requirement, dependencies) for part in as_installed(one)]
        try:
            call(*install, "-c", ROOT / "constraints.txt", *wanted)
        except subprocess.CalledProcessError:
            call(*install, "-c", torch, *wanted)
        done.touch()
    return python


def as_installed(dependency: Requirement) -> list[str]:
    """The words for pip: this package as it is here, with the extras; any other by name."""
    if dependency.name != PACKAGE:
        return [str(dependency)]
    extras = ",".join(sorted(dependency.extras))
    return ["-e", f"{ROOT}[{extras}]" if extras else str(ROOT)]


def run(example: Example, python: Path | str, limit: float = LIMIT) -> dict[str, Any]:
    """Runs an example: what it printed, how many seconds it took, and with which versions and on what machine.

    Raises:
        subprocess.CalledProcessError: it exits with an error.
        subprocess.TimeoutExpired: it takes more than `limit` seconds.
    """
    with tempfile.TemporaryDirectory() as folder:
        began, cpu_before = time.perf_counter(), cpu_seconds()
        output = call(python, example.path, cwd=folder, timeout=limit)
        seconds, cpu = time.perf_counter() - began, cpu_seconds() - cpu_before
    names = [Requirement(one).name for one in example.dependencies]
    code = "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
    versions = call(python, "-c", code, *names).split()
    return {
        "title": example.title,
        "source": example.source,
        "versions": dict(zip(names, versions, strict=True)),
        "seconds": round(seconds, 1),
        "CPU-s": round(cpu, 1),
        "output": trimmed(output),
        "machine": {key: value for key, value in machine().items() if key != "packages"},
    }


def cpu_seconds() -> float:
    """The CPU time of processes that have ended; those that the example left behind do not count."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def trimmed(output: str) -> list[str]:
    """The lines of an output as a terminal would show them, without colours and blanks at the end, and not too many.

    Paths are relative to the package's folder.
    """
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", output).replace(f"{ROOT}/", "")
    lines = [line.rstrip().rpartition("\r")[2] for line in plain.strip("\n").split("\n")]
    if len(lines) <= LONGEST:
        return lines
    half = LONGEST // 2
    return [*lines[:half], "...", *lines[-half:]]


def call(*words: Any, **keywords: Any) -> str:
    """The stdout of a program, which finds only the packages of its environment.

    Raises:
        subprocess.CalledProcessError: it fails.
    """
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([*map(str, words)], check=True, capture_output=True, env=env, **keywords)
    return done.stdout.decode(errors="replace")


if __name__ == "__main__":
    main()
