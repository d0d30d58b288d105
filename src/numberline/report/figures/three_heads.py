"""Three numbers: which heads carry them to the runner-up's position."""

from matplotlib.axes import Axes

from numberline.report import panels, style
from numberline.report.exhibit import Section
from numberline.report.figure import Drawing, compose, figure
from numberline.report.figures.three_directions import site
from numberline.report.view import RunView
from numberline.results.formatting import count, estimate
from numberline.results.table import Row

HEADS = 8
"""How many heads the paper shows."""


@figure(
    "app-k3-heads",
    section=Section.THREE_IN_DETAIL,
    order=5,
    needs=("k3.heads",),
    question="Which heads carry the operands to the runner-up's position?",
)
def heads(view: RunView) -> Drawing:
    """Heads at the runner-up's position, three value orders."""
    page = style.page(5.6, 2.5)
    lead = f"Which heads carry the {view.language.nouns} to the runner-up's position"
    return compose(page, view, {"a": page.subplots()}, {"a": _heads}, lead)


def _heads(axes: Axes, view: RunView) -> str:
    result = view.run.result("k3.heads")
    table, ranking = result.table("heads").where(metric=view.recovery.metric), result.table("ranking")
    shown = [row["head"] for row in sorted(ranking, key=lambda row: row["rank"])[:HEADS]]
    orders, layer = table.unique("order"), ranking.rows[0]["layer"]
    series: dict[str, list[Row | None]] = {}
    said = []
    for order in orders:
        rows, base = table.where(order=order, condition="with full_number"), table.one(order=order, head=-1)
        label = f"{order_symbol(order)}, at ${base['position'][0]}_{base['position'][1]}$"
        series[label] = [rows.one(head=head) for head in shown]
        axes.axhline(base["mean"], color=style.colour(order), linestyle="--", linewidth=0.9)
        best = max(rows, key=lambda row: row["mean"])
        said.append(
            f"{order.replace('>', ' > ')} at {base['position']}: head {best['head']} {estimate(best)}, the residual "
            f"alone {estimate(base)}"
        )
    shades = {label: style.colour(order) for label, order in zip(series, orders, strict=True)}
    panels.bars(axes, [f"H{head}" for head in shown], series, shades, ylabel=view.recovery.axis)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.2 * (high - low))
    axes.legend(loc="upper right", ncols=3, columnspacing=0.8)
    axes.set_xlabel(f"head of layer {layer}, by mean absolute effect")
    layer_before = site(view, "v3").replace(" residual", "")
    return (
        f"{view.recovery.begins} of each head's own output (layer {layer}), interchanged at the runner-up's position "
        f"together with the full residual leaving {layer_before} there, for three value orders and the {len(shown)} "
        f"heads with the largest mean absolute effect over that residual alone (dashed lines). {'; '.join(said)}; "
        f"n = {count(result.n)} per order."
    )


def order_symbol(order: str) -> str:
    """A value order in a legend."""
    return "$" + order.replace("y", "y_") + "$"
