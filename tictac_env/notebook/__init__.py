"""Games in a notebook: a board to click (extra `notebook`), or text where there is none.

- `play.py`: what `tictac_env.play` does, and where it plays;
- `notebook_table.py`: the game as the kernel keeps it; it needs no notebook;
- `widget.py`: the widget, which sends its views to the browser and clicks back; `static/`: its own part of its script.
"""
