"""GRPO against a ladder: the rung, the regret and the score of a tiny language model, step by step.

    python benchmarks/text_ladder.py [--steps 960] [--seed 0] [--output FOLDER]

The transformer of examples/language_model.py begins with random weights, and answers prompts such as `X.O.X....O:` with
one character. In each step it plays groups of games against the rung of one shared `Ladder`; the games of a group begin
alike. The advantage of each answer is the score of its game less the mean of its group (GRPO without the division by
the deviation). A wrong answer loses the game. Mistakes are those of its likeliest answers in all 4,520 unfinished
positions. Two CPU-minutes.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.records import add_output, parser_of, positive, save
from examples.language_model import (
    VOCABULARY,
    Floats,
    Ints,
    LanguageModel,
    Sessions,
    ShortHarness,
    encode,
    mistakes,
)
from tictac_apps.bench.records import Row, show
from tictac_apps.language_models import Ladder, TextSession
from tictac_env.progress import track

GAME, GROUPS, GAMES = "TicTacToe-v0", 8, 16
"""The game, the groups of a step, and the games of a group."""
LADDER = {"window": 256, "up": 0.6, "down": 0.2}
RATE, ENTROPY = 3e-3, 0.01
"""The step size, and the weight of the entropy in the loss."""
EVERY = 80
"""Steps for a row of the table."""


def play(
    model: LanguageModel, sessions: list[TextSession], first: int, rng: np.random.Generator
) -> tuple[Ints, Ints, Ints]:
    """Plays a game in each session, those of a group with the same seed: the prompts, the answers and their games."""
    turns = {number: session.reset(first + number // GAMES) for number, session in enumerate(sessions)}
    played = []
    while turns:
        tokens = np.array([encode(turn.prompt) for turn in turns.values()])
        scores = model.chances(tokens)
        answers = (scores + rng.gumbel(size=scores.shape)).argmax(1)
        played.append((tokens, answers, np.array([*turns])))
        turns = {
            number: turn
            for number, answer in zip([*turns], answers.tolist(), strict=True)
            if not (turn := sessions[number].answer(VOCABULARY[answer])).done
        }
    tokens, answers, games = (np.concatenate(parts) for parts in zip(*played, strict=True))
    return tokens, answers, games


def loss_of(model: LanguageModel, tokens: Ints, answers: Ints, advantages: Floats) -> Any:
    """The loss of policy gradient for B answers with their advantages."""
    import torch

    logs, _ = model(torch.from_numpy(tokens))
    chosen = logs[torch.arange(len(answers)), torch.from_numpy(answers)]
    entropy = -(logs.exp() * logs).sum(1).mean()
    return -(chosen * torch.from_numpy(advantages)).mean() - ENTROPY * entropy


def learn(steps: int, seed: int) -> list[Row]:
    """The rows of a training."""
    import torch

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    rng, model, exam, ladder = np.random.default_rng(seed), LanguageModel(), Sessions("regret"), Ladder(**LADDER)
    options: dict[str, Any] = {"harness": ShortHarness(), "retries": 0, "scaled": True}
    sessions = [TextSession(GAME, ladder, **options) for _ in range(GROUPS * GAMES)]
    optimizer = torch.optim.AdamW(model.parameters(), RATE, betas=(0.9, 0.99), weight_decay=0)
    began, rows, scores, regrets = time.process_time(), list[Row](), list[float](), list[int]()
    for step in track(range(1, steps + 1), "steps"):
        tokens, answers, games = play(model, sessions, (seed * steps + step) * GROUPS, rng)
        of_step = np.array([session.score(session.turn.seat) for session in sessions])
        advantages = of_step - np.repeat(of_step.reshape(GROUPS, GAMES).mean(1), GAMES)
        optimizer.zero_grad()
        loss_of(model, tokens, answers, advantages[games]).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scores += of_step.tolist()
        regrets += [sum(session.regrets) for session in sessions]
        if step % EVERY == 0:
            row: Row = {"step": step, "games": step * len(sessions), "rung": ladder.rung}
            row |= {"opponent": str(ladder.opponent), "mean regret": round(float(np.mean(regrets)), 3)}
            row |= {"mean score": round(float(np.mean(scores)), 3), "mistakes": mistakes(model, exam)}
            rows.append(row | {"CPU-s": round(time.process_time() - began, 1)})
            scores, regrets = [], []
    return rows


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--steps", type=positive, default=960, help="updates of the weights (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="(default: %(default)s)")
    add_output(parser)
    options = parser.parse_args()
    rows = learn(options.steps, options.seed)
    show("GRPO against a ladder", rows)
    settings = {"steps": options.steps, "seed": options.seed, "games of a step": GROUPS * GAMES, **LADDER}
    save("text-ladder", settings, {"steps": rows}, options.output)


if __name__ == "__main__":
    main()
