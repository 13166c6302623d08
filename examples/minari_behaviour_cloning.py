# /// script
# requires-python = ">=3.11"
# dependencies = ["tictac-env[minari]", "torch>=2.6"]
# ///
"""Minari: behaviour cloning from datasets of perfect, erring and self-played games, judged exactly.

    python examples/minari_behaviour_cloning.py
    python examples/minari_behaviour_cloning.py --game ConnectFour-v0 --games 40    # minutes: each position is solved

Each dataset is played, written, loaded back, and imitated by a small network twice: the actions that were played, and
the best actions by the exact scores that stand beside them. Who imitates perfect games has never seen a position after
an error of its own, and can be beaten; games of random play show what to do there, if one knows which actions were
right.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from typing import Any

import gymnasium as gym
import minari
import numpy as np
import numpy.typing as npt
import torch
from torch import nn

import tictac_env
from tictac_apps.bridges.minari import to_minari
from tictac_env.position_batch import PositionBatch

DATASETS = {
    "perfect": ("perfect", "perfect:0.3", "alternate"),
    "erring": ("perfect:0.6", "perfect:0.6", "alternate"),
    "self-play": ("random", None, "first"),
}
"""Who plays ("perfect:0.3" plays a random action in three moves of ten), against whom, and in which seat."""
BATCH = 512


class Clone(tictac_env.Policy):
    """A network that plays the action it holds for the likeliest."""

    batched = True

    def __init__(self, network: nn.Module) -> None:
        self.network, self.name = network, "clone"

    def act(self, position: tictac_env.Position, seed: int) -> int:
        return int(self.act_many(PositionBatch.of([position]), np.array([seed]))[0])

    @torch.inference_mode()
    def act_many(self, batch: PositionBatch, seeds: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        logits = self.network(torch.from_numpy(batch.observations("planes")).float()).numpy()
        return np.where(batch.action_masks() == 1, logits, -np.inf).argmax(axis=1)


def make_dataset(name: str, game: str, games: int) -> None:
    """Plays the games of a dataset and writes them."""
    policy, opponent, play_as = DATASETS[name]
    env = gym.make(game, opponent=opponent, play_as=play_as)
    to_minari(f"{name}-v0", env, policy, games=games)


def load(name: str) -> tuple[Any, torch.Tensor, torch.Tensor, npt.NDArray[np.int16]]:
    """The dataset, and of its N steps the observations (N, ...), the actions (N,) and all exact scores (N, actions)."""
    dataset = minari.load_dataset(f"{name}-v0")
    episodes = list(dataset)
    observations = np.concatenate([episode.observations[:-1] for episode in episodes])  # the last is after the end
    scores = np.concatenate([episode.infos["action_scores"][:-1] for episode in episodes])
    actions = np.concatenate([episode.actions for episode in episodes])
    return dataset, torch.from_numpy(observations).float(), torch.from_numpy(actions), scores


def imitate(observations: torch.Tensor, targets: torch.Tensor, steps: int) -> Clone:
    """A network that has learned, in so many gradient steps, the chances of the actions, float32 (N, actions)."""
    torch.manual_seed(0)
    cells = observations[0].numel()
    hidden = [nn.Linear(cells, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU()]
    network = nn.Sequential(nn.Flatten(), *hidden, nn.Linear(128, targets.shape[1]))
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3, fused=True)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = 3e-3 * (1 - step / steps)
        rows = torch.randint(len(observations), (BATCH,))
        loss = nn.functional.cross_entropy(network(observations[rows]), targets[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return Clone(network)


def judged(clone: Clone, game: str) -> str:
    """What the clone is worth: whether it can be beaten, or how often it errs."""
    if game == "ConnectFour-v0":
        return f"mistakes {tictac_env.move_accuracy(clone, 'C4-Exact-v1').overall.mistakes}"
    found = tictac_env.verdict(clone, game)
    lines = [seat.losing_line and f"loses {seat.losing_line}" for seat in (found.as_first, found.as_second)]
    return f"exploitability {float(found.exploitability):.3f}; " + "; ".join(line or "unbeatable" for line in lines)


def main() -> None:
    """Makes the datasets, learns from them, and prints what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", default="TicTacToe-v0")
    parser.add_argument("--games", type=int, default=1_500, help="of each dataset")
    parser.add_argument("--steps", type=int, default=3_000, help="gradient steps of each network")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MINARI_DATASETS_PATH"] = folder
        for name in DATASETS:
            make_dataset(name, options.game, options.games)
            dataset, observations, actions, scores = load(name)
            best = scores == scores.max(axis=1, keepdims=True)
            kept = dataset.storage.metadata
            print(f"{name}: {kept['description']}; {len(actions):,} steps, {size(observations)} of them different")
            print(f"  random play scores {kept['ref_min_score']:.4f}, perfect play {kept['ref_max_score']:.4f}")
            print(f"  best actions: {best[np.arange(len(best)), actions.numpy()].mean():.1%}")
            played = nn.functional.one_hot(actions, scores.shape[1]).float()
            for title, targets in (("as played", played), ("as it is best", torch.from_numpy(best).float())):
                clone = imitate(observations, targets / targets.sum(dim=1, keepdim=True), options.steps)
                print(f"  cloned {title}: {judged(clone, options.game)}")


def size(observations: torch.Tensor) -> str:
    """How many different observations there are."""
    return f"{len(observations.flatten(1).unique(dim=0)):,}"


if __name__ == "__main__":
    main()
