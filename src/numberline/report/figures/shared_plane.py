"""The shared representation: both numbers in one plane at y2's position."""

import numpy as np
from matplotlib.axes import Axes

from numberline.report import panels, style, value_axis
from numberline.report.exhibit import Section
from numberline.report.figure import Drawing, Panel, compose, figure
from numberline.report.view import RunView
from numberline.results.arrays import Array
from numberline.results.cases import CASES
from numberline.results.formatting import count, estimate, number
from numberline.results.table import Row

PATCHES = ("full_number_y2", "v2", "v1", "v1_v2", "plane", "full_mid")
"""The six patches of the paper; the two that patch both directions are hatched."""
HATCHED = (PATCHES.index("v1_v2"), PATCHES.index("plane"))


@figure(
    "shared-rep",
    section=Section.TWO,
    order=2,
    needs=("k2.shared", "k2.dose"),
    question="Do both operands lie on one plane, and does moving on it move the answer?",
    paper=("cosine", "explained_mid", "explained_end"),
)
def shared_rep(view: RunView) -> Drawing:
    """Both {nouns} in one plane at y2's position."""
    page = style.page(style.FULL_WIDTH, 4.5)
    axes = style.rows(page, ("abc", "def"), (1, 1), {0: (1.12, 1.12, 1), 1: (0.8, 1.75, 1.15)})
    chosen = {"a": _plane("y1"), "b": _plane("y2"), "c": _outcome, "d": _cosines, "e": patches("iia"), "f": _dose}
    lead = f"The model adds the directions v1 and v2 into one plane that holds both {view.language.nouns}"
    return compose(page, view, axes, chosen, lead)


@figure(
    "app-shared-probes",
    section=Section.SHARED,
    order=1,
    needs=("k2.shared",),
    question="Do probes find the two operands in the shared representation?",
)
def shared_probes(view: RunView) -> Drawing:
    """Components along ridge probes for the two {nouns}."""
    page = style.page(5.2, 4.0)
    axes = page.subplot_mosaic("ab;cd")
    pairs = zip("abcd", [("p1", "y1"), ("p1", "y2"), ("p2", "y1"), ("p2", "y2")], strict=True)
    lead = (
        f"Components of the pre-MLP residual of {view.transport_layer} at the position of y2 along ridge probes for "
        f"{view.language.scaled('y1')} (p1, top) and {view.language.scaled('y2')} (p2, bottom), against y1 (left) and "
        "y2 (right)"
    )
    return compose(page, view, axes, {letter: _probe(*pair) for letter, pair in pairs}, lead)


@figure(
    "app-shared-posrec",
    section=Section.SHARED,
    order=2,
    needs=("k2.shared",),
    question="How much of the effect does each patch at the second operand recover?",
)
def shared_posrec(view: RunView) -> Drawing:
    """Position recovery of the six patches at y2."""
    page = style.page(5.2, 2.5)
    lead = "Position recovery at the position of y2 for the patches of the shared-representation figure"
    return compose(page, view, {"a": page.subplots()}, {"a": patches(view.recovery.metric)}, lead)


def _coordinates(view: RunView) -> tuple[Array, Array, Array, Array]:
    table = view.run.result("k2.shared").table("cloud")
    return table.array("v1"), table.array("v2"), table.array("y1"), table.array("y2")


def _plane(operand: str) -> Panel:
    def panel(axes: Axes, view: RunView) -> str:
        v1, v2, *operands = _coordinates(view)
        values = value_axis.places(view.language, operands[int(operand[1]) - 1])
        image = panels.cloud(axes, v1, v2, values)
        _label_plane(axes)
        axes.set_title(f"coloured by $y_{operand[1]}$", loc="left")
        panels.value_bar(axes, view.language, image, operand)
        direction = f"v{operand[1]}"
        row = view.run.result("k2.shared").table("explained").one(site="mid", coordinate=direction)
        return (
            f"{count(len(v1))} prompts on (v1, v2) in the pre-MLP residual of {view.transport_layer}, coloured by "
            f"{operand}: a mean per value of {operand} explains R² = {number(row['r2'])} of the {direction} coordinate."
        )

    return panel


def _label_plane(axes: Axes) -> None:
    axes.set(xlabel="component on $v_1$", ylabel="component on $v_2$")


def _outcome(axes: Axes, view: RunView) -> str:
    v1, v2, y1, y2 = _coordinates(view)
    panels.groups(axes, v1, v2, y1 > y2, ("$y_1>y_2$", "$y_2>y_1$"))
    _label_plane(axes)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.16 * (high - low))
    axes.legend(loc="upper right", ncols=2, handletextpad=0.1, columnspacing=0.6)
    axes.set_title(f"coloured by the {view.language.greater}", loc="left")
    row = view.run.result("k2.shared").table("separability").rows[0]
    return (
        f"Coloured by which is {view.language.greater}; a linear boundary on the plane tells them apart with accuracy "
        f"{estimate(row)}."
    )


def _cosines(axes: Axes, view: RunView) -> str:
    table = view.run.result("k2.shared").table("cosines")
    names = table.unique("first")
    matrix = np.array([[table.one(first=a, second=b)["cosine"] for b in names] for a in names])
    axes.imshow(matrix, cmap=style.SIGNED_MAP, vmin=-1, vmax=1)
    panels.matrix_text(axes, matrix)
    symbols = ["$u$", "$v_1$", "$v_2$"]
    axes.set_xticks(range(len(names)), symbols)
    axes.set_yticks(range(len(names)), symbols)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_title("cosines", loc="left")
    pairs = {("v1", "v2"): "cos(v1, v2)", ("u", "v2"): "cos(u, v2)", ("u", "v1"): "cos(u, v1)"}
    said = ", ".join(f"{text} = {number(table.one(first=a, second=b)['cosine'])}" for (a, b), text in pairs.items())
    return f"Cosines: {said}."


def patch_names(view: RunView) -> dict[str, str]:
    """The six patches as the axis names them."""
    spelled = view.number_layer.replace("layer ", "L").removeprefix("the ")
    after = view.transport_layer.replace("layer ", "L").removeprefix("the ")
    return {
        "full_number_y2": f"{spelled}\nfull",
        "v2": "$v_2$",
        "v1": "$v_1$",
        "v1_v2": "$v_1$ & $v_2$",
        "plane": "$(v_1,v_2)$\nplane",
        "full_mid": f"{after} full\n(pre-MLP)",
        "full_resid": f"{after}\nfull",
    }


def patches(metric: str) -> Panel:
    """The six patches in both cases, scored by one metric."""

    def panel(axes: Axes, view: RunView) -> str:
        table = view.run.result("k2.shared").table("patches").where(examples="evaluation", metric=metric)
        names = patch_names(view)
        series: dict[str, list[Row | None]] = {
            style.CASE_TITLE[case]: [table.one(case=case, condition=patch) for patch in PATCHES] for case in CASES
        }
        shades = {style.CASE_TITLE[case]: style.colour(case) for case in CASES}
        panels.bars(axes, [names[patch] for patch in PATCHES], series, shades, HATCHED, style.METRIC[metric])
        axes.tick_params(axis="x", labelsize=6)
        random = [table.one(case=case, condition="random_plane") for case in CASES]
        panels.unit_range(axes, 0.22)
        axes.legend(loc="upper left", ncols=2, columnspacing=0.8)
        axes.set_title("patches at $y_2$" if metric == "iia" else "", loc="left")
        said = "; ".join(
            f"{case} perturbed: v1 & v2 {estimate(table.one(case=case, condition='v1_v2'))}, plane "
            f"{estimate(table.one(case=case, condition='plane'))}, full "
            f"{estimate(table.one(case=case, condition='full_mid'))}"
            for case in CASES
        )
        what = "IIA" if metric == "iia" else view.recovery.begins
        return (
            f"{what} of the full residual leaving {view.number_layer}, v2, v1, both as two rank-one patches, the "
            f"rank-two plane and the full pre-MLP residual of {view.transport_layer} (hatched: the two that patch "
            f"both directions). {said}; random planes {number(random[0]['mean'])} and {number(random[1]['mean'])}; "
            f"n = {count(random[0]['n'])} per case."
        )

    return panel


def _dose(axes: Axes, view: RunView) -> str:
    result = view.run.result("k2.dose")
    fraction, grid = result.tensor("fraction"), result.tensor("grid")
    axes.set_facecolor(style.COLOURS["faint"])
    step = (grid[-1] - grid[0]) / (len(grid) - 1) / 2
    extent = (grid[0] - step, grid[-1] + step, grid[0] - step, grid[-1] + step)
    image = axes.imshow(fraction.T, origin="lower", extent=extent, cmap=f"{style.SIGNED_MAP}", vmin=0, vmax=1)
    axes.plot(extent[:2], extent[:2], "--", color=style.COLOURS["ink"], linewidth=0.6)
    axes.set(xlabel="$v_1$ set to that of", ylabel="$v_2$ set to that of")
    value_axis.name_cells(axes, view.language, grid[::2].tolist())
    axes.set_title("dose response", loc="left")
    panels.colour_bar(axes, image, "answers that name $y_1$")
    row, nouns = result.table("boundary").rows[0], view.language.nouns
    return (
        f"Fraction of answers that name the first operand when the two coordinates are set to those of the {nouns} on "
        f"the axes ({count(result.n)} prompts per cell, diagonal masked): {estimate(row)} of the answers are those "
        f"that the cell's {nouns} predict."
    )


def _probe(probe: str, operand: str) -> Panel:
    def panel(axes: Axes, view: RunView) -> str:
        result = view.run.result("k2.shared")
        table = result.table("probes")
        values = value_axis.places(view.language, table.array(operand))
        axes.scatter(
            values, table.array(probe), s=3, linewidths=0, alpha=0.6, color=style.colour(operand),
            rasterized=True,
        )  # fmt: skip
        value_axis.name(axes.xaxis, view.language, operand)
        axes.set_ylabel(f"component on $p_{probe[1]}$")
        axes.set_title(f"$p_{probe[1]}$ against $y_{operand[1]}$", loc="left")
        row = result.table("probe_scores").one(probe=probe)
        scaled = np.log(values) if view.language.scale == "log" else values
        correlation = float(np.corrcoef(table.array(probe), scaled)[0, 1])
        held = f" (held-out R² {estimate(row)})" if probe[1] == operand[1] else ""
        return (
            f"{probe} against {operand}: correlation with {view.language.scaled(operand)} {number(correlation)}{held}."
        )

    return panel
