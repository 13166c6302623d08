"""How good a policy is: matches with intervals, and the exact truth where a game can be tabulated."""

from tictac_env.arena.exact import Exploitability, SeatVerdict, Share, Verdict, exploitability, verdict
from tictac_env.arena.match import MatchResult, Tally, Tournament, play_game, play_match, round_robin

__all__ = [
    "Exploitability",
    "MatchResult",
    "SeatVerdict",
    "Share",
    "Tally",
    "Tournament",
    "Verdict",
    "exploitability",
    "play_game",
    "play_match",
    "round_robin",
    "verdict",
]
