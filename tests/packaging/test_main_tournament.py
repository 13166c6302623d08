"""The main job, `make bench`: all players are judged and rated, and its page needs no other file."""

from __future__ import annotations

import copy
import importlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from benchmarks.records import RESULTS
from benchmarks.tournament_report import page, truth_text
from tictac_env.arena import ResultStore, exploitability

ROOT = Path(__file__).parents[2]
COMMITTED = json.loads((RESULTS / "tournament" / "results.json").read_text())
TIC_TAC_TOE = ("random", "rule", "minimax", "QLearning", "ValueTD")
CONNECT_FOUR = ("rule", "minimax-first:2")
AGENTS = ["--agents", "TicTacToe-v0", *TIC_TAC_TOE, "--agents", "ConnectFour-v0", *CONNECT_FOUR]
SMALL = ["--no-deep", "--shorter", "0.02", "--games", "4", "--positions", "30", *AGENTS]
VOID = {"meta", "br", "line", "path"}


def run(folder: Path, *words: str) -> dict[str, Any]:
    """The record of the job, which runs in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["tournament", *words, "--output", str(folder)])
        importlib.import_module("benchmarks.tournament").main()
    found: dict[str, Any] = json.loads((folder / "results.json").read_text())
    return found


def lasting(record: dict[str, Any]) -> dict[str, Any]:
    """A record without what differs from run to run: the times that were taken."""
    record = copy.deepcopy(record)
    for game in record["games"]:
        for agent in game["agents"]:
            if agent["training"]:
                for point in agent["training"]["curve"]:
                    del point["cpu_seconds"]
    return record


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tournament")


@pytest.fixture(scope="module")
def record(folder: Path) -> dict[str, Any]:
    return run(folder, *SMALL)


class Tags(HTMLParser):
    """Reads a page, closing every tag that is open, and keeps its text and its links."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [str(value) for name, value in attrs if name in ("src", "href", "srcset", "data")]
        self.ids |= {str(value) for name, value in attrs if name == "id"}
        assert tag not in ("script", "link", "iframe", "object", "img"), "the page needs something beside it"
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data.strip())


def check_page(text: str, content: dict[str, Any]) -> None:
    """It is whole, names everybody, and loads nothing."""
    read = Tags(text)
    assert read.open == []
    assert all(link.startswith("#") and link[1:] in read.ids for link in read.links)
    assert not any(word in text for word in ("http:", "https:", "url(", "@import", "//"))
    for game in content["games"]:
        for agent in game["agents"]:
            assert agent["name"] in read.texts and agent["budget"] in read.texts


def test_everybody_is_judged_and_rated_and_met(record: dict[str, Any]) -> None:
    small, large = record["games"]
    assert {agent["name"] for agent in small["agents"]} == set(TIC_TAC_TOE)
    assert {agent["name"] for agent in large["agents"]} == set(CONNECT_FOUR)
    for game in record["games"]:
        count = len(game["agents"])
        assert game["games"] == 4 * count * (count - 1) // 2 and len(game["pairs"]) == count * (count - 1)
        scores = {(pair["player"], pair["opponent"]): pair for pair in game["pairs"]}
        for (one, two), pair in scores.items():
            assert sum(pair["as_first"]) == sum(pair["as_second"]) == 2
            assert pair["as_first"] == scores[two, one]["as_second"][::-1]
    agents = {agent["name"]: agent for agent in small["agents"]}
    for name in ("random", "rule", "minimax"):
        assert agents[name]["verdict"]["exploitability"] == pytest.approx(float(exploitability(name)))
        assert agents[name]["training"] is None
    assert agents["minimax"]["verdict"]["as second"]["infallible"]
    assert agents["QLearning"]["training"]["games"] == 280 and agents["QLearning"]["checkpoint_sha256"]
    assert [agents[name]["one_move_rule"] for name in ("rule", "random")] == ["on", "off"]
    for agent in large["agents"]:  # shares, whatever game is known that the player loses
        wins, draws, losses = (f"{100 * share:.1f}" for share in agent["verdict"]["as first"]["v perfect"])
        assert truth_text(agent, "first").startswith(f"{wins} / {draws} / {losses}")
    beaten = {agent["name"]: agent["verdict"]["as second"]["v perfect"] for agent in large["agents"]}
    assert beaten["rule"] == pytest.approx([0, 0, 1])  # the first player wins Connect Four


def check_keys(record: dict[str, Any]) -> None:
    """The record, its games, players, pairs and learning curves have the fields of the committed one."""

    def keys(found: dict[str, Any]) -> list[set[str]]:
        games = found["games"]
        agents, pairs = ([one for game in games for one in game[kind]] for kind in ("agents", "pairs"))
        trainings = [agent["training"] for agent in agents if agent["training"]]
        points = [point for training in trainings for point in training["curve"]]
        groups = ([found], games, agents, pairs, trainings, points, [agent["rating"] for agent in agents])
        return [{key for one in group for key in one} for group in groups]

    assert keys(record) == keys(COMMITTED)


def test_the_record_has_the_fields_of_the_committed_one(record: dict[str, Any]) -> None:
    check_keys(record)


def test_the_page_is_whole_names_everybody_and_loads_nothing(record: dict[str, Any], folder: Path) -> None:
    check_page((folder / "report.html").read_text(), record)
    assert page(COMMITTED) == (RESULTS / "tournament" / "report.html").read_text(), "run tournament_report.py"


def test_a_page_shows_strange_names_forfeits_and_ratings_without_a_bound(record: dict[str, Any]) -> None:
    strange = json.loads(json.dumps(record).replace('"rule"', '"<b>$x</i> & \\"co\\""'))
    game = strange["games"][0]
    game["forfeits"] = [{"player": "random", "moves": "1", "reason": "illegal move: <0>"}]
    game["agents"][0]["rating"] |= {"elo": None, "high": None, "unbounded": "above"}
    game["agents"][-1]["rating"] |= {"elo": None, "low": None, "high": None, "unbounded": ""}
    text = page(strange)
    check_page(text, strange)
    assert "illegal move: <0>" in Tags(text).texts


def test_what_is_kept_is_not_done_again(record: dict[str, Any], folder: Path) -> None:
    kept = [*folder.glob("*-runs.jsonl"), *(folder / "agents").iterdir()]
    before = {path: path.read_bytes() for path in kept}
    with ResultStore(folder / "games.sqlite") as store:
        games = len(store)
    assert run(folder, *SMALL) == record
    assert {path: path.read_bytes() for path in kept} == before
    with ResultStore(folder / "games.sqlite") as store:
        assert len(store) == games


def test_a_player_may_be_a_file_and_a_learner_lost_is_trained_again(
    record: dict[str, Any], folder: Path, tmp_path: Path
) -> None:
    trained = next((folder / "agents").glob("QLearning-*.npz"))
    file = tmp_path / "mine.npz"
    file.write_bytes(trained.read_bytes())
    trained.unlink()
    usual = ["--agents", "TicTacToe-v0", "random", "QLearning", str(file)]
    found = run(folder, *SMALL, *usual)
    agents = {agent["name"]: agent for agent in found["games"][0]["agents"]}
    assert agents["mine"]["verdict"] == agents["QLearning"]["verdict"]
    assert agents["mine"]["kind"] == "file" and agents["mine"]["training"] is None
    assert trained.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--agents", "Chess-v0", "random"], "there is no game 'Chess-v0'"),
        (["--agents", "TicTacToe-v0", "randon", "rule"], "randon"),
        (["--agents", "TicTacToe-v0", "gone.npz", "rule"], "gone.npz"),
        (["--agents", "TicTacToe-v0", "rule", "rule"], "two players of TicTacToe-v0 are called 'rule'"),
    ],
)
def test_a_wrong_player_is_named_before_anything_is_done(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run(tmp_path, *SMALL, *words)
    assert message in capsys.readouterr().err
    assert not (tmp_path / "results.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("kills", [1, 20])
def test_a_killed_run_goes_on_where_it_was(kills: int, record: dict[str, Any], tmp_path: Path) -> None:
    """And leaves no process behind."""
    words = [sys.executable, str(ROOT / "benchmarks" / "tournament.py"), *SMALL, "--output", str(tmp_path)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    draw = random.Random(1)
    for moment in (draw.uniform(0.5, 6) for _ in range(kills)):
        program = subprocess.Popen(words, **quiet, start_new_session=True, cwd=ROOT)  # type: ignore[call-overload]
        try:
            program.wait(moment)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()
        for _ in range(100):
            try:
                os.killpg(program.pid, 0)
            except ProcessLookupError:
                break
            time.sleep(0.1)
        else:
            os.killpg(program.pid, signal.SIGKILL)
            pytest.fail("a worker outlived the program")
    assert lasting(run(tmp_path, *SMALL)) == lasting(record)


@pytest.mark.slow
def test_networks_play_too(tmp_path: Path) -> None:
    pytest.importorskip("sb3_contrib")
    small = ["--shorter", "0.02", "--games", "4", "--positions", "30"]
    agents = ["--agents", "TicTacToe-v0", "random", "DQN", "MaskablePPO", *AGENTS[-4:]]
    found = run(tmp_path, *small, *agents)
    check_keys(found)
    check_page((tmp_path / "report.html").read_text(), found)
    for agent in found["games"][0]["agents"]:
        if agent["name"] != "random":
            assert agent["training"]["steps"] >= 5_000 and agent["training"]["curve"]
            assert agent["budget"] == "no search; one evaluation of a network"
