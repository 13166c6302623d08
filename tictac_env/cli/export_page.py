"""Writes the page as a static folder, which opens in any browser without Python and without a network.

It holds tic-tac-toe with an exact table, and Connect Four with a learned network and the opening book. Open its
index.html, or put the folder on any web host.
"""

from __future__ import annotations

import argparse

from tictac_env.cli.arguments import add_file
from tictac_env.web.export.folder import PAGE, export_page

EXAMPLES = """examples:

  tictac export-page site
  xdg-open site/index.html
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    add_file(parser, "folder", folder=True, metavar="FOLDER", help="new, empty, or an earlier export")


def run(options: argparse.Namespace) -> int:
    """Writes the folder, and says where and how large."""
    sizes = export_page(options.folder)
    print(f"{options.folder / PAGE} ({len(sizes)} files, {sum(sizes.values()) / 1000:,.0f} kB)")
    return 0
