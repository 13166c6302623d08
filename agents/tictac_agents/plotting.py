"""Pictures drawn with matplotlib, which is imported when one is drawn, and without its global state."""

from __future__ import annotations

import os
from typing import Any

from gymnasium.error import DependencyNotInstalled

from tictac_env.storage import writing


def new_figure(width: float, height: float) -> Any:
    """An empty figure of so many inches.

    Raises:
        gymnasium.error.DependencyNotInstalled: matplotlib is missing; the message says how to install it.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise DependencyNotInstalled('matplotlib is missing: pip install "tictac-env[plot]"') from error
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: Any, path: str | os.PathLike[str]) -> None:
    """Writes a figure to a PNG file, whole or not at all."""
    with writing(path) as file:
        figure.savefig(file, format="png", dpi=110)
