"""The plane on which two numbers meet: prompts with their operands, and where it is moved to."""

import numpy as np

from numberline.report import style
from numberline.report.interactive.plot import (
    Plot,
    Trace,
    Views,
    axis,
    colours,
    interactive,
    sample,
    shown,
    spelled,
    value_colours,
)
from numberline.report.view import RunView
from numberline.results.arrays import Array
from numberline.results.formatting import count


@interactive("shared-rep")
def plane(view: RunView) -> Plot:
    """Prompts on (v1, v2), coloured by either operand or by which is greater."""
    table = view.run.result("k2.shared").table("cloud")
    points = sample(np.stack([table.array(name) for name in ("v1", "v2", "y1", "y2")], 1))
    first = points[:, 2] > points[:, 3]
    traces = [
        _coloured(view, points, 2),
        _coloured(view, points, 3),
        _winners(view, points[first], "y1 > y2", style.colour("y1")),
        _winners(view, points[~first], "y2 > y1", style.colour("y2")),
    ]
    return Plot(
        f"Point at a mark for the prompt's two {view.language.nouns} ({shown(len(table))}); drag to zoom, double-click "
        "to go back.",
        traces,
        {
            "xaxis": axis("component on v1"),
            "yaxis": axis("component on v2"),
            "legend": {"orientation": "h", "y": 1.1},
            **value_colours(view.language, view.language.noun, points[:, 2:]),
        },
        Views("coloured by", ["y1", "y2", f"the {view.language.greater}"], [0, 1, 2, 2]),
    )


def _coloured(view: RunView, points: Array, column: int) -> Trace:
    marker = {
        "size": 7,
        "color": points[:, column],
        "coloraxis": "coloraxis",
        "line": {"width": 0.5, "color": style.GREY},
    }
    return {**_marks(view, points), "marker": marker, "showlegend": False}


def _winners(view: RunView, points: Array, name: str, colour: str) -> Trace:
    return {**_marks(view, points), "name": name, "marker": {"size": 6, "color": colour, "opacity": 0.75}}


def _marks(view: RunView, points: Array) -> Trace:
    return {
        "type": "scatter", "mode": "markers", "x": points[:, 0], "y": points[:, 1],
        "customdata": spelled(view.language, points[:, 2:].astype(int)),
        "hovertemplate": "y1 = %{customdata[0]}, y2 = %{customdata[1]}<br>v1 %{x:.2f}, v2 %{y:.2f}<extra></extra>",
    }  # fmt: skip


@interactive("shared-rep")
def dose(view: RunView) -> Plot:
    """The dose-response plane: what the model answers when the two coordinates are set to those of other values."""
    result = view.run.result("k2.dose")
    fraction, grid = result.tensor("fraction").astype(float), result.tensor("grid").tolist()
    names = [view.language.spell(value) for value in grid]
    heat: Trace = {
        "type": "heatmap", "x": names, "y": names, "z": fraction.T, "xgap": 1, "ygap": 1, "coloraxis": "coloraxis",
        "hovertemplate": "v1 as for %{x}, v2 as for %{y}<br>%{z:.0%} of answers name y1<extra></extra>",
        "hoverongaps": False,
    }  # fmt: skip
    return Plot(
        f"Dose response: point at a cell for the share of answers that name the first operand when the coordinates on "
        f"v1 and v2 are set to those of two {view.language.nouns} ({count(result.n)} prompts per cell; equal "
        f"{view.language.nouns} are left out).",
        [heat],
        {
            "xaxis": axis("v1 set to that of", type="category"),
            "yaxis": axis("v2 set to that of", type="category"),
            **colours(style.SIGNED_MAP, "answers that name y1", 0, 1),
        },
    )


@interactive("app-rf-shared")
def fields(view: RunView) -> Plot:
    """The receptive fields of the shared neurons, one neuron at a time."""
    result = view.run.result("k2.fields")
    places = [(place, row) for place, row in enumerate(result.table("fields")) if row["group"] == "shared"]
    axis_values, tensor = result.tensor("axis").tolist(), result.tensor("fields").astype(float)
    maps = [_field(view, tensor[place], axis_values) for place, _ in places]
    names = [f"L{row['layer']} neuron {row['neuron']}" for _, row in places]
    return Plot(
        "Move the slider from neuron to neuron; point at a cell for the operands and the activation at y2's position.",
        maps,
        {
            "xaxis": axis("y1", constrain="domain"),
            "yaxis": axis("y2", scaleanchor="x", constrain="domain"),
            **colours(style.SIGNED_MAP, "activation / peak", -1, 1),
        },
        Views("neuron", names, range(len(names)), slider=True),
    )


def _field(view: RunView, matrix: Array, values: list[int]) -> Trace:
    peak = float(np.nanmax(np.abs(matrix))) or 1.0
    names = [view.language.spell(value) for value in values] if view.language.spelled else values
    return {
        "type": "heatmap", "x": names, "y": names, "z": matrix.T / peak, "customdata": matrix.T,
        "coloraxis": "coloraxis",
        "hovertemplate": "y1 = %{x}, y2 = %{y}<br>activation %{customdata:.3f}<extra></extra>",
    }  # fmt: skip


@interactive("app-attribution")
def attribution(view: RunView) -> Plot:
    """The scores of the neurons that matter most, by name."""
    table = view.run.result("k2.neurons").table("scores")
    rows = sorted(table, key=lambda row: min(row["rank_y1"], row["rank_y2"]))[:500]
    traces = [
        _scores([row for row in rows if row["shared"] is shared], name, colour)
        for shared, name, colour in ((False, "other", style.GREY), (True, "shared", style.colour("flag")))
    ]
    return Plot(
        f"Point at a mark for the neuron's number; drag to zoom. The {count(len(rows))} neurons that score highest in "
        f"either case, of {count(len(table))}.",
        traces,
        {"xaxis": axis("attribution, y1 perturbed"), "yaxis": axis("attribution, y2 perturbed"),
         "legend": {"orientation": "h", "y": 1.1}},
    )  # fmt: skip


def _scores(rows: list[dict[str, object]], name: str, colour: str) -> Trace:
    return {
        "type": "scatter", "mode": "markers", "name": name, "marker": {"size": 7, "color": colour, "opacity": 0.8},
        "x": [row["y1"] for row in rows], "y": [row["y2"] for row in rows],
        "customdata": [[row["layer"], row["neuron"], row["rank_y1"], row["rank_y2"]] for row in rows],
        "hovertemplate": "layer %{customdata[0]}, neuron %{customdata[1]}<br>rank %{customdata[2]} (y1), "
                         "%{customdata[3]} (y2)<extra></extra>",
    }  # fmt: skip
