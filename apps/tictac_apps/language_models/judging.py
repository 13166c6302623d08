"""A language model under judgement: each position asked once, many at a time, and what its answers were like."""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt

from tictac_apps.language_models.harness import lenient_move
from tictac_apps.language_models.text_policy import TextPolicy
from tictac_apps.language_models.transcript import Entry, counts_of
from tictac_env.arena.suites import PHASES, phases
from tictac_env.games import Game
from tictac_env.policies.answers import AnswersReport, NearMiss
from tictac_env.policies.policy import Policy
from tictac_env.position import Position, Symmetry, canonical, symmetries
from tictac_env.position_batch import PositionBatch
from tictac_env.progress import progress_bar
from tictac_env.rng import position_seed

EXAMPLES = 3
"""Near misses that a record shows."""
TAIL = 60
"""Characters of an answer's end that it shows."""
Key = tuple[int, int]


class Examined(Policy):
    """A language model as a fixed map that is asked about each position once, for exact measures.

    The seed of a question is derived from the position and the seed of the judgement, so a model that draws is judged
    by the one answer to that seed.

    Args:
        player: the language model.
        seed: the seed of the judgement, in [0, 2**63).
        symmetric: True to ask about one of the positions that are images of each other under the symmetries of the
            board, and to play the image of its answer in the others.
        progress: True to show progress bars.
    """

    asked_twice = False

    def __init__(self, player: TextPolicy, seed: int = 0, symmetric: bool = True, progress: bool = False) -> None:
        self.player, self.seed, self.symmetric, self.progress = player, seed, symmetric, progress
        self.name, self.budget, self.illegal_hint = str(player), player.budget, player.illegal_hint
        self.forfeits = player.forfeits
        self._entries: dict[Key, list[Entry]] = {}

    def act(self, position: Position, seed: int) -> int:
        """The action of the fixed map; `seed` is not used.

        Raises:
            IllegalMove: it has no legal one there.
        """
        batch = PositionBatch.of([position])
        (action,) = self.act_many(batch, np.zeros(1, np.int64)).tolist()
        if action < 0:
            own, opp, _ = self._folded(position.game, position.own, position.opp)
            return self.player.chosen(position, self._entries[own, opp])
        return int(action)

    def act_many(self, batch: PositionBatch, seeds: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """int64 (B,), the actions of the fixed map, -1 if it `forfeits`; `seeds` are not used."""
        game, stones = batch.game, zip(batch.own.tolist(), batch.opp.tolist(), strict=True)
        folded = [self._folded(game, *both) for both in stones]
        self._ask(game, [key for key in dict.fromkeys(place[:2] for place in folded) if key not in self._entries])
        actions = []
        for own, opp, symmetry in folded:
            entries = self._entries[own, opp]
            if entries[-1].action is None and self.forfeits:
                actions.append(-1)
            else:
                action = self.player.chosen(Position(game, own, opp), entries)
                actions.append(symmetry.actions.index(action))
        return np.array(actions, np.int64)

    def answers_report(self, game: Game) -> AnswersReport:
        """The counts of its answers: the attribute `answers` of an `Audit`."""
        positions = [Position(game, *key) for key in self._entries]
        phase_of = phases(game, np.array([position.ply for position in positions], np.int64)).tolist()
        groups: dict[str, list[Entry]] = {"all": [], **{name: [] for name in PHASES}}
        near: list[NearMiss] = []
        for position, phase, entries in zip(positions, phase_of, self._entries.values(), strict=True):
            groups["all"] += entries
            groups[PHASES[phase]] += entries
            legal = self.player.harness.get_legal_moves(position).values()
            for entry in entries:
                if entry.action is None and (move := lenient_move(entry.answer)) in legal:
                    near.append(NearMiss(position.to_moves(), entry.answer.strip()[-TAIL:], str(move)))
        transcript = self.player.transcript
        return AnswersReport(
            positions=len(positions),
            symmetric=self.symmetric,
            counts={among: counts_of(entries) for among, entries in groups.items() if entries},
            near_misses=len(near),
            examples=tuple(near[:EXAMPLES]),
            transcript=None if transcript is None else os.fspath(transcript.path),
        )

    def _folded(self, game: Game, own: int, opp: int) -> tuple[int, int, Symmetry]:
        return canonical(game, own, opp) if self.symmetric else (own, opp, symmetries(game)[0])

    def _ask(self, game: Game, new: list[Key]) -> None:
        """Asks about some distinct positions."""
        if not new:
            return
        batch = PositionBatch.of([Position(game, *key) for key in new])
        seeds = np.array([position_seed(*key, self.seed) for key in new], np.int64)
        with progress_bar(len(new), f"asking {self}", self.progress) as update:
            for done, (row, entries) in enumerate(self.player.ask_many(batch, seeds), 1):
                self._entries[new[row]] = entries
                update(done, "")
        # In the order of the positions, not in that in which the answers came.
        self._entries |= {key: self._entries.pop(key) for key in new}
