"""`tictac audit` of other people's players: the verdict is that of the library, and no code in a file is run."""

from __future__ import annotations

import base64
import io
import json
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from tictac_agents import QLearning
from tictac_env import cli, verdict
from tictac_env.arena import Audit, Verdict

TTT = "TicTacToe-v0"
QUICKLY = ["--json"]


def audited(capsys: pytest.CaptureFixture[str], *words: str) -> Audit:
    assert cli.main(["audit", *words, *QUICKLY]) == 0
    return Audit.from_json(capsys.readouterr().out)


def assert_same(found: Audit, wanted: Verdict) -> None:
    assert found.verdict is not None
    assert found.verdict["exploitability"] == wanted.exploitability and found.verdict["basis"] == wanted.basis
    for name, seat in (("as first", wanted.as_first), ("as second", wanted.as_second)):
        told = found.verdict[name]
        assert (told["infallible"], told["losing line"], told["gain"]) == (seat.infallible, seat.losing_line, seat.gain)
        assert told["v random"] == list(seat.against_random) and told["v best"] == list(seat.against_best)


def test_our_own_agents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    agent = QLearning(TTT, seed=0).learn(total_episodes=200, progress_bar=False)
    agent.save(tmp_path / "q.npz")
    assert_same(audited(capsys, str(tmp_path / "q.npz")), verdict(agent))


@pytest.fixture(scope="module")
def ppo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    """A model of plain Stable-Baselines3, trained for a moment without masks, on flattened planes."""
    sb3 = pytest.importorskip("stable_baselines3")
    env = gym.wrappers.FlattenObservation(gym.make(TTT))
    model = sb3.PPO("MlpPolicy", env, n_steps=32, batch_size=32, n_epochs=1, seed=0, device="cpu")
    path = tmp_path_factory.mktemp("sb3") / "ppo.zip"
    model.learn(64).save(path)
    return model, path


def test_a_model_of_plain_stable_baselines3(ppo: tuple[Any, Path], capsys: pytest.CaptureFixture[str]) -> None:
    from tictac_agents import Snapshot

    model, path = ppo
    found = audited(capsys, str(path), "--card")
    assert_same(found, verdict(Snapshot(model)))
    assert Audit.from_json((path.parent / "verdict.json").read_text()) == found
    assert (path.parent / "README.md").read_text().startswith("# ppo on ")


class Evil:
    """Makes a folder when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.mark),)


def tampered(path: Path, target: Path, evil: Evil, where: str) -> Path:
    """A copy of a model with a payload: in the pickles within its JSON, in place of its weights, or of more tensors."""
    payload = pickle.dumps(evil)
    with zipfile.ZipFile(path) as model, zipfile.ZipFile(target, "w") as copy:
        for name in model.namelist():
            content = model.read(name)
            if name == "data" and where == "data":
                data = json.loads(content)
                data["more"] = {":type:": "x", ":serialized:": ""}
                for value in data.values():
                    if isinstance(value, dict) and ":serialized:" in value:
                        value[":serialized:"] = base64.b64encode(payload).decode()
                content = json.dumps(data).encode()
            copy.writestr(name, payload if name == where != "data" else content)
    return target


@pytest.mark.parametrize("where", ["data", "policy.pth", "policy.optimizer.pth", "pytorch_variables.pth"])
def test_a_payload_in_a_model_is_not_run(
    where: str, ppo: tuple[Any, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tictac_agents import Snapshot

    model, path = ppo
    target, mark = tmp_path / "evil.zip", tmp_path / "ran"
    tampered(path, target, Evil(mark), where)
    if where in ("policy.pth", "policy.optimizer.pth"):
        assert cli.main(["audit", str(target), *QUICKLY]) == 2
        assert "evil.zip cannot be read as a checkpoint of JSON and tensors" in capsys.readouterr().err
    else:  # what is never read does not matter
        assert_same(audited(capsys, str(target)), verdict(Snapshot(model)))
    assert not mark.exists()
    pickle.load(io.BytesIO(pickle.dumps(Evil(mark))))  # it would have
    assert mark.exists()


def test_a_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bot.sh").write_text(
        'while read -r moves cells side seed; do before=${cells%%.*}; echo "$((${#before} + 1))"; done\n'
    )
    found = audited(capsys, f"program:sh {tmp_path / 'bot.sh'}", "--time-limit", "20")
    assert_same(found, verdict(lambda observation, mask: mask.argmax()))


def test_what_a_player_prints_is_no_part_of_the_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "loud.py").write_text(
        "print('hello')\ndef act(board, mask):\n    print(board)\n    return int(mask.argmax())\n"
    )
    words = [f"{tmp_path / 'loud.py'}:act", "--observation", "board", "--quick"]
    assert cli.main(["audit", *words, *QUICKLY]) == 0
    out, err = capsys.readouterr()
    assert Audit.from_json(out).player["checkpoint_sha256"] and "hello" in err


def test_a_tournament_takes_them_too_with_names_and_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code = 'while read -r moves cells side seed; do before=${cells%%.*}; echo "$((${#before} + 1))"; done\n'
    (tmp_path / "bot.sh").write_text(code)
    (tmp_path / "mine.py").write_text("def agent(observation, configuration):\n    return observation.board.index(0)\n")
    players = ["program:sh bot.sh --depth=4", "kaggle=kaggle:mine.py", "random"]
    assert cli.main(["tournament", *players, "--games", "4", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {row["player"] for row in found["ratings"]} == {"program:sh bot.sh --depth=4", "kaggle", "random"}
    assert found["games"] == 12 and found["forfeits"] == []
