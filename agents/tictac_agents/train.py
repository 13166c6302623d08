"""Trains a deep agent from the command line, which is its settings.

python -m tictac_agents.train DQN                                     # the tuned settings of tic-tac-toe
python -m tictac_agents.train MaskablePPO --seed 1 --save models/ppo --tensorboard runs
python -m tictac_agents.train DQN --preset S2 --total-timesteps 1000000
python -m tictac_agents.train DQN --game ConnectFour-v0 --opponent rule --num-envs 32 --total-timesteps 50000
python -m tictac_agents.train DQN --help                              # all settings, explained
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tictac_agents
from tictac_agents.callbacks import ExactEvalCallback, GamesCallback
from tictac_agents.settings import Settings, add_arguments, settings_from
from tictac_agents.tuned import PRESETS, TUNED, preset
from tictac_env.games import GAMES
from tictac_env.solver.minimax import SMALL_CELLS

ALGORITHMS = ("DQN", "MaskablePPO")
SHORT_RUN = 100_000
"""How many steps a run has for which nobody has said how many."""


def main(words: Sequence[str] | None = None) -> Any:
    """Reads the command line, trains, judges and saves; returns the model."""
    parser, arguments = parse(words)
    try:
        settings = chosen(arguments)
        algorithm = getattr(tictac_agents, arguments.algorithm)
        model = algorithm.from_settings(settings, arguments.seed, "cpu", tensorboard_log=arguments.tensorboard)
    except ValueError as error:
        parser.error(str(error))
    import torch  # only now, so that --help is quick

    torch.set_num_threads(1)  # the fastest for networks this small
    callbacks: list[Any] = [GamesCallback(arguments.eval_freq)]
    if settings.rules.cells <= SMALL_CELLS:
        best = None if arguments.save is None else arguments.save.parent
        callbacks.append(ExactEvalCallback(arguments.eval_freq, best, arguments.stop_when_proven, verbose=1))
    try:
        model.learn(settings.total_timesteps, callbacks, progress_bar=False)
    except KeyboardInterrupt:
        print(f"stopped after {model.num_timesteps:,} steps")
    if arguments.save is not None:
        model.save(arguments.save)
        print(f"saved; in Python: tictac_agents.{arguments.algorithm}.load({str(arguments.save)!r})")
    return model


def chosen(arguments: argparse.Namespace) -> Settings:
    """The settings that the command line asks for: a preset's, the tuned ones of the game or the usual ones, changed.

    Raises:
        ValueError: there is no such preset, or a setting is of a wrong type.
    """
    game = " ".join(getattr(arguments, "game", ["TicTacToe-v0"]))
    if arguments.preset:
        base = preset(arguments.algorithm, arguments.preset)
    elif arguments.algorithm in TUNED.get(game, {}):
        base = TUNED[game][arguments.algorithm]
    else:
        base = getattr(tictac_agents, arguments.algorithm).SETTINGS(total_timesteps=SHORT_RUN)
    return settings_from(arguments, base)


def parse(words: Sequence[str] | None) -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    """The command line, checked as far as the settings allow."""
    parser = argparse.ArgumentParser(
        "python -m tictac_agents.train",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    algorithms = parser.add_subparsers(dest="algorithm", metavar="{" + ",".join(ALGORITHMS) + "}", required=True)
    for name in ALGORITHMS:
        one = algorithms.add_parser(name)
        run = one.add_argument_group("the run")
        run.add_argument("--preset", help=f"settings to begin with: {', '.join(PRESETS.get(name, {})) or 'none'}")
        run.add_argument("--seed", type=int, default=0, help="makes the run reproducible (default: %(default)s)")
        run.add_argument("--save", type=Path, help="the file; the best model is kept beside it, as best_model.zip")
        run.add_argument("--tensorboard", metavar="FOLDER", help="where to log")
        run.add_argument("--eval-freq", type=int, default=20_000, help="steps between two verdicts")
        run.add_argument("--stop-when-proven", action="store_true", help="end once nothing beats it")
        title = f"settings (values are JSON, words, or none; games: {', '.join(GAMES)})"
        add_arguments(one.add_argument_group(title), getattr(tictac_agents, name).SETTINGS)
    return parser, parser.parse_args(words)


if __name__ == "__main__":
    main()
