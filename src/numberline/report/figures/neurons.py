"""The comparator neurons: freezing, attribution, connectivity."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.image import AxesImage
from matplotlib.ticker import FixedLocator

from numberline.report import panels, style
from numberline.report.exhibit import Section
from numberline.report.figure import Drawing, Panel, compose, figure
from numberline.report.figures.freezing import block_bars, by_case, depth_curves, mean_over_draws
from numberline.report.ranking_by_sign import shared_neurons
from numberline.report.view import RunView, join
from numberline.results.arrays import Array
from numberline.results.cases import CASES
from numberline.results.formatting import count, estimate, number
from numberline.results.table import NotMeasuredError, Table

CLIPPED = 3.0
"""Standard deviations at which the colours of causal edges end, where some edges are far larger."""


@figure(
    "app-mlp-freeze",
    section=Section.NEURONS,
    order=1,
    needs=("k2.freeze",),
    question="Which sub-blocks turn the plane into the answer?",
)
def mlp_freeze(view: RunView) -> Drawing:
    """Freezing sub-blocks and injecting MLPs."""
    page = style.page(style.FULL_WIDTH, 2.5)
    axes = page.subplot_mosaic([["a", "b"]], width_ratios=[1.25, 1])
    lead = "What freezing a sub-block takes from the plane patch, and what MLPs alone give, at the position of y2"
    return compose(page, view, axes, {"a": _frozen, "b": _injected}, lead)


def _frozen(axes: Axes, view: RunView) -> str:
    table = view.run.result("k2.freeze").table("freeze").where(metric="iia")
    said = block_bars(axes, table)
    axes.set_title("plane patch, one part frozen", loc="left")
    layer = view.transport_layer
    return (
        f"IIA of the rank-two (v1, v2) plane patch when one sub-block's output at y2 is frozen to its corrupted value. "
        f"{said}. The attention of {layer} is left out: it lies before the patch. n = {count(table.rows[0]['n'])}."
    )


def _injected(axes: Axes, view: RunView) -> str:
    found = view.run.result("k2.freeze").table("inject").where(metric="iia")
    rows = tuple({**row, "mlps": "+".join(map(str, row["layers"]))} for row in found)
    table = Table(found.name, rows, (*found.columns, "mlps"))
    by_case(axes, table, "mlps", {name: f"MLP\n{name}" for name in table.unique("mlps")})
    axes.set_xlabel("clean outputs injected")
    axes.set_title("MLPs alone", loc="left")
    best = [max(table.where(case=case), key=lambda row: row["mean"]) for case in CASES]
    said = "; ".join(
        f"{case} perturbed, MLP {row['mlps']} {estimate(row)}" for case, row in zip(CASES, best, strict=True)
    )
    return f"IIA when only the clean outputs of the listed MLPs are injected at y2; at best: {said}."


@figure(
    "app-attribution",
    section=Section.NEURONS,
    order=2,
    needs=("k2.neurons",),
    question="How many neurons carry the comparison, and which?",
)
def attribution(view: RunView) -> Drawing:
    """Attribution of all neurons, and freezing the best."""
    page = style.page(style.FULL_WIDTH, 2.6)
    axes = page.subplot_mosaic([["a", "b", "c"]], width_ratios=[1, 1.15, 1])
    lead = f"Neurons of MLP {view.spelled('comparator_mlps')} at the position of y2"
    return compose(page, view, axes, {"a": _scores, "b": _depths, "c": _sets}, lead)


def _scores(axes: Axes, view: RunView) -> str:
    result = view.run.result("k2.neurons")
    table = result.table("scores")
    y1, y2, shared = table.array("y1"), table.array("y2"), table.array("shared").astype(bool)
    largest = max(panels.signed_range(y1, y2), 1e-9)
    linear = max(float(np.quantile(np.abs(np.concatenate([y1, y2])), 0.9)), largest * 5e-3)
    axes.scatter(
        y1[~shared], y2[~shared], s=3, color=style.COLOURS["random"], linewidths=0, rasterized=True, label="all"
    )
    axes.scatter(
        y1[shared], y2[shared], s=14, color=style.COLOURS["flag"], edgecolor="white", linewidths=0.3, label="shared"
    )
    signed = [each.row for each in shared_neurons(table) if each.shared_by_sign]
    axes.scatter(
        [row["y1"] for row in signed], [row["y2"] for row in signed], s=26, facecolor="none",
        edgecolor=style.COLOURS["ink"], linewidths=0.6, label="by sign",
    )  # fmt: skip
    axes.set_xscale("symlog", linthresh=linear)
    axes.set_yscale("symlog", linthresh=linear)
    for line in (axes.axhline, axes.axvline):
        line(0, color=style.COLOURS["faint"], linewidth=0.6, zorder=0)
    for axis, scores in ((axes.xaxis, y1), (axes.yaxis, y2)):
        axis.set_major_locator(_few_ticks(linear, max(panels.signed_range(scores), 1e-9)))
    axes.set(xlabel="score, $y_1$ perturbed", ylabel="score, $y_2$ perturbed")
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * 8)
    axes.legend(loc="upper center", ncols=3, handletextpad=0.1, columnspacing=0.6)
    axes.set_title("attribution scores", loc="left")
    return (
        f"Attribution scores of all {count(len(table))} neurons, with y1 and with y2 perturbed, on symmetric-log axes; "
        f"the {shared.sum()} neurons in the top 20 of both cases by size are highlighted "
        f"({by_layer(result.table('shared'))}), and the {len(signed)} in the top 20 of both by sign are ringed."
    )


def _few_ticks(linear: float, largest: float) -> FixedLocator:
    """Zero and at most two powers of ten on either side, clear of the axis's linear part."""
    powers = list(range(int(np.ceil(np.log10(3 * linear))), int(np.floor(np.log10(largest))) + 1))
    ticks = [10.0**power for power in powers[-1::-2][:2]] or [float(f"{largest:.0e}")]
    return FixedLocator([-tick for tick in ticks] + [0.0] + ticks)


def by_layer(shared: Table) -> str:
    """How many shared neurons each MLP has: 6 in MLP 14 and 6 in MLP 15."""
    if not len(shared):
        return "none"
    layers = sorted(set(shared.array("layer").tolist()))
    return join([f"{len(shared.where(layer=layer))} in MLP {layer}" for layer in layers])


def _depths(axes: Axes, view: RunView) -> str:
    result = view.run.result("k2.neurons")
    table = result.table("freeze").where(metric="iia")
    said = depth_curves(axes, table, result.table("sets").where(metric="iia"))
    axes.set_title("top $k$ against random $k$", loc="left")
    return (
        "IIA of the plane patch when the top k neurons by attribution (solid) or k random neurons (dashed, mean of "
        f"{len(set(table.where(ranking='random').array('draw').tolist()))} draws) are frozen; dotted: none frozen. "
        f"{said}."
    )


def _sets(axes: Axes, view: RunView) -> str:
    table = view.run.result("k2.neurons").table("sets").where(metric="iia")
    size = int(max(table.where(frozen="shared").array("k")))
    names = {
        "none": "none",
        "shared": f"{size}\nshared",
        "own": f"own\n{max(table.where(frozen='own').array('k'))}",
        "random": f"{size}\nrandom",
    }
    by_case(axes, table, "frozen", names, headroom=0.3)
    axes.set_xlabel("neurons frozen")
    axes.legend(loc="upper right", ncols=1)
    axes.set_title("sets of neurons", loc="left")
    said = "; ".join(
        f"{case} perturbed: none {estimate(table.one(case=case, frozen='none'))}, shared "
        f"{estimate(table.one(case=case, frozen='shared'))}, random "
        f"{number(mean_over_draws(table.where(case=case, frozen='random'))['mean'])}"
        for case in CASES
    )
    return (
        f"IIA with no neurons frozen, with the {size} shared neurons, each case's own top neurons, or {size} random "
        f"ones frozen: {said}; n = {count(table.rows[0]['n'])}."
    )


@figure(
    "app-connectivity",
    section=Section.NEURONS,
    order=5,
    needs=("k2.connectivity",),
    question="Do the first neurons act through the second?",
)
def connectivity(view: RunView) -> Drawing:
    """Causal edges and virtual weights among the shared neurons."""
    page = style.page(style.FULL_WIDTH, 2.7)
    axes = page.subplot_mosaic("abc")
    layers = view.spelled("comparator_mlps")
    lead = f"From the shared neurons of earlier comparator MLPs (rows) to those of later ones (columns; MLP {layers})"
    return compose(page, view, axes, {"a": _edges("y1"), "b": _edges("y2"), "c": _weights}, lead)


def _edges(case: str) -> Panel:
    def panel(axes: Axes, view: RunView) -> str:
        result = view.run.result("k2.connectivity")
        table, both = result.table("edges").where(case=case), result.tensor("edges")
        matrix = both[CASES.index(case)]
        # A later neuron that hardly varies makes edges of thousands of its deviations: they must not hide the rest.
        limit = panels.signed_range(both)
        shown = limit if limit <= 3 * CLIPPED else CLIPPED
        image = _matrix(axes, view, matrix, shown)
        axes.set_title(f"edges, {style.CASE_TITLE[case]}", loc="left")
        panels.colour_bar(axes, image, "shift (s.d.)")
        strongest = max(table, key=lambda row: abs(row["mean"]))
        return (
            f"Causal edges with {case} perturbed: the shift of the later neuron's activation, in units of its standard "
            f"deviation, when only the earlier neuron is set to its clean value; strongest L{strongest['from_layer']}#"
            f"{strongest['from_neuron']} to L{strongest['to_layer']}#{strongest['to_neuron']}, {estimate(strongest)}"
            f"{'' if shown == limit else f' (colours are clipped at {number(shown, 0)})'}."
        )

    return panel


def _weights(axes: Axes, view: RunView) -> str:
    matrix = view.run.result("k2.connectivity").tensor("weights")
    image = _matrix(axes, view, matrix, panels.signed_range(matrix))
    axes.set_title("virtual weights (gate)", loc="left")
    panels.colour_bar(axes, image, "cosine")
    return (
        "Virtual weights through the gate projection: the cosine of the earlier neuron's write direction and the later "
        f"neuron's gate row with the norm folded in; from {number(float(matrix.min()))} to "
        f"{number(float(matrix.max()))}."
    )


def _matrix(axes: Axes, view: RunView, matrix: Array, limit: float) -> AxesImage:
    if not matrix.size:
        raise NotMeasuredError("there are no shared neurons in two comparator MLPs")
    result = view.run.result("k2.connectivity")
    image = axes.imshow(matrix, cmap=style.SIGNED_MAP, vmin=-limit, vmax=limit, aspect="auto")
    sources, targets = result.tensor("sources"), result.tensor("targets")
    small = 6.0 if max(len(sources), len(targets)) <= 8 else 5.0
    axes.set_yticks(range(len(sources)), [f"L{layer}#{neuron}" for layer, neuron in sources], fontsize=small)
    axes.set_xticks(
        range(len(targets)), [f"L{layer}#{neuron}" for layer, neuron in targets], rotation=90, fontsize=small
    )
    axes.tick_params(length=0)
    return image
