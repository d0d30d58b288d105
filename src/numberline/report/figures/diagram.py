"""The algorithm, drawn with the roles that this run found written into it, and with small pictures of its own data."""

from collections.abc import Callable

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from numberline.report import panels, style, value_axis
from numberline.report.exhibit import Section
from numberline.report.figure import Drawing, caption, figure
from numberline.report.view import RunView
from numberline.results.cases import CASES
from numberline.results.formatting import number
from numberline.results.table import NotMeasuredError

ROLES = ("number_layer", "transport_head", "comparator_mlps", "flag_layer", "readout_layer")
READS = ("k2.trace", "k2.number", "k2.heads", "k2.transport", "k2.shared", "k2.freeze", "k2.neurons", "k2.flag")
Length = float | int
Point = tuple[Length, Length]


@figure(
    "fig1toy",
    section=Section.ALGORITHM,
    order=1,
    needs=READS,
    question="How does the model compare two operands, in one picture?",
)
def overview(view: RunView) -> Drawing:
    """How the model compares two {nouns}, in one picture."""
    view.run.result("k2.trace")
    page = _blank(style.FULL_WIDTH, 2.9)
    axes = _canvas(page, 100, 41.4)
    held, flagged, noun = _layer(view, "number_layer"), _layer(view, "flag_layer"), view.language.noun
    steps: list[tuple[str, str, str, Callable[[Axes, RunView], None]]] = [
        (f"1  {noun} line", f"each {noun} lies on a curve;\none line of it is used\n{held}", "u", _curve),
        ("2  transport", f"one head copies $y_1$\nto the position of $y_2$\n{_head(view)}", "v1", _carried),
        (
            "3  shared plane",
            f"the two lines are added\n$v_1 f_1(y_1) + v_2 f_2(y_2)$\n{_plane(view)}",
            "plane",
            _summed,
        ),
        ("4  comparison", f"{_neurons(view)}\nwrite one flag\n{flagged}", "flag", _flag_histogram),
    ]
    for step, (head, text, colour, picture) in enumerate(steps):
        left = 1 + step * 25.33
        _box(axes, (left, 6), (22, 29), head, "", style.colour(colour))
        axes.text(left + 11, 10.6, text, ha="center", va="center", fontsize=6.8, linespacing=1.35)
        small = page.add_axes(((left + 3) / 100, 15.6 / 41.4, 17 / 100, 15.2 / 41.4))
        _picture(small, view, picture)
    for left in (23.2, 48.5, 73.9):
        _arrow(axes, (left, 21), (left + 3, 21))
    _prompt(axes, view, 50, 39)
    end = f"the last token reads the winner's position ({_layer(view, 'readout_layer')}) and answers with that operand"
    axes.text(50, 3.2, end, ha="center", va="center", fontsize=7.5)
    lead = f"How the model compares two {view.language.nouns}, with the roles and data of this run"
    return Drawing(page, caption(view, lead, [_roles(view)]))


@figure(
    "alg-flowchart",
    section=Section.ALGORITHM,
    order=2,
    needs=READS,
    question="Which parts of the model do each step of the comparison?",
)
def flowchart(view: RunView) -> Drawing:
    """The pairwise comparison as a flow chart."""
    view.run.result("k2.trace")
    page = _blank(style.FULL_WIDTH, 4.4)
    axes = _canvas(page, 100, 62)
    held = _layer(view, "number_layer")
    for x, name in ((16, "position of $y_1$"), (52, "position of $y_2$"), (86.5, "last token")):
        axes.text(x, 60.5, name, ha="center", va="center", fontsize=8.5, fontweight="bold")
    for x in (33, 71):
        axes.plot([x, x], [1, 59], ":", color=style.COLOURS["baseline"], linewidth=0.7)
    read = _layer(view, "readout_layer")
    copied, mlps = _score(view, "k2.transport", "v1", "y1"), _layer(view, "comparator_mlps")
    boxes: list[tuple[Point, Point, str, str, str]] = [
        ((3, 2), (26, 11), "store $y_1$", f"$u\\, f'(y_1)$, {held}{_score(view, 'k2.number', 'u', 'y1')}", "u"),
        ((38, 2), (28, 11), "store $y_2$", f"$v_2\\, f_2(y_2)$, {held}{_score(view, 'k2.number', 'v2', 'y2')}", "v2"),
        ((38, 16.5), (28, 11), "copy $y_1$", f"$v_1\\, f_1(y_1)$, {_head(view)}{copied}", "v1"),
        ((38, 31), (28, 10), "add: the shared plane", f"$v_1 f_1(y_1) + v_2 f_2(y_2)$\n{_plane(view)}", "plane"),
        ((38, 44.5), (28, 13.5), "compare, write a flag",
         f"{mlps}: {_neurons(view)}\nflag at {_layer(view, 'flag_layer')}{_flag(view)}", "flag"),
        ((75, 44.5), (23, 13.5), "read out", f"the winner's position,\nthen its {view.language.part}s\n{read}", "ink"),
    ]  # fmt: skip
    for corner, size, head, text, colour in boxes:
        _box(axes, corner, size, head, text, style.colour(colour))
    _arrow(axes, (29, 7.5), (38, 20), "attention")
    for low, high in ((13, 16.5), (27.5, 31), (41, 44.5)):
        _arrow(axes, (52, low), (52, high))
    _arrow(axes, (66, 51), (75, 51))
    return Drawing(
        page, caption(view, "The components that implement the pairwise comparison, layers rising", [_roles(view)])
    )


def _blank(width: Length, height: Length) -> Figure:
    """A page that is laid out by hand."""
    return Figure(figsize=(width, height))


def _canvas(page: Figure, width: Length, height: Length) -> Axes:
    axes = page.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.set_axis_off()
    return axes


def _box(axes: Axes, corner: Point, size: Point, head: str, text: str, colour: str) -> None:
    (left, low), (width, height) = corner, size
    shape = "round,pad=0,rounding_size=1"
    axes.add_patch(FancyBboxPatch(corner, width, height, boxstyle=shape, fc="white", ec=colour, linewidth=1.4))
    middle = left + width / 2
    axes.text(middle, low + height - 1.1, head, ha="center", va="top", fontsize=7.5, fontweight="bold", color=colour)
    axes.text(middle, low + (height - 2.8) / 2, text, ha="center", va="center", fontsize=7, linespacing=1.35)


def _arrow(axes: Axes, start: Point, end: Point, label: str = "") -> None:
    arrow = FancyArrowPatch(
        start, end, arrowstyle="-|>", mutation_scale=9, color=style.COLOURS["ink"], linewidth=1.0, shrinkA=0, shrinkB=0
    )
    axes.add_patch(arrow)
    if label:
        x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
        axes.text(x - 1, y + 0.6, label, ha="right", va="bottom", fontsize=6.5)


def _prompt(axes: Axes, view: RunView, x: Length, y: Length) -> None:
    """The question, with the operands named under their words."""
    size, text = 9.0, view.language.question
    axes.text(x, y, text, ha="center", va="center", fontsize=size, family="DejaVu Sans Mono")
    # A character of DejaVu Sans Mono is 0.602 of the font's size wide; the page is 100 units wide.
    width = 0.602 * size / 72 / style.FULL_WIDTH * 100
    for word, name in zip(view.language.example, ("$y_1$", "$y_2$"), strict=True):
        place = x + (text.index(word) + len(word) / 2 - len(text) / 2) * width
        axes.text(place, y - 2.3, name, ha="center", va="center", fontsize=7, color=style.GREY)


def _picture(axes: Axes, view: RunView, draw: Callable[[Axes, RunView], None]) -> None:
    """A small picture without ticks; words where its result is missing."""
    try:
        draw(axes, view)
    except NotMeasuredError:
        axes.clear()
        axes.text(0.5, 0.5, "not measured", ha="center", va="center", fontsize=6.5, color=style.GREY)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)


def _curve(axes: Axes, view: RunView) -> None:
    result = view.run.result("k2.number")
    values, means = result.tensor("values_y1"), result.tensor("means_y1") @ result.tensor("pcs_y1")[:, [0, 2]]
    panels.cloud(axes, means[:, 0], means[:, 1], value_axis.places(view.language, values), size=7)
    panels.arrow(axes, result.tensor("u").ravel() @ result.tensor("pcs_y1")[:, [0, 2]], "u", style.COLOURS["u"], 0.38)


def _carried(axes: Axes, view: RunView) -> None:
    table = view.run.result("k2.transport").table("components").where(direction="v1")
    values = value_axis.places(view.language, table.array("value"))
    axes.scatter(values, table.array("mean"), s=3, color=style.COLOURS["v1"], linewidths=0)
    axes.set(xlabel="$y_1$", ylabel="along $v_1$")
    axes.xaxis.label.set_fontsize(6)
    axes.yaxis.label.set_fontsize(6)


def _summed(axes: Axes, view: RunView) -> None:
    table = view.run.result("k2.shared").table("cloud")
    panels.groups(axes, table.array("v1"), table.array("v2"), table.array("y1") > table.array("y2"), ("", ""))
    axes.set(xlabel="along $v_1$", ylabel="along $v_2$")
    axes.xaxis.label.set_fontsize(6)
    axes.yaxis.label.set_fontsize(6)


def _flag_histogram(axes: Axes, view: RunView) -> None:
    table = view.run.result("k2.flag").table("cloud")
    along, first = table.array("flag_y1"), table.array("y1") > table.array("y2")
    for wins, case in ((first, "y1"), (~first, "y2")):
        axes.hist(along[wins], bins=30, range=(along.min(), along.max()), color=style.colour(case), alpha=0.7)
    axes.text(0.02, 0.98, "$y_1>y_2$", transform=axes.transAxes, va="top", fontsize=6, color=style.colour("y1"))
    axes.text(
        0.98, 0.98, "$y_2>y_1$", transform=axes.transAxes, va="top", ha="right", fontsize=6, color=style.colour("y2")
    )
    axes.margins(y=0.2)


def _layer(view: RunView, role: str) -> str:
    """A role's layer in words, or what is missing."""
    if not view.has(role):
        return f"{view.role(role)}: {'not found' if role in view.roles else 'not measured'}"
    spelled = view.spelled(role)
    return f"MLP {spelled}" if role == "comparator_mlps" else f"layer {spelled}"


def _head(view: RunView) -> str:
    return f"head {view.spelled('transport_head')}" if view.has("transport_head") else "head: not found"


def _score(view: RunView, id: str, condition: str, case: str) -> str:
    """The measured IIA of a direction, on a line of its own."""
    try:
        table = view.run.result(id).table("patches").where(metric="iia", examples="evaluation")
        return f"\nIIA {number(table.one(condition=condition, case=case)['mean'])}"
    except NotMeasuredError:
        return ""


def _plane(view: RunView) -> str:
    try:
        table = view.run.result("k2.shared").table("patches").where(metric="iia", examples="evaluation")
        scores = [number(table.one(condition="plane", case=case)["mean"]) for case in CASES]
        return f"IIA {scores[0]} ($y_1$), {scores[1]} ($y_2$)"
    except NotMeasuredError:
        return "not measured"


def _neurons(view: RunView) -> str:
    try:
        return f"{len(view.run.result('k2.neurons').table('shared'))} shared neurons"
    except NotMeasuredError:
        return "neurons not measured"


def _flag(view: RunView) -> str:
    scores = [_score(view, "k2.flag", f"flag_{case}", case) for case in CASES]
    return f"{scores[0]} ($y_1$), {scores[1][5:]} ($y_2$)" if all(scores) else ""


def _roles(view: RunView) -> str:
    """The roles in words: their values, or that they were not found and why."""
    said = []
    for name in ROLES:
        try:
            view.value(name)
        except NotMeasuredError as missing:
            said.append(str(missing))
            continue
        role = view.roles[name]
        weak = " (weak)" if role.margin < role.noise else ""
        said.append(f"{view.role(name).removeprefix('set of ')} {view.spelled(name)}{weak}, from {role.source}")
    text = "; ".join(said)
    return f"{text[0].upper()}{text[1:]}."
