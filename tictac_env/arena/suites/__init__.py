"""Positions with exact scores: frozen sets of them, and how they are made."""
