"""Players, games and data of other libraries and programs, as ours, and ours as theirs."""
