"""Agents as one file that needs only NumPy, such as Kaggle's ConnectX takes: `submission.py` fills in the template."""

from tictac_apps.export.submission import export_agent, submission

__all__ = ["export_agent", "submission"]
