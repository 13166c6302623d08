"""The question for a move, which is repeated after wrong answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tictac_apps.language_models.harness import GameHarness
from tictac_env.checks import whole
from tictac_env.games import shown
from tictac_env.position import Position


@dataclass(frozen=True)
class QuestionState:
    """The fields of a `Question` that change."""

    wrong: int
    answer: str | None
    move: str | None


@dataclass
class Question:
    """The question for one move, which is repeated after wrong answers.

    Attributes:
        harness: makes the prompts and reads the answers.
        retries: the number of wrong answers that are forgiven for each move.
        wrong: number of wrong answers for the present move so far.
        answer: the last wrong answer, None if there is none.
        move: the move that it named, None if it named none.
    """

    harness: GameHarness
    retries: int
    wrong: int = 0
    answer: str | None = None
    move: str | None = None

    def prompt(self, position: Position, history: Sequence[str] = ()) -> str:
        """The prompt for a move; after a wrong answer it says what was wrong."""
        return self.harness.make_prompt(position, history, self.answer, self.move)

    def read(self, position: Position, answer: str) -> tuple[str, int | None]:
        """Reads an answer, and counts it if it is wrong.

        Returns:
            "legal", "illegal" or "unparsed", and the action if it is legal.

        Raises:
            ValueError: `answer` is not a str.
        """
        if not isinstance(answer, str):
            raise ValueError(f"an answer must be a str, the output of a language model, not {shown(answer)}")
        legal = {text: action for action, text in self.harness.get_legal_moves(position).items()}
        result = self.harness.parse_response(answer, list(legal))
        if result.legal_action in legal:
            self.wrong, self.answer, self.move = 0, None, None
            return "legal", legal[result.legal_action]
        self.wrong, self.answer, self.move = self.wrong + 1, answer, result.raw_action
        return "unparsed" if result.raw_action is None else "illegal", None

    def restored(self, state: QuestionState) -> Question:
        """The question with the fields of a `state`.

        Raises:
            ValueError: the fields contradict each other.
        """
        wrong = whole("wrong of a state", state.wrong, self.retries)
        if (state.answer is None) != (wrong == 0) or (state.move and not wrong):
            raise ValueError(f"answer and move of a state must be those of a wrong answer, or None, not {state}")
        return Question(self.harness, self.retries, **vars(state))

    @property
    def is_lost(self) -> bool:
        """True if there were more wrong answers than are forgiven."""
        return self.wrong > self.retries
