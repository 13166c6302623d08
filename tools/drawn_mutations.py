"""Breaks the code at random places, and sees whether the tests of `make test` notice.

    make mutants [NUMBER=300] [SEED=0] [WORKERS=2]

An author who chooses the edits (tools/mutations.toml) shows what the author thought of. Here a place of seven parts of
the packages is drawn, each as likely as any other, then one of cosmic-ray's operators that fit there. Edits that
cannot change a behaviour are not drawn: in an annotation, a decorator removed (of a kernel: its speed), `==` exchanged
with `is`.
The file tools/equivalent_mutations.toml names others that change nothing, each with the reason.

An edit is made in a copy of the tree. There the quick tests of its part run that pass through its lines, as a run with
coverage has shown, and if these pass, all of them: coverage does not see kernels and other processes. The program fails
if more than a tenth of the edits survive. It continues after a stop; delete the runs in the folder of results after a
change of the code or of a test.

Some two CPU-hours for 300 edits.
"""

from __future__ import annotations

import ast
import random
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from benchmarks.records import parser_of, save
from tictac_apps.bench.records import Row, RunStore, show
from tictac_env.progress import progress_bar
from tools.mutations import ROOT, Edit, copy_tree, run_tests

NAME = "drawn-mutations"
EQUIVALENT = Path(__file__).with_name("equivalent_mutations.toml")
MOST_SURVIVORS = 0.1

Span = tuple[tuple[int, int], tuple[int, int]]
"""The first and the last (line, column) of a place, as parso counts: lines from 1, columns from 0."""

SAME_BEHAVIOUR = {
    "core/NoOp",
    "core/RemoveDecorator",
    *(f"core/ReplaceComparisonOperator_{one}" for one in ("Eq_Is", "Is_Eq", "NotEq_IsNot", "IsNot_NotEq")),
}


class Part(NamedTuple):
    """Files and folders of a part, and the folders and files of its tests."""

    code: tuple[str, ...]
    tests: tuple[str, ...]


AGENTS = "agents/tictac_agents"
PARTS = {
    "texts": Part(("apps/tictac_apps/language_models/*.py",), ("tests/apps/language_models",)),
    "page": Part(("apps/tictac_apps/web",), ("tests/apps/web",)),
    "learners and curves": Part(
        (f"{AGENTS}/tabular", f"{AGENTS}/curves.py"), ("tests/agents/tabular", "tests/agents/test_curves.py")
    ),
    "benchmark": Part(("apps/tictac_apps/bench",), ("tests/apps/bench",)),
    "AlphaZero and its searches": Part(
        (f"{AGENTS}/alphazero", f"{AGENTS}/mcts"), ("tests/agents/alphazero", "tests/agents/mcts")
    ),
    "solver": Part(("tictac_env/solver",), ("tests/env/solver",)),
    "jobs": Part(("tictac_env/jobs.py",), ("tests/env/jobs",)),
}


def files_of(part: Part) -> Iterator[Path]:
    """Python files of a part, folders included."""
    for name in part.code:
        for path in sorted(ROOT.glob(name)):
            yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


def annotations(source: str) -> list[Span]:
    """Places of annotations, which no program evaluates here."""
    nodes = [
        note
        for node in ast.walk(ast.parse(source))
        for note in (getattr(node, "annotation", None), getattr(node, "returns", None))
        if note is not None
    ]
    return [((node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)) for node in nodes]


def places(source: str) -> dict[Span, list[tuple[str, int]]]:
    """Operators that fit at each place of a file, each with the number of its occurrence in the file."""
    from cosmic_ray.ast import ast_nodes, get_ast  # here and below, as `--help` works without
    from cosmic_ray.plugins import get_operator, operator_names

    nodes, ignored = list(ast_nodes(get_ast(source))), annotations(source)
    fitting = dict[Span, list[tuple[str, int]]]()
    for name in sorted(set(operator_names()) - SAME_BEHAVIOUR):
        operator = get_operator(name)
        if operator.arguments():
            continue
        spans = [span for node in nodes for span in operator().mutation_positions(node)]
        for occurrence, span in enumerate(spans):
            if not any(start <= span[0] and span[1] <= end for start, end in ignored):
                fitting.setdefault(span, []).append((name, occurrence))
    return fitting


def as_edit(part: str, file: str, source: str, mutated: str) -> Edit | None:
    """The edit that makes `mutated` of `source`, None if that is not a program or the same.

    `old` grows upwards until it is there once.
    """
    try:
        if ast.dump(ast.parse(mutated)) == ast.dump(ast.parse(source)):
            return None
    except SyntaxError:
        return None
    before, after = source.splitlines(keepends=True), mutated.splitlines(keepends=True)
    start = next(i for i, (old, new) in enumerate(zip(before, after, strict=False)) if old != new)
    same = next(i for i in range(min(len(before), len(after)) - start) if before[-1 - i] != after[-1 - i])
    while source.count(old := "".join(before[start : len(before) - same])) != 1:
        start -= 1
    return Edit(part, file, old, "".join(after[start : len(after) - same]), " ".join(PARTS[part].tests))


def drawn_edits(number: int, seed: int, parts: Sequence[str]) -> list[Edit]:
    """Random edits, in the order of the parts; the same seed and tree give the same edits."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    sources = {
        str(path.relative_to(ROOT)): (part, path.read_text(encoding="utf-8"))
        for part in parts
        for path in files_of(PARTS[part])
    }
    rng = random.Random(seed)
    fitting = [(file, operators) for file, (_, source) in sources.items() for operators in places(source).values()]
    edits: list[Edit] = []
    for file, operators in rng.sample(fitting, len(fitting)):
        name, occurrence = rng.choice(operators)
        part, source = sources[file]
        mutated = mutate_code(source, get_operator(name)(), occurrence)
        if mutated and (edit := as_edit(part, file, source, mutated)):
            edits.append(edit)
        if len(edits) == number:
            break
    return sorted(edits, key=lambda edit: (parts.index(edit.part), edit.file, edit.old))


def changed_lines(edit: Edit) -> range:
    """The lines of the file that an edit changes, counted from 1."""
    source = (ROOT / edit.file).read_text(encoding="utf-8")
    first = source[: source.index(edit.old)].count("\n") + 1
    old, new = edit.old.splitlines(), edit.new.splitlines()
    same = next(i for i, (before, after) in enumerate(zip(old, new, strict=False)) if before != after)
    return range(first + same, first + len(old))


class Coverage:
    """The tests that pass through each line.

    Args:
        tree: a copy of the tree.
        tests: paths of tests, which run once, measured.
        cache: a folder for machine code.
    """

    def __init__(self, tree: Path, tests: Sequence[str], cache: Path) -> None:
        from coverage import CoverageData

        (tree / ".coverage").unlink(missing_ok=True)
        options = [
            "--cov=tictac_env",
            "--cov=tictac_agents",
            "--cov=tictac_apps",
            "--cov-context=test",
            "--cov-report=",
        ]
        if failed := run_tests(tree, [*options, *tests], cache)["caught by"]:
            raise SystemExit(f"without any edit {failed} fails")
        self._data = CoverageData(str(tree / ".coverage"))
        self._data.read()
        self._tree = tree

    def tests_of(self, edit: Edit) -> list[str]:
        """The tests that pass through a changed line, in the order of their names."""
        by_line = self._data.contexts_by_lineno(str(self._tree / edit.file))
        contexts = {context for line in changed_lines(edit) for context in by_line.get(line, ())}
        return sorted({context.rpartition("|")[0] for context in contexts} - {""})


def equivalent() -> set[tuple[str, str]]:
    """The file and the new text of each edit that is known to change no behaviour."""
    content = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8"))
    return {(row["file"], row["new"].strip()) for row in content["equivalent"]}


def run_edit(edit: Edit, covering: Sequence[str], trees: SimpleQueue[Path], cache: Path) -> dict[str, Any]:
    """The result of the tests with an edit, in one of the copies of the tree, which is then restored."""
    tree = trees.get()
    path = tree / edit.file
    before = path.read_text(encoding="utf-8")
    try:
        path.write_text(edit.applied(before), encoding="utf-8")
        result = run_tests(tree, covering, cache) if covering else {"caught by": ""}
        return result if result["caught by"] else run_tests(tree, edit.tests.split(), cache)
    finally:
        path.write_text(before, encoding="utf-8")
        trees.put(tree)


def summary(rows: Sequence[Row]) -> list[Row]:
    """The edits of each part, those that change nothing, and those that no test noticed."""
    return [
        {
            "part": part,
            "edits": len(of_part := [row for row in rows if row["part"] == part]),
            "equivalent": sum(row["equivalent"] for row in of_part),
            "survived": sum(not row["caught by"] and not row["equivalent"] for row in of_part),
        }
        for part in dict.fromkeys(row["part"] for row in rows)
    ]


def run_all(edits: Sequence[Edit], store: RunStore, workers: int) -> None:
    """Runs the edits that the store lacks."""
    missing = [edit for edit in edits if edit._asdict() not in store]
    with tempfile.TemporaryDirectory() as name, progress_bar(len(missing), NAME) as update:
        folder, trees = Path(name), SimpleQueue[Path]()
        folder.chmod(0o755)  # some tests run as another user
        for worker in range(workers):
            tree = folder / f"tree-{worker}"
            tree.mkdir()
            copy_tree(tree)
            trees.put(tree)
        done = 0
        for part in dict.fromkeys(edit.part for edit in missing):
            tree = trees.get()
            coverage = Coverage(tree, PARTS[part].tests, folder / "cache")
            trees.put(tree)
            of_part = [edit for edit in missing if edit.part == part]
            with ThreadPoolExecutor(workers) as pool:
                jobs = [(run_edit, edit, coverage.tests_of(edit), trees, folder / "cache") for edit in of_part]
                for edit, result in zip(of_part, pool.map(lambda job: job[0](*job[1:]), jobs), strict=True):
                    store.add(edit._asdict(), result)
                    update(done := done + 1, edit.file)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--number", type=int, default=300, help="of edits (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    parser.add_argument("--workers", type=int, default=2, help="copies of the tree at work (default: %(default)s)")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="default: all")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / NAME, help="default: %(default)s")
    options = parser.parse_args()
    edits = drawn_edits(options.number, options.seed, options.parts)
    store = RunStore(options.output / f"{NAME}-runs.jsonl")
    run_all(edits, store, options.workers)
    same = equivalent()
    rows = [
        edit._asdict() | store[edit._asdict()] | {"equivalent": (edit.file, edit.new.strip()) in same} for edit in edits
    ]
    show("Edits at random places", summary(rows))
    save(NAME, {"seed": options.seed}, {"edits": rows, "parts": summary(rows)}, options.output)
    survivors = [row for row in rows if not row["caught by"] and not row["equivalent"]]
    for row in survivors:
        print(f"{row['file']}: {row['old']!r} -> {row['new']!r}")
    if len(survivors) > MOST_SURVIVORS * sum(not row["equivalent"] for row in rows):
        raise SystemExit(f"{len(survivors)} of {len(rows)} edits survived")


if __name__ == "__main__":
    main()
