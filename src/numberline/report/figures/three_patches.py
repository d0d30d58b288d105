"""Three numbers: how their directions lie to one another, and what patches of them do together."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from numberline.report import panels, style
from numberline.report.figure import Panel
from numberline.report.figures.three_directions import ID, symbol, transport_layer
from numberline.report.view import RunView
from numberline.results.cases import CASES_OF_THREE
from numberline.results.formatting import estimate, number
from numberline.results.table import NotMeasuredError, Row, Table


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
        raise NotMeasuredError(f"{table.name} has no cosine of {a} and {b}")
    return float(found.rows[0]["cosine"])


def patches(names: Mapping[str, str], where: str, also: str = "") -> Panel:
    """Position recovery of some patches at a position, by perturbed number; the caption has the random spaces."""

    def panel(axes: Axes, view: RunView) -> str:
        table = view.run.result(ID).table("patches").where(examples="evaluation", metric=view.recovery.metric)
        full = transport_layer(view)
        labels = [label.replace("FULL", full) for label in names.values()]
        series: dict[str, list[Row | None]] = {
            style.CASE_TITLE[case]: [_only(table, case, name) for name in names] for case in CASES_OF_THREE
        }
        panels.bars(axes, labels, series, {style.CASE_TITLE[case]: style.colour(case) for case in CASES_OF_THREE},
                    ylabel=view.recovery.axis)  # fmt: skip
        axes.tick_params(axis="x", labelsize=6)
        low, high = axes.get_ylim()
        axes.set_ylim(low, high + 0.28 * (high - low))
        axes.legend(loc="upper left", ncols=3, columnspacing=0.6, handlelength=0.8, handletextpad=0.3, fontsize=5.5)
        axes.set_title(f"patches at $y_{where[1]}$", loc="left")
        span = next(name for name in names if name.startswith("span"))
        said = "; ".join(
            f"{case} perturbed: span {estimate(table.one(case=case, condition=span))}, random spaces "
            f"{number(table.one(case=case, condition=f'random_{span}')['mean'])}"
            for case in CASES_OF_THREE
        )
        return (
            f"{view.recovery.begins} at the position of {where}, by perturbed {view.language.noun}, for each "
            f"direction alone, the directions as separate rank-one patches, their span in the pre-MLP residual of "
            f"{full}, and the full {full} residual{view.language.say(also)}. {said}."
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
    "; at the right, the two-{noun} plane (v1, v2), unchanged",
)
