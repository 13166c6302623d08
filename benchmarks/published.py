"""The five published systems: what each reported, and the run of ours that stands beside it.

S0  George Swan, "Reinforcement Learning: A Tic Tac Toe Example"
S1  Fan Min, MFReinforcement
S2  nestedsoftware, tictac
S3  Monte Carlo self-play, and dynamic programming, after Sutton and Barto
S4  Gilad Ariel, Connect Four by deep Q-learning and Monte Carlo tree search
"""

from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    """One published learner or player, or one of ours that answers it."""

    system: str
    name: str
    run: str
    """`Learner:preset`, `Learner:preset:episodes`, `DQN:preset`, `S2Network:preset`, `FittedQ:preset:games`,
    `MCTS:preset`, `GameTree:game:games` or `policy:name`."""
    as_first: str = ""
    """Published per cent won, drawn, lost against random play as the first player."""
    as_second: str = ""
    note: str = ""
    """What else was published, or what ours is."""
    claim: str = ""
    """What the source says of its learner, a key of `published_runs.CLAIMS`."""
    until_proven: int = 0
    """Ends when proven: a verdict every so many games. (S0's preset has its own rule.)"""
    most_seeds: int = 1_000
    """How many seeds at most, where one takes minutes."""


FEW, S4_SEEDS = 3, 10
UNLOST, DRAWN, OVER_80 = "never loses to minimax", "draws against itself", "wins over 80 % v random"

SYSTEMS: tuple[Case, ...] = (
    Case(
        "S0",
        "TD until proven infallible",
        "S0ValueTD:S0",
        note="infallible, usually within a minute (a rerun: 4 of 6 seeds within one, after 240,000-1,240,000 games)",
        claim="unbeatable",
    ),
    Case("S1", "two value vectors, 50 games", "ValueTD:S1:50", note="no figure", claim="beatable"),
    Case(
        "S1",
        "two value vectors, 10,000 games",
        "ValueTD:S1",
        note="8,250-8,295 training games drawn; opens in the centre",
        claim="unbeatable",
    ),
    Case("S1", "two value vectors, 100,000 games", "ValueTD:S1:100000", note="ours: ten times as many games"),
    Case(
        "S1",
        "two value vectors, 1,000,000 games",
        "ValueTD:S1:1000000",
        note="ours: a hundred times as many games",
        most_seeds=FEW,
    ),
    Case("S1", "dynamic programming", "ValueIteration:S1", note="no figure"),
    Case("S2", "Q, trained v random", "QLearning:S2", "99.1 / 0.9 / 0", "92.6 / 7.4 / 0", claim=UNLOST),
    Case("S2", "double Q", "QLearning:S2-double", note="no better", claim=UNLOST),
    Case(
        "S2",
        "Q, trained v randomised minimax",
        "QLearning:S2-minimax",
        "81.6 / 6.8 / 11.6",
        "50.0 / 27.3 / 22.7",
        "355 of 627 positions",
        UNLOST,
    ),
    Case("S2", "Q, draw = 1", "QLearning:S2-draw", "~95 won", "~70 won", claim=UNLOST),
    Case("S2", "minimax, deterministic", "policy:minimax-first", "99.4 / 0.6 / 0", "79.7 / 20.3 / 0", claim=UNLOST),
    Case("S2", "random", "policy:random", "60.1 / 11.0 / 28.9", "28.9 / 11.0 / 60.1"),
    Case("S2", "MCTS, 4,000 playouts", "MCTS:S2", "83.4 / 16.6 / 0", "61 / 39 / 0", claim=UNLOST),
    Case(
        "S2",
        "network 9-36-36-9",
        "S2Network:S2",
        "98.4 / 1.6 / 0",
        "75.4 / 24.6 / 0",
        "2,000,000 games a seat, over an hour",
        UNLOST,
        most_seeds=FEW,
    ),
    Case("S2", "the same in batches, by DQN", "DQN:S2", note="ours: Stable-Baselines3's replay", most_seeds=FEW),
    Case(
        "S3",
        "afterstates, as published",
        "ValueTD:S3",
        note="1,000 greedy games all drawn; its own program loses 16.3, 23.1, 25.0 % as O (three seeds)",
        claim=DRAWN,
    ),
    Case("S3", "afterstates, improved", "ValueTD:S3-improved", note="ours", claim=DRAWN),
    Case("S3", "true Monte Carlo, 100,000 games", "MonteCarlo:S3", note="ours: what S3 was called"),
    Case("S4", "prequel: TD(0) table", "ValueTD:S4-prequel", note="3,375 and 3,054 entries"),
    Case("S4", "prequel: network 9-18-18-1", "DQN:S4-prequel", note="no figure", most_seeds=FEW),
    Case(
        "S4",
        "network, Connect Four, 2,000 games",
        "FittedQ:S4:2000",
        "96.0 won",
        "73.3 won",
        "over 80 won within 2,000 games; 96.0 and 73.3 are those of a rerun of the shipped networks",
        OVER_80,
        most_seeds=S4_SEEDS,
    ),
    Case(
        "S4",
        "network, all actions in one pass",
        "FittedQ:S4-all-actions:2000",
        note="ours: the same network, 2,000 games",
        claim=OVER_80,
        most_seeds=S4_SEEDS,
    ),
    Case("S4", "MCTS tree, 1M games", "GameTree:ConnectFour-v0:1000000", note="about 230 games/s, 1 KB a node"),
    Case("ours", "Q, self-play until proven", "QLearning:self-play", until_proven=500),
    Case("ours", "S2's network, self-play", "DQN:S2-self-play", note="S2's network surpassed", most_seeds=FEW),
    Case("ours", "Q, a loss counting ten times", "QLearning:infallible", note="S2 cured"),
)
