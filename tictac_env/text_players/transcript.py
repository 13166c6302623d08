"""What a language model was asked and has answered: a file of JSON lines, and what the truth says of its moves."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tictac_env.games import game_of
from tictac_env.position import Position


@dataclass(frozen=True)
class Entry:
    """An answer; the fields are the keys of its line.

    Attributes:
        player: who answered.
        game: the game, as `tictac_env.games.describe_game` writes it.
        code: the base-3 code of the position.
        moves: the move string that led there, None where it is not known.
        seed: what the function got if it takes a seed.
        attempt: 0 for the first answer for a move, 1 for the second, ...
        prompt: the text it was asked.
        answer: the text it answered.
        move: the move that the answer names, legal or not; None if it names none.
        action: the action of a legal move, else None.
        status: "legal", "illegal" or "unparsed".
        seconds: how long the answer took.
    """

    player: str
    game: Any
    code: int
    moves: str | None
    seed: int
    attempt: int
    prompt: str
    answer: str
    move: str | None
    action: int | None
    status: str
    seconds: float

    @property
    def position(self) -> Position:
        """The position it was asked in."""
        game = game_of(self.game)
        return Position.from_code(game, self.code) if self.moves is None else Position.from_moves(game, self.moves)


class Transcript:
    """A file of JSON lines, one an answer, each on the disk before the next is asked for.

    Args:
        path: the file; it is added to if it is there.

    Example:
        >>> import tempfile
        >>> from tictac_env import Position
        >>> from tictac_env.text_players import TextPolicy, Transcript, read_transcript
        >>> transcript = Transcript(tempfile.mkdtemp() + "/answers.jsonl")
        >>> player = TextPolicy(lambda prompt: "Move: 3", transcript=transcript)
        >>> player.act(Position.from_moves("TicTacToe-v0", "1524"), seed=0)
        2
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def add(self, entry: Entry) -> None:
        """Adds an answer."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(dataclasses.asdict(entry), ensure_ascii=False) + "\n")


def read_transcript(path: str | os.PathLike[str]) -> list[Entry]:
    """The answers in a transcript, in their order. A last line that was cut off is left out.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a line is not an answer; the message names it.

    Example:
        >>> import tempfile
        >>> from tictac_env import Position
        >>> from tictac_env.text_players import TextPolicy, read_transcript
        >>> path = tempfile.mkdtemp() + "/answers.jsonl"
        >>> player = TextPolicy(lambda prompt: "Move: 3", transcript=path)
        >>> _ = player.act(Position.from_moves("TicTacToe-v0", "1524"), seed=0)
        >>> [(entry.answer, entry.status) for entry in read_transcript(path)]
        [('Move: 3', 'legal')]
    """
    text = Path(path).read_text(encoding="utf-8")
    entries = []
    for number, line in enumerate(text.split("\n")[:-1], 1):  # what follows the last newline was cut off
        try:
            entries.append(Entry(**json.loads(line)))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{os.fspath(path)}, line {number}: not an answer of a language model: {error}") from error
    return entries


@dataclass(frozen=True)
class TranscriptSummary:
    """How well a player has answered, by the truth.

    Attributes:
        player: who.
        game: at which game.
        moves: how many moves it was asked for.
        answers: how many answers it gave.
        unparsed: how many answers had no move.
        illegal: how many answers named an illegal move.
        failures: how many moves had no legal answer.
        mistakes: how many legal moves gave away outcome value.
        perfect: how many legal moves have the best exact score.
        regret: the mean outcome value given away by a legal move, nan if there are none.

    Example:
        >>> import tempfile
        >>> from tictac_env import Position
        >>> from tictac_env.text_players import TextPolicy, summarize
        >>> path = tempfile.mkdtemp() + "/answers.jsonl"
        >>> player = TextPolicy(lambda prompt: "Move: 3", transcript=path)
        >>> _ = player.act(Position.from_moves("TicTacToe-v0", "1524"), seed=0)
        >>> summarize(path)[0].perfect
        1
    """

    player: str
    game: Any
    moves: int
    answers: int
    unparsed: int
    illegal: int
    failures: int
    mistakes: int
    perfect: int
    regret: float

    def __str__(self) -> str:
        played = self.moves - self.failures
        return (
            f"{self.player}: {self.moves:,} moves, {self.failures:,} without a legal answer ({self.unparsed:,} answers "
            f"unparsed, {self.illegal:,} illegal); of {played:,} legal ones {self.mistakes:,} mistakes, "
            f"{self.perfect:,} perfect, mean regret {self.regret:.3f}"
        )


def summarize(entries: Iterable[Entry] | str | os.PathLike[str]) -> list[TranscriptSummary]:
    """How well each player of a transcript has answered at each game, by the exact solver.

    Args:
        entries: the answers, or the file that holds them.

    Raises:
        FileNotFoundError, ValueError: as `read_transcript` does.

    Example:
        >>> import tempfile
        >>> from tictac_env import Position
        >>> from tictac_env.text_players import TextPolicy, summarize
        >>> path = tempfile.mkdtemp() + "/answers.jsonl"
        >>> player = TextPolicy(lambda prompt: "Move: 6", transcript=path)  # does not see its win
        >>> _ = player.act(Position.from_moves("TicTacToe-v0", "1524"), seed=0)
        >>> [(found.moves, found.mistakes, found.regret) for found in summarize(path)]
        [(1, 1, 1.0)]
    """
    from tictac_env.solver import move_regret  # not above, as the solver is compiled

    if isinstance(entries, (str, os.PathLike)):
        entries = read_transcript(entries)
    groups: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        groups.setdefault((entry.player, json.dumps(entry.game)), []).append(entry)
    found = []
    for (player, _), answers in groups.items():
        regrets = [move_regret(entry.position, entry.action) for entry in answers if entry.action is not None]
        moves = sum(entry.attempt == 0 for entry in answers)
        statuses = [entry.status for entry in answers]
        found.append(
            TranscriptSummary(
                player,
                answers[0].game,
                moves,
                len(answers),
                statuses.count("unparsed"),
                statuses.count("illegal"),
                moves - len(regrets),
                sum(regret.outcome > 0 for regret in regrets),
                sum(regret.score == 0 for regret in regrets),
                sum(regret.outcome for regret in regrets) / len(regrets) if regrets else float("nan"),
            )
        )
    return found
