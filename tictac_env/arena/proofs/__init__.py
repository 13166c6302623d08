"""Proofs over every reply: `prove`, the certificates it leaves, and what else follows from them."""

from tictac_env.arena.proofs.listed_player import ListedPlayer
from tictac_env.arena.proofs.proof import Ply, Proof, prove, read_proof

COMPILED_AS = "proofs"

__all__ = ["ListedPlayer", "Ply", "Proof", "prove", "read_proof"]
