"""Agents as one file that needs NumPy only, such as Kaggle's ConnectX takes.

- `submission.py`: `export_agent` and `submission`, and which player of the template plays as a policy does.
- `agent_template.py`: the players, in plain Python and NumPy; the file is made of it.
"""

from __future__ import annotations

from tictac_agents.export.submission import export_agent, submission

__all__ = ["export_agent", "submission"]
