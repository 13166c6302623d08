"""Writes the tuned settings as files for RL Baselines3 Zoo, in its own form: one file an algorithm, one entry a game.

    python tools/zoo_settings.py
    python -m rl_zoo3.train --algo ppo --env TicTacToe-v0 --gym-packages tictac_env --eval-freq -1 \
        --conf-file examples/rl_zoo3/ppo.yml

`dqn.yml` and `ppo.yml` are for Stable-Baselines3's own algorithms, which know no masks: an illegal action loses the
game. `tictac_dqn.yml` and `maskable_ppo.yml` are for those of tictac_agents, which examples/rl_zoo3_tuned.py adds. The
zoo makes single environments, so that games begin with the empty board, not with positions drawn by `SB3VecEnv`.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import yaml

from tictac_agents.deep.settings import TUNED
from tictac_env.storage import save_text

OUTPUT = Path(__file__).parents[1] / "examples" / "rl_zoo3"
OURS = ("double", "symmetry", "target_epsilon", "ema_decay")
"""Settings that Stable-Baselines3's DQN does not know."""
FILES = {"dqn": "DQN", "ppo": "MaskablePPO", "tictac_dqn": "DQN", "maskable_ppo": "MaskablePPO"}
"""Each algorithm of the zoo, and whose settings it gets."""
PLAIN = ("dqn", "ppo")
HEAD = "# Written by tools/zoo_settings.py from the settings in tictac_agents/deep/settings.py. Do not edit.\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder for the files")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        save_text(options.output / f"{name}.yml", written(name))


def written(name: str) -> str:
    """The text of the file of one of the zoo's algorithms."""
    settings = {game: entry(name, game) for game in TUNED}
    return HEAD + yaml.safe_dump({game: found for game, found in settings.items() if found}, sort_keys=False)


def entry(name: str, game: str) -> dict[str, Any] | None:
    """An algorithm's settings for a game, as the zoo reads them; None where it lacks the network they are for."""
    settings = TUNED[game][FILES[name]]
    if name in PLAIN and settings.policy != "MlpPolicy":
        return None
    keywords = settings.keywords()
    first, _ = keywords.pop("learning_rate")
    if name in PLAIN:
        keywords = {key: value for key, value in keywords.items() if key not in OURS}
    return {
        "n_envs": settings.num_envs,
        "n_timesteps": settings.total_timesteps,
        # The zoo's evaluation knows no masks: an illegal action is to lose a game, not to end the run.
        "env_kwargs": {"opponent": settings.opponent, "obs_type": settings.obs_type, "illegal": "lose"},
        "policy": settings.policy,
        "learning_rate": f"lin_{first}",  # falls to 0, in tuned.py to a two-hundredth of it or less
        **plain(keywords),
    }


def plain(value: Any) -> Any:
    """A value without tuples and other mappings than dicts, which YAML's safe form lacks."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, tuple) else value


if __name__ == "__main__":
    main()
