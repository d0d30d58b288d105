"""Three numbers: along which directions they are held, and how specific these are."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from numberline.report import panels, style, value_axis
from numberline.report.exhibit import Section
from numberline.report.figure import Drawing, Panel, compose, figure
from numberline.report.figures.number import COMPONENT, rising
from numberline.report.view import RunView
from numberline.results.cases import CASES_OF_THREE
from numberline.results.formatting import count, estimate, number, percent
from numberline.results.table import NotMeasuredError

DIRECTIONS = ("u1", "u2", "v1", "v2", "v3", "w1", "w2")
ID = "k3.directions"


@figure(
    "app-k3-directions",
    section=Section.THREE_IN_DETAIL,
    order=2,
    needs=(ID,),
    question="Does the component along each direction rise with its operand?",
)
def components(view: RunView) -> Drawing:
    """Components along the directions of three {nouns}."""
    page = style.page(style.FULL_WIDTH, 1.9)
    axes = page.subplot_mosaic([list("abcde")])
    words = view.language
    lead = (
        f"Component along each direction of three {words.nouns} against the {words.noun} it carries, as per-value means"
    )
    chosen = {letter: _component(name) for letter, name in zip("abcde", DIRECTIONS[:5], strict=True)}
    drawing = compose(page, view, axes, chosen, lead)
    axes["a"].set_ylabel("component")
    return drawing


@figure(
    "app-k3-manifolds",
    section=Section.THREE_IN_DETAIL,
    order=3,
    needs=(ID,),
    question="How do the three directions lie in their spaces?",
)
def manifolds(view: RunView) -> Drawing:
    """The spaces at y3 that hold the three directions."""
    page = style.page(style.FULL_WIDTH, 2.35)
    axes = page.subplot_mosaic([list("abc")])
    lead = "The spaces at y3's position that contain the three directions, each in its top two principal components"
    chosen = {letter: _space(name) for letter, name in zip("abc", ("v1", "v2", "v3"), strict=True)}
    return compose(page, view, axes, chosen, lead)


@figure(
    "app-k3-dissociation",
    section=Section.THREE_IN_DETAIL,
    order=4,
    needs=(ID,),
    question="Does each direction move its own operand and no other?",
)
def dissociation(view: RunView) -> Drawing:
    """Each direction in each case: specific to its {noun}."""
    page = style.page(3.6, 2.9)
    lead = "What a rank-one patch of each direction does in each perturbation case, without refitting"
    return compose(page, view, {"a": page.subplots()}, {"a": _specificity}, lead)


def symbol(name: str) -> str:
    """A direction as the paper writes it."""
    return f"${name[0]}_{name[1:]}$"


def shade(name: str) -> str:
    """A direction's colour: that of the number it carries."""
    return style.colour(f"y{name[1]}")


def site(view: RunView, name: str) -> str:
    """Where a direction lives: L13 residual, or the output of L14.H14."""
    if name in ("v1", "v2"):
        role = f"transport_head_y{name[1]}"
        return f"output of {view.spelled(role) if view.has(role) else 'the transport head'}"
    role = "number_layer_k3"
    return f"L{view.spelled(role)} residual" if view.has(role) else f"{view.language.noun}-layer residual"


def transport_layer(view: RunView) -> str:
    """In a title: L14, or transport layer."""
    try:
        return f"L{max(view.value(f'transport_head_{operand}')[0] for operand in ('y1', 'y2'))}"
    except NotMeasuredError:
        return "transport layer"


def position(name: str) -> str:
    """The operand at whose position a direction lives."""
    return {"u1": "y1", "u2": "y2", "w1": "y2", "w2": "y2"}.get(name, "y3")


def _component(name: str) -> Panel:
    def panel(axes: Axes, view: RunView) -> str:
        result = view.run.result(ID)
        table = result.table("components").where(direction=name)
        language, operand = view.language, f"y{name[1]}"
        fit = result.table(language.fits).one(direction=name)
        panels.components(axes, language, table, "", shade(name))
        panels.line_fit(axes, language, fit, table.array("value"))
        value_axis.name(axes.xaxis, language, operand)
        axes.set_title(f"{symbol(name)} at $y_{position(name)[1]}$", loc="left")
        return (
            f"{name} in the {site(view, name)} at the position of {position(name)} (rank correlation with "
            f"{operand} {number(rising(table))}; dotted: {value_axis.straight(language, operand)}, R² = "
            f"{number(fit['r2'])})."
        )

    return panel


def all_components(axes: Axes, view: RunView) -> str:
    """v1, v2 and v3 against their numbers, in one panel."""
    result = view.run.result(ID)
    said = []
    for name in ("v1", "v2", "v3"):
        table = result.table("components").where(direction=name)
        label = f"{symbol(name)} against $y_{name[1]}$"
        panels.components(axes, view.language, table, label, shade(name), "standardized")
        said.append(f"{name} {number(rising(table))}")
    value_axis.name(axes.xaxis, view.language, "y1")
    axes.set(xlabel="$y_1$, $y_2$ or $y_3$", ylabel=COMPONENT)
    axes.legend(loc="upper left", handletextpad=0.1)
    axes.set_title("components at $y_3$", loc="left")
    return (
        f"Components along v1 ({site(view, 'v1')}), v2 ({site(view, 'v2')}) and v3 ({site(view, 'v3')}) at y3's "
        f"position against y1, y2 and y3, as per-value means; rank correlations: {', '.join(said)}."
    )


def _space(name: str) -> Panel:
    def panel(axes: Axes, view: RunView) -> str:
        result = view.run.result(ID)
        operand = f"y{name[1]}"
        points = result.tensor(f"projections_{name}")[:, 1:3]
        numbers = result.tensor("operands")[:, int(name[1]) - 1]
        pcs, values = result.tensor(f"pcs_{name}")[:, :2], result.tensor(f"values_{name}")
        means = (values, result.tensor(f"means_{name}") @ pcs)
        shadow = (result.tensor(name).ravel() @ pcs, symbol(name), shade(name))
        share = panels.manifold(axes, view.language, points, numbers, means, shadow, operand)
        axes.set_title(site(view, name), loc="left")
        shares = result.table("variance").where(cloud=name, direction=("pc1", "pc2")).array("share")
        return (
            f"The {site(view, name)} with {name}, {count(len(points))} prompts coloured by {operand}, with the "
            f"smoothed mean position along {operand} (line) and the direction of {name}'s projection onto the plane "
            f"(arrow, {percent(share)} of its norm); the two components explain "
            f"{percent(float(shares.sum()))} of the variance."
        )

    return panel


def _specificity(axes: Axes, view: RunView) -> str:
    table = view.run.result(ID).table("specificity").where(metric=view.recovery.metric)
    matrix = np.array(
        [[table.one(direction=name, case=case)["mean"] for case in CASES_OF_THREE] for name in DIRECTIONS]
    )
    image = axes.imshow(matrix, cmap=style.SIGNED_MAP, vmin=-1, vmax=1, aspect="auto")
    panels.matrix_text(axes, matrix, limit=1)
    for place, name in enumerate(DIRECTIONS):
        corner = (int(name[1]) - 1.5, place - 0.5)
        axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=style.COLOURS["ink"], linewidth=1.1))
    axes.set_xticks(range(len(CASES_OF_THREE)), [style.CASE_TITLE[case] for case in CASES_OF_THREE])
    axes.set_yticks(range(len(DIRECTIONS)), [f"{symbol(name)} at $y_{position(name)[1]}$" for name in DIRECTIONS])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    panels.colour_bar(axes, image, view.recovery.axis)
    others = [row for row in table if not row["own"]]
    worst = max(others, key=lambda row: abs(row["mean"]))
    said = ", ".join(f"{name} {estimate(table.one(direction=name, own=True))}" for name in DIRECTIONS)
    patches = view.run.result(ID).table("patches").where(examples="evaluation", metric=view.recovery.metric)
    full = patches.one(case="y1", condition="full_number_y2")
    return (
        f"{view.recovery.begins} of a rank-one patch of each direction (rows) in each case (columns); boxes mark the "
        f"case that perturbs the {view.language.noun} it carries. There: {said}; in the other cases at most "
        f"{number(abs(worst['mean']))} in size ({worst['direction']}, {worst['case']} perturbed). w2 and u2 are the "
        f"same fit; at w1's site the full-rank patch recovers {estimate(full)}, which a rank-one patch can exceed. "
        f"{_attention(view, 'v1')} {_attention(view, 'v2')} Colours are clipped at 1, printed values are "
        f"not; n = {count(worst['n'])} per case."
    )


def _attention(view: RunView, name: str) -> str:
    """What the head of v1 or v2 looks at from y3, by which of y1 and y2 is larger."""
    table, own = view.run.result(ID).table("attention").where(direction=name), f"y{name[1]}"
    parts = [
        f"{number(table.one(token=own, larger=larger)['mean'])} when {larger} is {view.language.greater}"
        for larger in ("y1", "y2")
    ]
    head = site(view, name).removeprefix("output of ")
    return f"The head of {name}, {head}, attends from y3 to {own} with weight {' and '.join(parts)}."
