"""The command `tictac`: `main.py` reads the command line, and each command has a module of its own."""

from tictac_apps.cli.main import main

__all__ = ["main"]
