"""Flags with three numbers and more: across cases, set by hand, and at every position of longer lists."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from numberline.estimates import wilson
from numberline.report import panels, style
from numberline.report.exhibit import Section
from numberline.report.figure import Drawing, Panel, compose, figure
from numberline.report.view import RunView
from numberline.results.arrays import Array
from numberline.results.cases import CASES, CASES_OF_THREE
from numberline.results.formatting import count, estimate, number
from numberline.results.table import Row, Table

CASES_AT = {"y3": CASES_OF_THREE, "y2": CASES}
"""The cases of each position."""
CLIPPED = 2.0
SYMBOL = {"set": "●", "unset": "○", "as is": "–"}
NAMED = {"y1": style.BLUE, "y2": style.VERMILION, "y3": style.GREEN, "other": style.PALE}
RULES = {
    "latest": "latest\nset flag",
    "earliest": "earliest\nset flag",
    "largest": "{largest}\n{noun}",
}


@figure(
    "app-k3-l15",
    section=Section.THREE_IN_DETAIL,
    order=7,
    needs=("k3.flags",),
    question="Is there a flag at the second and at the third operand?",
)
def flags_across(view: RunView) -> Drawing:
    """Each flag direction in each case, at y3 and at y2."""
    page = style.page(5.4, 2.3)
    axes = page.subplot_mosaic([["a", "b"]], width_ratios=[1.2, 1])
    lead = (
        f"{view.recovery.begins} of a rank-one direction in the residual leaving {view.flag_layer}, fitted in one "
        "case (rows) and evaluated in each case (columns), with the full-rank patch and random directions below. "
        f"Colours are clipped at {number(CLIPPED, 0)}, printed values are not"
    )
    return compose(page, view, axes, {"a": _across("y3"), "b": _across("y2")}, lead)


def _across(position: str) -> Panel:
    def panel(axes: Axes, view: RunView) -> str:
        result, cases = view.run.result("k3.flags"), CASES_AT[position]
        table = result.table("patches").where(position=position, examples="evaluation", metric=view.recovery.metric)
        rows = {f"flag_{case}": f"fitted, $y_{case[1]}$" for case in cases} | {"full": "full rank", "random": "random"}
        matrix = np.array([[table.one(case=case, condition=name)["mean"] for case in cases] for name in rows])
        image = _map(axes, matrix)
        axes.set_yticks(range(len(rows)), list(rows.values()))
        axes.set_xticks(range(len(cases)), [f"$y_{case[1]}$" for case in cases])
        axes.set_xlabel(f"perturbed {view.language.noun}")
        axes.set_title(f"at $y_{position[1]}$", loc="left")
        panels.colour_bar(axes, image, view.recovery.axis)
        own = ", ".join(f"{case} {estimate(table.one(case=case, condition=f'flag_{case}'))}" for case in cases)
        fit = result.table("patches").where(position=position, examples="fitting", metric=view.recovery.metric)
        seen = ", ".join(f"{case} {number(fit.one(case=case, condition=f'flag_{case}')['mean'])}" for case in cases)
        return (
            f"At the position of {position}; in the case it was fitted in: {own} (on the fitting examples: {seen}); "
            f"n = {count(table.rows[0]['n'])} per case."
        )

    return panel


def _map(axes: Axes, matrix: Array) -> object:
    for side in ("top", "right"):
        axes.spines[side].set_visible(True)
    image = axes.imshow(matrix, cmap=style.SIGNED_MAP, vmin=-CLIPPED, vmax=CLIPPED, aspect="auto")
    axes.tick_params(length=0)
    for (row, column), value in np.ndenumerate(matrix):
        dark = abs(value) > 0.6 * CLIPPED
        axes.text(
            column, row, number(float(value)), ha="center", va="center", fontsize=6.5,
            color="white" if dark else style.COLOURS["ink"],
        )  # fmt: skip
    return image


@figure(
    "flag-patterns",
    section=Section.THREE_IN_DETAIL,
    order=8,
    needs=("k3.flags",),
    question="Does the model name the latest operand whose flag is set?",
)
def flag_patterns(view: RunView) -> Drawing:
    """Which operand is named when the flags are set by hand."""
    page = style.page(style.FULL_WIDTH, 3.3)
    axes = page.subplot_mosaic([["a", "b"]], width_ratios=[1.9, 1])
    found = view.run.result("k3.flags").table("verdict").rows[0]
    lead = (
        f"A test of the hypothesis that the model checks the flags from the last {view.language.noun} to the first and "
        "names the "
        f"first one whose flag is set. Verdict: {found['verdict']}: {found['why']}"
    )
    return compose(page, view, axes, {"a": _patterns, "b": _rules}, lead)


def _patterns(axes: Axes, view: RunView) -> str:
    table = view.run.result("k3.flags").table("patterns").where(direction="flag", winner="all")
    settings = list(dict.fromkeys((row["y1"], row["y2"], row["y3"]) for row in table))
    heights: list[float] = []
    for place, setting in enumerate(settings):
        # A gap between the groups: y1 as it is, set, unset.
        y = -(place + 0.6 * list(dict.fromkeys(each[0] for each in settings)).index(setting[0]))
        heights.append(y)
        own = table.where(**dict(zip(CASES_OF_THREE, setting, strict=True)))
        left = 0.0
        for name, colour in NAMED.items():
            share = own.one(named=name)["mean"]
            label = (f"${name[0]}_{name[1]}$" if name != "other" else name) if place == 0 else None
            axes.barh(y, share, 0.78, left, color=colour, edgecolor="white", linewidth=0.4, label=label)
            left += share
        says = own.rows[0]["predicted"]
        axes.text(1.02, y, f"$y_{says[1]}$" if says else "–", va="center", fontsize=7,
                  color=NAMED.get(says, style.GREY))  # fmt: skip
    axes.text(1.02, 1.0, "predicted", fontsize=6, va="center", color=style.COLOURS["ink"])
    axes.set_yticks(heights, ["   ".join(SYMBOL[each] for each in setting) for setting in settings])
    axes.tick_params(axis="y", length=0)
    axes.text(-0.015, 1.0, "$y_1\\;\\;y_2\\;\\;y_3$", ha="right", va="center", fontsize=7)
    axes.set(xlim=(0, 1), ylim=(min(heights) - 0.6, 1.4), xlabel="fraction of answers that name each operand")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=4, columnspacing=1)
    axes.set_title("flags set by hand: ● set, ○ unset, – as it is", loc="left")
    largest = view.language.largest
    borrowed = f"y1 has no flag of its own, for it is always the {largest} so far: y2's direction is used there"
    return (
        f"For each pattern of flags, which operand is named ({count(table.rows[0]['n'])} prompts, all six value orders "
        f"alike), and what the hypothesis predicts; {borrowed}."
    )


def _rules(axes: Axes, view: RunView) -> str:
    result = view.run.result("k3.flags")
    rules, patterns = result.table("rules"), result.table("patterns")
    language = view.language
    found = {language.say(label): rules.one(rule=rule) for rule, label in RULES.items()}
    plain, moved = (_right(patterns.where(direction=direction)) for direction in ("none", "random"))
    rows: list[Row | None] = [*found.values(), plain, moved]
    labels = [*found, f"no edit:\n{language.largest}", f"random\nmove:\n{language.largest}"]
    shades = [style.COLOURS["flag"], style.SKY, style.GREY, style.COLOURS["full"], style.COLOURS["random"]]
    panels.bars(axes, labels, {"": rows}, {"": shades}, ylabel="share of answers", printed=True, over="answers")
    panels.unit_range(axes, 0.12)
    axes.axvline(2.5, color=style.COLOURS["faint"], linewidth=0.8)
    axes.tick_params(axis="x", labelsize=5.5)
    axes.set_title("what predicts the answers", loc="left")
    said = ", ".join(f"{label.replace(chr(10), ' ')} {estimate(row)}" for label, row in found.items())
    return (
        f"Left: the share of these answers that each rule predicts ({said}). Right: how often the {language.largest} "
        f"{language.noun} is named without an edit ({number(plain['mean'])}) and with the states moved as far along "
        f"random directions ({number(moved['mean'])})."
    )


def _right(table: Table) -> Row:
    """How often the true winner is named, all prompts and patterns together."""
    own = [row for row in table if row["winner"] == row["named"]]
    n = sum(row["n"] for row in own)
    share = sum(row["mean"] * row["n"] for row in own) / n if n else float("nan")
    right = round(share * n) if n else 0
    return {**wilson([True] * right + [False] * (n - right)).columns}


@figure(
    "flags-beyond",
    section=Section.THREE_IN_DETAIL,
    order=9,
    needs=("k3.flags_beyond",),
    question="Is there a flag at every position of longer lists?",
)
def flags_beyond(view: RunView) -> Drawing:
    """A flag at every position, with up to five {nouns}."""
    page = style.page(style.FULL_WIDTH, 2.5)
    axes = page.subplot_mosaic([["a", "b"]], width_ratios=[1.5, 1])
    rows = view.run.result("k3.flags_beyond").table("verdict")
    found = [f"k = {row['k']}, {row['position']}" for row in rows if row["found"]]
    none = [f"k = {row['k']}, {row['position']}" for row in rows if not row["found"]]
    said = f"There is one at {len(found)} of {len(rows)} positions" + (f" (not at {'; '.join(none)})" if none else "")
    weak = [f"k = {row['k']}, {row['position']}" for row in rows if row["found"] and not row["decides"]]
    said += f"; it alone turns less than half of the answers at {'; '.join(weak)}" if weak else ""
    solved = "; ".join(
        f"of {count(row['candidates'])} tuples of k = {row['k']} it solves {count(row['solved'])}"
        + ("" if row["used"] else ", too few")
        for row in view.run.result("k3.flags_beyond").table("solved")
    )
    lead = f"Is there a flag, {view.language.largest} so far, at every position of longer lists? {said}. ({solved})"
    return compose(page, view, axes, {"a": _moves, "b": _tells}, lead)


def _places(table: Table) -> tuple[list[tuple[int, str]], list[str]]:
    places = list(dict.fromkeys((row["k"], row["position"]) for row in table))
    return places, [f"$y_{position[1:]}$" for _, position in places]


def _brackets(axes: Axes, places: Sequence[tuple[int, str]]) -> None:
    """The number of operands below the positions, and lines between them."""
    for k in dict.fromkeys(k for k, _ in places):
        own = [i for i, place in enumerate(places) if place[0] == k]
        axes.text(
            float(np.mean(own)), -0.13, f"k = {k}", transform=axes.get_xaxis_transform(), ha="center", va="top",
            fontsize=6.5,
        )  # fmt: skip
        if own[0]:
            axes.axvline(own[0] - 0.5, color=style.COLOURS["faint"], linewidth=0.8)
    axes.set_xlabel(" ")


def _moves(axes: Axes, view: RunView) -> str:
    table = view.run.result("k3.flags_beyond").table("patches").where(examples="evaluation", metric="iia")
    places, labels = _places(table)
    kinds = {"flag": "fitted here", "flag_k3": "flag of $k=3$, not refitted", "full": "full rank", "random": "random"}
    series: dict[str, list[Row | None]] = {
        label: [table.one(k=k, position=position, condition=kind) for k, position in places]
        for kind, label in kinds.items()
    }
    shades = dict(
        zip(series, (style.COLOURS["flag"], style.PURPLE, style.COLOURS["full"], style.COLOURS["random"]), strict=True)
    )
    panels.bars(axes, labels, series, shades)
    _brackets(axes, places)
    panels.unit_range(axes, 0.4)
    axes.legend(loc="upper center", ncols=2, columnspacing=0.8)
    axes.set_title("patching the flag", loc="left")
    said = "; ".join(
        f"k = {k}, {position}: {estimate(table.one(k=k, position=position, condition='flag'))}, "
        f"three-{view.language.noun} flag {number(table.one(k=k, position=position, condition='flag_k3')['mean'])}"
        for k, position in places
    )
    return (
        f"IIA of a rank-one direction in the residual leaving {view.flag_layer}, in value orders in which the flag at "
        f"that position alone decides: {said}; n = {count(table.rows[0]['n'])}."
    )


def _tells(axes: Axes, view: RunView) -> str:
    table = view.run.result("k3.flags_beyond").table("separation")
    places, labels = _places(table)
    kinds = {"flag": "fitted here", "flag_k3": "flag of $k=3$"}
    series: dict[str, list[Row | None]] = {
        label: [table.one(k=k, position=position, fitted=kind) for k, position in places]
        for kind, label in kinds.items()
    }
    panels.bars(
        axes, labels, series, dict(zip(series, (style.COLOURS["flag"], style.PURPLE), strict=True)), ylabel="accuracy"
    )
    _brackets(axes, places)
    panels.unit_range(axes, 0.4)
    axes.legend(loc="upper center", ncols=2, columnspacing=0.8)
    axes.set_title(f"{view.language.largest} so far?", loc="left")
    worst = min(table.where(fitted="flag"), key=lambda row: row["mean"])
    return (
        f"How often a threshold on the component tells whether the {view.language.noun} is the {view.language.largest} "
        "so far, on clean prompts; "
        f"lowest for the fitted directions: {estimate(worst)} (k = {worst['k']}, {worst['position']})."
    )
