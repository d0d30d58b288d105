"""The curve on which a model holds a number, in three dimensions, with the line that it uses."""

import numpy as np

from numberline.report import panels, style
from numberline.report.interactive.plot import Plot, Trace, interactive, space, spelled, value_colours, xyz
from numberline.report.view import RunView
from numberline.results.arrays import Array
from numberline.results.formatting import percent


@interactive("number-reps")
def manifold(view: RunView) -> Plot:
    """One point per value of y1 on the first three principal components, with the direction u."""
    result = view.run.result("k2.number")
    values, pcs = result.tensor("values_y1"), result.tensor("pcs_y1")[:, :3]
    means, u = result.tensor("means_y1"), result.tensor("u").ravel()
    points, along, shadow = (means - means.mean(0)) @ pcs, (means - means.mean(0)) @ u, u @ pcs
    traces = [_points(view, values, points, along), _path(panels.smoothed(values, points)), _direction(points, shadow)]
    return Plot(
        f"Drag to rotate; point at a mark for its {view.language.noun}. One mark for each value of y1: the mean "
        f"residual leaving {view.number_layer} at y1's position, on the first three principal components. The "
        f"green line is u's projection ({percent(float(np.linalg.norm(shadow)))} of u lies in this space).",
        traces,
        {
            **space("PC1", "PC2", "PC3"),
            **value_colours(view.language, "y1", values),
            "showlegend": False,
        },
        needs_webgl=True,
        height=480,
    )


def _points(view: RunView, values: Array, points: Array, along: Array) -> Trace:
    words = spelled(view.language, values)
    return {
        "type": "scatter3d", "mode": "markers", **xyz(points), "text": words, "customdata": along,
        "marker": {"size": 4, "color": values, "coloraxis": "coloraxis"},
        "hovertemplate": "y1 = %{text}<br>along u %{customdata:.2f}<extra></extra>",
    }  # fmt: skip


def _path(points: Array) -> Trace:
    return {"type": "scatter3d", "mode": "lines", **xyz(points), "hoverinfo": "skip",
            "line": {"color": style.GREY, "width": 4}}  # fmt: skip


def _direction(points: Array, shadow: Array) -> Trace:
    """A line through the middle along u's projection, as long as the curve is wide along it."""
    reach = float(np.abs(points @ shadow).max()) / (float(shadow @ shadow) or 1.0)
    ends = np.stack([-reach * shadow, reach * shadow])
    colour = style.colour("u")
    return {"type": "scatter3d", "mode": "lines+text", **xyz(ends), "hoverinfo": "skip", "text": ["", "u"],
            "line": {"color": colour, "width": 8}, "textfont": {"color": colour, "size": 16}}  # fmt: skip
