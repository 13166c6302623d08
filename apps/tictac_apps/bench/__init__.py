"""The main job, `tictac bench`: every kind of agent on both games, judged by exact truth, in one page."""
