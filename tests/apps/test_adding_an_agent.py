"""An agent of one file and one line in `AGENTS` is trained, saved, loaded, judged and offered like all others."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

import tictac_agents
from tictac_agents import AGENTS, HOMES, Agent
from tictac_agents.settings import setting, takes
from tictac_agents.tabular.learner import Environment
from tictac_agents.tabular.q_learning import Q_LEARNING, ActionLearner, ActionSettings, ActionTable
from tictac_apps import cli
from tictac_apps.web.training_form import TrainingRequest, menu
from tictac_env.policies import load_player


@dataclass(frozen=True, kw_only=True)
class BoldSettings(ActionSettings):
    boldness: float = setting(0.25, "the chance of a random action", 0, 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "epsilon", self.boldness)


class Bold(ActionLearner):
    """Learns by Q-learning, and explores as boldly as its one option says.

    Args:
        env: an environment of ours, or its id.
        {settings}
    """

    @takes(BoldSettings)
    def __init__(self, env: Environment | str, settings: BoldSettings) -> None:
        super().__init__(env, settings)

    def _new_table(self) -> ActionTable:
        return self._empty_table(Q_LEARNING)


@pytest.fixture(autouse=True)
def _added(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("tictac_agents.tabular.bold")
    vars(module).update(Bold=Bold, BoldSettings=BoldSettings)
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
    assert TrainingRequest(agent="Bold", settings={"boldness": 0.5}).plan.to_dict()["boldness"] == 0.5
    assert "Bold" in dir(tictac_agents)
