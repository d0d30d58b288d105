"""The few kinds of panel that all figures are made of: bars, components, maps of scores, point clouds, fields."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.colorbar import Colorbar
from matplotlib.colors import CenteredNorm, Normalize
from matplotlib.image import AxesImage

from numberline.report import error_bars, style, value_axis
from numberline.results.arrays import Array
from numberline.results.language import Language
from numberline.results.table import Row, Table

HATCH = "////"


def bars(
    axes: Axes,
    groups: Sequence[str],
    series: Mapping[str, Sequence[Row | None]],
    colours: Mapping[str, str | Sequence[str]],
    hatched: Sequence[int] = (),
    ylabel: str = style.IIA,
    printed: bool = False,
    over: str = "examples",
) -> None:
    """Bars with their intervals: one cluster per group, one bar per series. Hatched groups are set apart.

    `colours` is by series: one colour, or one for each group. A missing row leaves its place empty.
    """
    width = 0.8 / len(series)
    for number, (name, rows) in enumerate(series.items()):
        for place, row in enumerate(rows):
            if row is None or row["mean"] is None:
                continue
            x = place + (number - (len(series) - 1) / 2) * width
            own = colours[name]
            shade = own if isinstance(own, str) else own[place]
            axes.bar(
                x, row["mean"], width * 0.92, color=shade, edgecolor="white", linewidth=0.4,
                hatch=HATCH if place in hatched else None, label=name if place == _first(rows) else None,
            )  # fmt: skip
            error_bars.draw(axes, [x], [row], over, fmt="none", ecolor=style.COLOURS["ink"], elinewidth=0.7)
            if printed:
                top = max(row["hi"], 0)
                axes.annotate(
                    f"{row['mean']:.2f}".replace("-", "−"), (x, top), (0, 1.5), textcoords="offset points",
                    ha="center", va="bottom", fontsize=5.5, color=style.COLOURS["ink"],
                )  # fmt: skip
    axes.set_xticks(range(len(groups)), groups)
    axes.set_xlim(-0.6, len(groups) - 0.4)
    axes.tick_params(axis="x", length=0)
    axes.axhline(0, color=style.COLOURS["ink"], linewidth=0.6)
    axes.set_ylabel(ylabel)


def _first(rows: Sequence[Row | None]) -> int:
    return next((place for place, row in enumerate(rows) if row is not None), -1)


def unit_range(axes: Axes, headroom: float = 0.12) -> None:
    """A score's axis from 0 to 1, or as far as scores reach, with room above for the legend and the values' print.

    Over all panels that share the axis, in whatever order they are drawn.
    """
    axes.autoscale(axis="y")
    low = min(0.0, axes.get_ylim()[0])
    high = max(1.0, *(panel.dataLim.y1 for panel in axes.get_shared_y_axes().get_siblings(axes)))
    axes.set_ylim(low, high + headroom * (high - low))
    if high <= 1 + headroom:
        axes.set_yticks([0, 0.25, 0.5, 0.75, 1])


def from_zero(axes: Axes, headroom: float = 0.1) -> None:
    """An axis that starts at zero unless a score is plainly below it, with room above."""
    low, high = axes.get_ylim()
    axes.set_ylim(0.0 if low > -0.1 * high else low, high + headroom * (high - low))


def curve(axes: Axes, table: Table, x: str, label: str, colour: str, dashed: bool = False, shift: float = 0.0) -> None:
    """A line with intervals over one column; shifted a little where lines may lie on each other."""
    rows = sorted(table.rows, key=lambda row: row[x])
    error_bars.draw(
        axes, [row[x] + shift for row in rows], rows, label=label, color=colour, marker="o",
        linestyle="--" if dashed else "-", elinewidth=0.7, markersize=2.8,
    )  # fmt: skip


def components(axes: Axes, language: Language, table: Table, label: str, colour: str, value: str = "mean") -> None:
    """Per-value means against the value, with the intervals of those that are not standardized."""
    rows = sorted(table.rows, key=lambda row: row["value"])
    x = value_axis.places(language, [row["value"] for row in rows])
    if value == "mean":
        error_bars.draw(axes, x, rows, "prompts a value", fmt="o", markersize=2.0, elinewidth=0.5, capsize=0,
                        color=colour, label=label, alpha=0.9)  # fmt: skip
    else:
        axes.plot(x, [row[value] for row in rows], "o", markersize=2.0, color=colour, label=label, alpha=0.9)


def line_fit(axes: Axes, language: Language, fit: Row, values: Array, label: str | None = None) -> None:
    """The dotted line p log y + q, or p y + q on a linear scale."""
    ends = value_axis.places(language, values)
    grid = np.linspace(float(ends.min()), float(ends.max()), 200)
    scaled = np.log(grid) if language.scale == "log" else grid
    axes.plot(grid, fit["p"] * scaled + fit["q"], ":", color=style.COLOURS["ink"], label=label, zorder=5)


def scores_map(
    axes: Axes, matrix: Array, low: float | int, high: float | int, colours: str = style.SCORE_MAP
) -> AxesImage:
    """A matrix of scores, rows from the bottom up."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(True)
    return axes.imshow(matrix, aspect="auto", origin="lower", cmap=colours, vmin=low, vmax=high)


def signed_range(*matrices: Array) -> float:
    """The largest absolute value: the limit of a colour scale that is white at zero."""
    found = [np.nanmax(np.abs(matrix)) for matrix in matrices if matrix.size and not np.isnan(matrix).all()]
    return float(max(found, default=1.0)) or 1.0


def cloud(axes: Axes, x: Array, y: Array, values: Array, size: float | int = 3.0) -> PathCollection:
    """Points coloured by a value."""
    return axes.scatter(
        x, y, c=values, s=size, cmap=style.NUMBER_MAP, linewidths=0, alpha=0.85, rasterized=True,
        norm=Normalize(float(np.min(values)), float(np.max(values))),
    )  # fmt: skip


def groups(axes: Axes, x: Array, y: Array, first: Array, labels: tuple[str, str]) -> None:
    """Points of two groups in the colours of y1 and y2, drawn in one shuffled layer so that neither hides the other."""
    order = np.random.RandomState(0).permutation(len(x))
    shades = np.where(first, style.COLOURS["y1"], style.COLOURS["y2"])
    axes.scatter(x[order], y[order], c=list(shades[order]), s=3.0, linewidths=0, alpha=0.7, rasterized=True)
    for label, colour in zip(labels, (style.COLOURS["y1"], style.COLOURS["y2"]), strict=True):
        axes.scatter([], [], c=colour, s=12, linewidths=0, label=label)


def winners(axes: Axes, points: Array, winner: Array, size: float | int = 3.0) -> None:
    """Points of a plane coloured by the operand that wins (from 1), in one shuffled layer, each operand named once."""
    order = np.random.RandomState(0).permutation(len(winner))
    shades = [style.colour(f"y{operand}") for operand in winner[order]]
    axes.scatter(points[order, 0], points[order, 1], c=shades, s=size, linewidths=0, alpha=0.7, rasterized=True)
    for operand in sorted(set(winner.tolist())):
        axes.scatter([], [], c=style.colour(f"y{operand}"), s=12, linewidths=0, label=f"$y_{operand}$")


def smoothed(values: Array, points: Array, width: float = 3.0) -> Array:
    """The mean position along the values: a Gaussian-weighted mean over neighbouring values."""
    values = values.astype(float)
    width = min(width, max(float(np.ptp(values)), 1.0) / 20)  # of few values, each is nearly its own
    weights = np.exp(-0.5 * ((values[:, None] - values[None, :]) / width) ** 2)
    result: Array = weights @ points / weights.sum(1, keepdims=True)
    return result


def path(axes: Axes, points: Array) -> None:
    """The smoothed mean position, as a line that is seen on any colour."""
    axes.plot(points[:, 0], points[:, 1], color="white", linewidth=1.8, alpha=0.8, zorder=3)
    axes.plot(points[:, 0], points[:, 1], color=style.COLOURS["ink"], linewidth=0.9, zorder=4)


def arrow(axes: Axes, direction: Array, label: str, colour: str, reach: float = 0.42) -> None:
    """A direction's projection onto the plane, from the middle of the panel, as an arrow of fixed length on paper."""
    low, high = np.array([axes.get_xlim(), axes.get_ylim()]).T
    middle, span = (low + high) / 2, high - low
    scaled = direction / span
    tip = middle + direction * reach / (np.linalg.norm(scaled) or 1.0)
    axes.annotate(
        "",
        tip,
        middle,
        arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 1.8, "shrinkA": 0, "shrinkB": 0},
        zorder=6,
    )
    axes.annotate(
        label, tip, (7 * np.sign(direction[0]), 7 * np.sign(direction[1])), textcoords="offset points", color=colour,
        ha="center", va="center", fontweight="bold", fontsize=8, zorder=7,
        bbox={"boxstyle": "round,pad=0.12", "fc": "white", "ec": "none", "alpha": 0.8},
    )  # fmt: skip


def manifold(
    axes: Axes,
    language: Language,
    points: Array,
    values: Array,
    means: tuple[Array, Array],
    direction: tuple[Array, str, str],
    operand: str,
    names: tuple[str, str] = ("PC1", "PC2"),
    size: float | int = 3.0,
) -> float:
    """Points of a plane coloured by a value, their smoothed `means` along all values, and a direction's projection.

    `direction` is the projection, its label and its colour. Returns its length: the share of the norm in this plane.
    """
    image = cloud(axes, points[:, 0], points[:, 1], value_axis.places(language, values), size)
    path(axes, smoothed(*means))
    arrow(axes, *direction)
    axes.set(xlabel=names[0], ylabel=names[1])
    value_bar(axes, language, image, operand)
    return float(np.linalg.norm(direction[0]))


def field(
    axes: Axes, language: Language, values: Array, matrix: Array, shown: Sequence[int] = (20, 50, 80)
) -> AxesImage:
    """A receptive field over (y1, y2), divided by its peak; y1 = y2 is dashed. `matrix` is indexed [y1, y2]."""
    peak = float(np.nanmax(np.abs(matrix))) or 1.0
    low, high = float(values[0]), float(values[-1])
    half = (high - low) / max(1, len(values) - 1) / 2
    extent = (low - half, high + half, low - half, high + half)
    image = axes.imshow(matrix.T / peak, origin="lower", extent=extent, cmap=style.SIGNED_MAP, norm=CenteredNorm(0, 1))
    axes.plot([low, high], [low, high], "--", color=style.COLOURS["ink"], linewidth=0.6)
    value_axis.name_cells(axes, language, shown if low < shown[0] and high > shown[-1] else [low, high])
    return image


def value_bar(axes: Axes, language: Language, image: Any, operand: str) -> None:
    """A colour bar of an operand's values."""
    value_axis.name(colour_bar(axes, image, "").ax.yaxis, language, operand)


def colour_bar(axes: Axes | Sequence[Axes], image: Any, label: str) -> Colorbar:
    """A colour bar beside one panel or a group of panels."""
    first = axes if isinstance(axes, Axes) else axes[0]
    figure = first.get_figure()
    assert figure is not None
    bar = figure.colorbar(image, ax=axes, shrink=0.9, pad=0.02, aspect=22)
    bar.set_label(label)
    bar.outline.set_linewidth(0.5)
    return bar


def matrix_text(
    axes: Axes, matrix: Array, digits: int = 2, size: float | int = 6.5, limit: float | int | None = None
) -> None:
    """Print the values of a small signed matrix in its cells, white on dark cells; colours end at `limit`."""
    limit = limit or signed_range(matrix)
    for (row, column), value in np.ndenumerate(matrix):
        if not np.isnan(value):
            dark = abs(value) > 0.6 * limit
            axes.text(
                column, row, f"{value:.{digits}f}".replace("-", "−"), ha="center", va="center", fontsize=size,
                color="white" if dark else style.COLOURS["ink"],
            )  # fmt: skip
