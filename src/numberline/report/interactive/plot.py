"""What is an interactive plot here? Plotly's traces and layout as plain data, a sentence, and sometimes a choice.

A plot stands under the picture of the same results, which stays for print and for readers without scripts. Colours of
paper, ink and grid are the page's own, light or dark, so that a layout says nothing of them. Of several views of the
same axes one is shown: every trace belongs to a view, or to all, and the page has a slider or buttons to choose.
"""

import html
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.colors
import numpy as np

from numberline.report import style
from numberline.report.view import RunView
from numberline.results.arrays import Array
from numberline.results.language import Language

Trace = dict[str, Any]
MOST_POINTS = 1000
"""Points of a cloud that a plot shows: every one can be pointed at, and the page stays small."""


@dataclass(frozen=True)
class Views:
    """Views of which one is shown: how the page asks, their names, the first one shown, and whose each trace is."""

    asks: str
    names: Sequence[str]
    of: Sequence[int | None]
    first: int = 0
    slider: bool = False


@dataclass(frozen=True)
class Plot:
    """An interactive plot."""

    says: str
    """What it shows and what can be done with it."""
    data: Sequence[Trace]
    layout: Mapping[str, Any]
    views: Views | None = None
    height: int = 430
    needs_webgl: bool = False
    """What is rotated does."""

    @property
    def content(self) -> dict[str, Any]:
        """What the page's script reads."""
        views = None if self.views is None else {"of": list(self.views.of), "first": self.views.first}
        return {"data": clean(list(self.data)), "layout": clean(dict(self.layout)), "views": views,
                "webgl": self.needs_webgl}  # fmt: skip


@dataclass(frozen=True)
class PlotSpec:
    """A plot as it is declared: the label of the figure under which it stands, and how it is made."""

    under: str
    make: Callable[[RunView], Plot]


def interactive(under: str) -> Callable[[Callable[[RunView], Plot]], PlotSpec]:
    """Declare a plot that stands under a figure."""
    return lambda make: PlotSpec(under, make)


def clean(value: Any) -> Any:
    """As JSON holds it: numbers with five digits, nothing for what is not a number."""
    if isinstance(value, Mapping):
        return {name: clean(inner) for name, inner in value.items()}
    if hasattr(value, "tolist"):
        return clean(value.tolist())
    if isinstance(value, list | tuple):
        return [clean(inner) for inner in value]
    if isinstance(value, float):
        return float(f"{value:.5g}") if math.isfinite(value) else None
    return value


def plain(text: object) -> str:
    """Text of a model or a prompt that plotly shows as it is: it reads a few HTML tags otherwise."""
    return html.escape(str(text), quote=False)


def axis(title: str, **more: Any) -> dict[str, Any]:
    """An axis with its name."""
    return {"title": {"text": title}, "automargin": True, "zeroline": False, **more}


def space(*titles: str) -> dict[str, Any]:
    """The layout of a cube that is rotated, with its three axes' names."""
    axes = {f"{letter}axis": {"title": {"text": title}, "showspikes": False, "zeroline": False}
            for letter, title in zip("xyz", titles, strict=True)}  # fmt: skip
    scene = {**axes, "aspectmode": "cube", "camera": {"eye": {"x": 1.5, "y": 1.5, "z": 0.9}}}
    return {"scene": scene, "margin": {"l": 0, "r": 0, "t": 0, "b": 0}}


def xyz(points: Array) -> dict[str, Array]:
    """The three columns of an array of points."""
    return dict(zip("xyz", points.T, strict=True))


def colours(name: str, title: str, low: float | int, high: float | int) -> dict[str, Any]:
    """The colour scale of a plot, shared by its traces: a map of matplotlib, as in the pictures."""
    sampled = [[place / 10, matplotlib.colors.to_hex(matplotlib.colormaps[name](place / 10))] for place in range(11)]
    bar = {"title": {"text": title, "side": "right"}, "thickness": 12, "outlinewidth": 0, "len": 0.85}
    return {"coloraxis": {"colorscale": sampled, "cmin": low, "cmax": high, "colorbar": bar}}


def value_colours(language: Language, title: str, values: Array) -> dict[str, Any]:
    """The colour scale of values, named by their words where these are not numbers."""
    layout = colours(style.NUMBER_MAP, title, float(values.min()), float(values.max()))
    if language.spelled:
        listed = sorted(language.spelled)
        words = [plain(language.spell(value)) for value in listed]
        layout["coloraxis"]["colorbar"] |= {"tickvals": listed, "ticktext": words}
    return layout


def spelled(language: Language, values: Array) -> Array:
    """Values as a mark names them: as they are written, where not as numbers."""
    if not language.spelled:
        return values
    words = [plain(language.spell(int(value))) for value in values.flat]
    return np.array(words, dtype=object).reshape(values.shape)


def sample(points: Array) -> Array:
    """Evenly spread rows of a cloud, at most as many as a plot shows."""
    return points[:: max(1, math.ceil(len(points) / MOST_POINTS))]


def shown(of: int) -> str:
    """How many of a cloud's points are there, where it is not all."""
    step = max(1, math.ceil(of / MOST_POINTS))
    return f"every {_ordinal(step)} of {of:,} prompts" if step > 1 else f"all {of:,} prompts"


def _ordinal(number: int) -> str:
    return {2: "second", 3: "third"}.get(number, f"{number}th")
