"""Ratings with intervals, from the records of games."""
