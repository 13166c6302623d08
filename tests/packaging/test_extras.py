"""Every extra is for something: where its packages are missing, the feature that needs them names the extra."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from tictac_apps.cli.show import information

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
OF_EXTRAS = {extra for extra, (package, *_) in EXTRAS.items() if package.startswith("tictac-env[")}
SINGLE = sorted(EXTRAS.keys() - OF_EXTRAS)

TO_MINARI = """
import gymnasium
from tictac_apps.bridges.minari import to_minari
to_minari('a/b-v0', gymnasium.make('TicTacToe-v0'))
"""
USES: dict[str, dict[str, str]] = {
    "rl": {
        "torch": "from tictac_agents import FittedQ; FittedQ()",
        "stable_baselines3": "from tictac_agents import DQN",
        "sb3_contrib": "from tictac_agents import MaskablePPO",
        "torch.utils.tensorboard": "import tictac_agents; tictac_agents.LearningCurve(tensorboard='runs')",
    },
    "human": {"pygame": "from tictac_env.render.window import import_pygame; import_pygame()"},
    "video": {"PIL": "from tictac_apps.cli.show import pillow; pillow()"},
    "web": {
        "starlette": "from tictac_apps.web.serve import serve; serve()",
        "uvicorn": "from tictac_apps.web.serve import serve; serve()",
    },
    "notebook": {"anywidget": "from tictac_apps.notebook.play import play; play('random', widget=True)"},
    "minari": dict.fromkeys(("minari", "h5py", "PIL"), TO_MINARI),
    "plot": {"matplotlib": "from tictac_agents.curves import new_figure; new_figure(1, 1)"},
    "onnx": {
        "onnxruntime": "from tictac_env.games.registry import get_game\n"
        "from tictac_apps.bridges.onnx import OnnxNetwork\n"
        "OnnxNetwork('network.onnx', get_game('TicTacToe-v0'))",
    },
    "openspiel": {"pyspiel": "import tictac_apps.bridges.openspiel"},
    "llm": {
        "pyarrow": "from tictac_apps.language_models.prompts import save_rows; save_rows('prompts.parquet', [])",
        "mcp": "import tictac_apps.language_models.adapters.mcp",
        "PIL": "from tictac_apps.language_models import BoardHarness; BoardHarness(board='picture')",
    },
    "cluster": {"ray": "from tictac_env.jobs import Cluster, map_jobs; list(map_jobs(abs, [1], Cluster()))"},
}
"""For each extra the modules it brings, and what is done that needs them. Optuna is tools/tune.py's, which is not
installed; MoviePy is Gymnasium's `RecordVideo`'s, which names it by itself."""


def test_extras_are_used_listed_and_united() -> None:
    assert sorted(USES) == SINGLE
    assert {*EXTRAS["all"][0].removeprefix("tictac-env[").removesuffix("]").split(",")} == {*SINGLE}
    assert all(EXTRAS[extra][1:] == [] for extra in OF_EXTRAS)
    told = information()["packages"]
    for extra in SINGLE:  # `tictac info` lists their packages
        names = {re.split(r"[\[>=<]", package)[0].replace("_", "-") for package in EXTRAS[extra]}
        assert names <= {name.replace("_", "-") for name in told[extra]}, extra
    assert not OF_EXTRAS & told.keys()


SCRIPT = """
import sys
sys.path[:0] = {path}
for name, use in {uses}:
    sys.modules[name] = None
    try:
        exec(use, {{}})
    except Exception as error:
        print(name, type(error).__name__, str(error))
    else:
        print(name, "nothing was missing")
    del sys.modules[name]
"""


def test_what_is_missing_is_told_with_its_extra(tmp_path: Path) -> None:
    """In another process, as modules that are loaded already ask for nothing."""
    uses = [(extra, name, use) for extra in SINGLE for name, use in USES[extra].items()]
    script = SCRIPT.format(path=sys.path, uses=[(name, use) for _, name, use in uses])
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    for line, (extra, name, _) in zip(done.stdout.splitlines(), uses, strict=True):
        assert line.split(" ", 2)[:2] == [name, "DependencyNotInstalled"], line
        assert line.endswith(f'pip install "tictac-env[{extra}]"'), line
