"""reasoning-gym: questions for the best move, scored by the exact values of all moves."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from tictac_apps.language_models.harness import BoardHarness
from tictac_apps.language_models.session import TextSession
from tictac_env.checks import flag, positive, whole
from tictac_env.games import Game, game_name, get_game
from tictac_env.lazy import needing
from tictac_env.position import Position, symmetry_class
from tictac_env.storage import JsonObject

with needing("reasoning-gym is missing", package="reasoning-gym>=0.1.25"):
    from reasoning_gym.coaching import BaseCurriculum, RangeAttributeDefinition
    from reasoning_gym.factory import ProceduralDataset, register_dataset

__all__ = ["BestMoveConfig", "BestMoveCurriculum", "BestMoveDataset"]

NAME = "tictac_best_move"
INSTRUCTION = "Answer with the number of the best move and nothing else."
DRAWS = 1000
"""The number of positions drawn in search of a new one in which the move matters."""
MARKUP = re.compile(r"[*_`]+")
"""The marks that models put around an answer."""
HARNESS = BoardHarness(instruction=INSTRUCTION)


@dataclass
class BestMoveConfig:
    """Settings of `BestMoveDataset`.

    Attributes:
        game: a game's name.
        min_plies: the least number of random moves before a position.
        max_plies: the most.
        decisive: True to ask only about positions in which some move is worse than another.
        size: the number of questions.
        seed: the seed of the questions; None draws one.

    Example:
        >>> BestMoveConfig("ConnectFour-v0", max_plies=12).decisive
        True
    """

    game: str = "TicTacToe-v0"
    min_plies: int = 0
    max_plies: int = 6
    decisive: bool = True
    size: int = 500
    seed: int | None = None

    def validate(self) -> None:
        """Checks the settings.

        Raises:
            ValueError: one of them is out of its range, or there is no such game.
        """
        get_game(self.game)
        whole("min_plies", self.min_plies, whole("max_plies", self.max_plies))
        flag("decisive", self.decisive)
        positive("size", self.size)
        if self.seed is not None:
            whole("seed", self.seed)


class BestMoveDataset(ProceduralDataset):  # type: ignore[misc]  # it has no type annotations
    """Questions for the best move; after the import, `reasoning_gym.create_dataset("tictac_best_move", seed=0)`.

    An entry has the keys question, answer (a best move) and metadata: the game, the position as a move string, its ply,
    its symmetry class (the same for mirrored and turned positions, to split by), and the value of each legal move: 1
    won, 0 drawn, -1 lost with perfect play by both sides. Boards repeat only when no new ones are left (or none is
    found in 1,000 random games), and a smaller `size` has the first of the same questions.

    Args:
        config: the settings.

    Raises:
        ValueError: a setting is out of its range.

    Example:
        >>> data = BestMoveDataset(BestMoveConfig(seed=0, size=3))
        >>> entry = data[1]
        >>> entry["metadata"]["moves"], entry["metadata"]["values"]
        ('783125', {'4': -1, '6': -1, '9': 0})
        >>> [data.score_answer(answer, entry) for answer in (entry["answer"], "**Move: 4.**", "I resign")]
        [1.0, 0.5, 0.0]
    """

    category = "games"

    def __init__(self, config: BestMoveConfig) -> None:
        super().__init__(config, config.seed, config.size)
        self._session = TextSession(config.game, opponent=None, start=f"random:{config.max_plies}", harness=HARNESS)
        self._seeds = random.Random(f"{self.seed}")
        self._positions: list[Position] = []
        self._boards: set[tuple[int, int]] = set()
        self._all_new = True  # until boards repeat

    def __getitem__(self, idx: int) -> JsonObject:
        """The question with a number from 0 to `size` - 1, the same for the same seed.

        Raises:
            IndexError: there is no such question.
            ValueError: no position was found in which the move matters.
        """
        if not 0 <= idx < self.size:
            raise IndexError(f"the data set has questions 0 to {self.size - 1}, not {idx}")
        while len(self._positions) <= idx:
            self._positions.append(self._draw())
        position = self._positions[idx]
        turn = self._session.reset(position=position)
        values = turn.values()
        metadata = {
            "source_dataset": NAME,
            "source_index": idx,
            "game": game_name(position.game),
            "moves": position.to_moves(),
            "ply": position.ply,
            "symmetry_class": symmetry_class(position),
            "values": values,
            "difficulty": {"plies": (self.config.min_plies, self.config.max_plies)},
        }
        return {"question": turn.prompt, "answer": max(values, key=values.__getitem__), "metadata": metadata}

    def _draw(self) -> Position:
        """The next position, a new board if there is one.

        Raises:
            ValueError: no position was found in which the move matters.
        """
        position = None
        for _ in range(DRAWS):
            turn = self._session.reset(self._seeds.randrange(2**32))
            board = turn.position.own, turn.position.opp
            if turn.position.ply < self.config.min_plies or (self._all_new and board in self._boards):
                continue
            if not self.config.decisive or len(set(turn.values().values())) > 1:
                position = turn.position
                self._boards.add(board)
                break
        if position is None and self._boards and self._all_new:
            self._all_new = False
            return self._draw()
        if position is None:
            raise ValueError(f"in {DRAWS} positions of {self.config.game} every move had the same value")
        return position

    def score_answer(self, answer: str | None, entry: JsonObject) -> float:
        """The score of an answer in [0, 1]: 1 for a best move, less half of the value that another move gives away.

        An answer is a number, alone or as "Move: 5" in the last line; a full stop after it and marks around it, as in
        "**5**", are ignored. Any other answer scores 0, an illegal move too.
        """
        values = entry["metadata"]["values"]
        plain = MARKUP.sub("", answer).strip().removesuffix(".") if isinstance(answer, str) else ""
        move = HARNESS.parse_response(plain, list(values)).legal_action
        return 0.0 if move is None else 1 - (max(values.values()) - values[move]) / 2


class BestMoveCurriculum(BaseCurriculum):  # type: ignore[misc]  # it has no type annotations
    """The curriculum of `BestMoveDataset` over plies, from late positions, with little to look ahead, to early ones.

    `reasoning_gym.factory.create_curriculum("tictac_best_move")` makes the one for tic-tac-toe.

    Args:
        game: a game's name or rule book.

    Raises:
        ValueError: there is no such game.

    Example:
        >>> curriculum = BestMoveCurriculum()
        >>> config = curriculum.generate_configuration({"size": 10, "seed": 0})
        >>> config.min_plies, config.max_plies, curriculum.increment_attr_level("plies")
        (6, 6, True)
        >>> curriculum.generate_configuration().min_plies
        5
    """

    def __init__(self, game: str | Game = "TicTacToe-v0") -> None:
        super().__init__(type(self).__name__, BestMoveConfig)
        self.game = get_game(game)
        cells = self.game.cells
        self._define_attributes(
            RangeAttributeDefinition(
                name="plies",
                levels=list(range(2 * cells // 3, 0, -max(1, cells // 10))),
                description="the number of random moves before a position",
                lower_field_name="min_plies",
                upper_field_name="max_plies",
            )
        )

    def generate_configuration(self, defaults: JsonObject | None = None, context: object = None) -> BestMoveConfig:
        """The settings of the present level, with further ones from `defaults`."""
        settings = {"game": game_name(self.game)} | (defaults or {})
        config: BestMoveConfig = super().generate_configuration(settings, context)
        return config


register_dataset(NAME, BestMoveDataset, BestMoveConfig, BestMoveCurriculum)
