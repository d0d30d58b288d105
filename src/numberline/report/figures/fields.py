"""What the comparator neurons respond to: receptive fields over (y1, y2)."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.image import AxesImage

from numberline.report import panels, style
from numberline.report.exhibit import Section
from numberline.report.figure import Drawing, caption, figure
from numberline.report.view import RunView
from numberline.results.cases import CASES
from numberline.results.formatting import number
from numberline.results.table import NotMeasuredError, Row

ACROSS = 6


@figure(
    "app-rf-shared",
    section=Section.NEURONS,
    order=3,
    needs=("k2.fields",),
    question="When are the shared neurons active?",
)
def shared_fields(view: RunView) -> Drawing:
    """Receptive fields of the shared neurons."""
    table = view.run.result("k2.fields").table("fields").where(group="shared")
    if not len(table):
        raise NotMeasuredError("there are no shared neurons: no neuron is in the top 20 of both cases")
    layers = sorted(set(table.array("layer").tolist()))
    groups = [(f"MLP {layer}", sorted(table.where(layer=layer), key=lambda row: row["rank"])) for layer in layers]
    stages = view.run.result("k2.fields").table("stages")
    said = "; ".join(
        f"MLP {row['layer']}: {row['neurons']} neurons, on average active (above half the peak) on "
        f"{number(row['active'])} of the grid, and the sign of y2 − y1 explains R² = {number(row['comparator'])}"
        for row in stages
    )
    lead = f"Receptive fields of the {len(table)} shared neurons, ordered by worst-case attribution rank in each MLP"
    return _sheet(view, groups, lead, f"{said}.")


@figure(
    "app-rf-exclusive",
    section=Section.NEURONS,
    order=4,
    needs=("k2.fields",),
    question="When are the neurons active that matter in one case only?",
)
def exclusive_fields(view: RunView) -> Drawing:
    """Receptive fields of neurons that matter in one case only."""
    table = view.run.result("k2.fields").table("fields")
    groups = [(style.CASE_TITLE[case], list(table.where(group=case))) for case in CASES]
    if not any(rows for _, rows in groups):
        raise NotMeasuredError("no neuron is in the top 20 of one case only")
    said = "; ".join(
        f"{case} perturbed: " + (", ".join(f"L{row['layer']}#{row['neuron']}" for row in rows) or "none")
        for case, (_, rows) in zip(CASES, groups, strict=True)
    )
    lead = (
        "Receptive fields of the highest-ranked neurons that are in the top 20 of one perturbation case only: y1 "
        "perturbed (top) and y2 perturbed (bottom)"
    )
    return _sheet(view, groups, lead, f"{said}.")


def _sheet(view: RunView, groups: Sequence[tuple[str, Sequence[Row]]], lead: str, said: str) -> Drawing:
    """Fields in rows by group, at most six across."""
    lines = [
        (name if not start else "", rows[start : start + ACROSS])
        for name, rows in groups
        for start in range(0, max(len(rows), 1), ACROSS)
        if rows
    ]
    across = max(len(rows) for _, rows in lines)
    page = style.page(max(3.4, 0.6 + 1.08 * across), 0.45 + 1.2 * len(lines))
    grid = page.subplots(len(lines), across, squeeze=False, sharex=True, sharey=True)
    image = None
    for down, (name, rows) in enumerate(lines):
        for place in grid[down, len(rows) :]:
            place.set_axis_off()
        for place, row in zip(grid[down], rows, strict=False):
            image = draw_field(place, view, row)
        grid[down, 0].set_ylabel(f"{name}\n$y_2$" if name else "$y_2$")
        for place in grid[down, : len(rows)]:
            below = down + 1 < len(lines) and place.get_subplotspec().colspan.start < len(lines[down + 1][1])
            if not below:
                place.set_xlabel("$y_1$")
                place.tick_params(labelbottom=True)
    panels.colour_bar(list(grid.ravel()), image, "activation / peak")
    axis = view.run.result("k2.fields").tensor("axis")
    stride = int(axis[1] - axis[0]) if len(axis) > 1 else 0
    how = (
        f"Each field is the post-activation value at y2's position over a grid of prompts with stride {stride}, "
        "divided by its peak; the dashed line is y1 = y2."
    )
    return Drawing(page, caption(view, lead, [how, said]))


def draw_field(axes: Axes, view: RunView, row: Row) -> AxesImage:
    """One neuron's field, named."""
    result = view.run.result("k2.fields")
    listed = result.table("fields").rows
    place = next(i for i, other in enumerate(listed) if (other["group"], other["rank"]) == (row["group"], row["rank"]))
    field = np.asarray(result.tensor("fields")[place])
    image = panels.field(axes, view.language, result.tensor("axis"), field)
    axes.set_title(f"L{row['layer']}#{row['neuron']}", fontsize=6.5, pad=2.5)
    return image
