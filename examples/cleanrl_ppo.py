# /// script
# requires-python = ">=3.11"
# dependencies = ["tictac-env", "torch>=2.6"]
# ///
"""CleanRL's manner: PPO in one file, both sides of 4,096 boards learned by self-play, and judged exactly.

    python examples/cleanrl_ppo.py                    # tic-tac-toe
    python examples/cleanrl_ppo.py --game ConnectFour-v0 --total_plies 20_000_000

Three things differ from CleanRL's ppo.py (Huang et al., "CleanRL: high-quality single-file implementations of deep
reinforcement learning algorithms", 2022). Illegal actions are masked, in play and in the loss. With `opponent=None`
each ply is a step and the next observation is the other side's, so the discount is -1 and advantages change their sign
from ply to ply. And the boards lend their arrays (`copy=False`), of which what is learned from is copied once.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, fields
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

import tictac_env
from tictac_env.arena import exact_results
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch


@dataclass
class Args:
    """The settings; each is an option of the command line."""

    game: str = "TicTacToe-v0"
    seed: int = 0
    threads: int = 2
    """of PyTorch"""
    total_plies: int = 3_000_000
    num_envs: int = 4096
    num_steps: int = 16
    """plies of each board between two updates"""
    hidden: int = 128
    learning_rate: float = 2e-3
    """at first; it falls linearly to 0"""
    gae_lambda: float = 0.9
    update_epochs: int = 2
    minibatch: int = 4096
    clip: float = 0.2
    entropy: float = 0.2
    value: float = 0.5
    """the weight of the value's error in the loss"""
    max_grad_norm: float = 0.5
    profile: bool = False
    """print where the time went, by PyTorch's profiler"""


class Agent(nn.Module):
    """The logits of the actions and the value of the position, to the side that is to move."""

    def __init__(self, cells: int, actions: int, hidden: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(cells, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.head = nn.Linear(hidden, actions + 1)
        nn.init.normal_(self.head.weight, std=0.01)
        nn.init.zeros_(self.head.bias)

    def forward(self, observations: Tensor, masks: Tensor) -> tuple[Tensor, Tensor]:
        """The log-probabilities float32 (B, actions), next to nothing where illegal, and the values (B,)."""
        found = self.head(self.body(observations.flatten(1).float()))
        logits = found[:, :-1].masked_fill(masks == 0, -1e8)
        return logits.log_softmax(dim=1), found[:, -1]


class Greedy(tictac_env.Policy):
    """The agent as a policy, which `verdict` and `move_accuracy` judge."""

    batched = True

    def __init__(self, agent: Agent) -> None:
        self.agent, self.name = agent, "cleanrl_ppo"

    def act(self, position: Position, seed: int) -> int:
        return int(self.act_many(PositionBatch.of([position]), np.array([seed]))[0])

    @torch.inference_mode()
    def act_many(self, batch: PositionBatch, seeds: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        observations, masks = batch.observations("planes"), batch.action_masks()
        chances, _ = self.agent(torch.from_numpy(observations), torch.from_numpy(masks))
        return chances.argmax(dim=1).numpy()


def train(args: Args) -> Agent:
    """Plays and learns in turn; prints a line now and then."""
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    # A game's last step shows the next game's first position, so that every step is a ply to learn from.
    settings: dict[str, Any] = {"opponent": None, "illegal": "raise", "copy": False, "autoreset_mode": "SameStep"}
    envs = gym.make_vec(args.game, num_envs=args.num_envs, **settings)
    observations, infos = envs.reset(seed=args.seed)
    planes, actions = observations.shape[1:], infos["action_mask"].shape[1]
    agent = Agent(int(np.prod(planes)), actions, args.hidden)
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5, fused=True)

    shape = (args.num_steps, args.num_envs)
    seen = torch.empty((args.num_steps + 1, args.num_envs, *planes), dtype=torch.int8)
    masks = torch.empty((args.num_steps + 1, args.num_envs, actions), dtype=torch.int8)
    seen.numpy()[0], masks.numpy()[0] = observations, infos["action_mask"]
    chosen = torch.empty(shape, dtype=torch.int64)
    chances, values, rewards = (torch.empty(shape) for _ in range(3))
    ended = torch.empty(shape, dtype=torch.bool)

    updates = max(1, round(args.total_plies / (args.num_steps * args.num_envs)))
    plies, seconds, cpu = 0, np.zeros(2), time.process_time()
    for update in range(updates):
        began = time.perf_counter()
        optimizer.param_groups[0]["lr"] = args.learning_rate * (1 - update / updates)
        if update:
            seen[0], masks[0] = seen[-1], masks[-1]
        with torch.inference_mode():
            for step in range(args.num_steps):
                logs, values[step] = agent(seen[step], masks[step])
                # The largest of p / e, with e exponentially distributed, is a draw by the chances p.
                chosen[step] = (logs.exp() / torch.empty_like(logs).exponential_()).argmax(dim=1)
                chances[step] = logs.gather(1, chosen[step, :, None])[:, 0]
                observations, reward, terminations, _, infos = envs.step(chosen[step].numpy())
                # The tensors' own memory, as NumPy arrays: what the boards lend is copied once, to where it is kept.
                seen.numpy()[step + 1], masks.numpy()[step + 1] = observations, infos["action_mask"]
                rewards.numpy()[step], ended.numpy()[step] = reward, terminations
            last = agent(seen[-1], masks[-1])[1]
            advantages = generalised_advantages(rewards, values, ended, last, args.gae_lambda)
            returns = advantages + values
        played = time.perf_counter()
        batch = [part.flatten(0, 1) for part in (seen[:-1], masks[:-1], chosen, chances, advantages, returns)]
        for _ in range(args.update_epochs):
            for rows in torch.randperm(chosen.numel()).split(args.minibatch):
                learn(agent, optimizer, [part[rows] for part in batch], args)
        plies += chosen.numel()
        seconds += played - began, time.perf_counter() - played
        if update % max(1, updates // 10) == 0 or update == updates - 1:
            print(f"{plies:>11,} plies, {plies / seconds.sum():>9,.0f} a second", flush=True)
    print(f"playing {seconds[0]:.1f} s, learning {seconds[1]:.1f} s; CPU {time.process_time() - cpu:.1f} s")
    return agent


def generalised_advantages(rewards: Tensor, values: Tensor, ended: Tensor, last: Tensor, gae_lambda: float) -> Tensor:
    """Generalised advantages (Schulman et al., 2016) with the discount -1, as what one side gains the other loses."""
    advantages, advantage, next_value = torch.empty_like(values), torch.zeros_like(last), last
    for step in reversed(range(len(rewards))):
        goes_on = (~ended[step]).float()
        error = rewards[step] - goes_on * next_value - values[step]
        advantage = error - gae_lambda * goes_on * advantage
        advantages[step], next_value = advantage, values[step]
    return advantages


def learn(agent: Agent, optimizer: torch.optim.Optimizer, batch: list[Tensor], args: Args) -> None:
    """One gradient step of PPO (Schulman et al., "Proximal policy optimization algorithms", 2017)."""
    observations, masks, chosen, old_chances, advantages, returns = batch
    logs, values = agent(observations, masks)
    ratio = (logs.gather(1, chosen[:, None])[:, 0] - old_chances).exp()
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    gain = torch.min(advantages * ratio, advantages * ratio.clamp(1 - args.clip, 1 + args.clip)).mean()
    entropy = -(logs.exp() * logs).sum(dim=1).mean()
    loss = -gain - args.entropy * entropy + args.value * 0.5 * (values - returns).square().mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
    optimizer.step()


def judge(agent: Agent, game: str) -> Any:
    """Prints what it has learned: the verdict over all replies, on Connect Four results against perfect play."""
    if game == "ConnectFour-v0":
        print(exact_results(Greedy(agent)))
        print(tictac_env.move_accuracy(Greedy(agent), "C4-Exact-v1"))
    else:
        print(tictac_env.verdict(Greedy(agent), game))


def main() -> None:
    """Trains and judges."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for field in fields(Args):
        kind = {"int": int, "float": float, "str": str}
        if field.type == "bool":
            parser.add_argument(f"--{field.name}", action="store_true")
        else:
            parser.add_argument(f"--{field.name}", type=kind[str(field.type)], default=field.default)
    args = Args(**vars(parser.parse_args()))
    if args.profile:
        with torch.profiler.profile() as profile:
            agent = train(args)
        print(profile.key_averages().table(sort_by="self_cpu_time_total", row_limit=12, max_name_column_width=40))
    else:
        agent = train(args)
    judge(agent, args.game)


if __name__ == "__main__":
    main()
