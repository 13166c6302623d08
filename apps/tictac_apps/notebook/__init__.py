"""Games in a notebook: a board to click (extra `notebook`), or text if there is none."""
