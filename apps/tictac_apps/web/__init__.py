"""The page in the browser and the server behind it (extra `web`).

The server keeps no games: a game is its move string, which the browser sends with each request. So visitors' games
cannot be mixed up or leaked. The server keeps solvers' tables, loaded agents, and trainings, each known only by a token
that cannot be guessed.

`app.py` has the routes, `insight.py` the data about a position that the page shows, `static/` the page, and `offline/`
the modules that replace the server in the folder that `export.py` writes.
"""
