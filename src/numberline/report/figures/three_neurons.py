"""The comparator neurons with three numbers and more: freezing them at y3's position, and doing without them."""

import numpy as np
from matplotlib.axes import Axes

from numberline.report import error_bars, style
from numberline.report.exhibit import Section
from numberline.report.figure import Drawing, compose, figure
from numberline.report.figures.freezing import block_bars, by_case, depth_curves, mean_over_draws
from numberline.report.view import RunView
from numberline.results.formatting import count, estimate, number
from numberline.results.table import Table


@figure(
    "app-k3-neurons",
    section=Section.THREE_IN_DETAIL,
    order=6,
    needs=("k3.neurons",),
    question="Do the neurons that compare two operands compare three?",
)
def three_neurons(view: RunView) -> Drawing:
    """Freezing while the span of three {nouns} is patched."""
    page = style.page(style.FULL_WIDTH, 2.7)
    axes = page.subplot_mosaic([["a", "b", "c"]], width_ratios=[1.7, 1.25, 1])
    lead = (
        f"{view.recovery.begins} of the patch of the span of v1, v2 and v3 in the pre-MLP residual of "
        f"{view.transport_layer} at the position of y3, while parts of the network are frozen"
    )
    return compose(page, view, axes, {"a": _blocks, "b": _depths, "c": _sets}, lead)


def _table(view: RunView, name: str) -> Table:
    return view.run.result("k3.neurons").table(name).where(metric=view.recovery.metric)


def _blocks(axes: Axes, view: RunView) -> str:
    table = _table(view, "blocks")
    said = block_bars(axes, table)
    axes.tick_params(axis="x", labelsize=5.5)
    axes.set_title("one part frozen", loc="left")
    return (
        f"One sub-block's output at the position of y3 frozen to its corrupted value. {said}; "
        f"n = {count(table.rows[0]['n'])}."
    )


def _depths(axes: Axes, view: RunView) -> str:
    said = depth_curves(axes, _table(view, "freeze"), _table(view, "sets"))
    axes.set_title("top $k$ against random $k$", loc="left")
    return (
        "The top k neurons by this task's own attribution (solid) or k random neurons (dashed, mean of the draws) "
        f"frozen; dotted: none. {said}."
    )


def _sets(axes: Axes, view: RunView) -> str:
    table = _table(view, "sets")
    size = int(max(table.where(frozen="shared").array("k")))
    names = {"none": "none", "shared": f"{size} of two\n{view.language.nouns}", "random": f"{size}\nrandom"}
    by_case(axes, table, "frozen", names, headroom=0.36)
    axes.set_xlabel("neurons frozen")
    axes.legend(loc="upper right")
    axes.set_title(f"the two-{view.language.noun} set", loc="left")
    overlap = view.run.result("k3.neurons").table("overlap")
    said = "; ".join(
        f"{case} perturbed: none {estimate(table.one(case=case, frozen='none'))}, shared "
        f"{estimate(table.one(case=case, frozen='shared'))}, random "
        f"{number(mean_over_draws(table.where(case=case, frozen='random'))['mean'])}"
        for case in table.unique("case")
    )
    inside = ", ".join(f"{row['shared']} ({row['case']})" for row in overlap)
    return (
        f"The {size} shared neurons of the two-{view.language.noun} task frozen, unchanged, and {size} random ones: "
        f"{said}. In this task's own top {overlap.rows[0]['top']} there are, of these {size}: {inside}."
    )


CONDITIONS = {
    "intact": ("intact", style.COLOURS["full"], "o"),
    "every token": ("{n} shared, every token", style.VERMILION, "s"),
    "last token": ("{n} shared, last token", style.ORANGE, "^"),
    "random": ("{n} random, every token", style.GREY, "D"),
}


@figure(
    "app-ablation",
    section=Section.THREE_IN_DETAIL,
    order=12,
    needs=("k3.ablation",),
    question="Does the model still compare without the shared neurons?",
)
def ablation(view: RunView) -> Drawing:
    """Accuracy without the comparator neurons."""
    page = style.page(3.9, 2.5)
    words = view.language
    lead = f"Accuracy on {words.function}(y1, …, yk) with the shared neurons of two {words.nouns} set to zero"
    return compose(page, view, {"a": page.subplots()}, {"a": _ablation}, lead)


def _ablation(axes: Axes, view: RunView) -> str:
    table = view.run.result("k3.ablation").table("accuracy").where(metric="leading")
    counts = sorted(table.unique("k"))
    size = int(max(table.array("neurons")))
    said = []
    for place, (condition, (label, colour, marker)) in enumerate(CONDITIONS.items()):
        rows = [table.one(k=k, condition=condition) for k in counts]
        # A little apart, so that curves on each other are still seen.
        x = np.arange(len(counts)) + (place - 1.5) * 0.05
        error_bars.draw(
            axes, x, rows, "prompts", marker=marker, color=colour, label=label.format(n=size), elinewidth=0.7,
            linestyle="--" if condition == "random" else "-",
        )  # fmt: skip
        said.append(f"{label.format(n=size)}: " + ", ".join(number(row["mean"]) for row in rows))
    axes.set_xticks(range(len(counts)), [str(k) for k in counts])
    axes.set(xlabel="number of operands $k$", ylabel=f"accuracy, whole {view.language.noun}", ylim=(-0.03, 1.42))
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1])
    axes.legend(loc="upper center", ncols=2, columnspacing=0.8)
    draws = table.one(k=counts[0], condition="random")["draws"]
    prompts = f"{count(table.one(k=counts[0], condition='intact')['n'])} {view.language.adjective} prompts"
    return (
        f"{prompts} per length, greedy decoding, scored on the whole {view.language.noun}'s leading characters; "
        f"{draws} random sets are taken together. For k = {', '.join(map(str, counts))}: "
        f"{'; '.join(said)}."
    )
