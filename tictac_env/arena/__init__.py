"""How good a policy is: matches with intervals, and the exact truth where it is known."""

from tictac_env.arena.accuracy import Accuracy, Comparison, MoveAccuracy, Rate, move_accuracy
from tictac_env.arena.exact import Exploitability, SeatVerdict, Share, Verdict, exploitability, verdict
from tictac_env.arena.labels import LabelledPosition, read_positions
from tictac_env.arena.match import MatchResult, Tally, Tournament, play_game, play_match, round_robin

__all__ = [
    "Accuracy",
    "Comparison",
    "Exploitability",
    "LabelledPosition",
    "MatchResult",
    "MoveAccuracy",
    "Rate",
    "SeatVerdict",
    "Share",
    "Tally",
    "Tournament",
    "Verdict",
    "exploitability",
    "move_accuracy",
    "play_game",
    "play_match",
    "read_positions",
    "round_robin",
    "verdict",
]
