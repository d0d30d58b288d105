"""The algorithm, drawn with the roles that this run found written into it."""

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from numberline.report import style
from numberline.report.facts import Facts, words
from numberline.report.figure import Drawing, caption, figure
from numberline.report.stored import CannotDrawError
from numberline.report.words import number

ROLES = ("number_layer", "transport_head", "comparator_mlps", "flag_layer", "readout_layer")


@figure("fig1toy", needs=("k2.trace",))
def overview(facts: Facts) -> Drawing:
    """The algorithm in one picture."""
    page = style.page(style.FULL_WIDTH, 2.5)
    axes = _canvas(page.add_subplot(), 100, 34)
    steps = [
        (2, "1  number line", f"each number on a curve,\nused along one line\nlayer {facts.spelled('number_layer')}", "u"),
        (27, "2  transport", f"$y_1$ is copied to $y_2$'s place\nhead {facts.spelled('transport_head')}", "v1"),
        (52, "3  shared plane", f"$v_1 f(y_1) + v_2 f(y_2)$\n{_plane(facts)}", "plane"),
        (77, "4  comparison", f"neurons of MLPs {facts.spelled('comparator_mlps')}\nwrite one flag\nlayer {facts.spelled('flag_layer')}", "flag"),
    ]  # fmt: skip
    for left, head, text, colour in steps:
        _box(axes, (left, 9), (21, 16), head, text, style.colour(colour))
    for left in (23, 48, 73):
        _arrow(axes, (left, 17), (left + 4, 17))
    axes.text(50, 31, f"The {facts.kind}imum of 60 and 10 is", ha="center", va="center", fontsize=9, family="monospace")
    for x, name in ((44, "$y_1$"), (58, "$y_2$")):
        axes.text(x, 27.6, name, ha="center", va="center", fontsize=7, color=style.GREY)
    axes.text(50, 4, f"the last token reads the winner's place at layer {facts.spelled('readout_layer')} and copies that "
              "number", ha="center", va="center", fontsize=7.5)  # fmt: skip
    return Drawing(
        page, caption(facts, "How the model compares two numbers, with the roles found in this run", [_roles(facts)])
    )


@figure("alg-flowchart", needs=("k2.trace",))
def flowchart(facts: Facts) -> Drawing:
    """The pairwise comparison as a flow chart."""
    page = style.page(style.FULL_WIDTH, 4.4)
    axes = _canvas(page.add_subplot(), 100, 62)
    number_layer, head = facts.spelled("number_layer"), facts.spelled("transport_head")
    for x, name in ((16, "position of $y_1$"), (52, "position of $y_2$"), (87, "last token")):
        axes.text(x, 60.5, name, ha="center", va="center", fontsize=8.5, fontweight="bold")
    for x in (34, 71):
        axes.plot([x, x], [1, 59], ":", color=style.COLOURS["baseline"], linewidth=0.7)
    _box(
        axes,
        (3, 2),
        (26, 11),
        f"store $y_1$: layer {number_layer}",
        f"$u\\, f'(y_1)${_direction(facts, 'u', 'y1', 'y1')}",
        style.colour("u"),
    )
    _box(
        axes,
        (38, 2),
        (28, 11),
        f"store $y_2$: layer {number_layer}",
        f"$v_2\\, f_2(y_2)${_direction(facts, 'v2', 'y2', 'y2')}",
        style.colour("v2"),
    )
    _box(
        axes,
        (38, 17),
        (28, 10),
        f"copy $y_1$: head {head}",
        f"$v_1\\, f_1(y_1)${_transported(facts)}",
        style.colour("v1"),
    )
    _box(
        axes,
        (38, 31),
        (28, 9),
        "add: the shared plane",
        f"$v_1 f_1(y_1) + v_2 f_2(y_2)$\n{_plane(facts)}",
        style.colour("plane"),
    )
    _box(axes, (38, 44), (28, 13), f"compare: MLPs {facts.spelled('comparator_mlps')}",
         f"{_neurons(facts)}\nflag at layer {facts.spelled('flag_layer')}{_flag(facts)}", style.colour("flag"))  # fmt: skip
    _box(
        axes,
        (75, 44),
        (23, 13),
        f"read out: layer {facts.spelled('readout_layer')}",
        "the winner's position,\nthen its digits",
        style.GREY,
    )
    _arrow(axes, (29, 7), (38, 20), "attention")
    _arrow(axes, (52, 13), (52, 17))
    _arrow(axes, (52, 27), (52, 31))
    _arrow(axes, (52, 40), (52, 44))
    _arrow(axes, (66, 50.5), (75, 50.5))
    return Drawing(
        page, caption(facts, "The components that implement the pairwise comparison, layers rising", [_roles(facts)])
    )


def _canvas(axes: Axes, width: float, height: float) -> Axes:
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.set_axis_off()
    return axes


def _box(axes: Axes, corner: tuple[float, float], size: tuple[float, float], head: str, text: str, colour: str) -> None:
    (left, low), (width, height) = corner, size
    box = FancyBboxPatch(
        corner, width, height, boxstyle="round,pad=0,rounding_size=1", fc="white", ec=colour, linewidth=1.4
    )
    axes.add_patch(box)
    axes.text(
        left + width / 2, low + height - 1.2, head, ha="center", va="top", fontsize=7.5, fontweight="bold", color=colour
    )
    axes.text(left + width / 2, low + (height - 2.6) / 2, text, ha="center", va="center", fontsize=7, linespacing=1.3)


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], label: str = "") -> None:
    arrow = FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=9, color=style.COLOURS["ink"], linewidth=1.0)
    axes.add_patch(arrow)
    if label:
        axes.text(
            (start[0] + end[0]) / 2 - 1, (start[1] + end[1]) / 2 + 0.6, label, ha="right", va="bottom", fontsize=6.5
        )


def _direction(facts: Facts, name: str, case: str, position: str) -> str:
    """The measured IIA of a direction at the number layer, on a line of its own."""
    try:
        table = facts.run.result("k2.number").table("patches").where(metric="iia", examples="evaluation")
        return f"\nIIA {number(table.one(condition=name, case=case, position=position)['mean'])}"
    except CannotDrawError:
        return ""


def _transported(facts: Facts) -> str:
    try:
        table = facts.run.result("k2.transport").table("patches").where(metric="iia", examples="evaluation")
        return f"\nIIA {number(table.one(condition='v1', case='y1')['mean'])}"
    except CannotDrawError:
        return ""


def _plane(facts: Facts) -> str:
    try:
        table = facts.run.result("k2.shared").table("patches").where(metric="iia", examples="evaluation")
        scores = [number(table.one(condition="plane", case=case)["mean"]) for case in ("y1", "y2")]
        return f"IIA {scores[0]} ($y_1$), {scores[1]} ($y_2$)"
    except CannotDrawError:
        return "not measured"


def _neurons(facts: Facts) -> str:
    try:
        return f"{len(facts.run.result('k2.neurons').table('shared'))} shared neurons"
    except CannotDrawError:
        return "neurons not measured"


def _flag(facts: Facts) -> str:
    try:
        table = facts.run.result("k2.flag").table("patches").where(metric="iia", examples="evaluation")
        scores = [number(table.one(condition=f"flag_{case}", case=case)["mean"]) for case in ("y1", "y2")]
        return f"\nIIA {scores[0]} ($y_1$), {scores[1]} ($y_2$)"
    except CannotDrawError:
        return ""


def _roles(facts: Facts) -> str:
    """The roles in words: their values, or that they were not found and why."""
    said = []
    for name in ROLES:
        try:
            facts.value(name)
        except CannotDrawError as missing:
            said.append(str(missing))
            continue
        row = facts.roles[name]
        weak = " (weak)" if row["margin"] < row["noise"] else ""
        said.append(f"{words(name)} {facts.spelled(name)}{weak}, from {row['source']}")
    return f"{'; '.join(said)}."
