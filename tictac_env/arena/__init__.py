"""How good a policy is: matches with intervals, and the exact truth where it is known."""

from tictac_env.arena.accuracy import Accuracy, Comparison, MoveAccuracy, Rate, move_accuracy
from tictac_env.arena.exact import Exploitability, SeatVerdict, Verdict, exploitability, verdict
from tictac_env.arena.match import MatchResult, Tournament, play_game, play_match, round_robin
from tictac_env.arena.scored_positions import ScoredPosition, read_scored_positions
from tictac_env.arena.win_draw_loss import WinDrawLoss

__all__ = [
    "Accuracy",
    "Comparison",
    "Exploitability",
    "MatchResult",
    "MoveAccuracy",
    "Rate",
    "ScoredPosition",
    "SeatVerdict",
    "Tournament",
    "Verdict",
    "WinDrawLoss",
    "exploitability",
    "move_accuracy",
    "play_game",
    "play_match",
    "read_scored_positions",
    "round_robin",
    "verdict",
]
