"""The number analysis at other layers, with three digits, and with a learned alternative to v2."""

from matplotlib.axes import Axes

from numberline.report import panels, style, value_axis
from numberline.report.exhibit import Section
from numberline.report.figure import Drawing, Panel, compose, figure
from numberline.report.figures.number import rising
from numberline.report.view import RunView
from numberline.results.formatting import count, estimate, number
from numberline.results.result import Result
from numberline.results.table import Row, Table

NAMES = {"full": "full rank", "u": "$u$", "pc1": "PC1", "v2": "$v_2$", "das": "DAS", "random": "random"}


@figure(
    "app-u-layers",
    section=Section.NUMBERS,
    order=3,
    needs=("k2.layers",),
    question="From which layer on does one direction carry the first operand?",
)
def u_layers(view: RunView) -> Drawing:
    """u refitted at every layer up to the {noun} layer."""
    result = view.run.result("k2.layers")
    layers = sorted(set(result.table("patches").array("layer").tolist()))
    last = layers[-1]
    # The paper shows layers 3, 7 and 13 of 13: early, middle, last.
    shown = sorted({layers[round(len(layers) * 3 / 14)], layers[round(len(layers) * 7 / 14)], last})
    page = style.page(style.FULL_WIDTH, 4.1)
    axes = page.subplot_mosaic("aaabbb;ccddee")
    chosen = {"a": _by_layer("y1", ("full", "u", "pc1")), "b": _by_layer("y2", ("full", "v2"))}
    chosen |= {letter: _component(layer) for letter, layer in zip("cde", shown, strict=False)}
    for letter in "cde"[len(shown) :]:
        axes[letter].remove()
    lead = f"The {view.language.noun} representation at layers {layers[0]} to {last}, with u refitted at each layer"
    return compose(page, view, axes, chosen, lead)


def _by_layer(case: str, conditions: tuple[str, ...]) -> Panel:
    def panel(axes: Axes, view: RunView) -> str:
        table = view.run.result("k2.layers").table("patches")
        rows = table.where(case=case, position=case, metric="iia", examples="evaluation")
        said = []
        for place, condition in enumerate(conditions):
            own = rows.where(condition=condition)
            panels.curve(axes, own, "layer", NAMES[condition], style.colour(condition), shift=0.03 * (place - 1))
            end = max(own, key=lambda row: row["layer"])
            best = max(own, key=lambda row: row["mean"])
            name = NAMES[condition].replace("$", "").replace("_", "")
            said.append(
                f"{name} {estimate(end)} at layer {end['layer']}"
                + (
                    f" (best {number(best['mean'])} at layer {best['layer']})"
                    if best["mean"] > end["mean"] + 0.005
                    else ""
                )
            )
        axes.set(xlabel=style.LAYER, ylabel=style.IIA)
        axes.set_xticks(_ticks(sorted(set(rows.array("layer").tolist()))))
        panels.unit_range(axes, 0.28)
        axes.legend(loc="upper center", ncols=3)
        axes.set_title(f"at $y_{case[1]}$, $y_{case[1]}$ perturbed", loc="left")
        own_pc = " (v2 is that layer's first principal component)" if case == "y2" else ""
        n = count(rows.rows[0]["n"])
        return f"IIA at the position of {case} with {case} perturbed{own_pc}: {'; '.join(said)}; n = {n}."

    return panel


def _ticks(layers: list[int]) -> list[int]:
    return layers if len(layers) <= 14 else layers[:: len(layers) // 10]


def _component(layer: int) -> Panel:
    def panel(axes: Axes, view: RunView) -> str:
        result, language = view.run.result("k2.layers"), view.language
        table = result.table("components").where(layer=layer, position="y1", direction="u")
        fit = result.table(language.fits).one(layer=layer, position="y1", direction="u")
        panels.components(axes, language, table, "mean per value", style.COLOURS["u"])
        panels.line_fit(axes, language, fit, table.array("value"), value_axis.straight_symbol(language, "y1"))
        value_axis.name(axes.xaxis, language, "y1")
        axes.set_ylabel("component along $u$")
        axes.set_title(f"$u$ at layer {layer}", loc="left")
        line = value_axis.straight(language, "y1")
        return f"Component along u at layer {layer}, as per-value means, with {line} (R² = {number(fit['r2'])})."

    return panel


@figure(
    "app-three-digit",
    section=Section.NUMBERS,
    order=4,
    needs=("k2.three_digit",),
    question="Does the same hold with three digits?",
    paper=("layout_three_digits", "stability_three", "iia_three"),
)
def three_digit(view: RunView) -> Drawing:
    """The {noun} representations with three-digit operands."""
    page = style.page(style.FULL_WIDTH, 2.35)
    axes = page.subplot_mosaic([["a", "b", "c"]], width_ratios=[1, 1, 1.5])
    panels_ = {"a": _binned("y1", "u"), "b": _binned("y2", "v2"), "c": _three_digit_iia}
    lead = f"The {view.language.noun} representations at {view.number_layer} with three-digit operands"
    return compose(page, view, axes, panels_, lead)


def _binned(position: str, direction: str) -> Panel:
    def panel(axes: Axes, view: RunView) -> str:
        result, language = view.run.result("k2.three_digit"), view.language
        table = result.table("components").where(position=position, direction=direction)
        fit = result.table(language.fits).one(position=position, direction=direction)
        symbol = f"$y_{position[1]}$"
        panels.components(axes, language, table, "mean per bin", style.colour(direction))
        panels.line_fit(axes, language, fit, table.array("value"), value_axis.straight_symbol(language))
        axes.set(xlabel=symbol, ylabel=f"component along {NAMES[direction]}")
        axes.legend(loc="upper left")
        axes.set_title(f"{NAMES[direction]} at {symbol}", loc="left")
        line = value_axis.straight(language, "y")
        return (
            f"Component along {direction} at the position of {position}, in bins of 25, with {line} (dotted; "
            f"R² = {number(fit['r2'])}; rank correlation {number(rising(table))})."
        )

    return panel


def _three_digit_iia(axes: Axes, view: RunView) -> str:
    result = view.run.result("k2.three_digit")
    table = result.table("patches").where(metric="iia", examples="evaluation")
    first = [("y1", name) for name in ("full", "u", "pc1", "random")]
    second = [("y2", name) for name in ("full", "v2", "random")]
    rows, said = _bars_over(axes, table, [*first, *second])
    axes.axvline(len(first) - 0.5, color=style.COLOURS["faint"], linewidth=0.8)
    panels.unit_range(axes, 0.3)
    for place, case in ((1.5, "y1"), (5, "y2")):
        axes.text(place, axes.get_ylim()[1] * 0.985, style.CASE_TITLE[case], ha="center", va="top", fontsize=6.5)
    axes.set_title("rank-one and full-rank patches", loc="left")
    return f"IIA: {said}; n = {count(rows[0]['n'])}.{_stability(result)}"


def _bars_over(axes: Axes, table: Table, places: list[tuple[str, str]]) -> tuple[list[Row], str]:
    """Bars of (case, condition) patches at the perturbed operand's own position."""
    rows = [table.one(case=case, position=case, condition=name) for case, name in places]
    panels.bars(
        axes, [NAMES[name].replace("full rank", "full") for _, name in places], {"iia": rows},
        {"iia": [style.colour(name) for _, name in places]}, printed=True,
    )  # fmt: skip
    said = "; ".join(
        f"{NAMES[name].replace('$', '').replace('_', '')} at {case} {estimate(row)}"
        for (case, name), row in zip(places, rows, strict=True)
    )
    return rows, said


def _stability(result: Result) -> str:
    """What a second initialisation of u gives."""
    if "stability" not in result.tables or len(result.table("stability")) < 2:
        return ""
    first, second = result.table("stability").rows[:2]
    return (
        f" A second initialisation of u has |cos| {number(second['cosine'])} with the first and IIA "
        f"{number(second['iia'])} against {number(first['iia'])}."
    )


@figure(
    "app-v2-shortcut",
    section=Section.NUMBERS,
    order=5,
    needs=("k2.shortcut",),
    question="Does a learned direction use the second operand, or a shortcut?",
)
def shortcut(view: RunView) -> Drawing:
    """The learned alternative to v2 follows the outcome."""
    page = style.page(style.FULL_WIDTH, 2.35)
    axes = page.subplot_mosaic([["a", "b", "c"]], width_ratios=[1, 1, 0.9])
    panels_ = {"a": _groups("das"), "b": _groups("v2"), "c": _shortcut_iia}
    lead = (
        f"The residual leaving {view.number_layer} at the position of y2, coloured by which {view.language.noun} is "
        f"{view.language.greater}"
    )
    return compose(page, view, axes, panels_, lead)


def _groups(direction: str) -> Panel:
    def panel(axes: Axes, view: RunView) -> str:
        result = view.run.result("k2.shortcut")
        operands = result.tensor("operands")
        along = result.tensor("projections")[:, ("das", "v2").index(direction)]
        places = value_axis.places(view.language, operands[:, 1])
        panels.groups(axes, places, along, operands[:, 0] > operands[:, 1], ("$y_1>y_2$", "$y_2>y_1$"))
        value_axis.name(axes.xaxis, view.language, "y2")
        axes.set_ylabel(f"component along {NAMES[direction]}")
        axes.legend(loc="best", handletextpad=0.1)
        axes.set_title("fitted direction (DAS)" if direction == "das" else "$v_2$ (PC1)", loc="left")
        row = result.table("outcome").one(direction=direction)
        what = (
            "the rank-one direction fitted with y2 perturbed"
            if direction == "das"
            else "v2, the first principal component"
        )
        cosine = f" (its cosine with v2 is {number(row['cosine'])})" if direction == "das" else ""
        return (
            f"Component along {what}{cosine}, against y2 over {count(len(operands))} prompts: y2 alone explains "
            f"R² = {number(row['value_r2'])}, y2 and the outcome together {number(row['both_r2'])}."
        )

    return panel


def _shortcut_iia(axes: Axes, view: RunView) -> str:
    result = view.run.result("k2.shortcut")
    table = result.table("patches").where(metric="iia", examples="evaluation")
    rows, said = _bars_over(axes, table, [("y2", name) for name in ("full", "das", "v2", "random")])
    panels.unit_range(axes)
    axes.set_title("$y_2$ perturbed", loc="left")
    return f"IIA with y2 perturbed: {said}; n = {count(rows[0]['n'])}."
