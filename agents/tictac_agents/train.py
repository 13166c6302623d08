"""Trains an agent from the command line, whose options are the agent's settings.

python -m tictac_agents.train DQN                                     # the tuned settings of tic-tac-toe
python -m tictac_agents.train MaskablePPO --seed 1 --save models/ppo --tensorboard runs
python -m tictac_agents.train DQN --preset S4-prequel --total-timesteps 100000
python -m tictac_agents.train DQN --game ConnectFour-v0 --opponent rule --num-envs 32
python -m tictac_agents.train QLearning --preset self-play --stop-when-proven --save q.npz
python -m tictac_agents.train DQN --help                              # all settings, explained
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym

import tictac_agents
from tictac_agents.command_line import add_arguments, settings_from
from tictac_agents.deep.settings import DQNSettings, MaskablePPOSettings
from tictac_agents.deep.tuned import PRESETS, TUNED
from tictac_agents.settings import Settings
from tictac_agents.tabular.learner import Learner
from tictac_agents.tabular.settings import preset_settings, tabular_settings
from tictac_env.arena import verdict
from tictac_env.games import GAMES, did_you_mean
from tictac_env.solver.minimax import SMALL_CELLS

NETWORKS: dict[str, type[Settings]] = {"DQN": DQNSettings, "MaskablePPO": MaskablePPOSettings}
TABLES = ("MonteCarlo", "QLearning", "S0ValueTD", "Sarsa", "ValueTD")
SHORT_RUN = 100_000
"""How many steps a network learns from if nothing says how many."""


def main(words: Sequence[str] | None = None) -> Any:
    """Reads the command line, trains, judges and saves; returns the agent."""
    parser, arguments = parse(words)
    try:
        settings = chosen(arguments)
        if arguments.stop_when_proven and not is_small(settings):
            raise ValueError(f"--stop-when-proven needs a game of at most {SMALL_CELLS} cells, not {settings.game!r}")
        if arguments.agent in NETWORKS:
            return train_network(settings, arguments)
        return train_table(settings, arguments)
    except ValueError as error:
        return parser.error(str(error))


def train_network(settings: Any, arguments: argparse.Namespace) -> Any:
    """Trains a deep agent; if the game is small enough it is judged now and then."""
    import torch  # only now, so that --help is quick

    from tictac_agents.deep.callbacks import ExactEvalCallback, GamesCallback

    torch.set_num_threads(1)  # the fastest for networks this small
    settings = settings.changed(total_timesteps=settings.total_timesteps or SHORT_RUN)
    made = getattr(tictac_agents, arguments.agent)
    model = made.from_settings(settings, arguments.seed, "cpu", tensorboard_log=arguments.tensorboard)
    callbacks: list[Any] = [GamesCallback(arguments.eval_freq)]
    if is_small(settings):
        best = None if arguments.save is None else arguments.save.parent
        callbacks.append(ExactEvalCallback(arguments.eval_freq, best, arguments.stop_when_proven, verbose=1))
    try:
        model.learn(settings.total_timesteps, callbacks)
    except KeyboardInterrupt:
        print(f"stopped after {model.num_timesteps:,} steps")
    if arguments.save is not None:
        model.save(arguments.save)
        print(f"saved; in Python: tictac_agents.{arguments.agent}.load({str(arguments.save)!r})")
    return model


def train_table(settings: Any, arguments: argparse.Namespace) -> Learner:
    """Trains a tabular learner; if the game is small enough it is judged at the end."""
    small = is_small(settings)
    game: Any = settings.game if isinstance(settings.game, Mapping) else {"id": settings.game}
    env = gym.make(**game, **settings.env_keywords())
    learner: Learner = getattr(tictac_agents, arguments.agent)(env, seed=arguments.seed, **settings.keywords())
    proof = tictac_agents.UntilProven(arguments.eval_freq) if arguments.stop_when_proven else None
    learner.learn(total_episodes=settings.total_episodes, callback=proof, checkpoint=arguments.save)
    if small:
        print(verdict(learner, settings.rules))
    return learner


def is_small(settings: Settings) -> bool:
    """Whether the game is small enough for exact verdicts.

    Raises:
        ValueError: there is no such game.
    """
    return settings.rules.cells <= SMALL_CELLS


def chosen(arguments: argparse.Namespace) -> Settings:
    """The settings of a preset, the tuned ones of the game or the defaults, with the changes of the command line.

    Raises:
        ValueError: there is no such preset, or a setting is of a wrong type.
    """
    agent, known = arguments.agent, presets(arguments.agent)
    base: Settings
    game = " ".join(getattr(arguments, "game", ["TicTacToe-v0"]))
    if arguments.preset:
        if arguments.preset not in known:
            raise ValueError(f"{agent} has no preset {arguments.preset!r}; {did_you_mean(arguments.preset, known)}")
        learner = getattr(tictac_agents, agent)
        base = PRESETS[agent][arguments.preset] if agent in NETWORKS else preset_settings(learner, arguments.preset)
    elif agent in TUNED.get(game, {}):
        base = TUNED[game][agent]
    else:
        base = settings_class(agent)()
    return settings_from(arguments, base)


def settings_class(agent: str) -> type[Settings]:
    """The class of an agent's settings."""
    return NETWORKS[agent] if agent in NETWORKS else tabular_settings(getattr(tictac_agents, agent))


def presets(agent: str) -> list[str]:
    """The names of an agent's presets."""
    return list(PRESETS.get(agent, {}) if agent in NETWORKS else getattr(tictac_agents, agent).PRESETS)


def parse(words: Sequence[str] | None) -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    """The parser and the parsed command line; settings are not yet checked."""
    parser = argparse.ArgumentParser(
        "python -m tictac_agents.train", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = sorted((*NETWORKS, *TABLES))
    agents = parser.add_subparsers(dest="agent", metavar=f"{{{','.join(names)}}}", required=True)
    for name in names:
        one = agents.add_parser(name)
        run = one.add_argument_group("the run")
        run.add_argument("--preset", help=f"settings to begin with: {', '.join(presets(name)) or 'there are none'}")
        run.add_argument("--seed", type=int, default=0, help="makes the run reproducible (default: %(default)s)")
        run.add_argument("--stop-when-proven", action="store_true", help="end once nothing beats it")
        if name in NETWORKS:
            run.add_argument("--save", type=Path, help="the file; the best model is kept beside it, as best_model.zip")
            run.add_argument("--tensorboard", metavar="FOLDER", help="where to log")
            run.add_argument("--eval-freq", type=int, default=20_000, help="steps between two verdicts")
        else:
            run.add_argument("--save", type=Path, help="the file, written now and then and at the end")
            run.add_argument("--eval-freq", type=int, default=1_000, help="games between two verdicts")
        title = f"settings (values are JSON, words, or none; games: {', '.join(GAMES)})"
        add_arguments(one.add_argument_group(title), settings_class(name))
    return parser, parser.parse_args(words)


if __name__ == "__main__":
    main()
