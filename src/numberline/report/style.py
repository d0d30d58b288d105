"""How does every figure look? One style: colours that colour-blind readers tell apart, sizes for a two-column paper.

A thing has one colour in all figures: y1 and v1 are blue, y2 and v2 are vermilion, u is green, and so on.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from numberline.report.recovery import Recovery
from numberline.results.cases import CASES_OF_THREE

FULL_WIDTH, COLUMN_WIDTH = 7.0, 3.4
"""Of a two-column page, in inches."""

DPI = 200
FOOT = 0.14
"""The height of the note at the foot of a figure."""

# Okabe and Ito's palette, with two greys.
BLUE, VERMILION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
PURPLE, SKY, DARK, GREY, PALE = "#CC79A7", "#56B4E9", "#3A3A3A", "#7F7F7F", "#C4C4C4"

COLOURS: Mapping[str, str] = {
    "y1": BLUE,
    "y2": VERMILION,
    "y3": GREEN,
    "u": GREEN,
    "v1": BLUE,
    "v2": VERMILION,
    "v3": GREEN,
    "y1>y2>y3": SKY,
    "y1>y3>y2": BLUE,
    "y2>y3>y1": VERMILION,
    "both": PURPLE,
    "plane": PURPLE,
    "pc1": ORANGE,
    "das": SKY,
    "flag": ORANGE,
    "full": DARK,
    "random": PALE,
    "baseline": GREY,
    "clean": GREEN,
    "corrupted": GREY,
    "local": SKY,
    "global": ORANGE,
    "edge": "#FFFFFF",
    "ink": "#222222",
    "faint": "#DDDDDD",
}

NUMBER_MAP = "viridis"
"""The value of an operand."""
SCORE_MAP = "cividis"
"""Scores that start at zero."""
SIGNED_MAP = "RdBu_r"
"""Scores and activations of both signs, white at zero."""

LAYER, TOKEN = "layer", "token"
IIA = "IIA"
CASE_TITLE: Mapping[str, str] = {case: f"$y_{case[1]}$ perturbed" for case in CASES_OF_THREE}
METRIC: Mapping[str, str] = {"iia": IIA} | {recovery.metric: recovery.axis for recovery in Recovery}

RC: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 7.5,
    "axes.titlesize": 7.5,
    "axes.labelsize": 7.5,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "legend.fontsize": 6.5,
    "legend.frameon": False,
    "legend.handlelength": 1.4,
    "legend.borderaxespad": 0.3,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.edgecolor": COLOURS["ink"],
    "axes.axisbelow": True,
    "axes.titlepad": 5,
    "axes.labelpad": 2.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "patch.linewidth": 0.5,
    "hatch.linewidth": 0.6,
    "errorbar.capsize": 1.5,
    "image.interpolation": "nearest",
    "figure.dpi": 100,
    "savefig.dpi": DPI,
    "savefig.facecolor": "white",
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "numberline",
    "axes.unicode_minus": True,
}
"""matplotlib's settings; `numberline.report.draw` applies them around every figure."""

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def page(width: float | int, height: float | int) -> Figure:
    """An empty figure, in inches."""
    return Figure(figsize=(width, height), layout="constrained")


def rows(
    page: Figure,
    lines: Sequence[str],
    heights: Sequence[float | int],
    ratios: Mapping[int, Sequence[float | int]] | None = None,
) -> dict[str, Axes]:
    """Panels in rows that are laid out apart, named by letters ("abc"), with room for a note at the foot."""
    foot = FOOT / page.get_figheight() * sum(heights)
    parts: Any = page.subfigures(len(lines) + 1, 1, height_ratios=[*heights, foot])
    found: dict[str, Axes] = {}
    for place, line in enumerate(lines):
        widths = (ratios or {}).get(place, [1] * len(line))
        grid = parts[place].subplots(1, len(line), width_ratios=widths, squeeze=False)
        found |= dict(zip(line, grid[0], strict=True))
    return found


def title(axes: Axes, letter: str, text: str = "") -> None:
    """The panel's letter in bold, (a), and what it shows."""
    axes.set_title(rf"$\mathbf{{({letter})}}$ {text}".rstrip(), loc="left")


def note(figure: Figure, text: str) -> None:
    """A small line at the foot of a figure, in space of its own."""
    if not text:
        return
    engine, height = figure.get_layout_engine(), FOOT / figure.get_figheight()
    if engine is not None and not figure.subfigs:
        engine.set(rect=(0, height, 1, 1 - height))  # type: ignore[call-arg]
    figure.text(
        0.995, 0.02 / figure.get_figheight(), text, ha="right", va="bottom", fontsize=6, color=COLOURS["baseline"]
    )


def colour(name: str) -> str:
    """The fixed colour of a thing; grey for what has none."""
    return COLOURS.get(name, COLOURS["baseline"])
