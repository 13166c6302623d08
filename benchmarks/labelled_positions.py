"""Positions of Connect Four with the solver's scores, to learn ceilings from: none is in a suite or a test set.

No learner of the packages may see them.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import inf
from pathlib import Path

from tictac_env.arena import suite
from tictac_env.arena.suites.labelling import label
from tictac_env.arena.suites.making import Games
from tictac_env.arena.suites.scored_positions import read_scored_positions
from tictac_env.arena.suites.suite import Suite
from tictac_env.games import get_game
from tictac_env.position import Position
from tictac_env.position_batch import PositionBatch
from tictac_env.symmetry import canonical

GAME = "ConnectFour-v0"
SOURCES = (
    Games("random", random_plies=0),
    Games("rule"),
    Games("minimax:4"),
    Games("mcts:100"),
    Games("rule", "mcts:100"),
)
"""The kinds of games that the suites are from: random moves at the beginning, and a tenth of the later ones."""
DEAR = {9: 100, 10: 100, 11: 300, 12: 700, 13: 1_500, 14: 2_500}
"""How many positions there may be at plies that the opening book lacks and that take long to solve."""

Key = tuple[int, int]


def labelled(path: Path, apart: Sequence[Path], games: int, seed: int = 7) -> Suite:
    """The labelled positions of that many games of each source; made and saved if the file is not there yet.

    Args:
        path: the file. The scores are kept beside it as they are found, so that a run that is stopped goes on.
        apart: files of scored positions, of which none is taken, nor a mirror image of one, as of the suites.
        games: how many games are drawn of each source.
        seed: draws them.
    """
    if path.is_file():
        return Suite.load(path)
    taken = {key_of(position) for name in ("C4-Exact-v1", "C4-Choose-v1") for position, _ in suite(name)}
    for file in apart:
        taken |= {key_of(position) for position, _ in read_scored_positions(file, GAME)}
    positions = PositionBatch.of(list(fresh(drawn(games, seed), taken)))
    path.parent.mkdir(parents=True, exist_ok=True)
    scores = label(positions, path.with_suffix(".sqlite"), progress=True)
    made = Suite(f"{games} games of each source, seed {seed}", positions, scores)
    made.save(path)
    return made


def drawn(games: int, seed: int) -> Iterator[Position]:
    """Of each game one position in each phase that it reaches, the sources taking turns."""
    of_each = (source.positions(get_game(GAME), 1_000 * seed + number) for number, source in enumerate(SOURCES))
    for turn in itertools.islice(zip(*of_each, strict=True), games):
        yield from itertools.chain(*turn)


def fresh(positions: Iterable[Position], taken: set[Key]) -> Iterator[Position]:
    """Those that are not `taken`, each once, not more than `DEAR` says."""
    seen, plies = set(taken), Counter[int]()
    for position in positions:
        key = key_of(position)
        if key not in seen and plies[position.ply] < DEAR.get(position.ply, inf):
            seen.add(key)
            plies[position.ply] += 1
            yield position


def key_of(position: Position) -> Key:
    """The same for a position and its mirror image."""
    return canonical(position.game, position.own, position.opp)[:2]
