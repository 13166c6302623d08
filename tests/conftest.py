"""What all tests share: the games they run on, random positions of them, and where the public test data lies."""

from __future__ import annotations

import functools
import gc
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pettingzoo
import pytest
from chromium import launched
from hypothesis import settings
from hypothesis import strategies as st

import tictac_env  # noqa: F401  # registers the environments
from examples.hex import Hex
from tictac_env.envs import entry_points
from tictac_env.games import FAMILIES, GAMES, Game, KInARow, describe_game, game_name
from tictac_env.position import Position

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported: its threads only wait for each other here

if threading.current_thread() is threading.main_thread():
    # A shell starts what runs in the background with Ctrl-C ignored; tests of Ctrl-C need it heard.
    signal.signal(signal.SIGINT, signal.default_int_handler)

gc.set_threshold(50_000)  # compiling makes many objects that stay: looking for garbage that often took 7 % of the time

settings.register_profile("tests", derandomize=True, database=None, deadline=None, max_examples=40)
settings.register_profile("thorough", settings.get_profile("tests"), max_examples=400)  # make test-all asks for it
settings.load_profile("tests")

DATA = Path(__file__).parents[2] / "shared" / "data"

ODD_GAMES = [
    KInARow.make(rows, cols, connect, gravity)
    for rows, cols, connect, gravity in (
        (1, 1, 1, False),
        (1, 1, 1, True),
        (2, 2, 2, False),
        (3, 4, 2, False),  # a line of two
        (4, 5, 3, False),  # oblong
        (5, 4, 3, True),
        (6, 8, 4, True),  # columns closer than a byte
        (8, 7, 4, True),  # all 63 bits
        (9, 5, 4, True),  # columns wider than a byte
        (1, 31, 5, False),
        (31, 1, 5, True),  # a single action
        (7, 7, 5, False),  # more actions than move characters
        (5, 7, 6, True),
    )
]
HEX = Hex.make(3)
"""A game outside the family, that is neither decided by lines nor alike for both players."""
ALL_GAMES: list[Game] = [*GAMES.values(), *ODD_GAMES, HEX]

OBLONG = KInARow.make(4, 5, 3, False)
WIDE = KInARow.make(8, 7, 4, True)
COMPILED_GAMES: list[Game] = [*GAMES.values(), WIDE]
"""The games whose rules `make test` compiles: each has machine code of its own."""


@functools.cache
def bubblewrap_trouble() -> str:
    """Why bubblewrap, which confines graded submissions, does not work here; empty if it does."""
    words = ["bwrap", "--unshare-all", "--unshare-user", "--disable-userns", "--ro-bind", "/", "/", "true"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "bubblewrap is not installed"
    return f"bubblewrap does not work here: {done.stderr.strip()}" if done.returncode else ""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips what grades a submission if bubblewrap does not work here: marked tests, and examples in docstrings."""
    for item in items:
        grades = item.get_closest_marker("bubblewrap") or item.name.endswith((".grading.grade", ".grading.points"))
        if grades and bubblewrap_trouble():
            item.add_marker(pytest.mark.skip(reason=bubblewrap_trouble()))


def breadth(few: Iterable[Any], more: Iterable[Any]) -> list[Any]:
    """Parameters: `few` for `make test`, and `more` for `make test-all` too."""
    few, slow = list(few), pytest.mark.slow
    rest = [one if isinstance(one, tuple) else (one,) for one in more if one not in few]
    return [*few, *(pytest.param(*values, marks=slow) for values in rest)]


def own_settings(agent: str, preset: str) -> dict[str, Any]:
    """The arguments of an agent's constructor that a preset changes."""
    from tictac_agents.plan import settings_class  # not where only environments are tested

    own = settings_class(agent)
    return {name: value for name, value in own.PRESETS[preset].items() if name in own.allowed()}


def title(game: Game) -> str:
    """How a test's name calls a game."""
    return game_name(game) or repr(game)


def make_env(game: Game, **kwargs: Any) -> gym.Env[Any, Any]:
    """The environment of any game of `ALL_GAMES`, made as a user makes it."""
    return gym.make(**id_and_sizes(game), **kwargs)


def id_and_sizes(game: Game) -> dict[str, Any]:
    """The id of a game, and its sizes if it is one of a family, as `gym.make` and `gym.make_vec` take them."""
    known = describe_game(game)
    return {"id": known} if isinstance(known, str) else known


def playout(game: Game, seed: int = 0, plies: int = 63) -> list[Position]:
    """The positions of a random game, from the start to its end or to ply `plies`."""
    rng = random.Random(seed)
    positions = [Position.start(game)]
    while len(positions) <= plies and not positions[-1].is_over:
        positions.append(positions[-1].play(rng.choice(positions[-1].legal_actions)))
    return positions


def playouts(game: Game) -> st.SearchStrategy[list[Position]]:
    """For Hypothesis: random games that break off at any ply."""
    return st.builds(playout, st.just(game), st.integers(0, 2**32), st.integers(0, game.cells))


def lowest(observation: Any, mask: npt.NDArray[np.int8]) -> int:
    """A player: the lowest legal action."""
    return int(mask.argmax())


def highest(observation: Any, mask: npt.NDArray[np.int8]) -> int:
    """A player: the highest legal action."""
    return int(np.flatnonzero(mask)[-1])


def assert_same(ours: Any, theirs: Any, where: str = "") -> None:
    """Asserts that two results of environments are equal, with their types, dtypes and shapes."""
    if isinstance(theirs, dict):
        assert isinstance(ours, dict) and set(ours) == set(theirs), where
        for key, value in theirs.items():
            assert_same(ours[key], value, f"{where}, {key}")
    elif isinstance(theirs, (tuple, list)) or (isinstance(theirs, np.ndarray) and theirs.dtype == object):
        assert len(ours) == len(theirs) and getattr(ours, "dtype", None) == getattr(theirs, "dtype", None), where
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other, where)
    else:
        assert type(ours) is type(theirs), where
        if isinstance(theirs, np.ndarray):
            assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), where
        assert np.array_equal(ours, theirs), f"{where}: {ours} is not {theirs}"


@pytest.fixture
def pygame(monkeypatch: pytest.MonkeyPatch) -> Any:
    """pygame without a screen and without waiting between the moves."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setattr("tictac_env.render.window.RENDER_FPS", 0)
    return pytest.importorskip("pygame")


def pixels_shown() -> Any:
    """The pixels of pygame's window, (height, width, 3)."""
    pygame = pytest.importorskip("pygame")
    return pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, for one module at a time: two of Playwright's loops cannot run side by side."""
    yield from launched()


compiled_games = pytest.mark.parametrize("game", breadth(GAMES.values(), ALL_GAMES), ids=title)
"""For tests that compile; all others take the fixture `game`."""


@pytest.fixture(params=ALL_GAMES, ids=title, scope="session")
def game(request: pytest.FixtureRequest) -> Game:
    """Every registered game, odd sizes, and Hex."""
    return request.param


@pytest.fixture(params=GAMES, scope="session")
def name(request: pytest.FixtureRequest) -> str:
    """The name of every registered game."""
    return request.param


@pytest.fixture
def registries() -> Iterator[None]:
    """Forgets after a test what it has registered."""
    stores = GAMES, FAMILIES, entry_points.PAGES, gym.registry, pettingzoo.aec_registry
    before = [dict(store) for store in stores]
    yield
    for store, content in zip(stores, before, strict=True):
        store.clear()
        store.update(content)


@pytest.fixture
def own_game(registries: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A game of one's own, "module:Name-v0", of which the module is a file of the current folder."""
    (tmp_path / "own_games.py").write_text(
        "from tictac_env import register_game\nfrom tictac_env.games import KInARow\n"
        "register_game('Own-v0', KInARow.make(3, 4, 3, gravity=True))\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield "own_games:Own-v0"
    sys.modules.pop("own_games", None)


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of public test data, which is not part of the project."""
    if not DATA.is_dir():
        pytest.skip(f"no test data in {DATA}")
    return DATA
