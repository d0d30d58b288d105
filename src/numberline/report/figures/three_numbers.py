"""Three numbers at a glance: the main figure, and the summary of the positions of y3, of y2 and of the last token."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from numberline.report import panels, style
from numberline.report.exhibit import Section
from numberline.report.figure import Drawing, compose, figure
from numberline.report.figures import three_panels as parts
from numberline.report.figures import three_patches as patches
from numberline.report.figures.three_directions import all_components
from numberline.report.view import RunView
from numberline.results.cases import CASES_OF_THREE
from numberline.results.formatting import estimate
from numberline.results.table import Row

ORDER_OF = {"y1": "y1>y3>y2", "y2": "y2>y3>y1"}
"""The read-out is measured in the head groups; these are the cases y1 and y2."""
NEEDS = ("k3.directions", "k3.fields", "k3.flags", "k3.readout")


@figure(
    "three-number-compare",
    section=Section.THREE,
    order=1,
    needs=NEEDS,
    question="Is the same algorithm used with three operands?",
)
def three_number_compare(view: RunView) -> Drawing:
    """Three {nouns} are compared along linear directions too."""
    page = style.page(style.FULL_WIDTH, 4.9)
    axes = style.rows(page, ("abc", "def"), (1, 1), {0: (1, 1.3, 1.3), 1: (1, 1.1, 1.5)})
    chosen = {
        "a": all_components,
        "b": patches.AT_Y3,
        "c": parts.fields_y3,
        "d": parts.both_flags,
        "e": parts.answer,
        "f": _causal,
    }
    lead = f"The model holds three {view.language.nouns} along linear directions as well"
    return compose(page, view, axes, chosen, lead)


@figure(
    "app-k3-summary",
    section=Section.THREE_IN_DETAIL,
    order=1,
    needs=NEEDS,
    question="What is held at the third operand, at the second, and at the last token?",
)
def summary(view: RunView) -> Drawing:
    """The three-{noun} analysis at y3, at y2 and at the last token."""
    page = style.page(7.6, 6.2)
    ratios = {0: (0.85, 1.3, 1.25, 1.1), 1: (0.85, 1.3, 1.25, 1.1), 2: (1, 1.1, 1, 1)}
    axes = style.rows(page, ("abcd", "efgh", "ijkl"), (1, 1, 1), ratios)
    chosen = {
        "a": patches.cosines(("u1", "u2", "v1", "v2", "v3"), ("v1", "v2", "v3")),
        "b": patches.AT_Y3,
        "c": parts.fields_y3,
        "d": parts.flag("y3"),
        "e": patches.cosines(("u1", "w1", "w2"), ("w1", "w2")),
        "f": patches.AT_Y2,
        "g": parts.fields_y2,
        "h": parts.flag("y2"),
        "i": parts.answer,
        "j": parts.attention,
        "k": parts.readout_heads,
        "l": parts.readout_patches,
    }
    places = "at the position of y3 (top row), at the position of y2 (middle row) and at the last token"
    lead = f"Three {view.language.nouns} {places}"
    return compose(page, view, axes, chosen, lead)


def _causal(axes: Axes, view: RunView) -> str:
    """The flags and the answer code, by perturbed number."""
    flags = view.run.result("k3.flags").table("patches").where(examples="evaluation", metric=view.recovery.metric)
    result, layer = parts.readout(view)
    answer = result.table("patches").where(metric=view.recovery.metric)
    groups = {"flag\nat $y_2$": ("y2", "flag_y2"), "full\nat $y_2$": ("y2", "full"),
              "flag\nat $y_3$": ("y3", "flag_y3"), "full\nat $y_3$": ("y3", "full")}  # fmt: skip
    series: dict[str, list[Row | None]] = {}
    for case in CASES_OF_THREE:
        rows: list[Row | None] = [
            _first(flags.where(case=case, position=position, condition=condition).rows)
            for position, condition in groups.values()
        ]
        rows += [
            _first(answer.where(order=ORDER_OF.get(case, ""), condition=condition).rows)
            for condition in ("pcs", "full")
        ]
        series[style.CASE_TITLE[case]] = rows
    labels = [*groups, f"two PCs\nL{layer}", f"full\nL{layer}"]
    panels.bars(axes, labels, series, {style.CASE_TITLE[case]: style.colour(case) for case in CASES_OF_THREE},
                ylabel=view.recovery.axis)  # fmt: skip
    axes.tick_params(axis="x", labelsize=6)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.2 * (high - low))
    axes.legend(loc="upper left", ncols=3, columnspacing=0.6, handlelength=0.8, fontsize=6)
    axes.set_title("causal effect", loc="left")
    said = ", ".join(
        f"at {position} {estimate(flags.one(case=position, position=position, condition=f'flag_{position}'))}"
        for position in ("y2", "y3")
    )
    noun = view.language.noun
    pcs = ", ".join(f"{case} {estimate(answer.one(order=ORDER_OF[case], condition='pcs'))}" for case in ORDER_OF)
    return (
        f"{view.recovery.begins}, by perturbed {noun}, of the flags at y2 and y3 (each fitted with that {noun} "
        f"perturbed), of the full residual there ({view.flag_layer}), and at the last token of the two principal "
        f"components and the full residual of layer {layer} (cases y1 and y2). Flags in their own case: {said}; two "
        f"components: {pcs}."
    )


def _first(rows: Sequence[Row]) -> Row | None:
    return rows[0] if rows else None
