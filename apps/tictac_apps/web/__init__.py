"""The page in the browser and the server behind it (extra `web`).

The server keeps no games: a game is its move string, which the browser sends with each request. So there is nothing of
another visitor's to mix up or to leak. What it keeps are solvers' tables, loaded agents, and trainings, each known only
by a token that cannot be guessed.

`app.py` has the addresses, `insight.py` what the page shows of a position, `static/` the page, and `offline/` what
answers it in the folder that `export.py` writes.
"""
