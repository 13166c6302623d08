"""Proofs over every reply: `prove`, and the certificates it leaves."""

from tictac_env.arena.proofs.proof import Ply, Proof, prove, read_proof

COMPILED_AS = "proofs"

__all__ = ["Ply", "Proof", "prove", "read_proof"]
