"""reasoning-gym: questions for the best move, scored by the exact values of all moves."""

from __future__ import annotations

import random
from dataclasses import dataclass

from tictac_apps.language_models.harness import BoardHarness
from tictac_apps.language_models.session import TextSession
from tictac_env.checks import flag, positive, whole
from tictac_env.games import game_name, get_game
from tictac_env.lazy import needing
from tictac_env.position import symmetry_class
from tictac_env.storage import JsonObject

with needing("reasoning-gym is missing", package="reasoning-gym>=0.1.25"):
    from reasoning_gym.factory import ProceduralDataset, register_dataset

__all__ = ["BestMoveConfig", "BestMoveDataset"]

NAME = "tictac_best_move"
INSTRUCTION = "Answer with the number of the best move and nothing else."
DRAWS = 1000
"""The number of positions drawn in search of one in which the move matters."""
HARNESS = BoardHarness(list_moves=False, instruction=INSTRUCTION)


@dataclass
class BestMoveConfig:
    """Settings of `BestMoveDataset`.

    Attributes:
        game: a game's name.
        plies: a position comes after 0 to `plies` random moves.
        decisive: True to ask only about positions in which some move is worse than another.
        size: the number of questions.
        seed: the seed of the questions; None draws one.

    Example:
        >>> BestMoveConfig("ConnectFour-v0", plies=12).decisive
        True
    """

    game: str = "TicTacToe-v0"
    plies: int = 6
    decisive: bool = True
    size: int = 500
    seed: int | None = None

    def validate(self) -> None:
        """Checks the settings.

        Raises:
            ValueError: one of them is out of its range, or there is no such game.
        """
        get_game(self.game)
        whole("plies", self.plies)
        flag("decisive", self.decisive)
        positive("size", self.size)
        if self.seed is not None:
            whole("seed", self.seed)


class BestMoveDataset(ProceduralDataset):  # type: ignore[misc]  # it has no type annotations
    """Questions for the best move; after the import, `reasoning_gym.create_dataset("tictac_best_move", seed=0)`.

    An entry has the keys question, answer (a best move) and metadata: the game, the position as a move string, its ply,
    its symmetry class (the same for mirrored and turned positions, to split by), and the value of each legal move: 1
    won, 0 drawn, -1 lost with perfect play by both sides.

    Args:
        config: the settings.

    Raises:
        ValueError: a setting is out of its range.

    Example:
        >>> data = BestMoveDataset(BestMoveConfig(seed=0, size=3))
        >>> entry = data[1]
        >>> entry["metadata"]["moves"], entry["metadata"]["values"]
        ('3', {'1': -1, '2': -1, '4': -1, '5': 0, '6': -1, '7': -1, '8': -1, '9': -1})
        >>> [data.score_answer(answer, entry) for answer in (entry["answer"], "Move: 9", "I resign")]
        [1.0, 0.5, 0.0]
    """

    category = "games"

    def __init__(self, config: BestMoveConfig) -> None:
        super().__init__(config, config.seed, config.size)
        self._session = TextSession(config.game, opponent=None, start=f"random:{config.plies}", harness=HARNESS)

    def __getitem__(self, idx: int) -> JsonObject:
        """The question with a number from 0 to `size` - 1, the same for the same seed.

        Raises:
            IndexError: there is no such question.
            ValueError: no position was found in which the move matters.
        """
        if not 0 <= idx < self.size:
            raise IndexError(f"the data set has questions 0 to {self.size - 1}, not {idx}")
        seeds = random.Random(f"{self.seed} {idx}")
        for _ in range(DRAWS):
            turn = self._session.reset(seeds.randrange(2**32))
            values = turn.values()
            if not self.config.decisive or len(set(values.values())) > 1:
                break
        else:
            raise ValueError(f"in {DRAWS} positions of {self.config.game} every move had the same value")
        position = turn.position
        metadata = {
            "source_dataset": NAME,
            "source_index": idx,
            "game": game_name(position.game),
            "moves": position.to_moves(),
            "ply": position.ply,
            "symmetry_class": symmetry_class(position),
            "values": values,
            "difficulty": {"plies": self.config.plies},
        }
        return {"question": turn.prompt, "answer": max(values, key=values.__getitem__), "metadata": metadata}

    def score_answer(self, answer: str | None, entry: JsonObject) -> float:
        """The score of an answer in [0, 1]: 1 for a best move, less half of the value that another move gives away.

        An answer is a number, alone or as "Move: 5" in the last line. Any other answer scores 0, an illegal move too.
        """
        values = entry["metadata"]["values"]
        move = HARNESS.parse_response(answer, list(values)).legal_action if isinstance(answer, str) else None
        return 0.0 if move is None else 1 - (max(values.values()) - values[move]) / 2


register_dataset(NAME, BestMoveDataset, BestMoveConfig)
