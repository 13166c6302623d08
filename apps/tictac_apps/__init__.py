"""The programs that people start, above the environments (`tictac_env`) and the agents (`tictac_agents`).

- `cli/`: the command `tictac`, which `command.py` starts.
- `bench/`: the main job, `tictac bench`.
- `web/`: the page in the browser.
- `grading/`: grades of hand-ins, by exact proofs.
- `notebook/`: boards in notebooks.
- `language_models/`: environments for the frameworks that train language models, and positions as prompts.
- `export/`: a player as one file.
- `bridges/`: players, games and data of other libraries.
- `labels.py`, `warm.py`: exact values of many positions, kept; machine code, compiled beforehand.

Importing this package imports nothing, so that the command can hear Ctrl-C while all else is imported.
"""
