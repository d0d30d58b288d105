"""The output of the transport head."""

from matplotlib.axes import Axes

from numberline.report import panels, style, value_axis
from numberline.report.exhibit import Section
from numberline.report.figure import Drawing, compose, figure
from numberline.report.figures.number import attention, rising
from numberline.report.view import RunView
from numberline.results.formatting import number, percent


@figure(
    "app-transport",
    section=Section.NUMBERS,
    order=6,
    needs=("k2.transport",),
    question="What does the transport head write at the second operand?",
)
def transport(view: RunView) -> Drawing:
    """The output of the transport head at y2."""
    page = style.page(style.FULL_WIDTH, 2.35)
    axes = page.subplot_mosaic([["a", "b", "c"]], width_ratios=[1.15, 1, 1])
    lead = f"The output of head {view.transport_head} at the position of y2"
    return compose(page, view, axes, {"a": _geometry, "b": attention, "c": _component}, lead)


def _geometry(axes: Axes, view: RunView) -> str:
    result = view.run.result("k2.transport")
    points, operands = result.tensor("projections")[:, [1, 2]], result.tensor("operands")[:, 0]
    values, means = result.tensor("values"), result.tensor("means") @ result.tensor("pcs")[:, :2]
    shadow = (result.tensor("v1").ravel() @ result.tensor("pcs")[:, :2], "$v_1$", style.COLOURS["v1"])
    share = panels.manifold(axes, view.language, points, operands, (values, means), shadow, "y1")
    axes.set_title("output of the head", loc="left")
    return (
        "Its top two principal components, coloured by y1, with the smoothed mean position along y1 (line) and the "
        f"direction of v1's projection onto the plane (arrow, {percent(share)} of its norm)."
    )


def _component(axes: Axes, view: RunView) -> str:
    result = view.run.result("k2.transport")
    table = result.table("components").where(direction="v1")
    panels.components(axes, view.language, table, "$v_1$", style.COLOURS["v1"])
    value_axis.name(axes.xaxis, view.language, "y1")
    axes.set_ylabel("component along $v_1$")
    axes.set_title("component along $v_1$", loc="left")
    space = result.table("space").one(direction="v1")
    return (
        f"Component along v1 against y1, as per-value means (rank correlation {number(rising(table))}); "
        f"{percent(space['norm_inside'])} of v1's norm lies in the head's output space (a random direction: "
        f"{percent(space['chance'])})."
    )
