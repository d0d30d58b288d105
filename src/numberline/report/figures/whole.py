"""IIA on the whole generated number, beside IIA on its first digit."""

from matplotlib.axes import Axes

from numberline.report import panels, style
from numberline.report.exhibit import Section
from numberline.report.figure import Drawing, Panel, compose, figure
from numberline.report.figures.shared_plane import patch_names
from numberline.report.view import RunView
from numberline.results.cases import CASES
from numberline.results.formatting import count, estimate, number
from numberline.results.table import Row, Table

DIRECTIONS = (
    ("y1", "full_number_y1"),
    ("y1", "u"),
    ("y1", "v1"),
    ("y1", "v1_mid"),
    ("y2", "full_number_y2"),
    ("y2", "v2"),
)
SHARED = ("full_number_y2", "v2", "v1", "v1_v2", "plane", "full_resid")
SHADES = {style.CASE_TITLE[case]: style.colour(case) for case in CASES}


@figure(
    "app-whole-directions",
    section=Section.WHOLE,
    order=1,
    needs=("k2.whole",),
    question="Do the patches of one operand change the whole answer, or its first {part} only?",
)
def whole_directions(view: RunView) -> Drawing:
    """{Noun} patches scored on the whole generated {noun}."""
    page = style.page(style.FULL_WIDTH, 2.5)
    axes = page.subplot_mosaic("ab", sharey=True)
    noun = view.language.noun
    lead = f"IIA of the {noun}-representation patches on the first generated token and on the whole generated {noun}"
    return compose(page, view, axes, {"a": _directions("first"), "b": _directions("whole")}, lead)


def titles(view: RunView) -> dict[str, str]:
    """What an answer is scored on, by metric."""
    return {"first": f"first {view.language.part}", "whole": f"whole {view.language.noun}"}


def _directions(metric: str) -> Panel:
    def panel(axes: Axes, view: RunView) -> str:
        table = _scores(view, metric)
        spelled = view.number_layer.replace("layer ", "L")
        names = {
            "full_number_y1": f"{spelled} full\nat $y_1$",
            "u": "$u$",
            "v1": "$v_1$",
            "v1_mid": "$v_1$\npre-MLP",
            "full_number_y2": f"{spelled} full\nat $y_2$",
            "v2": "$v_2$",
        }
        rows = [table.one(case=case, condition=patch) for case, patch in DIRECTIONS]
        shades = {"iia": [style.colour("full" if "full" in patch else patch.split("_")[0]) for _, patch in DIRECTIONS]}
        panels.bars(axes, [names[patch] for _, patch in DIRECTIONS], {"iia": rows}, shades, (3,), printed=True)
        axes.axvline(3.5, color=style.COLOURS["faint"], linewidth=0.8)
        panels.unit_range(axes, 0.3)
        for place, case in ((1.5, "y1"), (4.5, "y2")):
            axes.text(place, 1.29, style.CASE_TITLE[case], ha="center", va="top", fontsize=6.5)
        axes.tick_params(axis="x", labelsize=6)
        axes.set_title(titles(view)[metric], loc="left")
        said = ", ".join(
            f"{patch_words(patch, view)} {estimate(row)}" for (_, patch), row in zip(DIRECTIONS, rows, strict=True)
        )
        return f"IIA on the {titles(view)[metric]}: {said}; n = {count(rows[0]['n'])} per case."

    return panel


def _scores(view: RunView, metric: str) -> Table:
    return view.run.result("k2.whole").table("whole").where(metric=metric)


def patch_words(patch: str, view: RunView) -> str:
    """A patch as a table names it: L13 full at y1, u, (v1, v2) plane."""
    number_layer = view.number_layer.replace("layer ", "L")
    after, flag = view.transport_layer.replace("layer ", "L"), view.flag_layer.replace("layer ", "L")
    return {
        "full_number_y1": f"{number_layer} full at y1",
        "full_number_y2": f"{number_layer} full at y2",
        "v1_mid": "v1, pre-MLP",
        "v1_v2": "v1 & v2",
        "plane": "(v1, v2) plane",
        "full_mid": f"{after} full, pre-MLP",
        "full_resid": f"{after} full",
        "flag": f"{flag} DAS",
    }.get(patch, patch)


@figure(
    "app-whole-shared",
    section=Section.WHOLE,
    order=2,
    needs=("k2.whole",),
    question="Do the patches of both operands change the whole answer?",
)
def whole_shared(view: RunView) -> Drawing:
    """Shared-representation patches scored on the whole generated {noun}."""
    page = style.page(style.FULL_WIDTH, 2.5)
    axes = page.subplot_mosaic("ab", sharey=True)
    lead = (
        "IIA of the shared-representation patches at y2 on the first generated token and on the whole generated "
        f"{view.language.noun}"
    )
    return compose(page, view, axes, {"a": _shared("first"), "b": _shared("whole")}, lead)


def _shared(metric: str) -> Panel:
    def panel(axes: Axes, view: RunView) -> str:
        table, names = _scores(view, metric), patch_names(view)
        series: dict[str, list[Row | None]] = {
            style.CASE_TITLE[case]: [table.one(case=case, condition=patch) for patch in SHARED] for case in CASES
        }
        hatched = (SHARED.index("v1_v2"), SHARED.index("plane"))
        panels.bars(axes, [names[patch] for patch in SHARED], series, SHADES, hatched)
        panels.unit_range(axes, 0.22)
        axes.tick_params(axis="x", labelsize=6)
        axes.legend(loc="upper left", ncols=2, columnspacing=0.8)
        axes.set_title(titles(view)[metric], loc="left")
        said = "; ".join(
            f"{case} perturbed: plane {estimate(table.one(case=case, condition='plane'))}, full residual "
            f"{estimate(table.one(case=case, condition='full_resid'))}"
            for case in CASES
        )
        return f"IIA on the {titles(view)[metric]} (hatched: both directions patched). {said}."

    return panel


@figure(
    "app-whole-l15",
    section=Section.WHOLE,
    order=3,
    needs=("k2.whole",),
    question="Does the flag change the whole answer?",
)
def whole_flag(view: RunView) -> Drawing:
    """The flag scored on the whole generated {noun}."""
    page = style.page(style.COLUMN_WIDTH, 2.3)
    lead = (
        f"IIA of the rank-one direction in the residual leaving {view.flag_layer} at y2, fitted with y1 perturbed and "
        "evaluated in both cases"
    )
    return compose(page, view, {"a": page.subplots()}, {"a": _flag}, lead)


def _flag(axes: Axes, view: RunView) -> str:
    table = view.run.result("k2.whole").table("whole").where(condition="flag")
    series: dict[str, list[Row | None]] = {
        style.CASE_TITLE[case]: [table.one(case=case, metric=metric) for metric in titles(view)] for case in CASES
    }
    first, whole = titles(view).values()
    panels.bars(axes, list(titles(view).values()), series, SHADES, printed=True)
    panels.unit_range(axes, 0.3)
    axes.legend(loc="upper center", ncols=2)
    said = "; ".join(
        f"{case} perturbed: {first} {estimate(table.one(case=case, metric='first'))}, {whole} "
        f"{number(table.one(case=case, metric='whole')['mean'])}"
        for case in CASES
    )
    return f"{said}; n = {count(table.rows[0]['n'])} per case."
