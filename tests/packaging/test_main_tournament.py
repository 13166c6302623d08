"""The main job, `make bench`: all players are judged and rated, and its page needs no other file."""

from __future__ import annotations

import copy
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

from benchmarks import tournament
from benchmarks.tournament_report import page, truth_text
from tictac_env.arena import ResultStore, exploitability

TIC_TAC_TOE = ("random", "rule", "minimax", "QLearning", "ValueTD")
CONNECT_FOUR = ("rule", "minimax-first:2")
AGENTS = ["--agents", "TicTacToe-v0", *TIC_TAC_TOE, "--agents", "ConnectFour-v0", *CONNECT_FOUR]
SMALL = ["--no-deep", "--shorter", "0.02", "--games", "4", "--positions", "30", *AGENTS]


def run(folder: Path, *words: str) -> dict[str, Any]:
    """The record of the job, which runs in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["tournament", *words, "--output", str(folder)])
        tournament.main()
    found: dict[str, Any] = json.loads((folder / "results.json").read_text())
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tournament")


@pytest.fixture(scope="module")
def record(folder: Path) -> dict[str, Any]:
    return run(folder, *SMALL)


class Tags(HTMLParser):
    """Reads a page whose tags must match, and keeps its text and its links."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open, self.texts, self.links, self.ids = list[str](), list[str](), list[str](), set[str]()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [str(value) for name, value in attrs if name in ("src", "href", "srcset", "data")]
        self.ids |= {str(value) for name, value in attrs if name == "id"}
        assert tag not in ("script", "link", "iframe", "object", "img"), "the page needs another file"
        if tag not in ("meta", "br", "line", "path"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert tag in ("line", "path") or self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data.strip())


def check(content: dict[str, Any], text: str) -> Tags:
    """The page of the record is whole, names everybody, and loads nothing."""
    read = Tags(text)
    assert read.open == [] and all(link.startswith("#") and link[1:] in read.ids for link in read.links)
    assert not any(word in text for word in ("http:", "https:", "url(", "@import", "//"))
    for agent in (agent for game in content["games"] for agent in game["agents"]):
        assert agent["name"] in read.texts and agent["budget"] in read.texts
    return read


def test_everybody_is_judged_and_rated_and_met(record: dict[str, Any], folder: Path) -> None:
    check(record, (folder / "report.html").read_text())
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
    assert agents["minimax"]["verdict"]["as second"]["infallible"] and agents["minimax"]["training"] is None
    assert agents["QLearning"]["training"]["games"] == 280 and agents["QLearning"]["checkpoint_sha256"]
    assert [agents[name]["one_move_rule"] for name in ("rule", "random")] == ["on", "off"]
    for agent in large["agents"]:  # shares, whatever game is known that the player loses
        wins, draws, losses = (f"{100 * share:.1f}" for share in agent["verdict"]["as first"]["v perfect"])
        assert truth_text(agent, "first").startswith(f"{wins} / {draws} / {losses}")
    beaten = {agent["name"]: agent["verdict"]["as second"]["v perfect"] for agent in large["agents"]}
    assert beaten["rule"] == pytest.approx([0, 0, 1])  # the first player wins Connect Four


def test_a_page_shows_strange_names_forfeits_and_ratings_without_a_bound(record: dict[str, Any]) -> None:
    strange = json.loads(json.dumps(record).replace('"rule"', '"<b>$x</i> & \\"co\\""'))
    game = strange["games"][0]
    game["forfeits"] = [{"player": "random", "moves": "1", "reason": "illegal move: <0>"}]
    game["agents"][0]["rating"] |= {"elo": None, "high": None, "unbounded": "above"}
    game["agents"][-1]["rating"] |= {"elo": None, "low": None, "high": None, "unbounded": ""}
    assert "illegal move: <0>" in check(strange, page(strange)).texts


def test_kept_work_is_not_repeated_a_player_may_be_a_file_and_a_lost_learner_is_trained_again(
    record: dict[str, Any], folder: Path, tmp_path: Path
) -> None:
    before = {path: path.read_bytes() for path in [*folder.glob("*-runs.jsonl"), *(folder / "agents").iterdir()]}
    with ResultStore(folder / "games.sqlite") as store:
        games = len(store)
    assert run(folder, *SMALL) == record
    assert {path: path.read_bytes() for path in before} == before
    with ResultStore(folder / "games.sqlite") as store:
        assert len(store) == games
    trained = next((folder / "agents").glob("QLearning-*.npz"))
    trained.rename(file := tmp_path / "mine.npz")
    found = run(folder, *SMALL, "--agents", "TicTacToe-v0", "random", "QLearning", str(file))
    agents = {agent["name"]: agent for agent in found["games"][0]["agents"]}
    assert agents["mine"]["verdict"] == agents["QLearning"]["verdict"] and trained.exists()
    assert agents["mine"]["kind"] == "file" and agents["mine"]["training"] is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["Chess-v0", "random"], "there is no game 'Chess-v0'"),
        (["TicTacToe-v0", "randon", "rule"], "randon"),
        (["TicTacToe-v0", "gone.npz", "rule"], "gone.npz"),
        (["TicTacToe-v0", "rule", "rule"], "two players of TicTacToe-v0 are called 'rule'"),
    ],
)
def test_a_wrong_player_is_named_before_anything_is_done(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run(tmp_path, *SMALL, "--agents", *words)
    assert message in capsys.readouterr().err and not (tmp_path / "results.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("kills", [1, 20])
def test_a_killed_run_continues_and_leaves_no_process(kills: int, record: dict[str, Any], tmp_path: Path) -> None:
    words, draw = [sys.executable, str(tournament.__file__), *SMALL, "--output", str(tmp_path)], random.Random(1)
    for _ in range(kills):
        program = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            program.wait(draw.uniform(0.5, 6))
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
    found, expected = run(tmp_path, *SMALL), copy.deepcopy(record)
    for agent in (agent for one in (found, expected) for game in one["games"] for agent in game["agents"]):
        for point in agent["training"]["curve"] if agent["training"] else ():
            del point["cpu_seconds"]  # the times differ from run to run
    assert found == expected


@pytest.mark.slow
def test_networks_play_too(tmp_path: Path) -> None:
    pytest.importorskip("sb3_contrib")
    agents = ["--agents", "TicTacToe-v0", "random", "DQN", "MaskablePPO", *AGENTS[-4:]]
    found = run(tmp_path, "--shorter", "0.02", "--games", "4", "--positions", "30", *agents)
    check(found, (tmp_path / "report.html").read_text())
    for agent in (agent for agent in found["games"][0]["agents"] if agent["name"] != "random"):
        assert agent["training"]["steps"] >= 5_000 and agent["training"]["curve"]
        assert agent["budget"] == "no search; one evaluation of a network"
