"""Language models as players: positions as text, answers read strictly, transcripts, and exact regret."""

from tictac_apps.language_models.chat import ChatEndpoint, ChatError, Completion
from tictac_apps.language_models.harness import BoardHarness, GameHarness, ParseResult, PicturePrompt
from tictac_apps.language_models.ladder import Ladder
from tictac_apps.language_models.session import TextSession, Turn
from tictac_apps.language_models.text_env import TextEnv
from tictac_apps.language_models.text_policy import TextPolicy
from tictac_apps.language_models.transcript import (
    Transcript,
    TranscriptSummary,
    read_transcript,
    summarize,
)
from tictac_env.policies.answers import AnswerCounts

__all__ = [
    "AnswerCounts",
    "BoardHarness",
    "ChatEndpoint",
    "ChatError",
    "Completion",
    "GameHarness",
    "Ladder",
    "ParseResult",
    "PicturePrompt",
    "TextEnv",
    "TextPolicy",
    "TextSession",
    "Transcript",
    "TranscriptSummary",
    "Turn",
    "read_transcript",
    "summarize",
]
