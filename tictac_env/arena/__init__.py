"""Measures of policies: exact verdicts and results, accuracy on suites, audits, proofs, tournaments and ratings."""

from typing import TYPE_CHECKING

from tictac_env.arena.audit_record import Audit
from tictac_env.arena.auditing import audit
from tictac_env.arena.game_record import Entrant, Fixture, GameRecord, all_openings, sampled_openings
from tictac_env.arena.outcomes import WinDrawLoss
from tictac_env.arena.rating import Ratings, ratings
from tictac_env.arena.records import (
    AuditSuite,
    AuditVerdict,
    Estimate,
    FiniteEstimate,
    Measure,
    PairRow,
    PlayerRating,
    RatingRow,
    SearchedSeat,
    SeatResult,
    SeatVerdict,
)
from tictac_env.arena.results import OpponentResult, exact_results
from tictac_env.arena.store import ResultStore
from tictac_env.arena.suites import (
    Accuracy,
    Comparison,
    MoveAccuracy,
    Rate,
    ScoredPosition,
    Suite,
    move_accuracy,
    read_scored_positions,
    suite,
)
from tictac_env.arena.tournament import MatchResult, Tournament, play_match, round_robin
from tictac_env.arena.verdicts import Exploitability, Verdict, exploitability, verdict
from tictac_env.lazy import lazily

if TYPE_CHECKING:
    from tictac_env.arena.listed_player import ListedPlayer
    from tictac_env.arena.proof import Proof, prove, read_proof

__all__ = [
    "Accuracy",
    "Audit",
    "AuditSuite",
    "AuditVerdict",
    "Comparison",
    "Entrant",
    "Estimate",
    "Exploitability",
    "FiniteEstimate",
    "Fixture",
    "GameRecord",
    "ListedPlayer",
    "MatchResult",
    "Measure",
    "MoveAccuracy",
    "OpponentResult",
    "PairRow",
    "PlayerRating",
    "Proof",
    "Rate",
    "RatingRow",
    "Ratings",
    "ResultStore",
    "ScoredPosition",
    "SearchedSeat",
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
    "play_match",
    "prove",
    "ratings",
    "read_proof",
    "read_scored_positions",
    "round_robin",
    "sampled_openings",
    "suite",
    "verdict",
]

if not TYPE_CHECKING:  # proofs are compiled, which no other measure needs
    __getattr__ = lazily(
        __name__,
        {
            "tictac_env.arena.listed_player": ("ListedPlayer",),
            "tictac_env.arena.proof": ("Proof", "prove", "read_proof"),
        },
    )
