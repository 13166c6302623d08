"""A language model as a policy: any function from a text to a text plays. A transcript keeps what it answered."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tictac_apps.language_models.chat import ChatEndpoint
from tictac_apps.language_models.harness import BoardHarness, GameHarness, moves_written
from tictac_env.checks import one_of, positive, whole
from tictac_env.games import Game, describe_game, game_of, shown
from tictac_env.policies.adapters import takes_seed
from tictac_env.policies.loading import Reading
from tictac_env.policies.policy import Policy, illegal_choice
from tictac_env.position import IllegalMove, Position
from tictac_env.position_batch import PositionBatch
from tictac_env.rng import mix
from tictac_env.storage import read_json

ON_FAILURE = ("raise", "random", "forfeit")
IN_FLIGHT = 64
"""The questions that a server is asked at once; servers of models answer many side by side."""
MOST_IN_FLIGHT = 1024
_noting = threading.Lock()
"""Held while an answer is counted and written down: threads of several players may share a transcript."""


@dataclass
class AnswerCounts:
    """Counts of a language model's answers so far.

    Attributes:
        moves: moves it was asked for.
        answers: answers it gave; more than moves if it was asked again.
        unparsed: answers without a move in the form that was asked for.
        illegal: answers that named an illegal move.
        failures: moves still missing after the last answer that was allowed.

    Example:
        >>> from tictac_apps.language_models import AnswerCounts
        >>> print(AnswerCounts(moves=10, answers=12, unparsed=1, illegal=1))
        10 moves, 12 answers, 1 unparsed, 1 illegal, 0 failures
    """

    moves: int = 0
    answers: int = 0
    unparsed: int = 0
    illegal: int = 0
    failures: int = 0

    @classmethod
    def of(cls, entries: Sequence[Entry]) -> Self:
        """The counts of the answers of a transcript."""
        statuses = [entry.status for entry in entries]
        moves = sum(entry.attempt == 0 for entry in entries)
        wrong = statuses.count("unparsed"), statuses.count("illegal")
        return cls(moves, len(entries), *wrong, moves - statuses.count("legal"))

    def __str__(self) -> str:
        return ", ".join(f"{count:,} {name}" for name, count in asdict(self).items())


class TextPolicy(Policy):
    r"""A language model, or any function from a text to a text, as a policy.

    It gets the position as a text with the rules, the board and the legal moves. Its answer is read strictly
    (`BoardHarness`); if it has no legal move, the model gets the reason and is asked again. Answers are counted in
    `counts`, and kept in a transcript if wanted.

    Its action is a function of the position and the seed as far as `complete` is one of its text and seed: the text is
    made of the stones alone unless `history`.

    Args:
        complete: from the prompt to the answer. If it has a parameter `seed`, it gets one too, an int in [0, 2**63),
            another for each answer.
        retries: number of times that it is asked again for the same move.
        on_failure: after the last of them "raise" `IllegalMove`, by which it forfeits the game in `round_robin`;
            "forfeit", which does the same, and exact measures count the position as lost instead of ending; or play a
            "random" legal move, by the seed.
        harness: makes the prompts and reads the answers; by default a `BoardHarness`.
        history: whether the prompt lists the moves so far. Its action may then depend on them, which exact measures do
            not see.
        transcript: the file (.jsonl) to which each answer is added, or a `Transcript`; None for none.
        name: its name in tables; by default the function's.

    Raises:
        ValueError: an argument is out of its range; or when it plays, if the answer is no str.

    Example:
        >>> from tictac_env import play_match
        >>> def corners(prompt: str, seed: int) -> str:  # stands for a model
        ...     legal = prompt.rpartition("The legal moves: ")[2].splitlines()[0].split()
        ...     return f"Let me see.\nMove: {next((one for one in '1379' if one in legal), legal[0])}"
        >>> player = TextPolicy(corners)
        >>> played = play_match(player, "minimax", games=20)
        >>> print(player.counts)
        61 moves, 61 answers, 0 unparsed, 0 illegal, 0 failures
    """

    asked_twice = False

    def __init__(
        self,
        complete: Callable[..., str],
        retries: int = 2,
        on_failure: str = "raise",
        harness: GameHarness | None = None,
        history: bool = False,
        transcript: Transcript | str | os.PathLike[str] | None = None,
        name: str = "",
        in_flight: int = 1,
    ) -> None:
        if not callable(complete):
            raise ValueError(f"complete must be a function from a text to a text, not {shown(complete)}")
        self.complete = complete
        self.retries = whole("retries", retries)
        self.on_failure = one_of("on_failure", on_failure, ON_FAILURE)
        self.harness = harness or BoardHarness()
        self.history = history
        self.transcript = transcript if isinstance(transcript, Transcript | None) else Transcript(transcript)
        self.name = name or getattr(complete, "__name__", type(complete).__name__)
        self.budget = f"a language model; up to {self.retries + 1} answers a move"
        self.illegal_hint = f"it was asked {self.retries + 1} times"
        self.in_flight = positive("in_flight", in_flight, MOST_IN_FLIGHT)
        self.counts = AnswerCounts()
        self._seeded = takes_seed(complete)
        self._known: dict[tuple[str, int], str] = {}

    def under_judgement(self, seed: int, symmetric: bool, progress: bool) -> Policy:
        """An `Examined`, which asks about each position once."""
        from tictac_apps.language_models.judging import Examined  # which imports this module

        return Examined(self, seed, symmetric, progress)

    def resume(self, transcript: str | os.PathLike[str]) -> Self:
        """Adds the answers to a transcript, and asks nothing again that was answered there: the same prompt, seed and
        name of the player. Returns the player itself.

        Raises:
            ValueError: the file is no transcript; the message names the line.

        Example:
            >>> import tempfile
            >>> path = tempfile.mkdtemp() + "/answers.jsonl"
            >>> asked = []
            >>> def model(prompt):
            ...     asked.append(prompt)
            ...     return "Move: 3"
            >>> for _ in range(2):
            ...     action = TextPolicy(model).resume(path).act(Position.from_moves("TicTacToe-v0", "1524"), seed=0)
            >>> action, len(asked)
            (2, 1)
        """
        self.transcript = Transcript(transcript)
        if self.transcript.path.exists():
            entries = read_transcript(transcript)
            self._known = {(one.prompt, one.seed): one.answer for one in entries if one.player == str(self)}
        return self

    @property
    def forfeits(self) -> bool:
        """True if on_failure="forfeit"."""
        return self.on_failure == "forfeit"

    def act(self, position: Position, seed: int) -> int:
        """The first legal action that it names, after as many answers as it takes.

        Raises:
            IllegalMove: none of its answers named a legal move, and on_failure is "raise" or "forfeit".
        """
        return self.chosen(position, self.ask(position, seed))

    def act_many(self, batch: PositionBatch, seeds: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """int64 (B,), `in_flight` positions at once; -1 if none of the answers is legal, and on_failure is "forfeit".

        Raises:
            IllegalMove: as `act` does, if on_failure is "raise".
        """
        actions = np.full(len(batch), -1, np.int64)
        for row, entries in self.ask_many(batch, seeds):
            if entries[-1].action is not None or not self.forfeits:
                actions[row] = self.chosen(batch[row], entries)
        return actions

    def ask_many(self, batch: PositionBatch, seeds: npt.NDArray[np.int64]) -> Iterator[tuple[int, list[Entry]]]:
        """Asks about B positions, `in_flight` at once: the number of each and its answers (`ask`), as they come.

        The answers of those under way are lost if the caller ends earlier, as by Ctrl-C: they are not waited for.

        Args:
            batch: B unfinished positions.
            seeds: int64 (B,), each in [0, 2**63).
        """

        def ask(row: int) -> list[Entry]:
            return self.ask(batch[row], int(seeds[row]))

        return _in_threads(ask, len(batch), self.in_flight)

    def ask(self, position: Position, seed: int) -> list[Entry]:
        """The answers for one move: those without a legal move, and the first with one or, after all retries, none."""
        actions = {text: action for action, text in self.harness.get_legal_moves(position).items()}
        history = moves_written(self.harness, position) if self.history else []
        moves = position.to_moves() if len(position.recent_moves) == position.ply else None
        where: Any = (str(self), describe_game(position.game), position.code, moves)
        entries: list[Entry] = []
        for attempt in range(self.retries + 1):
            answer, raw = (entries[-1].answer, entries[-1].move) if entries else (None, None)
            prompt = self.harness.make_prompt(position, history, answer, raw)
            began = time.perf_counter()
            known = self._known.get((prompt, seed))
            answer = self._ask(prompt, seed) if known is None else known
            seconds = time.perf_counter() - began
            read = self.harness.parse_response(answer, list(actions))
            raw, action = read.raw_action, actions.get(read.legal_action or "")
            status = "legal" if action is not None else "unparsed" if raw is None else "illegal"
            answered: Any = (seed, attempt, prompt, answer, raw, action, status, seconds)
            entries.append(Entry(*where, *answered))
            failed = action is None and attempt == self.retries
            with _noting:
                self.counts.moves += attempt == 0
                self.counts.answers += 1
                self.counts.unparsed += status == "unparsed"
                self.counts.illegal += status == "illegal"
                self.counts.failures += failed
                if self.transcript is not None and known is None:
                    self.transcript.add(entries[-1])
            if action is not None:
                break
            seed = mix(seed)
        return entries

    def chosen(self, position: Position, entries: Sequence[Entry]) -> int:
        """The action by the answers for a move (`ask`).

        Raises:
            IllegalMove: none is legal, and no random move is to be played instead.
        """
        last = entries[-1]
        if last.action is not None:
            return last.action
        if self.on_failure == "random":
            legal = position.legal_actions
            return legal[mix(last.seed) % len(legal)]
        if last.move is not None:
            raise illegal_choice(self, position, last.move)
        tail = last.answer.strip()[-80:]
        raise IllegalMove(f"{self} named no move in {self.retries + 1} answers, the last ending {tail!r}: {position!r}")

    def _ask(self, prompt: str, seed: int) -> str:
        answer = self.complete(prompt, seed=seed) if self._seeded else self.complete(prompt)
        if not isinstance(answer, str):
            raise ValueError(f"{self} must answer with a str, not {shown(answer)} ({type(answer).__name__})")
        return answer

    def __deepcopy__(self, memo: dict[int, Any]) -> TextPolicy:
        return self


@dataclass(frozen=True)
class Entry:
    """An answer; the fields are the keys of its line in a transcript.

    Attributes:
        player: the name of the player.
        game: the game, as `tictac_env.games.describe_game` writes it.
        code: the base-3 code of the position.
        moves: the move string that led there, None if it is not known.
        seed: the seed given to the function, if it takes one.
        attempt: 0 for the first answer for a move, 1 for the second, ...
        prompt: the text of the question.
        answer: the text of the answer.
        move: the move that the answer names, legal or not; None if it names none.
        action: the action of a legal move, else None.
        status: "legal", "illegal" or "unparsed".
        seconds: the time the answer took.
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
        path: the file; answers are added to one that exists.

    Example:
        >>> from tictac_apps.language_models import TextPolicy, Transcript
        >>> player = TextPolicy(lambda prompt: "Move: 3", transcript=Transcript("answers.jsonl"))
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._begun = False

    def add(self, entry: Entry) -> None:
        """Adds an answer; the first time a last line that was cut off is removed."""
        if not self._begun:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab+") as kept:
                kept.seek(0)
                kept.truncate(kept.read().rfind(b"\n") + 1)
            self._begun = True
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(entry), ensure_ascii=False) + "\n")


def read_transcript(path: str | os.PathLike[str]) -> list[Entry]:
    """The answers in a transcript, in their order. A last line that was cut off is left out.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a line is not an answer; the message names it.

    Example:
        >>> import tempfile
        >>> from tictac_apps.language_models import TextPolicy, read_transcript
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
            entries.append(Entry(**read_json(line)))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{os.fspath(path)}, line {number}: not an answer of a language model: {error}") from error
    return entries


@dataclass(frozen=True)
class TranscriptSummary:
    """The answers of a player at a game, judged by the exact solver; see `summarize`.

    Attributes:
        player: the name of the player.
        game: the game.
        moves: number of moves it was asked for.
        answers: number of answers.
        unparsed: number of answers without a move.
        illegal: number of answers that named an illegal move.
        failures: number of moves without a legal answer.
        mistakes: number of legal moves that gave away outcome value.
        perfect: number of legal moves of best exact score.
        regret: the mean outcome value given away by a legal move, nan if there are none.

    Example:
        >>> import tempfile
        >>> from tictac_env import Position
        >>> from tictac_apps.language_models import TextPolicy, summarize
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
    """Judges the answers in a transcript by the exact solver: a summary for each player at each game.

    Args:
        entries: the answers, or the file that holds them.

    Raises:
        FileNotFoundError, ValueError: as `read_transcript` does.

    Example:
        >>> import tempfile
        >>> from tictac_apps.language_models import TextPolicy, summarize
        >>> path = tempfile.mkdtemp() + "/answers.jsonl"
        >>> player = TextPolicy(lambda prompt: "Move: 6", transcript=path)  # does not see its win
        >>> _ = player.act(Position.from_moves("TicTacToe-v0", "1524"), seed=0)
        >>> [(found.moves, found.mistakes, found.regret) for found in summarize(path)]
        [(1, 1, 1.0)]
    """
    from tictac_env.solver.exact import move_regret

    if isinstance(entries, (str, os.PathLike)):
        entries = read_transcript(entries)
    groups: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        groups.setdefault((entry.player, json.dumps(entry.game)), []).append(entry)
    found = []
    for (player, _), answers in groups.items():
        regrets = [move_regret(entry.position, entry.action) for entry in answers if entry.action is not None]
        mistakes, perfect = (sum(r.outcome > 0 for r in regrets), sum(r.score == 0 for r in regrets))
        mean = sum(regret.outcome for regret in regrets) / len(regrets) if regrets else float("nan")
        counts = asdict(AnswerCounts.of(answers))
        found.append(
            TranscriptSummary(player, answers[0].game, **counts, mistakes=mistakes, perfect=perfect, regret=mean)
        )
    return found


def _in_threads(function: Callable[[int], list[Entry]], jobs: int, threads: int) -> Iterator[tuple[int, list[Entry]]]:
    """The results of a function of the numbers of jobs, as they come. No thread outlives the caller's interest by more
    than its job, and none keeps the program from ending.
    """
    waiting, results = SimpleQueue[int](), SimpleQueue[tuple[int, list[Entry] | BaseException]]()
    over = threading.Event()
    for number in range(jobs):
        waiting.put(number)

    def work() -> None:
        with suppress(Empty):
            while not over.is_set():
                number = waiting.get_nowait()
                try:
                    results.put((number, function(number)))
                except BaseException as error:
                    results.put((number, error))

    try:
        for _ in range(min(jobs, threads)):
            threading.Thread(target=work, daemon=True).start()
        for _ in range(jobs):
            number, found = results.get()
            if isinstance(found, BaseException):
                raise found
            yield number, found
    finally:
        over.set()


def at_address(address: str, game: Game, reading: Reading) -> TextPolicy:
    """The language model at an address, "URL" or "URL#MODEL"; see `ChatEndpoint`.

    Raises:
        ValueError: it is no such address.
    """
    return TextPolicy(ChatEndpoint.from_address(address), on_failure="forfeit", in_flight=IN_FLIGHT)
