"""The comparison flag: one direction that holds the answer's position."""

import numpy as np
from matplotlib.axes import Axes

from numberline.report import panels, style
from numberline.report.exhibit import Section
from numberline.report.figure import Drawing, Panel, compose, figure
from numberline.report.view import RunView
from numberline.results.cases import CASES
from numberline.results.formatting import count, estimate, number, percent
from numberline.results.table import Row

OTHER = {"y1": "y2", "y2": "y1"}


@figure(
    "app-l15-direction",
    section=Section.NEURONS,
    order=6,
    needs=("k2.flag",),
    question="Is there one direction that says which operand wins?",
)
def flag_direction(view: RunView) -> Drawing:
    """The flag direction across cases, and who writes to it."""
    page = style.page(style.FULL_WIDTH, 2.4)
    axes = page.subplot_mosaic([["a", "b", "c"]], width_ratios=[1.1, 1, 1])
    lead = f"A rank-one direction in the residual leaving {view.flag_layer} at the position of y2"
    return compose(page, view, axes, {"a": _across, "b": _alignment("y1"), "c": _alignment("y2")}, lead)


def _across(axes: Axes, view: RunView) -> str:
    table = view.run.result("k2.flag").table("patches").where(examples="evaluation", metric="iia")
    kinds = {
        "fitted, same case": {case: f"flag_{case}" for case in CASES},
        "fitted, other case": {case: f"flag_{OTHER[case]}" for case in CASES},
        "full rank": dict.fromkeys(CASES, "full"),
        "random": dict.fromkeys(CASES, "random"),
    }
    series: dict[str, list[Row | None]] = {
        name: [table.one(case=case, condition=condition[case]) for case in CASES] for name, condition in kinds.items()
    }
    shades = dict(
        zip(kinds, (style.COLOURS["flag"], style.PURPLE, style.COLOURS["full"], style.COLOURS["random"]), strict=True)
    )
    panels.bars(axes, [style.CASE_TITLE[case] for case in CASES], series, shades)
    panels.unit_range(axes, 0.45)
    axes.legend(loc="upper center", ncols=2, columnspacing=0.8)
    axes.set_title("patches of the flag", loc="left")
    said = "; ".join(
        f"{case} perturbed: same case {estimate(table.one(case=case, condition=f'flag_{case}'))}, other case "
        f"{estimate(table.one(case=case, condition=f'flag_{OTHER[case]}'))}, full rank "
        f"{estimate(table.one(case=case, condition='full'))}, random "
        f"{number(table.one(case=case, condition='random')['mean'])}"
        for case in CASES
    )
    cosine = view.run.result("k2.flag").table("cosines").rows[0]["cosine"]
    return (
        f"IIA of the direction fitted in the case it is evaluated on, or in the other case, and of the full-rank "
        f"patch: {said}; n = {count(table.rows[0]['n'])}. The two directions have cosine {number(cosine)}."
    )


def _alignment(case: str) -> Panel:
    def panel(axes: Axes, view: RunView) -> str:
        table = view.run.result("k2.flag").table("alignment").where(fitted=case)
        rho, shared = table.array("rho"), table.array("shared").astype(bool)
        axes.hist(rho, bins=40, color=style.COLOURS["random"], log=True)
        for number_, value in enumerate(rho[shared]):
            axes.axvline(value, color=style.COLOURS["flag"], linewidth=0.9, label=None if number_ else "shared neurons")
        axes.set(xlabel=rf"alignment $\rho_j$ with the flag ($y_{case[1]}$)", ylabel="neurons")
        if shared.any():
            high = axes.get_ylim()[1]
            axes.set_ylim(0.7, high**1.25 if high > 1 else high)
            axes.legend(loc="upper right", frameon=True, facecolor="white", edgecolor="none", framealpha=0.9)
        axes.set_title(f"write directions ($y_{case[1]}$ perturbed)", loc="left")
        layer = table.rows[0]["layer"] if len(table) else "?"
        said = (
            f"{shared.sum()} shared neurons of that layer are marked, in the median above "
            f"{percent(float(np.median(table.array('quantile')[shared])))} of the layer"
            if shared.any()
            else "none of the shared neurons is in that layer"
        )
        return (
            f"Alignment of the write direction of each of the {count(len(table))} neurons of MLP {layer} with the flag "
            f"fitted with {case} perturbed, on a log count axis; {said}."
        )

    return panel
