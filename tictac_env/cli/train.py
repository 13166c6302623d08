"""Trains an agent, whose settings are the options, and says how good it has become.

An agent explains its own settings: tictac train QLearning --help. Networks learn on one thread of torch's: they are
small, and more threads are many times slower. Ctrl-C ends a training and keeps what is learned.
"""

from __future__ import annotations

import argparse
import importlib

from tictac_env.cli.parser import CommandParser

TRAIN = "tictac_agents.train"
"""What trains; imported when used, as this package imports no agents."""

EXAMPLES = """examples:

  tictac train QLearning --preset self-play --stop-when-proven --save q.npz
  tictac train DQN --seed 1 --save models/dqn           the tuned settings of tic-tac-toe
  tictac train DQN --game ConnectFour-v0 --opponent rule --num-envs 32
  tictac train S2Network --preset S2
  tictac train NTupleTD --save ntuple.npz               a million games of Connect Four
"""


def add(parser: CommandParser) -> None:
    """Adds the agents, each with its settings."""
    importlib.import_module(TRAIN).add_agents(parser)


def run(options: argparse.Namespace) -> int:
    """Trains, judges and saves."""
    importlib.import_module(TRAIN).train(options)
    return 0
