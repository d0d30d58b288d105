"""Three numbers: who carries them to y3's position, along which directions, and how specific these are."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from numberline.report import panels, style
from numberline.report.figure import Drawing, Panel, compose, figure
from numberline.report.figures.number import COMPONENT, rising
from numberline.report.formatting import count, estimate, number, percent
from numberline.report.view import RunView
from numberline.results.stored import CannotDrawError, Row, Table

CASES = ("y1", "y2", "y3")
DIRECTIONS = ("u1", "u2", "v1", "v2", "v3", "w1", "w2")
HEADS = 8
"""How many heads the paper shows."""
ID = "k3.directions"


@figure("app-k3-directions", needs=(ID,))
def components(view: RunView) -> Drawing:
    """Components along the directions of three numbers."""
    page = style.page(style.FULL_WIDTH, 1.9)
    axes = page.subplot_mosaic([list("abcde")])
    lead = "Component along each direction of three numbers against the number it carries, as per-value means"
    chosen = {letter: _component(name) for letter, name in zip("abcde", DIRECTIONS[:5], strict=True)}
    drawing = compose(page, view, axes, chosen, lead)
    axes["a"].set_ylabel("component")
    return drawing


@figure("app-k3-manifolds", needs=(ID,))
def manifolds(view: RunView) -> Drawing:
    """The spaces at y3 that hold the three directions."""
    page = style.page(style.FULL_WIDTH, 2.35)
    axes = page.subplot_mosaic([list("abc")])
    lead = "The spaces at y3's position that contain the three directions, each in its top two principal components"
    chosen = {letter: _space(name) for letter, name in zip("abc", ("v1", "v2", "v3"), strict=True)}
    return compose(page, view, axes, chosen, lead)


@figure("app-k3-dissociation", needs=(ID,))
def dissociation(view: RunView) -> Drawing:
    """Each direction in each case: specific to its number."""
    page = style.page(3.6, 2.9)
    lead = "What a rank-one patch of each direction does in each perturbation case, without refitting"
    return compose(page, view, {"a": page.subplots()}, {"a": _specificity}, lead)


@figure("app-k3-heads", needs=("k3.heads",))
def heads(view: RunView) -> Drawing:
    """Heads at the runner-up's position, three value orders."""
    page = style.page(5.6, 2.5)
    lead = "Which heads carry the numbers to the runner-up's position"
    return compose(page, view, {"a": page.subplots()}, {"a": _heads}, lead)


def symbol(name: str) -> str:
    """A direction as the paper writes it."""
    return f"${name[0]}_{name[1:]}$"


def shade(name: str) -> str:
    """A direction's colour: that of the number it carries."""
    return style.colour(f"y{name[1]}")


def site(view: RunView, name: str) -> str:
    """Where a direction lives: L13 residual, or the output of L14.H14."""
    if name in ("v1", "v2"):
        head = view.spelled(f"transport_head_y{name[1]}")
        return f"output of {head}" if head != "not found" else "output of the transport head"
    layer = view.spelled("number_layer_k3")
    return f"L{layer} residual" if layer != "not found" else "number-layer residual"


def transport_layer(view: RunView) -> str:
    """In a title: L14, or transport layer."""
    try:
        return f"L{max(view.value(f'transport_head_{operand}')[0] for operand in ('y1', 'y2'))}"
    except CannotDrawError:
        return "transport layer"


def position(name: str) -> str:
    """The operand at whose position a direction lives."""
    return {"u1": "y1", "u2": "y2", "w1": "y2", "w2": "y2"}.get(name, "y3")


def _component(name: str) -> Panel:
    def panel(axes: Axes, view: RunView) -> str:
        result = view.run.result(ID)
        table = result.table("components").where(direction=name)
        fit = result.table("log_fits").one(direction=name)
        panels.components(axes, table, "", shade(name))
        panels.log_fit(axes, fit, table.array("value"))
        axes.set_xlabel(f"$y_{name[1]}$")
        axes.set_title(f"{symbol(name)} at $y_{position(name)[1]}$", loc="left")
        return (
            f"{name} in the {site(view, name)} at the position of {position(name)} (rank correlation with "
            f"y{name[1]} {number(rising(table))}; dotted: p log y{name[1]} + q, R² = {number(fit['r2'])})."
        )

    return panel


def all_components(axes: Axes, view: RunView) -> str:
    """v1, v2 and v3 against their numbers, in one panel."""
    result = view.run.result(ID)
    said = []
    for name in ("v1", "v2", "v3"):
        table = result.table("components").where(direction=name)
        panels.components(axes, table, f"{symbol(name)} against $y_{name[1]}$", shade(name), "standardized")
        said.append(f"{name} {number(rising(table))}")
    axes.set(xlabel="$y_1$, $y_2$ or $y_3$", ylabel=COMPONENT)
    axes.legend(loc="upper left", handletextpad=0.1)
    axes.set_title("components at $y_3$", loc="left")
    return (
        f"Components along v1 ({site(view, 'v1')}), v2 ({site(view, 'v2')}) and v3 ({site(view, 'v3')}) at y3's "
        f"position against y1, y2 and y3, as per-value means; rank correlations: {', '.join(said)}."
    )


def _space(name: str) -> Panel:
    def panel(axes: Axes, view: RunView) -> str:
        result = view.run.result(ID)
        operand = f"y{name[1]}"
        points = result.tensor(f"projections_{name}")[:, 1:3]
        numbers = result.tensor("operands")[:, int(name[1]) - 1]
        pcs, values = result.tensor(f"pcs_{name}")[:, :2], result.tensor(f"values_{name}")
        means = (values, result.tensor(f"means_{name}") @ pcs)
        shadow = (result.tensor(name).ravel() @ pcs, symbol(name), shade(name))
        share = panels.manifold(axes, points, numbers, means, shadow, operand)
        axes.set_title(site(view, name), loc="left")
        shares = result.table("variance").where(cloud=name, direction=("pc1", "pc2")).array("share")
        return (
            f"The {site(view, name)} with {name}, {count(len(points))} prompts coloured by {operand}, with the "
            f"smoothed mean position along {operand} (line) and the direction of {name}'s projection onto the plane "
            f"(arrow, {percent(share)} of its norm); the two components explain "
            f"{percent(float(shares.sum()))} of the variance."
        )

    return panel


def _specificity(axes: Axes, view: RunView) -> str:
    table = view.run.result(ID).table("specificity").where(metric="pooled")
    matrix = np.array([[table.one(direction=name, case=case)["mean"] for case in CASES] for name in DIRECTIONS])
    image = axes.imshow(matrix, cmap=style.SIGNED_MAP, vmin=-1, vmax=1, aspect="auto")
    panels.matrix_text(axes, matrix, limit=1)
    for place, name in enumerate(DIRECTIONS):
        corner = (int(name[1]) - 1.5, place - 0.5)
        axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=style.COLOURS["ink"], linewidth=1.1))
    axes.set_xticks(range(len(CASES)), [style.CASE_TITLE[case] for case in CASES])
    axes.set_yticks(range(len(DIRECTIONS)), [f"{symbol(name)} at $y_{position(name)[1]}$" for name in DIRECTIONS])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    panels.colour_bar(axes, image, style.POOLED)
    others = [row for row in table if not row["own"]]
    worst = max(others, key=lambda row: abs(row["mean"]))
    said = ", ".join(f"{name} {estimate(table.one(direction=name, own=True))}" for name in DIRECTIONS)
    patches = view.run.result(ID).table("patches").where(examples="evaluation", metric="pooled")
    full = patches.one(case="y1", condition="full_number_y2")
    return (
        f"Pooled position recovery of a rank-one patch of each direction (rows) in each case (columns); boxes mark the "
        f"case that perturbs the number it carries. There: {said}; in the other cases at most "
        f"{number(abs(worst['mean']))} in size ({worst['direction']}, {worst['case']} perturbed). w2 and u2 are the "
        f"same fit; at w1's site the full-rank patch recovers {estimate(full)}, which a rank-one patch can exceed. "
        f"{_attention(view, 'v1')} {_attention(view, 'v2')} Colours are clipped at 1, printed values are "
        f"not; n = {count(worst['n'])} per case."
    )


def _attention(view: RunView, name: str) -> str:
    """What the head of v1 or v2 looks at from y3, by which of y1 and y2 is larger."""
    table, own = view.run.result(ID).table("attention").where(direction=name), f"y{name[1]}"
    parts = [
        f"{number(table.one(token=own, larger=larger)['mean'])} when {larger} is larger" for larger in ("y1", "y2")
    ]
    head = site(view, name).removeprefix("output of ")
    return f"The head of {name}, {head}, attends from y3 to {own} with weight {' and '.join(parts)}."


def _heads(axes: Axes, view: RunView) -> str:
    result = view.run.result("k3.heads")
    table, ranking = result.table("heads").where(metric="pooled"), result.table("ranking")
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
    panels.bars(axes, [f"H{head}" for head in shown], series, shades, ylabel=style.POOLED)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.2 * (high - low))
    axes.legend(loc="upper right", ncols=3, columnspacing=0.8)
    axes.set_xlabel(f"head of layer {layer}, by mean absolute effect")
    layer_before = site(view, "v3").replace(" residual", "")
    return (
        f"Pooled position recovery of each head's own output (layer {layer}), interchanged at the runner-up's position "
        f"together with the full residual leaving {layer_before} there, for three value orders and the {len(shown)} "
        f"heads with the largest mean absolute effect over that residual alone (dashed lines). {'; '.join(said)}; "
        f"n = {count(result.n)} per order."
    )


def order_symbol(order: str) -> str:
    """A value order in a legend."""
    return "$" + order.replace("y", "y_") + "$"


def cosines(names: Sequence[str], boxed: Sequence[str]) -> Panel:
    """Cosines among directions; the pairs among some of them are boxed."""

    def panel(axes: Axes, view: RunView) -> str:
        table = view.run.result(ID).table("cosines")
        matrix = np.array([[_cosine(table, a, b) for b in names] for a in names])
        axes.imshow(matrix, cmap=style.SIGNED_MAP, vmin=-1, vmax=1)
        panels.matrix_text(axes, matrix, size=5, limit=1)
        for row, a in enumerate(names):
            for column, b in enumerate(names):
                if a != b and {a, b} <= set(boxed):
                    corner = (column - 0.5, row - 0.5)
                    axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=style.COLOURS["ink"], linewidth=0.9))
        for ticks in (axes.set_xticks, axes.set_yticks):
            ticks(range(len(names)), [symbol(name) for name in names])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.set_title("cosines", loc="left")
        pairs = [(a, b) for i, a in enumerate(boxed) for b in boxed[i + 1 :]]
        said = ", ".join(f"cos({a}, {b}) = {number(_cosine(table, a, b))}" for a, b in pairs)
        return f"Cosines between {', '.join(names)}; boxed: {said}."

    return panel


def _cosine(table: Table, first: str, second: str) -> float:
    a, b = ("u2" if name == "w2" else name for name in (first, second))
    if a == b:
        return 1.0
    found = table.where(first=(a, b), second=(a, b))
    if len(found) != 1:
        raise CannotDrawError(f"{table.name} has no cosine of {a} and {b}")
    return float(found.rows[0]["cosine"])


def patches(names: Mapping[str, str], where: str, also: str = "") -> Panel:
    """Position recovery of some patches at a position, by perturbed number; the caption has the random spaces."""

    def panel(axes: Axes, view: RunView) -> str:
        table = view.run.result(ID).table("patches").where(examples="evaluation", metric="pooled")
        full = transport_layer(view)
        labels = [label.replace("FULL", full) for label in names.values()]
        series: dict[str, list[Row | None]] = {
            style.CASE_TITLE[case]: [_only(table, case, name) for name in names] for case in CASES
        }
        panels.bars(axes, labels, series, {style.CASE_TITLE[case]: style.colour(case) for case in CASES},
                    ylabel=style.POOLED)  # fmt: skip
        axes.tick_params(axis="x", labelsize=6)
        low, high = axes.get_ylim()
        axes.set_ylim(low, high + 0.28 * (high - low))
        axes.legend(loc="upper left", ncols=3, columnspacing=0.6, handlelength=0.8, handletextpad=0.3, fontsize=5.5)
        axes.set_title(f"patches at $y_{where[1]}$", loc="left")
        span = next(name for name in names if name.startswith("span"))
        said = "; ".join(
            f"{case} perturbed: span {estimate(table.one(case=case, condition=span))}, random spaces "
            f"{number(table.one(case=case, condition=f'random_{span}')['mean'])}"
            for case in CASES
        )
        return (
            f"Pooled position recovery at the position of {where}, by perturbed number, for each direction alone, the "
            f"directions as separate rank-one patches, their span in the pre-MLP residual of {full}, and the full "
            f"{full} residual{also}. {said}."
        )

    return panel


def _only(table: Table, case: str, condition: str) -> Row | None:
    found = table.where(case=case, condition=condition).rows
    return found[0] if found else None


AT_Y3 = patches(
    {
        "v1": "$v_1$",
        "v2": "$v_2$",
        "v3": "$v_3$",
        "v1_v2_v3": "all\nthree",
        "span": "span",
        "full_resid": "FULL\nfull",
    },
    "y3",
)
AT_Y2 = patches(
    {
        "w1": "$w_1$",
        "w2": "$w_2$",
        "w1_w2": "both",
        "span_y2": "span",
        "full_resid_y2": "FULL\nfull",
        "pair_plane": "plane\n(two)",
    },
    "y2",
    "; at the right, the two-number plane (v1, v2), unchanged",
)
