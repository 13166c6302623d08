"""An agent of one file and one line in `AGENTS` is trained, saved, loaded, judged and offered like all others."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

import tictac_agents
from tictac_agents import AGENTS, HOMES, Agent, QLearning
from tictac_apps import cli
from tictac_apps.web.training_plans import Plan, menu
from tictac_env.policies import load_player


class Bold(QLearning):
    """Learns by Q-learning, and explores as boldly as its one option says.

    Args:
        env: an environment of ours, or its id.
        boldness: the chance of a random action, in [0, 1].
        seed: makes the run reproducible; None for fresh entropy.
    """

    PRESETS = {}

    def __init__(self, env: str, boldness: float = 0.25, seed: int | None = None) -> None:
        super().__init__(env, epsilon=boldness, seed=seed)
        self.boldness = boldness


@pytest.fixture(autouse=True)
def _added(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("tictac_agents.tabular.bold")
    module.Bold = Bold  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(AGENTS, "Bold", Agent("tabular.bold", "table", "a table of action values, learned boldly"))
    monkeypatch.setitem(HOMES, "Bold", module.__name__)


def test_the_command_lists_it_explains_its_option_trains_it_and_saves_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (["train", "--help"], ["train", "Bold", "--help"]):
        with pytest.raises(SystemExit):
            cli.main(words)
    out = capsys.readouterr().out
    assert "learned boldly" in out and "--boldness VALUE" in out and "the chance of a random action" in out
    path = tmp_path / "bold.npz"
    words = ["train", "Bold", "--boldness", "0.75", "--total-episodes", "50", "--seed", "1", "--save", str(path)]
    assert cli.main(words) == 0
    player = load_player(path)
    assert (player.agent, player.settings["algorithm"], player.settings["boldness"]) == ("Bold", "Bold", 0.75)
    assert cli.main(["audit", str(path), "--json"]) == 0
    assert cli.main(["train", "Bold", "--boldness", "high"]) == 2
    assert "--boldness" in capsys.readouterr().err


def test_the_page_offers_it() -> None:
    assert menu()["agents"]["Bold"]["kind"] == "table"
    assert Plan(agent="Bold").agent_settings().boldness == 0.25
    assert "Bold" in dir(tictac_agents)
