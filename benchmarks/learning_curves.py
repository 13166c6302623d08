"""Figures over the seeds of a run: the mean with its interval, as text and as curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import mean, stdev

from scipy.stats import t

from tictac_agents.curves import new_figure, save_figure

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Panel:
    """What is drawn side by side with others.

    Attributes:
        title: stands above it.
        ylabel: what is drawn against CPU seconds.
        curves: whose curves they are, and one for each seed.
        means: whether their mean is drawn with its interval; the seeds then need as many points each.
    """

    title: str
    ylabel: str
    curves: Mapping[str, Sequence[Points]]
    means: bool = True


def half_width(values: Sequence[float], confidence: float = 0.95) -> float:
    """How far the interval of a mean over seeds reaches to either side: Student's t; 0 for one value."""
    if len(values) < 2:
        return 0.0
    return float(t.ppf((1 + confidence) / 2, len(values) - 1)) * stdev(values) / sqrt(len(values))


def told(values: Sequence[float]) -> str:
    """The mean of the seeds with its interval."""
    return f"{mean(values):.1f} ± {half_width(values):.1f}"


def draw(panels: Sequence[Panel], path: Path) -> None:
    """Writes the panels to a PNG file: every seed thin, the mean thick with its interval."""
    figure = new_figure(4 * len(panels), 3)
    axes = figure.subplots(1, len(panels), sharey=len({panel.ylabel for panel in panels}) == 1, squeeze=False)[0]
    for axis, panel in zip(axes, panels, strict=True):
        for number, (who, curves) in enumerate(panel.curves.items()):
            for curve in curves:
                style = {"color": f"C{number}", "linewidth": 0.6} if panel.means else {"drawstyle": "steps-post"}
                axis.plot(*zip(*curve, strict=True), **style)
            if panel.means:
                points = list(zip(*curves, strict=True))
                seconds = [mean(second for second, _ in found) for found in points]
                values = [[value for _, value in found] for found in points]
                middle, half = [mean(found) for found in values], [half_width(found) for found in values]
                low, high = ([m + sign * h for m, h in zip(middle, half, strict=True)] for sign in (-1, 1))
                axis.plot(seconds, middle, color=f"C{number}", linewidth=2, label=who)
                axis.fill_between(seconds, low, high, color=f"C{number}", alpha=0.2, linewidth=0)
        axis.set(title=panel.title, xlabel="CPU seconds")
        if axis is axes[0] or panel.ylabel != panels[0].ylabel:
            axis.set_ylabel(panel.ylabel)
        if panel.means:
            axis.set_ylim(bottom=0)
            axis.legend()
    save_figure(figure, path)
