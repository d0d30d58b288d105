"""Where the computation happens: the causal trace and the probes over layers and tokens."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from numberline.report import panels, style
from numberline.report.exhibit import Section
from numberline.report.figure import Drawing, caption, figure
from numberline.report.view import RunView
from numberline.results.formatting import count, estimate, number
from numberline.results.table import NotMeasuredError, Table

TITLES = {
    "log_y1": r"$R^2$ of $\log\,y_1$",
    "log_y2": r"$R^2$ of $\log\,y_2$",
    "y1": "$R^2$ of $y_1$",
    "y2": "$R^2$ of $y_2$",
    "y1>y2": "accuracy of $y_1>y_2$",
}
"""Each target of a probe; the logarithms are those of a logarithmic scale."""


@figure(
    "app-trace-k2",
    section=Section.PLACES,
    order=1,
    needs=("k2.trace",),
    question="At which layer and token does each of two operands matter?",
    paper=("layout_two", "scale"),
)
def trace(view: RunView) -> Drawing:
    """Causal trace of two {nouns} over layers and tokens."""
    return _trace(view, "k2.trace", "number_layer", 5.6)


@figure(
    "app-trace-k3",
    section=Section.PLACES,
    order=3,
    needs=("k3.trace",),
    question="At which layer and token does each of three operands matter?",
    paper=("layout_three", "solved"),
)
def trace_three(view: RunView) -> Drawing:
    """Causal trace of three {nouns} over layers and tokens."""
    row = view.run.result("k3.trace").table("population").rows[0]
    kept = (
        f"Of {count(row['candidates'])} quadruples the model solves {count(row['kept'])} in all four value orders; "
        f"the first {count(row['used'])} are used."
    )
    return _trace(view, "k3.trace", "number_layer_k3", style.FULL_WIDTH, kept)


def _trace(view: RunView, id: str, role: str, width: float, *said: str) -> Drawing:
    result = view.run.result(id)
    table = result.table("trace").where(metric=view.recovery.metric)
    cases = table.unique("case")
    page = style.page(width, 2.9)
    axes = page.subplots(1, len(cases), sharey=True)
    grids = [table.where(case=case).grid("layer", "token") for case in cases]
    limit = panels.signed_range(*(grid[2] for grid in grids))
    sentences, image = [], None
    for letter, case, place, (layers, tokens, matrix) in zip(style.LETTERS, cases, axes, grids, strict=False):
        image = panels.scores_map(place, matrix, -limit, limit, style.SIGNED_MAP)
        rows = table.where(case=case)
        site_axes(place, rows, layers, tokens)
        style.title(place, letter, style.CASE_TITLE[case])
        best = max(rows, key=lambda row: row["mean"])
        last = max(rows.where(position="last"), key=lambda row: row["layer"])
        sentences.append(
            f"({letter}) With {case} perturbed; the largest recovery is {estimate(best)}, after layer {best['layer']} "
            f"at token {best['token']}{_name(view, best['position'])}, and the last token recovers {estimate(last)} "
            "after the last layer."
        )
        _mark_number_layer(place, view, role, case, rows, layers, tokens)
    axes[0].set_ylabel(style.LAYER)
    panels.colour_bar(list(axes), image, view.recovery.axis)
    nonpositive = sum(max(row["nonpositive"] for row in table.where(case=case)) for case in cases)
    caveats = f" {nonpositive} denominators of the per-example ratio are not positive." if nonpositive else ""
    return Drawing(
        page,
        caption(
            view,
            f"{view.recovery.begins} when the clean residual stream leaving one layer (rows) is restored at one token "
            "(columns), from the first token of y1 to the last token of the prompt",
            [*sentences, f"Ticks mark each operand's last token; the panels share a colour scale.{_boxed(view, role)} "
             f"n = {count(result.n)} counterfactuals per case.{caveats}", *said],
        ),
    )  # fmt: skip


@figure(
    "app-probes-k2",
    section=Section.PLACES,
    order=2,
    needs=("k2.probes",),
    question="Where could each operand, and the comparison, be read off?",
)
def probes(view: RunView) -> Drawing:
    """Ridge probes over layers and tokens."""
    result = view.run.result("k2.probes")
    table, floors = result.table("probes"), result.table("floors")
    page = style.page(style.FULL_WIDTH, 2.6)
    axes = page.subplots(1, 3, sharey=True)
    sentences = []
    for letter, place, target in zip("abc", axes, table.unique("target"), strict=True):
        rows = table.where(target=target)
        layers, tokens, matrix = rows.grid("layer", "token")
        chance = 0.5 if target == "y1>y2" else 0.0
        image = panels.scores_map(place, np.clip(matrix, chance, 1), chance, 1)
        site_axes(place, rows, layers, tokens)
        style.title(place, letter, TITLES[target])
        panels.colour_bar(place, image, "held-out accuracy" if target == "y1>y2" else r"held-out $R^2$")
        best = max(rows, key=lambda row: row["mean"])
        floor = floors.where(target=target)
        said = f" (floor, where the token cannot know it: {number(floor.rows[0]['mean'])})" if len(floor) else ""
        what = "Accuracy of y1 > y2" if target == "y1>y2" else f"R² of {target.replace('_', ' ')}"
        sentences.append(
            f"({letter}) {what}: at best {estimate(best)}, after layer {best['layer']} at token "
            f"{best['token']}{_name(view, best['position'])}{said}."
        )
    axes[0].set_ylabel(style.LAYER)
    held = max(row["n"] for row in table)
    return Drawing(
        page,
        caption(
            view,
            f"Ridge probes fitted at every layer (rows) and token (columns) and scored on {count(held)} held-out "
            f"prompts of {count(view.sizes['number_cloud'])}",
            [*sentences, "Colours are clipped at chance (0 and 0.5); the tables have every value."],
        ),
    )


def site_axes(axes: Axes, rows: Table, layers: Sequence[int], tokens: Sequence[int]) -> None:
    """Ticks of a layers × tokens map: each operand's last token and the last one by name, the rest unnamed."""
    named = {row["token"]: row["position"] for row in rows if row["position"] and ".first" not in row["position"]}
    axes.set_xticks([tokens.index(token) for token in named], [_symbol(name) for name in named.values()])
    axes.set_xticks(range(len(tokens)), minor=True)
    axes.tick_params(axis="x", which="minor", length=1.2, width=0.4)
    step = max(1, round(len(layers) / 7))
    axes.set_yticks(range(0, len(layers), step), [str(layer) for layer in layers[::step]])
    axes.set_xlabel(style.TOKEN)


def _symbol(position: str) -> str:
    return f"$y_{position[1:]}$" if position.startswith("y") else position


def _name(view: RunView, position: str) -> str:
    return f" ({token_name(view, position)})" if position else ""


def token_name(view: RunView, position: str) -> str:
    """A named token in words: y1, or y1, first digit."""
    return position.replace(".first", f", first {view.language.part}")


def _mark_number_layer(
    axes: Axes, view: RunView, role: str, case: str, rows: Table, layers: Sequence[int], tokens: Sequence[int]
) -> None:
    """A box around the number layer at the operand's own position."""
    try:
        layer = view.value(role)[0]
    except NotMeasuredError:
        return
    token = rows.where(position=case).rows[0]["token"]
    corner = (tokens.index(token) - 0.5, layers.index(layer) - 0.5)
    axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=style.COLOURS["ink"], linewidth=1.1))


def _boxed(view: RunView, role: str) -> str:
    try:
        return f" Boxes: the {view.language.noun} layer, {view.value(role)[0]}, at the perturbed operand's position."
    except NotMeasuredError as missing:
        text = str(missing)
        return f" {text[0].upper()}{text[1:]}."
