"""Breaks the code in one line, many times over, and sees whether the tests of `make test` notice.

    python tools/mutations.py [--parts rules solver] [--output FOLDER]

The edits are chosen by hand: over the rules, the boards, the compiled kernels, the exact measures and ratings, the
solver's bounds, what learners and searches do with a result, the page, the commands and the other interfaces. Each is
made in a copy of the tree, and there the tests that it names run, without those marked slow, up to the first that
fails. In the end those that failed run without any edit, and must pass. An edit that nothing notices is a test that is
missing; the program then fails.

Some fifty CPU-minutes, most of them for compiling: each edit of the packages compiles all kernels again. It continues
after a stop. After a change of the code or of a test, delete the runs that are to be made again.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.records import parser_of, save
from tictac_apps.bench.records import Row, RunStore, show
from tictac_env.progress import progress_bar

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_suffix(".toml")
NAME = "mutations"
SECONDS = 300
"""An edit with which a test takes longer is caught: something no longer ends."""
BYTES = 8 << 30
FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


class Edit(NamedTuple):
    """An edit that breaks the code.

    Attributes:
        part: of the code.
        file: its path in the tree.
        old: text that is there exactly once.
        new: its replacement.
        tests: the paths of the tests that are to notice.
    """

    part: str
    file: str
    old: str
    new: str
    tests: str

    def applied(self, text: str) -> str:
        """The text of the file after the edit.

        Raises:
            ValueError: `old` is not there exactly once, or `new` is the same.
        """
        if text.count(self.old) != 1 or self.old == self.new:
            raise ValueError(f"{self.file}: {self.old!r} is there {text.count(self.old)} times, and must be once")
        return text.replace(self.old, self.new)


def edits() -> list[Edit]:
    """All edits, in the order of the list."""
    return [Edit(**one) for one in tomllib.loads(LIST.read_text(encoding="utf-8"))["edit"]]


def copy_tree(folder: Path) -> None:
    """Copies what git knows of the tree."""
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    packed = subprocess.Popen(
        ["tar", "-c", "--null", "-T", "-"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with packed, subprocess.Popen(["tar", "-x", "-C", str(folder)], stdin=packed.stdout) as unpacked:
        assert packed.stdin is not None
        packed.stdin.write("\0".join(name for name in files.split("\0") if (ROOT / name).is_file()).encode())
        packed.stdin.close()
        if unpacked.wait():
            raise SystemExit("the tree cannot be copied")


def run_tests(tree: Path, words: Iterable[str], cache: Path) -> dict[str, Any]:
    """Runs tests in a copy of the tree: the first that fails ("" if none does), and the seconds.

    Processes that a broken program leaves behind end with the tests, and none takes more than `BYTES`.
    """
    paths = os.pathsep.join((str(tree), str(tree / "agents"), str(tree / "apps")))
    env = os.environ | {"PYTHONPATH": paths, "TICTAC_CACHE_DIR": str(cache)}
    command = ["prlimit", f"--data={BYTES}", sys.executable, "-m", "pytest", "-x", "-q", "-m", "not slow", "-rfE"]
    command += ["--tb=no", "-p", "no:cacheprovider", "-o", f"faulthandler_timeout={SECONDS}"]
    command += ["-o", "faulthandler_exit_on_timeout=true", *words]
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as output:  # not a pipe, which a process left behind would keep open
        tests = subprocess.Popen(command, cwd=tree, env=env, stdout=output, stderr=output, start_new_session=True)
        try:
            tests.wait()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(tests.pid, signal.SIGKILL)
        output.seek(0)
        text = output.read()
    failed = FAILED.findall(text)
    if tests.returncode and not failed:
        if tests.returncode > 0 and "Timeout (" not in text:
            raise SystemExit(f"pytest {' '.join(words)}: {tests.returncode}\n{text[-4000:]}")
        failed = ["did not end" if tests.returncode > 0 else f"ended by signal {-tests.returncode}"]
    return {"caught by": failed[0] if failed else "", "seconds": round(time.monotonic() - began, 1)}


def run_edit(edit: Edit, tree: Path) -> dict[str, Any]:
    """The result of the tests with an edit, in a copy of the tree, which is then restored."""
    path = tree / edit.file
    before = path.read_text(encoding="utf-8")
    try:
        path.write_text(edit.applied(before), encoding="utf-8")
        with tempfile.TemporaryDirectory() as cache:
            return run_tests(tree, edit.tests.split(), Path(cache))
    finally:
        path.write_text(before, encoding="utf-8")


def rows_of(store: RunStore) -> list[Row]:
    """A row for each edit that was tried."""
    return [
        {"part": one.part, "file": one.file, "old": one.old, "new": one.new, **store[one._asdict()]}
        for one in edits()
        if one._asdict() in store
    ]


def summary(rows: list[Row]) -> list[Row]:
    """The edits of each part, and the caught ones."""
    return [
        {
            "part": part,
            "edits": len(found := [row for row in rows if row["part"] == part]),
            "caught": sum(row["caught by"] != "" for row in found),
        }
        for part in dict.fromkeys(row["part"] for row in rows)
    ]


def main() -> None:
    parts = list(dict.fromkeys(edit.part for edit in edits()))
    parser = parser_of(__doc__)
    parser.add_argument("--parts", nargs="+", choices=parts, default=parts, help="default: all")
    parser.add_argument(
        "--output",
        type=Path,
        default=ROOT / "build" / "mutations",
        help="folder for the results (default: %(default)s)",
    )
    options = parser.parse_args()
    store = RunStore(options.output / f"{NAME}-runs.jsonl")
    wanted = [edit for edit in edits() if edit.part in options.parts and edit._asdict() not in store]
    with tempfile.TemporaryDirectory() as folder, progress_bar(len(wanted), NAME) as update:
        tree = Path(folder)
        tree.chmod(0o755)  # some tests run as another user
        copy_tree(tree)
        for done, edit in enumerate(wanted):
            update(done, edit.file)
            store.add(edit._asdict(), run_edit(edit, tree))
        noticed = {store[edit._asdict()]["caught by"] for edit in wanted}
        tests = sorted({test.partition("[")[0] for test in noticed if "::" in test})
        if tests and (failed := run_tests(tree, tests, tree / "cache")["caught by"]):
            raise SystemExit(f"without any edit {failed} fails too")
    rows = rows_of(store)
    show("Edits that break the code", summary(rows))
    save(NAME, {"seconds": SECONDS}, {"edits": rows, "parts": summary(rows)}, options.output)
    if survived := [f"{row['file']}: {row['old']!r} -> {row['new']!r}" for row in rows if not row["caught by"]]:
        raise SystemExit("\n".join(["nothing noticed:", *survived]))


if __name__ == "__main__":
    main()
