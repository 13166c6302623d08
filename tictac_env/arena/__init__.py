"""How good a policy is: matches with intervals, and the exact truth where it is known."""

from typing import TYPE_CHECKING

from tictac_env.arena.accuracy import Accuracy, Comparison, MoveAccuracy, Rate, move_accuracy
from tictac_env.arena.audits.judging import audit
from tictac_env.arena.audits.record import Audit, Measure
from tictac_env.arena.endurance import Endurance, Resistance, resistance
from tictac_env.arena.exact.tabulated import Exploitability, SeatVerdict, Verdict, exploitability, tabulated_verdict
from tictac_env.arena.exact.verdict import GameResults, OpponentResult, exact_results, verdict
from tictac_env.arena.exact.walk import SeatResult
from tictac_env.arena.ratings import Estimate, PlayerRating, Ratings, ratings
from tictac_env.arena.suites.scored_positions import ScoredPosition, read_scored_positions
from tictac_env.arena.suites.suite import Suite, suite
from tictac_env.arena.tournaments.game_record import Entrant, Fixture, GameRecord
from tictac_env.arena.tournaments.match import MatchResult, play_game, play_match
from tictac_env.arena.tournaments.openings import all_openings, sampled_openings
from tictac_env.arena.tournaments.store import ResultStore
from tictac_env.arena.tournaments.tournament import Tournament, round_robin
from tictac_env.arena.win_draw_loss import WinDrawLoss
from tictac_env.lazy import lazily

if TYPE_CHECKING:
    from tictac_env.arena.proofs import ListedPlayer, Proof, prove, read_proof

__all__ = [
    "Accuracy",
    "Audit",
    "Comparison",
    "Endurance",
    "Entrant",
    "Estimate",
    "Exploitability",
    "Fixture",
    "GameRecord",
    "GameResults",
    "ListedPlayer",
    "MatchResult",
    "Measure",
    "MoveAccuracy",
    "OpponentResult",
    "PlayerRating",
    "Proof",
    "Rate",
    "Ratings",
    "Resistance",
    "ResultStore",
    "ScoredPosition",
    "SeatResult",
    "SeatVerdict",
    "Suite",
    "Tournament",
    "Verdict",
    "WinDrawLoss",
    "all_openings",
    "audit",
    "exact_results",
    "exploitability",
    "move_accuracy",
    "play_game",
    "play_match",
    "prove",
    "ratings",
    "read_proof",
    "read_scored_positions",
    "resistance",
    "round_robin",
    "sampled_openings",
    "suite",
    "tabulated_verdict",
    "verdict",
]

if not TYPE_CHECKING:  # proofs are compiled, which no other measure needs
    __getattr__ = lazily(__name__, {"tictac_env.arena.proofs": ("ListedPlayer", "Proof", "prove", "read_proof")})
