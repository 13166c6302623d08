"""Language models as players: positions as text, answers read strictly, transcripts, and exact regret."""

from tictac_env.text_players.chat import ChatEndpoint, ChatError
from tictac_env.text_players.harness import BoardHarness, GameHarness, ParseResult
from tictac_env.text_players.session import TextSession, Turn
from tictac_env.text_players.text_policy import (
    AnswerCounts,
    TextPolicy,
    Transcript,
    TranscriptSummary,
    read_transcript,
    summarize,
)

__all__ = [
    "AnswerCounts",
    "BoardHarness",
    "ChatEndpoint",
    "ChatError",
    "GameHarness",
    "ParseResult",
    "TextPolicy",
    "TextSession",
    "Transcript",
    "TranscriptSummary",
    "Turn",
    "read_transcript",
    "summarize",
]
