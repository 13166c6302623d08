"""Bridges to other libraries and programs: their players as ours, and our players, games and data as theirs."""
