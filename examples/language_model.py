# /// script
# requires-python = ">=3.11"
# dependencies = ["tictac-env", "torch>=2.9"]
# ///
"""A language model of 70,000 parameters learns tic-tac-toe in text from exact rewards, and is proven free of mistakes.

    python examples/language_model.py                     # "regret": each answer earns an exact reward at once
    python examples/language_model.py --reward outcome    # only the result of the game
    python examples/language_model.py --save model.npz    # keeps its weights; --load model.npz only judges them

A transformer over characters, with random weights at first, reads a prompt such as `X.O.X....O:`, the nine cells and
the side to move. It answers with one character of its vocabulary. `TextSession` reads the answer strictly: `7` is a
move, and anything that is no legal move loses the game. The model plays both sides, from positions drawn at random, by
sampling its answers. It learns by policy gradient: answers that earned more than it expected become likelier. No solver
value, best move or list of legal moves is an input or a label. It learns from rewards from 0 to 1:

- regret: 1 for a move that keeps the value of the position, 0.5 for one that turns a win into a draw or a draw into a
  loss, 0 for one that turns a win into a loss or is illegal;
- outcome: 1, 0.5 or 0 for every answer of a side that won, drew or lost the game;
- both: the mean of the regret's reward and, for the answer that ends the game, the outcome's.

A regret is known at once, so many answers are judged in each position, and the first of them is played.

Training stops when the model's likeliest answer is no mistake in any of the 4,520 unfinished positions that any play
leads to. Then the model is judged by its text alone, as a `TextPolicy`.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from tictac_apps.language_models import BoardHarness, TextPolicy, TextSession, Turn
from tictac_env.arena import move_accuracy, suite, verdict
from tictac_env.storage import check_writable, load_arrays, save_arrays, save_text

GAME, SUITE = "TicTacToe-v0", "TTT-Exact-v1"
REWARDS = ("regret", "outcome", "both")
VOCABULARY = ".:XO123456789"
KIND = "language model"
"""The kind of a file of weights, as it says itself."""
OVER, UNKNOWN = -1, -2
"""Two numbers that are no prompt's."""
LENGTH, WIDTH, LAYERS, HEADS = 11, 64, 2, 4
"""Characters of a prompt, and the size of the transformer."""
GAMES, BATCH, EVERY = 1_000_000, 256, 40
"""Games at most, games between two updates, and updates between two points of the curve."""
GROUP = 24
"""Answers that are judged in each position, if the reward has the regret."""
RATE, MATRIX_RATE, AVERAGE = 3e-3, 0.02, 0.98
"""Step sizes of AdamW and, for the matrices of the layers, of Muon; the decay of the average of the weights."""
ENTROPY, CRITIC = 0.1, 0.5
"""Weights in the loss. The entropy's keeps answers alive that have not earned anything yet."""
Ints, Floats = npt.NDArray[np.int64], npt.NDArray[np.float64]


def encode(characters: Any) -> list[int]:
    """The token of each character."""
    return [VOCABULARY.index(character) for character in characters]


class ShortHarness(BoardHarness):
    """Short prompts, such as "X.O.X....O:": the nine cells and the side that is asked. `BoardHarness` reads answers."""

    def make_prompt(self, observation: Any, *_: Any, **__: Any) -> str:
        """The prompt of a position."""
        cells = "".join(".XO"[stone] for stone in observation.to_array().ravel())
        return f"{cells}{'XO'[observation.seat]}:"


def reward_of(turn: Turn, reward: str) -> float:
    """The reward of the answer that led to a turn, in [0, 1]; the top of this file explains it."""
    if turn.status != "legal":
        return 0.0
    result = (1 + turn.outcomes[turn.seat]) / 2 if turn.outcomes else 0.0
    if reward == "outcome":
        return result
    value_kept = 1 - (turn.regret or 0) / 2
    return value_kept if reward == "regret" else (value_kept + result) / 2


class Sessions:
    """Games in text, hundreds at once. The same answer to the same prompt always has the same consequence, so
    `TextSession` judges each pair once, and arrays keep what it said: for N prompts and V answers float64 `rewards` in
    [0, 1], `outcomes` for the side that ended the game, and int64 `following`, the next prompt's number.
    """

    def __init__(self, reward: str) -> None:
        self.reward = reward
        self._session = TextSession(GAME, None, reward="outcome", harness=ShortHarness(), retries=0)
        self._positions = suite(SUITE).positions
        prompts = [ShortHarness().make_prompt(position) for position in self._positions]
        self._numbers = {prompt: number for number, prompt in enumerate(prompts)}
        self.tokens = np.array([encode(prompt) for prompt in prompts])
        size = len(prompts), len(VOCABULARY)
        self.following, self.rewards, self.outcomes = np.full(size, UNKNOWN), np.zeros(size), np.zeros(size)

    def judge(self, numbers: Ints, answers: Ints) -> None:
        """Makes known what follows from B answers to B prompts."""
        new = self.following[numbers, answers] == UNKNOWN
        for pair in set(zip(numbers[new].tolist(), answers[new].tolist(), strict=True)):
            self._session.reset(position=self._positions[pair[0]])
            turn = self._session.answer(VOCABULARY[pair[1]])
            self.rewards[pair] = reward_of(turn, self.reward)
            self.outcomes[pair] = turn.outcomes[turn.seat] if turn.outcomes else 0
            self.following[pair] = OVER if turn.done else self._numbers[turn.prompt]


class Block(nn.Module):
    """Causal self-attention and a feed-forward layer."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attend, self.mix = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.feed = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x: Tensor, last_only: bool) -> Tensor:
        """From float32 (B, LENGTH, WIDTH) to the same, or of the last character alone: (B, 1, WIDTH)."""
        parts = self.attend(self.before(x)).unflatten(2, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        query, key, value = parts.unbind()
        if last_only:
            x, query = x[:, -1:], query[:, :, -1:]
        found = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=not last_only)
        x = x + self.mix(found.transpose(1, 2).flatten(2))
        return x + self.feed(self.between(x))


class LanguageModel(nn.Module):
    """A transformer over characters, with the expected reward as a second output."""

    def __init__(self) -> None:
        super().__init__()
        self.characters = nn.Embedding(len(VOCABULARY), WIDTH)
        self.places = nn.Parameter(torch.randn(LENGTH, WIDTH) * 0.02)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, len(VOCABULARY) + 1)
        nn.init.normal_(self.characters.weight, std=0.1)
        nn.init.normal_(self.head.weight, std=0.01)
        nn.init.zeros_(self.head.bias)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """The log-probabilities of the next character float32 (B, V), and the expected rewards (B,)."""
        x = self.characters(tokens) + self.places
        for number, block in enumerate(self.blocks, 1):
            x = block(x, last_only=number == LAYERS)
        found = self.head(self.norm(x[:, -1]))
        return found[:, :-1].log_softmax(1), found[:, -1]

    @torch.inference_mode()
    def chances(self, tokens: Ints) -> Floats:
        """The log-probabilities of the next character, float64 (B, V)."""
        return self(torch.from_numpy(tokens))[0].double().numpy()

    def complete(self, prompt: str) -> str:
        """The likeliest answer to a prompt."""
        return VOCABULARY[int(self.chances(np.array([encode(prompt)]))[0].argmax())]


def save_weights(path: str | os.PathLike[str], model: LanguageModel) -> None:
    """Writes the weights of a model to a file of arrays, atomically."""
    save_arrays(path, KIND, {}, {name: weights.numpy() for name, weights in model.state_dict().items()})


def load_weights(path: str | os.PathLike[str]) -> LanguageModel:
    """The model whose weights `save_weights` wrote.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not such a file, is damaged, or holds the weights of a model of another size.
    """
    _, arrays = load_arrays(path, KIND)
    model = LanguageModel()
    expected = {name: (tuple(weights.shape), "float32") for name, weights in model.state_dict().items()}
    if expected != {name: (weights.shape, weights.dtype.name) for name, weights in arrays.items()}:
        raise ValueError(f"{os.fspath(path)} does not hold the weights of this model: {', '.join(expected)}")
    model.load_state_dict({name: torch.from_numpy(weights) for name, weights in arrays.items()})
    return model


def judged(model: LanguageModel) -> TextPolicy:
    """The player that is judged: it answers with the model's likeliest character, once."""
    return TextPolicy(model.complete, retries=0, harness=ShortHarness(), name="language model")


def play(model: LanguageModel, sessions: Sessions, group: int, rng: np.random.Generator) -> tuple[Ints, Ints, Floats]:
    """Plays `BATCH` games, with `group` answers in each position, of which the first is played; returns the numbers of
    the positions, the answers and what they earned, (B,) each. Games begin in any position, all equally likely.
    """
    now, on, plies = rng.integers(0, len(sessions.tokens), BATCH), np.arange(BATCH), []
    while len(on):
        distinct, which = np.unique(now[on], return_inverse=True)
        scores = model.chances(sessions.tokens[distinct])[which]
        answers = (scores[:, None] + rng.gumbel(size=(len(on), group, len(VOCABULARY)))).argmax(2)
        numbers = np.repeat(now[on, None], group, axis=1)
        sessions.judge(numbers.ravel(), answers.ravel())
        plies.append((on, numbers, answers))
        now[on] = sessions.following[numbers[:, 0], answers[:, 0]]
        on = on[now[on] != OVER]
    result, found = np.zeros(BATCH), []
    for games, numbers, answers in reversed(plies):
        result[games] = sessions.outcomes[numbers[:, 0], answers[:, 0]] - result[games]  # for the side that answered
        earned = (1 + result[games, None]) / 2 if sessions.reward == "outcome" else sessions.rewards[numbers, answers]
        found.append((numbers.ravel(), answers.ravel(), earned.ravel()))
    numbers, answers, rewards = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return numbers, answers, rewards


def loss_of(model: LanguageModel, sessions: Sessions, numbers: Ints, answers: Ints, rewards: Floats) -> Tensor:
    """The loss of policy gradient with a critic, for B answers; each distinct position has the same weight."""
    distinct, which, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    at, earned = torch.from_numpy(which), torch.from_numpy(rewards).float()
    weights = 1 / torch.from_numpy(counts).float()[at] / len(distinct)
    logs, expected = model(torch.from_numpy(sessions.tokens[distinct]))
    advantages = earned - expected[at]
    gain = (logs[at, torch.from_numpy(answers)] * advantages.detach() * weights).sum()
    entropy = -(logs.exp() * logs).sum(1).mean()
    return CRITIC * (advantages.square() * weights).sum() - gain - ENTROPY * entropy


def mistakes(model: LanguageModel, exam: Sessions) -> int:
    """The number of all positions in which the likeliest answer earns less than the best one, in sessions by regret:
    it is illegal, or gives a win or a draw away.
    """
    numbers, answers = np.arange(len(exam.tokens)), model.chances(exam.tokens).argmax(1)
    exam.judge(numbers, answers)
    return int((exam.rewards[numbers, answers] < 1).sum())


@dataclass
class Run:
    """The record of a training run; a point of the curve is a number of games and the mistakes after them."""

    reward: str
    group: int
    seed: int
    parameters: int
    games: int = 0
    answers: int = 0
    cpu_seconds: float = 0.0
    mistakes: int = -1
    curve: list[tuple[int, int]] = field(default_factory=list)


def learn(reward: str, seed: int, games: int, group: int | None = None) -> Iterator[tuple[LanguageModel, Run]]:
    """Learns until there is no mistake, or for a number of games; now and then gives the model and its record. This
    model is the running average of the one that plays, and steadier.

    Raises:
        ValueError: a number is below 1, or the outcome is to judge more than the one answer that is played.
    """
    group = group or (1 if reward == "outcome" else GROUP)
    if min(group, games) < 1 or (group > 1 and reward == "outcome"):
        raise ValueError(f"{games} games with {group} answers in each position cannot be learned from by {reward}")
    began = time.process_time()
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    rng, sessions, exam, model = np.random.default_rng(seed), Sessions(reward), Sessions("regret"), LanguageModel()
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(AVERAGE))
    matrices = [weights for weights in model.blocks.parameters() if weights.ndim == 2]
    others = [weights for weights in model.parameters() if all(weights is not one for one in matrices)]
    optimizers: list[torch.optim.Optimizer] = [
        torch.optim.Muon(matrices, MATRIX_RATE, weight_decay=0, momentum=0.9),
        torch.optim.AdamW(others, RATE, betas=(0.9, 0.99), weight_decay=0),
    ]
    run = Run(reward, group, seed, sum(weights.numel() for weights in model.parameters()))
    while run.games < games and run.mistakes:
        played = play(model, sessions, group, rng)
        model.zero_grad()
        loss_of(model, sessions, *played).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
        average.update_parameters(model)
        run.games, run.answers = run.games + BATCH, run.answers + len(played[0])
        if run.games % (EVERY * BATCH) == 0 or run.games >= games:
            run.mistakes = mistakes(average.module, exam)
            run.cpu_seconds = round(time.process_time() - began, 1)
            run.curve.append((run.games, run.mistakes))
            yield average.module, run


def transcript(model: LanguageModel, reward: str) -> str:
    """A game of the model against itself, a line for each prompt with the answer and what it earned."""
    session = TextSession(GAME, None, None, None, "outcome", harness=ShortHarness(), retries=0)
    turn, lines = session.reset(), []
    while not turn.done:
        prompt, answer = turn.prompt, model.complete(turn.prompt)
        turn = session.answer(answer)
        lines.append(f"{prompt}{answer}   {turn.status}, reward {reward_of(turn, reward):g}")
    return "\n".join(lines)


def main() -> None:
    """Trains, then judges the text that the model answers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reward", choices=REWARDS, default="regret")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--games", type=int, default=GAMES, help="at most this many (%(default)s)")
    parser.add_argument("--output", type=Path, help="a JSON file for the record")
    parser.add_argument("--save", type=Path, metavar="FILE", help="a file for the weights, .npz")
    parser.add_argument("--load", type=Path, metavar="FILE", help="judge these weights, and train nothing")
    options = parser.parse_args()
    if options.save:
        check_writable(options.save)  # now, and not after minutes
    model = load_weights(options.load) if options.load else trained(options)
    print(transcript(model, options.reward))
    player = judged(model)
    print(verdict(player, GAME), move_accuracy(player, SUITE).overall, sep="\n")


def trained(options: argparse.Namespace) -> LanguageModel:
    """The model after a training, which is reported as it proceeds.

    Raises:
        SystemExit: it makes mistakes in the end.
    """
    for model, run in learn(options.reward, options.seed, options.games):  # noqa: B007  # both are used below
        print(f"{run.games:>9,} games, {run.cpu_seconds:>6} CPU-s: mistakes in {run.mistakes:>5,} of 4,520 positions")
        if options.output:
            save_text(options.output, json.dumps(asdict(run)) + "\n")
    if options.save:
        save_weights(options.save, model)
    if run.mistakes:
        raise SystemExit("it makes mistakes; more --games may help")
    return model


if __name__ == "__main__":
    main()
