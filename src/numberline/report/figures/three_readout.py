"""The read-out of three numbers at the last token: layers, heads, two principal components."""

import numpy as np
from matplotlib.axes import Axes

from numberline.report import panels, style
from numberline.report.exhibit import Section
from numberline.report.figure import Drawing, Panel, compose, figure
from numberline.report.figures.three_heads import order_symbol
from numberline.report.view import RunView
from numberline.results.formatting import count, estimate, number, percent
from numberline.results.table import Row

HEADS = 8


@figure(
    "app-k3-readout-pca",
    section=Section.THREE_IN_DETAIL,
    order=10,
    needs=("k3.readout",),
    question="From which layer on does the last token know the winner's position?",
)
def readout_pca(view: RunView) -> Drawing:
    """The last token around the read-out layer, coloured by the winner."""
    shown = view.run.result("k3.readout").tensor("shown").tolist()
    page = style.page(style.FULL_WIDTH, 1.95)
    letters = style.LETTERS[: len(shown)]
    axes = page.subplot_mosaic(letters)
    chosen = {
        letter: _components(place, layer) for place, (letter, layer) in enumerate(zip(letters, shown, strict=True))
    }
    lead = (
        f"Top two principal components of the residual leaving layers {shown[0]} to {shown[-1]} at the last token, on "
        f"{count(len(view.run.result('k3.readout').tensor('winner')))} clean three-{view.language.noun} prompts, "
        f"coloured by which operand wins; the read-out is at layer {view.spelled('readout_layer_k3')}"
    )
    drawing = compose(page, view, axes, chosen, lead)
    handles, names = axes[letters[0]].get_legend_handles_labels()
    page.legend(handles, [f"{name} wins" for name in names], loc="outside upper center", ncols=3)
    return drawing


def _components(place: int, layer: int) -> Panel:
    def panel(axes: Axes, view: RunView) -> str:
        result = view.run.result("k3.readout")
        points, winner = result.tensor("projections")[place], result.tensor("winner").ravel()
        panels.winners(axes, points, winner, 2)
        row = result.table("pca").one(layer=layer)
        axes.set_xlabel(f"PC1 ({percent(row['pc1'])})")
        axes.set_ylabel(f"PC2 ({percent(row['pc2'])})")
        axes.tick_params(labelsize=5.5)
        axes.set_box_aspect(1)
        axes.set_title(f"L{layer}", loc="left")
        return f"Layer {layer}: the nearest of three means names the winner in {estimate(row)} of prompts held out."

    return panel


@figure(
    "app-k3-readout-causal",
    section=Section.THREE_IN_DETAIL,
    order=11,
    needs=("k3.readout",),
    question="Does the model answer from that position?",
    paper=("readout",),
)
def readout_causal(view: RunView) -> Drawing:
    """Patching the last token: layers and heads."""
    page = style.page(style.FULL_WIDTH, 2.5)
    axes = page.subplot_mosaic([["a", "b", "c"]], width_ratios=[1, 1.5, 1])
    lead = f"{view.recovery.begins} of patches at the last token, for three value orders"
    drawing = compose(page, view, axes, {"a": _layers, "b": _heads, "c": _planes}, lead)
    page.legend(*axes["b"].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return drawing


def _layers(axes: Axes, view: RunView) -> str:
    result, layer = view.run.result("k3.readout"), view.value("readout_layer_k3")[0]
    shown = result.tensor("shown").tolist()
    table = result.table("layers").where(metric=view.recovery.metric, layer=tuple(shown))
    said = []
    for order in table.unique("order"):
        own = table.where(order=order)
        panels.curve(axes, own, "layer", order_symbol(order), style.colour(order))
        before = f"{estimate(own.one(layer=layer - 1))} to " if layer - 1 in shown else ""
        said.append(f"{order.replace('>', ' > ')} {before}{estimate(own.one(layer=layer))}")
    axes.axvline(layer, color=style.COLOURS["faint"], linewidth=6, zorder=0)
    axes.set_xticks(shown)
    axes.axhline(0, color=style.COLOURS["ink"], linewidth=0.6)
    axes.set(xlabel="layer", ylabel=view.recovery.axis)
    axes.set_title("full residual, by layer", loc="left")
    return (
        f"A full-rank patch of the residual leaving each layer; at the read-out layer {layer} (grey) it rises: "
        f"{'; '.join(said)}."
    )


def _heads(axes: Axes, view: RunView) -> str:
    result = view.run.result("k3.readout")
    table = result.table("heads").where(metric=view.recovery.metric)
    layer, orders = table.rows[0]["layer"], table.unique("order")
    size = {
        head: float(np.mean(np.abs(table.where(head=head).array("mean")))) for head in table.unique("head") if head >= 0
    }
    shown = sorted(size, key=lambda head: -size[head])[:HEADS]
    series: dict[str, list[Row | None]] = {
        order_symbol(order): [table.one(order=order, head=head) for head in shown] for order in orders
    }
    shades = {order_symbol(order): style.colour(order) for order in orders}
    panels.bars(axes, [f"H{head}" for head in shown], series, shades, ylabel=view.recovery.axis)
    for order in orders:
        axes.axhline(table.one(order=order, head=-1)["mean"], color=style.colour(order), linestyle="--", linewidth=0.9)
    axes.plot([], [], "--", color=style.COLOURS["baseline"], label="whole attention")
    axes.set_xlabel(f"head of layer {layer}, by mean absolute effect")
    axes.set_title("heads, one by one", loc="left")
    said = "; ".join(
        f"{order.replace('>', ' > ')}: head {shown[0]} {estimate(table.one(order=order, head=shown[0]))}, all heads "
        f"{estimate(table.one(order=order, head=-1))}"
        for order in orders
    )
    return (
        f"Each layer-{layer} head's own output, without a co-patch, for the {len(shown)} heads with the largest mean "
        f"absolute effect; dashed: the whole attention sublayer. {said}; n = {count(result.n)} per order."
    )


def _planes(axes: Axes, view: RunView) -> str:
    result = view.run.result("k3.readout")
    table, learned = (result.table(name).where(metric=view.recovery.metric) for name in ("patches", "learned"))
    layer, orders = table.rows[0]["layer"], table.unique("order")
    names = {"full": "full", "pcs": "top two\nPCs", "learned": "learned\nplane", "random": "random\nplanes"}
    series: dict[str, list[Row | None]] = {
        order_symbol(order): [
            learned.one(order=order, examples="evaluation")
            if name == "learned"
            else table.one(order=order, condition=name)
            for name in names
        ]
        for order in orders
    }
    shades = {order_symbol(order): style.colour(order) for order in orders}
    panels.bars(axes, list(names.values()), series, shades, ylabel=view.recovery.axis)
    axes.tick_params(axis="x", labelsize=5.5)
    panels.from_zero(axes)
    axes.set_title(f"two dimensions, L{layer}", loc="left")
    said = "; ".join(
        f"{order.replace('>', ' > ')}: components {estimate(table.one(order=order, condition='pcs'))}, learned "
        f"{estimate(learned.one(order=order, examples='evaluation'))} (on fitting examples "
        f"{number(learned.one(order=order, examples='fitting')['mean'])})"
        for order in orders
    )
    largest, smallest = result.tensor("overlap").tolist()
    return (
        f"Beyond the paper's panels: the residual leaving layer {layer}, its top two principal components, a plane "
        f"learned by DAS on the three orders together, and random planes. {said}. The two planes meet at angles with "
        f"cosines {number(largest)} and {number(smallest)}."
    )
