"""Imports run down the floors, heavy packages stay where they belong, and importing the package is cheap."""

from __future__ import annotations

import ast
import functools
import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import tictac_agents
import tictac_apps
import tictac_env

FLOORS = tictac_env, tictac_agents, tictac_apps
"""The packages, lowest first: each imports from itself and from those below it."""

LAYERS: list[set[str]] = [
    {"arrays", "games", "rng", "storage", "progress", "lazy"},
    {"position", "position_batch", "observation", "render"} | {"checks", "check_game", "compiled", "jobs"},
    {"policies", "solver"},
    {"envs", "wrappers", "connect_four_v0", "tictactoe_v0", "arena"},
]
"""The modules and packages within `tictac_env`: each imports from its own layer and those above it in this list."""

COMPILED = {
    f"tictac_env.compiled.{name}"
    for name in ("game_types", "kernels", "numba_check", "numba_names", "numba_public", "numba_version")
}
ONLY_IN: dict[str, set[str]] = {
    "numba": COMPILED,
    "llvmlite": COMPILED,
    "pygame": {"tictac_env.render.window"},
    "anywidget": {"tictac_apps.notebook.widget"},
    "minari": {"tictac_apps.bridges.minari"},
    "h5py": {"tictac_apps.bridges.minari"},
    "pyarrow": {"tictac_apps.language_models.prompts"},
    "scipy": set(),  # 112 MB for a few functions: tests and benchmarks only
    "bitbully": set(),  # its licence is the AGPL: tests and benchmarks only
    "loky": {"tictac_env.jobs"},
    "ray": {"tictac_env.jobs"},
    "pickle": set(),
    "cloudpickle": {"tictac_env.envs.single", "tictac_env.jobs"},
}
"""Packages that only these modules may import."""

ROOTS = {package.__name__: Path(str(package.__file__)).parent for package in FLOORS}


def sources() -> Iterator[tuple[str, Path]]:
    """The module name and the file of every module of the packages."""
    for package, root in ROOTS.items():
        for path in sorted(root.rglob("*.py")):
            parts = (package, *path.relative_to(root).with_suffix("").parts)
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


MODULES = dict(sources())


@functools.cache
def parsed(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


def imports(module: str) -> Iterator[tuple[str, bool]]:
    """The imports of a module, by full name, and if each is made at once (not within a function)."""

    def walk(node: ast.AST, at_once: bool) -> Iterator[tuple[str, bool]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                yield from ((alias.name, at_once) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                assert child.level == 0, f"{module} imports relatively"
                for alias in child.names:
                    name = f"{child.module}.{alias.name}"
                    yield (name if name in MODULES else str(child.module)), at_once
            else:
                yield from walk(child, at_once and not isinstance(child, (ast.FunctionDef, ast.Lambda)))

    return walk(parsed(module), True)


def above(module: str) -> list[str]:
    """The packages of the floors above that of a module."""
    names = [package.__name__ for package in FLOORS]
    return names[names.index(module.partition(".")[0]) + 1 :]


def strings(module: str) -> Iterator[str]:
    """The strings of a module, apart from documentation."""
    tree = parsed(module)
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.value


@pytest.mark.parametrize("module", MODULES)
def test_no_string_names_a_floor_above(module: str) -> None:
    """What is above joins by an entry point or a call; a name in a string is an import that no editor follows."""
    for text in strings(module):
        assert not any(package in text for package in above(module)), f"{module} has {text!r}"


def layer(name: str) -> int:
    found = [number for number, names in enumerate(LAYERS) if name in names]
    assert len(found) == 1, f"tictac_env.{name} has no layer: give it one in LAYERS"
    return found[0]


@pytest.mark.parametrize("module", MODULES)
def test_imports_run_one_way_and_packages_stay_where_they_belong(module: str) -> None:
    for imported, _ in imports(module):
        package, *parts = imported.split(".")
        assert module in ONLY_IN.get(package, {module}), f"{module} imports {imported}"
        assert package not in {"benchmarks", "tests", "tools", *above(module)}, f"{module} imports {imported}"
        if package == "tictac_env" and parts and module.startswith("tictac_env."):
            here, there = module.split(".")[1], parts[0]
            assert layer(there) <= layer(here), f"{module} imports {imported}, which is above it"


def test_no_modules_import_each_other() -> None:
    graph = {
        module: {name for name, at_once in imports(module) if at_once and name in MODULES and name != module}
        for module in MODULES
        if module not in ROOTS
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(reversed(error.args[1])))


SEVERAL = {
    *("env", "raw_env"),  # PettingZoo's names, in each of its modules
    "main",  # of a program
    "play",  # the program `tictac-env`, and the function for notebooks
    *("Minimax", "Mixture", "Moves", "OutOfTime", "Player", "mix"),  # repeated in the file that a player is exported as
}
"""The names that several modules may have."""


def test_a_public_function_or_class_has_a_name_of_its_own() -> None:
    """So a search for a name finds what it means."""
    homes: dict[str, list[str]] = {}
    for module in MODULES:
        if module == "tictac_env.compiled.numba_public":
            continue  # it has the names of `numba_names`
        for node in parsed(module).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name[0] != "_":
                homes.setdefault(node.name, []).append(module)
    several = {name: modules for name, modules in homes.items() if len(set(modules)) > 1 and name not in SEVERAL}
    assert several == {}


def test_the_test_sees_imports() -> None:
    """Should the reader of imports go blind, the tests above would pass for nothing."""
    assert ("tictac_env.arena.proof", False) in imports("tictac_env.arena.lost_games")
    assert ("tictac_env.games", True) in imports("tictac_env.position") and len(MODULES) > 30


HEAVY = "numba", "scipy", "torch", "stable_baselines3", "pygame", "matplotlib", "rich", "starlette", "uvicorn"
HEAVY += "anywidget", "ipywidgets", "IPython", "minari", "h5py", "ray"
COMPILED = {"numba", "scipy"}  # Numba loads SciPy

USES = {
    "import": "import tictac_env",
    "names": "import tictac_agents; assert 'SB3VecEnv' in dir(tictac_agents)",
    "top": """
import sys, tictac_env
assert {*tictac_env.__all__} <= {*dir(tictac_env)}
assert not {"tictac_env.arena", "tictac_env.position", "tictac_env.policies", "tictac_env.solver"} & {*sys.modules}
from tictac_env import OpponentPool, Policy, Position, check_policy, make_policy
""",
    "play": """
import gymnasium as gym, tictac_env
env = gym.make("ConnectFour-v0", opponent="rule")
env.reset(seed=0)
env.step(3)
""",
    "judge": """
from tictac_env import play_match, round_robin, verdict
round_robin(["random", "rule"], games=2)
""",
    "tabulated": """
from tictac_env.policies import make_policy
from tictac_env.position import Position
make_policy("minimax").act(Position.from_moves("TicTacToe-v0", "5"), 0)
make_policy("minimax:4", "ConnectFour-v0")
""",
}
COMPILED_USES = {
    "search": """
from tictac_agents import MCTS
from tictac_env.position import Position
MCTS(10).act(Position.start("TicTacToe-v0"), 0)
""",
    "complete": """
import contextlib, io
from tictac_apps import cli
with contextlib.redirect_stdout(io.StringIO()):
    cli.main(["completion", "bash"])
""",
    "learn": """
from tictac_agents import QLearning
QLearning("TicTacToe-v0", seed=0).learn(total_episodes=3, progress_bar=False)
""",
}


LOADED = """
import sys, gymnasium
before = set(sys.modules)
for name, use in {uses}.items():
    exec(use, {{}})
    print(name, *set(sys.modules) - before)
"""


@pytest.mark.parametrize(("uses", "needed"), [(USES, set()), (COMPILED_USES, COMPILED)], ids=["plain", "compiled"])
def test_no_heavy_package_is_loaded_without_need(uses: dict[str, str], needed: set[str]) -> None:
    """Gymnasium itself loads one or another of these in some versions, so what counts is what we add to it."""
    command = [sys.executable, "-c", LOADED.format(uses=uses)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loaded = {use: set(modules) for use, *modules in map(str.split, done.stdout.splitlines())}
    assert loaded.keys() == uses.keys()
    assert [use for use in uses if {name.split(".")[0] for name in loaded[use]} & set(HEAVY) - needed] == []


PROGRAM = """
import tictac_agents, tictac_env
from pathlib import Path
from tictac_apps.cli import main
Path("anna.py").write_text("def choose(cells, legal):\\n    return legal[0]\\n")
for words in {commands}:
    assert main(words.split()) == 0, words
try:
    import scipy
except ImportError:
    print("it is not there")
"""
COMMANDS = [
    "solve 4453",
    "train QLearning --total-episodes 500 --save q.npz",
    "audit q.npz",
    "grade anna.py --assignment rules",
    "tournament random rule q.npz --games 4",
    "bench --no-deep --game TicTacToe-v0 --against random rule QLearning --shorter 0.02 --games 4 --positions 30",
]


@pytest.mark.slow
def test_commands_run_without_scipy(tmp_path: Path) -> None:
    """A dependency may ask for it, as Numba's linear algebra does. Processes that are started find none, too."""
    (tmp_path / "scipy.py").write_text("raise ImportError('not here')")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(commands=COMMANDS)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and done.stdout.endswith("it is not there\n"), done.stderr


def test_the_names_at_the_top_are_those_of_the_modules() -> None:
    assert set(tictac_env.__all__) == {name for names in tictac_env.HOMES.values() for name in names} | {
        "register_game"
    }
    for home, names in tictac_env.HOMES.items():
        for name in names:
            assert getattr(tictac_env, name) is getattr(importlib.import_module(home), name)
    with pytest.raises(ImportError, match="cannot import name 'Postion'"):
        exec("from tictac_env import Postion")
