"""The page in the browser and the server behind it (extra `web`).

The server keeps no games: a game is its move string, which the browser sends with each request. So there is nothing of
another visitor's to mix up or to leak. What it keeps are solvers' tables, loaded agents, and trainings, each known only
by a token that cannot be guessed.

- `app.py`: the routes; `guard.py`: headers, sizes and rates; `asking.py`: what requests may say;
- `board_view.py`, `opponents.py`, `thoughts.py`, `truth.py`: positions, who plays, what it thinks, what is true;
- `trainings.py`: trainings, each a process of its own; `results.py`: tournaments from a result store;
- `static/`: the page; `export/`: the same page as a folder that needs no server; `bundle.py`: modules as one script.
"""
