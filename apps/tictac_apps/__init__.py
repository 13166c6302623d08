"""The programs that people start, above the environments (`tictac_env`) and the agents (`tictac_agents`).

- `cli/`: the command `tictac`, which `command.py` starts.
- `bench/`: the main job, `tictac bench`, and `benchmark.py`, the part about one agent as a function.
- `web/`: the page in the browser.
- `grading/`: grades of hand-ins, by exact proofs.
- `notebook/`: boards in notebooks.
- `language_models/`: environments for the frameworks that train language models, and positions as prompts.
- `export/`: a player as one file.
- `bridges/`: players, games and data of other libraries.
- `labels.py`: exact values of many positions, in a file.
- `warm.py`: compiles machine code beforehand.

Importing this package imports nothing else, so that the command can handle Ctrl-C during all other imports.
"""
