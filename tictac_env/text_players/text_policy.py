"""A language model as a policy: any function from a text to a text plays."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from tictac_env.checks import one_of, whole
from tictac_env.games import describe_game, shown
from tictac_env.policies.adapters import takes_seed
from tictac_env.policies.policy import Policy, illegal_choice
from tictac_env.position import IllegalMove, Position
from tictac_env.rng import mix
from tictac_env.text_players.chat import ChatEndpoint
from tictac_env.text_players.harness import BoardHarness, GameHarness
from tictac_env.text_players.transcript import Entry, Transcript

ON_FAILURE = ("raise", "random")


@dataclass
class AnswerCounts:
    """What a language model has answered so far.

    Example:
        >>> from tictac_env.text_players import AnswerCounts
        >>> print(AnswerCounts(moves=10, answers=12, unparsed=1, illegal=1))
        10 moves, 12 answers, 1 unparsed, 1 illegal, 0 failures
    """

    moves: int = 0
    """How many moves it was asked for."""
    answers: int = 0
    """How many answers it gave; more than moves where it was asked again."""
    unparsed: int = 0
    """How many answers had no move in the form that was asked for."""
    illegal: int = 0
    """How many answers named a move that is not legal."""
    failures: int = 0
    """How many moves were still missing after the last answer that was allowed."""

    def __str__(self) -> str:
        return ", ".join(f"{count:,} {name}" for name, count in asdict(self).items())


class TextPolicy(Policy):
    r"""A language model, or any function from a text to a text, as a policy.

    It gets the position as a text with the rules, the board and the legal moves. Its answer is read strictly
    (`BoardHarness`); where it has no legal move, the model is told what was wrong and asked again. All is counted in
    `counts`, and kept in a transcript if wanted.

    What it plays is a function of the position and the seed as far as `complete` is one of its text and seed: the text
    is made of the stones alone unless `history`.

    Args:
        complete: from the prompt to the answer. If it has a parameter `seed`, it gets one too, an int in [0, 2**63),
            another for each answer.
        retries: how often it is asked again for the same move.
        on_failure: what happens then: "raise" `IllegalMove`, by which it forfeits the game in `round_robin`; or a
            "random" legal move, by the seed.
        harness: makes the prompts and reads the answers; a `BoardHarness` unless given.
        history: whether the prompt lists the moves so far. What is played may then depend on them, which exact measures
            do not see.
        transcript: the file (.jsonl) to which each answer is added, or a `Transcript`; None for none.
        name: what tables call it; the function's name unless given.

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

    def __init__(
        self,
        complete: Callable[..., str],
        retries: int = 2,
        on_failure: str = "raise",
        harness: GameHarness | None = None,
        history: bool = False,
        transcript: Transcript | str | os.PathLike[str] | None = None,
        name: str = "",
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
        self.counts = AnswerCounts()
        self._seeded = takes_seed(complete)

    @classmethod
    def at(cls, address: str) -> TextPolicy:
        """The language model at an address, "URL" or "URL#MODEL"; see `ChatEndpoint`.

        Raises:
            ValueError: it is no such address.
        """
        return cls(ChatEndpoint.from_address(address))

    def act(self, position: Position, seed: int) -> int:
        """The action it names, after as many answers as it takes.

        Raises:
            IllegalMove: none of its answers named a legal move, and on_failure="raise".
        """
        written = self.harness.get_legal_moves(position)
        actions = {text: action for action, text in written.items()}
        history = list(position.to_moves()) if self.history else []
        answer = raw = None
        self.counts.moves += 1
        for attempt in range(self.retries + 1):
            prompt = self.harness.make_prompt(position, history, answer, raw)
            began = time.perf_counter()
            answer = self._ask(prompt, seed)
            seconds = time.perf_counter() - began
            read = self.harness.parse_response(answer, list(actions))
            raw, action = read.raw_action, actions.get(read.legal_action or "")
            status = "legal" if action is not None else "unparsed" if raw is None else "illegal"
            self._count(status)
            if self.transcript is not None:
                entry = self._entry(position, seed, attempt, prompt, answer, raw, action, status, seconds)
                self.transcript.add(entry)
            if action is not None:
                return action
            seed = mix(seed)
        self.counts.failures += 1
        if self.on_failure == "random":
            return list(written)[seed % len(written)]
        raise self._failure(position, answer or "", raw)

    def _ask(self, prompt: str, seed: int) -> str:
        answer = self.complete(prompt, seed=seed) if self._seeded else self.complete(prompt)
        if not isinstance(answer, str):
            raise ValueError(f"{self} must answer with a str, not {answer!r} ({type(answer).__name__})")
        return answer

    def _count(self, status: str) -> None:
        self.counts.answers += 1
        self.counts.unparsed += status == "unparsed"
        self.counts.illegal += status == "illegal"

    def _failure(self, position: Position, answer: str, raw: str | None) -> IllegalMove:
        """The error for a move that is missing still."""
        if raw is not None:
            return illegal_choice(self, position, raw)
        tail = answer.strip()[-80:]
        return IllegalMove(
            f"{self} named no move in {self.retries + 1} answers, the last ending {tail!r}: {position!r}"
        )

    def _entry(self, position: Position, *answered: Any) -> Entry:
        known = len(position.recent_moves) == position.ply
        game: Any = describe_game(position.game)
        return Entry(str(self), game, position.code, position.to_moves() if known else None, *answered)

    def __deepcopy__(self, memo: dict[int, Any]) -> TextPolicy:
        return self
