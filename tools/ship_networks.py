r"""Makes the shipped networks, the policy "network", of trained models.

    python benchmarks/connect_four.py DQN           # leaves its models in models/
    python -m tictac_agents.train DQN --policy AfterstatePolicy --policy-kwargs \
        '{"features_extractor_class": "LineFeatures", "features_extractor_kwargs": {"game": "TicTacToe-v0"}, \
        "net_arch": [64, 64]}' --stop-when-proven --save models/tic-tac-toe
    python tools/ship_networks.py models/connect-four-DQN-*-best.zip models/tic-tac-toe-best.zip

Of the models of a game the one that errs least is taken: on Connect Four on the choosing suite, on which nothing is
reported, and on tic-tac-toe on all positions.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tictac_agents import DQN, LineNetwork
from tictac_agents.line_network.network import SHIPPED
from tictac_env.arena import move_accuracy
from tictac_env.games import game_name

SUITES = {"ConnectFour-v0": "C4-Choose-v1", "TicTacToe-v0": "TTT-Exact-v1"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path, help="files of tictac_agents.DQN")
    parser.add_argument("--output", type=Path, default=SHIPPED, help="folder for the networks (default: the package's)")
    options = parser.parse_args()
    best: dict[str, tuple[float, LineNetwork]] = {}
    for path in options.models:
        network = LineNetwork.from_model(DQN.load(path, device="cpu"))
        name = game_name(network.game)
        if name not in SUITES:
            parser.error(f"{path} plays {network.game!r}; there are shipped networks for {', '.join(SUITES)} only")
        mistakes = move_accuracy(network, SUITES[name]).overall.mistakes.value
        print(f"{path}: {name}, {mistakes:.2%} mistakes on {SUITES[name]}")
        if name not in best or mistakes < best[name][0]:
            best[name] = mistakes, network
    for name, (_, network) in best.items():
        network.save(options.output / f"{name}.npz")
        print(f"written: {options.output / name}.npz")


if __name__ == "__main__":
    main()
