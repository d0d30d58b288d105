"""The comparison itself: neurons on the plane, local and global fields, the flag."""

import numpy as np
from matplotlib.axes import Axes

from numberline.report import panels, style
from numberline.report.exhibit import Section
from numberline.report.figure import Drawing, Panel, compose, figure
from numberline.report.figures.fields import draw_field
from numberline.report.view import RunView
from numberline.results.cases import CASES
from numberline.results.formatting import count, estimate, number
from numberline.results.table import NotMeasuredError, Row, Table

SHOWN = 2
"""How many fields of each stage the main figure shows."""


@figure(
    "comparison-mechanism",
    section=Section.TWO,
    order=3,
    needs=("k2.neurons", "k2.fields", "k2.flag"),
    question="Which neurons compare the two, and what do they write?",
    paper=("shared_neurons",),
)
def comparison_mechanism(view: RunView) -> Drawing:
    """Local comparisons on the plane are combined into one flag."""
    page = style.page(style.FULL_WIDTH, 4.1)
    axes = style.rows(page, ("abBcC", "de"), (0.85, 1), {0: (1.25, 1, 1, 1, 1)})
    second = {"b": axes.pop("B"), "c": axes.pop("C")}
    chosen = {"a": _directions, "b": _fields(0, second["b"]), "c": _fields(-1, second["c"]), "d": _flag, "e": _frozen}
    lead = "The model compares by combining local comparisons on the (v1, v2) plane"
    return compose(page, view, axes, chosen, lead)


def _shared(view: RunView) -> Table:
    table = view.run.result("k2.fields").table("fields").where(group="shared")
    if not len(table):
        raise NotMeasuredError("no neuron is in the top 20 of both cases")
    return table


def _directions(axes: Axes, view: RunView) -> str:
    first = int(min(_shared(view).array("layer")))
    names = {row["neuron"] for row in _shared(view).where(layer=first)}
    table = view.run.result("k2.fields").table("directions").where(layer=first)
    table = Table(table.name, tuple(row for row in table if row["neuron"] in names), table.columns)
    longest = max((np.hypot(row["v1"], row["v2_perp"]) for row in table), default=1.0)
    shades = {"gate": style.COLOURS["v1"], "up": style.COLOURS["flag"]}
    for row in table:
        axes.annotate(
            "", (row["v1"], row["v2_perp"]), (0, 0),
            arrowprops={"arrowstyle": "-|>", "color": shades[row["part"]], "lw": 0.9, "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip
    for part, shade in shades.items():
        axes.plot([], [], color=shade, label=part)
    axes.set(xlim=(-1.2 * longest, 1.2 * longest), ylim=(-1.2 * longest, 1.45 * longest))
    for line in (axes.axhline, axes.axvline):
        line(0, color=style.COLOURS["faint"], linewidth=0.6, zorder=0)
    axes.set_box_aspect(1)
    axes.set(xlabel="$v_1$", ylabel=r"$v_2^{\perp}$")
    axes.legend(loc="upper right", ncols=2)
    axes.set_title(f"neurons of MLP {first}", loc="left")
    inside = [np.hypot(row["v1"], row["v2_perp"]) / row["norm"] for row in table if row["norm"]]
    return (
        f"Gate and up weights of the {len(names)} shared neurons of MLP {first} as directions in the plane; y-axis: "
        f"the part of v2 orthogonal to v1. In the median {number(float(np.median(inside)))} of a weight's norm lies in "
        "the plane."
    )


def _fields(stage: int, beside: Axes) -> Panel:
    """Two fields of the first stage (the most local) or of the last (the best comparators)."""

    def panel(axes: Axes, view: RunView) -> str:
        beside.set_axis_off()  # until there is something in it
        table = _shared(view)
        layers = sorted(set(table.array("layer").tolist()))
        if stage and len(layers) < 2:
            axes.set_box_aspect(1)
            raise NotMeasuredError(f"all shared neurons are in MLP {layers[0]}: there is no second stage")
        layer = layers[stage]
        own = table.where(layer=layer)
        best = sorted(own, key=lambda row: -row["comparator"] if stage else row["active"])[:SHOWN]
        for place, row in zip((axes, beside), best, strict=False):
            place.set_axis_on()
            draw_field(place, view, row)
            place.set_title("")
            place.set_xlabel("$y_1$")
            place.text(0.96, 0.05, f"#{row['neuron']}", transform=place.transAxes, ha="right", fontsize=6,
                       bbox={"fc": "white", "ec": "none", "alpha": 0.7, "pad": 1})  # fmt: skip
        axes.set_ylabel("$y_2$")
        beside.tick_params(labelleft=False)
        axes.set_title(f"fields of MLP {layer}", loc="left")
        said = ", ".join(_describe(row) for row in best)
        if stage:
            return f"Neurons of MLP {layer}, which combine them; the best comparators: {said}."
        return f"Neurons of MLP {layer} respond to parts of the (y1, y2) grid; the most local: {said}."

    return panel


def _describe(row: Row) -> str:
    return (
        f"#{row['neuron']} (active on {number(row['active'])} of the grid; sign of y2 − y1 explains R² = "
        f"{number(row['comparator'])})"
    )


def _flag(axes: Axes, view: RunView) -> str:
    result = view.run.result("k2.flag")
    table = result.table("cloud")
    y1, y2, along = table.array("y1"), table.array("y2"), table.array("flag_y1")
    bins = np.linspace(float(along.min()), float(along.max()), 50).tolist()
    for wins, case, label in ((y1 > y2, "y1", "$y_1>y_2$"), (y2 > y1, "y2", "$y_2>y_1$")):
        axes.hist(along[wins], bins=bins, color=style.colour(case), alpha=0.65, label=label)
    axes.set(xlabel=f"component along the flag ({view.flag_layer})", ylabel="prompts")
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * 1.2)
    axes.legend(loc="upper center", ncols=2)
    axes.set_title("the flag at $y_2$", loc="left")
    row = result.table("separation").one(fitted="y1")
    return (
        f"{count(len(table))} prompts on the direction fitted in the residual leaving {view.flag_layer} with y1 "
        f"perturbed; a threshold tells the {view.language.greater} {view.language.noun} with accuracy {estimate(row)}."
    )


def _frozen(axes: Axes, view: RunView) -> str:
    table = view.run.result("k2.flag").table("frozen").where(metric="iia")
    sets = view.run.result("k2.neurons").table("sets").where(metric="iia", frozen="shared")
    size = int(max(sets.array("k")))
    names = {
        "plane": "$(v_1,v_2)$\nplane",
        "plane, shared frozen": f"plane, {size}\nneurons frozen",
        "flag": "flag\ndirection",
    }
    series: dict[str, list[Row | None]] = {
        style.CASE_TITLE[case]: [table.one(case=case, condition=name) for name in names] for case in CASES
    }
    shades = {style.CASE_TITLE[case]: style.colour(case) for case in CASES}
    panels.bars(axes, list(names.values()), series, shades, printed=True)
    panels.unit_range(axes, 0.3)
    axes.legend(loc="upper center", ncols=2)
    axes.set_title("causal effect", loc="left")
    said = "; ".join(
        f"{case} perturbed: plane {estimate(table.one(case=case, condition='plane'))}, with the shared neurons frozen "
        f"{estimate(table.one(case=case, condition='plane, shared frozen'))}, flag "
        f"{estimate(table.one(case=case, condition='flag'))}"
        for case in CASES
    )
    return (
        f"IIA of the plane patch, of the same with the {size} shared neurons frozen, and of the flag: {said}; "
        f"n = {count(table.rows[0]['n'])}."
    )
