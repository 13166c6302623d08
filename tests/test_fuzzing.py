"""Whatever is typed, handed over or read from a damaged file: the documented errors and no others."""

from __future__ import annotations

import json
import os
import random
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import npz_files
import numpy as np
import pytest
from conftest import ALL_GAMES, breadth
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

import tictac_agents
from tictac_agents.agent_files import recorded_game
from tictac_apps.bench.records import RunStore
from tictac_apps.labels import LabelStore, label
from tictac_apps.language_models import BoardHarness, ChatEndpoint, TextPolicy, TextSession, read_transcript
from tictac_env.arena import Audit, GameRecord, ResultStore, Suite, read_proof, read_scored_positions, round_robin
from tictac_env.games import GAMES, Game, get_game
from tictac_env.observation import read_observation
from tictac_env.policies import make_policy
from tictac_env.policies.policy import action_of
from tictac_env.position import IllegalMove, Position, format_moves, parse_moves
from tictac_env.position_batch import PositionBatch
from tictac_env.solver import Solver

TTT = GAMES["TicTacToe-v0"]
FEW: dict[str, Any] = {"tuples": 4, "length": 5, "averaging": 0.5}
MEMORY = 2 << 30
"""So much more may be allocated while a damaged file is read."""
few_games = st.sampled_from(ALL_GAMES)


# What is typed and handed over.


@given(game=few_games, moves=st.text("123456789abcz-0 é٣", max_size=45) | st.text(max_size=20))
def test_any_text_is_a_game_or_is_refused(game: Game, moves: str) -> None:
    try:
        position = Position.from_moves(game, moves)
    except (ValueError, IllegalMove):
        return
    assert format_moves(game, parse_moves(game, moves)) == position.to_moves()
    assert Position.from_moves(game, position.to_moves()) == position


LONG = "9" * 100_000
REFUSALS: dict[str, Callable[[], Any]] = {
    "moves": lambda: Position.from_moves(TTT, "x" * 100_000),
    "numbered moves": lambda: Position.from_moves("KInARow-v0:7x7-5,gravity=False", LONG),
    "an action": lambda: Position.from_moves(TTT, [10**4000]),
    "a size": lambda: get_game(f"KInARow-v0:{LONG}x3-3"),
    "the name of a size": lambda: get_game(f"KInARow-v0:{LONG}=3"),
    "a depth": lambda: make_policy(f"minimax:{'x' * 100_000}", TTT),
    "a start": lambda: TextSession(start=LONG),
    "an address": lambda: ChatEndpoint(LONG),
    "a serialized state": lambda: BoardHarness().get_legal_moves({"serializedGameAndState": LONG}),
    "a serialized game": lambda: BoardHarness().get_legal_moves({"serializedGameAndState": f"[Game]\n{'x' * 100_000}"}),
    "an answer": lambda: TextPolicy(lambda prompt: LONG.encode()).act(Position.start(TTT), 0),  # type: ignore[arg-type,return-value]
}


@pytest.mark.parametrize("refused", REFUSALS)
def test_an_error_quotes_a_long_value_in_part(refused: str) -> None:
    with pytest.raises(ValueError) as error:
        REFUSALS[refused]()
    assert len(str(error.value)) < 500


def test_an_error_names_an_integer_that_python_does_not_write() -> None:
    with pytest.raises(ValueError, match=r"in \[0, 9\), not a very large int"):
        Position.from_moves(TTT, [10**5000])


numbers = st.integers() | st.floats() | st.booleans() | st.none() | st.text(max_size=3)


@given(game=few_games, moves=st.lists(numbers | st.integers(-2, 9), max_size=12))
def test_any_actions_are_a_game_or_are_refused(game: Game, moves: list[Any]) -> None:
    try:
        position = Position.from_moves(game, moves)
    except (ValueError, IllegalMove):
        return
    assert list(position.moves) == [int(move) for move in moves]


kinds = st.sampled_from([np.int8, np.int64, np.uint64, np.float32, np.float64, np.bool_, np.complex128, "U2", object])


@given(data=st.data(), game=few_games)
def test_any_array_is_a_position_or_is_refused(data: st.DataObject, game: Game) -> None:
    shape = data.draw(st.sampled_from([(game.rows, game.cols), (game.cells,), (), (0,), (game.cols, game.rows, 1)]))
    if data.draw(st.booleans()):
        board = data.draw(arrays_of.arrays(np.int8, (game.rows, game.cols), elements=st.integers(-1, 2)))
    else:
        board = data.draw(arrays_of.arrays(data.draw(kinds), shape, elements=None))
    for read in (Position.from_array, read_observation):
        try:
            found = read(game, board)  # type: ignore[operator]
        except ValueError:
            continue
        own, opp = (found.own, found.opp) if isinstance(found, Position) else found
        assert not own & opp and not (own | opp) & ~sum(game.cell(*divmod(c, game.cols)) for c in range(game.cells))


@given(game=few_games, code=st.integers() | st.integers(0, 3**20) | st.floats() | st.text(max_size=2) | st.none())
def test_any_code_is_a_position_or_is_refused(game: Game, code: Any) -> None:
    try:
        position = Position.from_code(game, code)
    except (ValueError, TypeError):
        return
    assert position.code == code


# Files.


def learned(name: str, games: int = 20, **settings: Any) -> Callable[[Path], Callable[[Path], Any]]:
    """Saves an agent that has learned a little; returns what loads it."""

    def save(path: Path) -> Callable[[Path], Any]:
        made = getattr(tictac_agents, name)
        agent, length = made("TicTacToe-v0", seed=0, **settings), "total_episodes"
        agent.learn(**{length if hasattr(agent, "num_episodes") else "total_games": games}, progress_bar=False)
        agent.save(path)
        return made.load  # type: ignore[no-any-return]

    return save


def planner(path: Path) -> Callable[[Path], Any]:
    agent = tictac_agents.ValueIteration("TicTacToe-v0")
    agent.save(path)
    return tictac_agents.ValueIteration.load


def network(path: Path) -> Callable[[Path], Any]:
    tictac_agents.NTupleTD(TTT, seed=0, **FEW).learn(20, progress_bar=False).network.save(path)
    return tictac_agents.NTupleNetwork.load


def suite(path: Path) -> Callable[[Path], Any]:
    positions = [Position.from_moves(TTT, moves) for moves in ("1", "15", "152", "1523")]
    batch = PositionBatch.of(positions)
    Suite("small", batch, label(batch, solver=Solver(TTT))).save(path)
    return Suite.load


def network_of_torch(path: Path) -> Callable[[Path], Any]:
    pytest.importorskip("sb3_contrib")
    model = tictac_agents.DQN("MlpPolicy", "TicTacToe-v0", buffer_size=10, seed=0, device="cpu")
    model.save(path)
    return lambda path: tictac_agents.DQN.load(path, device="cpu")


SAVED: dict[str, Callable[[Path], Callable[[Path], Any]]] = {
    "QLearning.npz": learned("QLearning"),
    "suite.npz": suite,
}
MORE_SAVED = SAVED | {
    "NTupleTD.npz": learned("NTupleTD", **FEW),
    "AlphaZero.npz": learned("AlphaZero", simulations=2, boards=4, tuples=4, length=3),
    "ValueTD.npz": learned("ValueTD"),
    "MonteCarlo.npz": learned("MonteCarlo"),
    "GameTree.npz": learned("GameTree"),
    "S2Network.npz": learned("S2Network", 5),
    "ValueIteration.npz": planner,
    "NTupleNetwork.npz": network,
    "DQN.zip": network_of_torch,
}


@contextmanager
def bounded_memory() -> Iterator[None]:
    """Too much memory cannot be had within the block."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        yield
        return
    resource.setrlimit(resource.RLIMIT_AS, (pages * os.sysconf("SC_PAGE_SIZE") + MEMORY, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Bytes flipped, cut off, left out, doubled or put in."""
    at, length = rng.randrange(len(content)), rng.choice((1, 1, 4, 50, 1000))
    kind = rng.randrange(5)
    if kind == 0:
        return content[:at]
    if kind == 1:
        return content[:at] + content[at + length :]
    if kind == 2:
        return content[:at] + content[at : at + length] + content[at:]
    noise = rng.randbytes(length)
    return content[:at] + noise + content[at + (length if kind == 3 else 0) :]


WORDS: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 7, 2**31, 2**63, 2**70, 10**12, 0.5, float("nan"), float("inf"), "", "x", "ConnectFour-v0"),
    *([], {}, [1, 2, 3], {"id": "KInARow-v0", "rows": 7, "cols": 7}, "9" * 400),
)


def doctored(value: Any, rng: random.Random) -> Any:
    """A JSON value with one thing in it exchanged, or gone."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        if rng.random() < 0.15:
            return {name: one for name, one in value.items() if name != key}
        return value | {key: doctored(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = rng.randrange(len(value))
        return [*value[:at], doctored(value[at], rng), *value[at + 1 :]]
    return rng.choice(WORDS)


def another_array(array: Any, rng: random.Random) -> Any:
    """An array of another dtype, another shape or other values."""
    kind = rng.randrange(9)
    with np.errstate(all="ignore"):
        if kind == 0:
            return array.astype(rng.choice((np.int8, np.uint64, np.float16, np.float64, np.complex64, np.bool_)))
        if kind == 1:
            return array.astype("U3") if array.dtype.kind in "iub" else array.astype(np.complex128)
        if kind == 2:
            return array.ravel()[: rng.randrange(array.size + 1)]
        if kind == 3:
            return array[None]
        if kind == 4:
            return np.zeros((0, *array.shape[1:]), array.dtype)
        if kind == 5:
            return np.concatenate([array.ravel(), array.ravel()])
        changed = array.copy()
        if changed.size:
            flat = changed.reshape(-1)
            extreme = (np.nan, np.inf, -1e308) if array.dtype.kind == "f" else (-1, 0, 2**62, -(2**62), 1)
            flat[rng.randrange(flat.size) if kind < 8 else slice(None)] = np.array(rng.choice(extreme)).astype(
                array.dtype
            )
        return changed


def refusal(path: Path, read: Callable[[Path], object]) -> str:
    """What is wrong with a file, "" if it can be read: said by a ValueError with its name, and it is as it was."""
    kept = path.read_bytes()
    try:
        with bounded_memory():
            read(path)
        told = ""
    except ValueError as error:
        told = str(error)
    assert path.read_bytes() == kept
    assert not told or path.name in told
    return told


def used(agent: Any) -> None:
    """Whatever a file gave plays legally, or says why it cannot."""
    if isinstance(agent, Suite):
        return
    game = agent.game if hasattr(agent, "game") else TTT
    if hasattr(agent, "act") and isinstance(game, Game):
        with suppress(ValueError, IllegalMove):
            action_of(agent, Position.start(game), 0)


@pytest.mark.parametrize(
    ("name", "times"), breadth([(name, 40) for name in SAVED], [(name, 500) for name in MORE_SAVED])
)
def test_a_damaged_file_is_refused_by_its_name_or_does_no_harm(name: str, times: int, tmp_path: Path) -> None:
    path, rng = tmp_path / name, random.Random(name)
    load = MORE_SAVED[name](path)
    content, refused = path.read_bytes(), 0
    structured = npz_files.read(path) if name.endswith(".npz") else None
    for number in range(times):
        if structured is None or number % 3 == 0:
            path.write_bytes(damaged(content, rng))
        else:
            header, arrays = structured
            if number % 3 == 1 or not arrays:
                header = header | {"meta": doctored(header["meta"], rng)}
            else:
                member = rng.choice(list(arrays))
                arrays = {key: one for key, one in arrays.items() if key != member or rng.random() < 0.85}
                arrays = {key: another_array(one, rng) if key == member else one for key, one in arrays.items()}
            npz_files.write(path, header, arrays)
        refused += bool(refusal(path, lambda path: used(load(path))))
    assert refused > times // 4


@pytest.mark.parametrize("name", breadth(["QLearning.npz"], [name for name in MORE_SAVED if name.endswith(".npz")]))
def test_a_file_with_another_kind_of_meta_is_refused_by_its_name(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    load = MORE_SAVED[name](path)
    header, arrays = npz_files.read(path)
    for meta in ([], [1], "x", None, 5):
        npz_files.write(path, header | {"meta": meta}, arrays)
        assert refusal(path, load) and refusal(path, recorded_game)


GROWING = [name for name in MORE_SAVED if name.endswith(".npz") and name not in ("suite.npz", "ValueIteration.npz")]


@pytest.mark.parametrize("name", breadth(["QLearning.npz"], GROWING))
def test_a_short_file_of_more_than_an_agent_can_hold_is_refused_unread(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / name
    load = MORE_SAVED[name](path)
    header, arrays = npz_files.read(path)
    member = next(iter(arrays))
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays | {member: np.zeros(1 << 23, arrays[member].dtype)})  # type: ignore[arg-type]
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("meta.json", json.dumps(header))
    monkeypatch.setattr(np, "load", None)
    with pytest.raises(ValueError, match=rf"{name} cannot be read as .* more than [\d,]+ bytes"):
        load(path)


READERS: dict[str, Callable[[Path], object]] = {
    "runs.jsonl": RunStore,
    "answers.jsonl": read_transcript,
    "proof.json": lambda path: read_proof(path.parent),
}


@pytest.mark.parametrize("name", READERS)
def test_json_that_is_nested_too_deeply_is_refused_by_its_name(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text("[" * 100_000 + "\n")
    assert refusal(path, READERS[name])


def test_an_audit_that_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(ValueError, match="not the JSON of an audit"):
        Audit.from_json("[" * 100_000)


@pytest.mark.parametrize("times", breadth([25], [500]))
def test_a_damaged_result_store_is_refused_or_whole(times: int, tmp_path: Path) -> None:
    """No game is ever told that was not played."""
    whole, path, rng = tmp_path / "whole.sqlite", tmp_path / "games.sqlite", random.Random(0)
    round_robin(["random", "rule"], games=20, store=whole)
    with ResultStore(whole) as store:
        games = list(store)
    content, refused = whole.read_bytes(), 0
    for _ in range(times):
        path.write_bytes(damaged(content, rng))
        found: list[GameRecord] = []

        def read(path: Path, found: list[GameRecord] = found) -> None:
            with ResultStore(path) as store:
                found.extend(store)

        refused += bool(refusal(path, read))
        assert all(game in games for game in found)
    assert refused > times // 4


@pytest.mark.parametrize("times", breadth([25], [500]))
def test_a_damaged_store_of_scores_is_refused_or_whole(times: int, tmp_path: Path) -> None:
    whole, path, rng = tmp_path / "whole.sqlite", tmp_path / "scores.sqlite", random.Random(1)
    labels = {(one, 2 * one): (one, -one, 3) for one in range(1, 200)}
    LabelStore(whole, TTT).add(labels)
    content = whole.read_bytes()
    for _ in range(times):
        path.write_bytes(damaged(content, rng))
        found: dict[Any, Any] = {}
        refusal(path, lambda path, found=found: found.update(LabelStore(path, TTT).find(list(labels))))
        assert found.items() <= labels.items()


@pytest.mark.parametrize("times", breadth([100], [2000]))
def test_damaged_lines_are_named(times: int, tmp_path: Path) -> None:
    """Of stores of runs and of tables of scored positions."""
    rng, runs, scored = random.Random(2), tmp_path / "runs.jsonl", tmp_path / "scored.csv"
    lines = "".join(json.dumps({"settings": {"seed": n}, "results": {"won": n}}) + "\n" for n in range(9)).encode()
    columns = ",".join(f"column_{number}" for number in range(1, 10))
    table = f"moves,score,{columns}\n12345687,1,,,,,,,,,1\n".encode()
    for _ in range(times):
        runs.write_bytes(damaged(lines, rng))
        scored.write_bytes(damaged(table, rng))
        refusal(runs, RunStore)
        refusal(scored, lambda path: read_scored_positions(path, TTT))
