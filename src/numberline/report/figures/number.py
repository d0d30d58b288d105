"""The number representation: u at y1, v1 and v2 at y2, in the curved geometry that holds them."""

import numpy as np
from matplotlib.axes import Axes

from numberline.report import error_bars, panels, style, value_axis
from numberline.report.exhibit import Section
from numberline.report.figure import Drawing, compose, figure
from numberline.report.view import RunView
from numberline.results.arrays import Array
from numberline.results.formatting import count, estimate, number, percent
from numberline.results.table import Row, Table

COMPONENT = "component (standardized)"
SPELLED = {"full": "full rank", "pc1": "PC1"}


@figure(
    "number-reps",
    section=Section.TWO,
    order=1,
    needs=("k2.number", "k2.heads", "k2.transport"),
    question="Along which direction is each operand held, and which head carries the first to the second?",
    paper=("stability_two", "iia_two", "few", "inside"),
)
def number_reps(view: RunView) -> Drawing:
    """A single causal direction for {nouns} controls the comparison."""
    page = style.page(style.FULL_WIDTH, 4.4)
    axes = style.rows(page, ("abc", "def"), (1, 1), {0: (1.15, 1, 1)})
    chosen = {"a": _cloud, "b": _first, "c": _second, "d": attention, "e": _heads, "f": _directions}
    lead = f"A single causal direction for each {view.language.noun} controls the comparison"
    return compose(page, view, axes, chosen, lead)


@figure(
    "app-u-manifold",
    section=Section.NUMBERS,
    order=1,
    needs=("k2.number",),
    question="How does the direction u lie in the curve of the first operand?",
)
def u_manifold(view: RunView) -> Drawing:
    """u in the geometry of the {noun} layer."""
    page = style.page(5.6, 2.5)
    axes = page.subplot_mosaic("ab")
    lead = f"The residual leaving {view.number_layer} at the position of y1, one point per value of y1"
    return compose(page, view, axes, {"a": _manifold, "b": _component_u}, lead)


@figure(
    "app-u-vs-pc1",
    section=Section.NUMBERS,
    order=2,
    needs=("k2.number",),
    question="Is the causal direction u the direction of most variance?",
)
def u_against_pc1(view: RunView) -> Drawing:
    """u against the first principal component."""
    page = style.page(5.6, 4.2)
    axes = page.subplot_mosaic("ab;cd")
    lead = f"The residual leaving {view.number_layer} at the position of y1, with y1 perturbed"
    return compose(page, view, axes, {"a": _iia, "b": _recovery, "c": _both, "d": _variance}, lead)


def _plane(axes: Axes, view: RunView, points: Array | None = None) -> float:
    """PC1 and PC3 at y1 with u: points of the cloud, or the means; returns the share of u's norm in that plane."""
    result, language = view.run.result("k2.number"), view.language
    values, pcs = result.tensor("values_y1"), result.tensor("pcs_y1")[:, [0, 2]]
    means, shadow = result.tensor("means_y1") @ pcs, (result.tensor("u").ravel() @ pcs, "u", style.COLOURS["u"])
    names = ("PC1", "PC3")
    if points is None:
        return panels.manifold(axes, language, means, values, (values, means), shadow, "y1", names, size=14)
    operands = result.tensor("operands")[:, 0]
    return panels.manifold(axes, language, points, operands, (values, means), shadow, "y1", names)


def _cloud(axes: Axes, view: RunView) -> str:
    """The cloud at y1 on PC1 and PC3."""
    result = view.run.result("k2.number")
    points = result.tensor("projections_y1")[:, [1, 3]]
    share = _plane(axes, view, points)
    axes.set_title(f"{view.number_layer} residual at $y_1$", loc="left")
    return (
        f"The residual leaving {view.number_layer} at y1's position on its first and third principal components, "
        f"{count(len(points))} prompts coloured by y1, with the smoothed mean position along y1 (line) and the "
        f"direction of u's projection (arrow; {percent(share)} of u's norm lies in this plane)."
    )


def _manifold(axes: Axes, view: RunView) -> str:
    """One point per value of y1 on PC1 and PC3."""
    share = _plane(axes, view)
    axes.set_title("mean per value", loc="left")
    return (
        "Projection on the first and third principal components, coloured by y1, with the smoothed mean position along "
        f"y1 (line) and the direction of u's projection onto the plane (arrow, {percent(share)} of its norm)."
    )


def _component_u(axes: Axes, view: RunView) -> str:
    result, language = view.run.result("k2.number"), view.language
    table = result.table("components").where(position="y1", direction="u")
    fit = result.table(language.fits).one(position="y1", direction="u")
    panels.components(axes, language, table, "mean per value", style.COLOURS["u"])
    panels.line_fit(axes, language, fit, table.array("value"), value_axis.straight_symbol(language, "y1"))
    value_axis.name(axes.xaxis, language, "y1")
    axes.set_ylabel("component along $u$")
    axes.legend(loc="upper left")
    axes.set_title("component along $u$", loc="left")
    line = value_axis.straight(language, "y1")
    return f"Component along u against y1, with the least-squares fit {line} (dotted; R² = {number(fit['r2'])})."


def standardized(axes: Axes, view: RunView, table: Table, name: str) -> None:
    """Per-value means of a direction's component, standardized, in its colour."""
    label = f"${name[0]}_{name[1:]}$" if len(name) > 1 else f"${name}$"
    panels.components(axes, view.language, table, label, style.colour(name), "standardized")


def _first(axes: Axes, view: RunView) -> str:
    u = view.run.result("k2.number").table("components").where(position="y1", direction="u")
    v1 = view.run.result("k2.transport").table("components").where(direction="v1")
    standardized(axes, view, u, "u")
    standardized(axes, view, v1, "v1")
    value_axis.name(axes.xaxis, view.language, "y1")
    axes.set_ylabel(COMPONENT)
    axes.legend(loc="upper left")
    axes.set_title("components on $u$ and $v_1$", loc="left")
    return (
        f"Components along u ({view.number_layer}, at y1) and v1 (output of {view.transport_head}, at y2) against "
        f"y1, as per-value means; rank correlation with y1: u {number(rising(u))}, v1 {number(rising(v1))}."
    )


def _second(axes: Axes, view: RunView) -> str:
    v2 = view.run.result("k2.number").table("components").where(position="y2", direction="v2")
    standardized(axes, view, v2, "v2")
    value_axis.name(axes.xaxis, view.language, "y2")
    axes.set_ylabel(COMPONENT)
    axes.set_title("component on $v_2$", loc="left")
    return f"Component along v2 ({view.number_layer}, at y2) against y2; rank correlation {number(rising(v2))}."


def rising(table: Table) -> float:
    """Spearman's rank correlation of per-value means with the value: 1 where the component rises throughout."""
    ranks = [np.argsort(np.argsort(table.array(column))).astype(float) for column in ("value", "mean")]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1]) if len(table) > 1 else float("nan")


def attention(axes: Axes, view: RunView) -> str:
    """Attention of the transport head from y2 to y1's tokens, by the value of y1."""
    table = view.run.result("k2.transport").table("attention")
    part = view.language.part
    labels = {"y1": (f"$y_1$, last {part}", style.COLOURS["v1"]), "y1.first": (f"$y_1$, first {part}", style.SKY)}
    for token, (label, colour) in labels.items():
        rows = table.where(token=token)
        if len(rows):
            panels.components(axes, view.language, rows, label, colour)
    value_axis.name(axes.xaxis, view.language, "y1")
    axes.set(ylabel="attention weight", ylim=(-0.02, 1.19))
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1])
    axes.legend(loc="upper right", ncols=2, handletextpad=0.1, columnspacing=0.8)
    axes.set_title(f"attention of {view.transport_head} to $y_1$", loc="left")
    rows = table.where(token="y1")
    return (
        f"Attention of head {view.transport_head} from y2's position to y1's last token, by the value of y1: mean "
        f"{number(float(rows.array('mean').mean()))}, from {number(float(rows.array('mean').min()))} to "
        f"{number(float(rows.array('mean').max()))}."
    )


def _heads(axes: Axes, view: RunView) -> str:
    table = view.run.result("k2.heads").table("heads").where(metric=view.recovery.metric)
    together, alone, base = (table.where(condition=name) for name in ("with v2", "alone", "v2"))
    baseline = base.one()
    rows = sorted(together, key=lambda row: row["head"])
    best = view.chosen("transport_head", rows)
    shades = [style.COLOURS["v1"] if row is best else style.COLOURS["random"] for row in rows]
    heads = [row["head"] for row in rows]
    axes.bar(heads, [row["mean"] for row in rows], 0.75, color=shades)
    error_bars.draw(axes, heads, rows, fmt="none", ecolor=style.COLOURS["ink"], elinewidth=0.6, capsize=1)
    axes.plot(
        alone.array("head"), alone.array("mean"), "x", color=style.COLOURS["ink"], label="without $v_2$", markersize=3
    )
    axes.axhline(baseline["mean"], linestyle="--", color=style.COLOURS["v2"], linewidth=0.9, label="$v_2$ alone")
    axes.axhline(0, color=style.COLOURS["ink"], linewidth=0.6)
    axes.set_xticks(heads[:: max(1, len(heads) // 8)])
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.25 * (high - low))
    axes.set(xlabel=f"head of layer {rows[0]['layer']}", ylabel=view.recovery.axis)
    axes.legend(loc="upper right", ncols=2, columnspacing=0.8)
    axes.set_title(f"heads of layer {rows[0]['layer']} at $y_2$", loc="left")
    return (
        f"{view.recovery.begins} of each head of layer {rows[0]['layer']} at y2's position, together with a "
        f"restoration along v2 (bars), against v2 alone (dashed, {estimate(baseline)}) and the head alone (crosses), "
        f"with y1 perturbed: head {best['head']} recovers {estimate(best)} (n = {count(best['n'])})."
    )


def _directions(axes: Axes, view: RunView) -> str:
    at_layer = view.run.result("k2.number").table("patches").where(examples="evaluation", metric="iia")
    at_head = view.run.result("k2.transport").table("patches").where(examples="evaluation", metric="iia")
    places = [("u", at_layer, "y1", "y1"), ("v1", at_head, "y1", "y2"), ("v2", at_layer, "y2", "y2")]
    series: dict[str, list[Row | None]] = {"direction": [], "full rank": [], "random": []}
    said = []
    for name, table, case, position in places:
        found = {
            kind: table.where(case=case, position=position, condition=condition).rows
            for kind, condition in (("direction", name), ("full rank", "full"), ("random", "random"))
        }
        for kind, rows in found.items():
            series[kind].append(rows[0] if rows else None)
        row = table.one(case=case, position=position, condition=name)
        said.append(f"{name} {estimate(row)} ({_fitted(view, name, case, position)} on the fitting examples)")
    names = ["$u$\nat $y_1$", "$v_1$\nat $y_2$", "$v_2$\nat $y_2$"]
    colours = {
        "direction": [style.colour(name) for name in ("u", "v1", "v2")],
        "full rank": style.COLOURS["full"],
        "random": style.COLOURS["random"],
    }
    panels.bars(axes, names, series, colours)
    panels.unit_range(axes, 0.3)
    axes.legend(loc="upper center", ncols=3, columnspacing=0.7, handlelength=0.8, handletextpad=0.4, fontsize=6)
    axes.set_title("rank-one patches", loc="left")
    return (
        f"IIA of rank-one patches of u, v1 and v2, beside the full-rank patch of the same site and random directions "
        f"of rank one: {'; '.join(said)}; n = {count(series['direction'][0]['n'] if series['direction'][0] else 0)}."
    )


def _fitted(view: RunView, name: str, case: str, position: str) -> str:
    """The same direction's IIA on the fitting examples, so that over-fitting shows."""
    result = view.run.result("k2.transport" if name == "v1" else "k2.number")
    rows = result.table("patches").where(
        examples="fitting", metric="iia", case=case, position=position, condition=name
    )  # fmt: skip
    return number(rows.rows[0]["mean"]) if len(rows) else "–"


def _patch_bars(axes: Axes, view: RunView, metric: str) -> tuple[dict[str, Row], str]:
    table = view.run.result("k2.number").table("patches")
    rows = table.where(examples="evaluation", metric=metric, case="y1", position="y1")
    conditions = {"full": "full rank", "u": "$u$", "pc1": "PC1", "random": "random"}
    found = {name: rows.one(condition=name) for name in conditions if len(rows.where(condition=name))}
    panels.bars(
        axes, [conditions[name] for name in found], {metric: list(found.values())},
        {metric: [style.colour(name) for name in found]}, ylabel=style.METRIC[metric], printed=True,
    )  # fmt: skip
    said = ", ".join(f"{SPELLED.get(name, name)} {estimate(row)}" for name, row in found.items())
    return found, said


def _iia(axes: Axes, view: RunView) -> str:
    found, said = _patch_bars(axes, view, "iia")
    panels.unit_range(axes)
    axes.set_title("IIA", loc="left")
    return f"IIA of a full-rank patch and of rank-one patches: {said}; n = {count(found['u']['n'])}."


def _recovery(axes: Axes, view: RunView) -> str:
    _, said = _patch_bars(axes, view, view.recovery.metric)
    panels.from_zero(axes)
    axes.set_title("position recovery", loc="left")
    return f"{view.recovery.begins} of the same patches: {said}."


def _both(axes: Axes, view: RunView) -> str:
    table = view.run.result("k2.number").table("components").where(position="y1")
    u, pc1 = table.where(direction="u"), table.where(direction="pc1")
    panels.components(axes, view.language, pc1, "PC1", style.COLOURS["pc1"], "standardized")
    panels.components(axes, view.language, u, "$u$", style.COLOURS["u"], "standardized")
    value_axis.name(axes.xaxis, view.language, "y1")
    axes.set_ylabel(COMPONENT)
    axes.legend(loc="best")
    axes.set_title("components on $u$ and PC1", loc="left")
    return (
        f"Standardized components along u and PC1 against y1, as per-value means (rank correlation with y1: u "
        f"{number(rising(u))}, PC1 {number(rising(pc1))})."
    )


def _variance(axes: Axes, view: RunView) -> str:
    table = view.run.result("k2.number").table("variance").where(position="y1")
    own = table.one(direction="u")["share"]
    shares = [row["share"] for row in table if row["direction"].startswith("pc")]
    axes.bar(np.arange(1, len(shares) + 1), shares, 0.8, color=style.COLOURS["pc1"], label="principal components")
    axes.axhline(own, linestyle="--", color=style.COLOURS["u"], label="$u$")
    axes.set(xlabel="principal component", ylabel="variance explained")
    axes.set_xticks([1, *range(5, len(shares) + 1, 5)])
    axes.legend(loc="upper right")
    axes.set_title("variance explained", loc="left")
    return (
        f"Variance explained by each of the first {len(shares)} principal components (bars; PC1 "
        f"{percent(shares[0], 1)}) and by u (dashed, {percent(own, 1)})."
    )
