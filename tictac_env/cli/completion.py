"""Prints a script with which a shell completes the words of `tictac`: commands, options, games, players, files."""

from __future__ import annotations

import argparse

import shtab

SHELLS = ("bash", "zsh", "fish")

EXAMPLES = """examples:

  tictac completion bash > ~/.local/share/bash-completion/completions/tictac
  tictac completion zsh > ~/.zfunc/_tictac              (a folder of $fpath)
  tictac completion fish > ~/.config/fish/completions/tictac.fish
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument("shell", choices=SHELLS)


def run(options: argparse.Namespace) -> int:
    """Prints the script."""
    from tictac_env.cli.main import make_parser  # which imports the modules of commands, this one too

    parser = make_parser()
    parser.fill_all()
    print(shtab.complete(parser, options.shell))
    return 0
