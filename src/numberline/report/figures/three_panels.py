"""The parts of the three-number figures that come from the comparators, the flags and the read-out."""

import numpy as np
from matplotlib.axes import Axes

from numberline.report import error_bars, panels, style
from numberline.report.figure import Panel
from numberline.report.view import RunView
from numberline.results.cases import CASES_OF_THREE
from numberline.results.formatting import count, estimate, number
from numberline.results.result import Result
from numberline.results.table import NotMeasuredError, Row, Table

PAIRS = (("y1", "y2"), ("y1", "y3"), ("y2", "y3"))


def _insets(axes: Axes, down: int, across: int, gaps: tuple[float | int, float | int]) -> list[list[Axes]]:
    """A grid of small axes in place of one, with gaps (down, across) as shares of the whole."""
    axes.set_axis_off()
    height, width = (1 - gaps[0] * (down - 1)) / down, (1 - gaps[1] * (across - 1)) / across
    return [
        [axes.inset_axes((column * (width + gaps[1]), 1 - height - row * (height + gaps[0]), width, height))
         for column in range(across)]
        for row in range(down)
    ]  # fmt: skip


def _chosen_fields(view: RunView, position: str) -> list[tuple[int, Row]]:
    """One neuron of each stage, with its place: the most local of the first MLP, the best comparator of the last."""
    rows = list(enumerate(view.run.result("k3.fields").table("fields").where(position=position).rows))
    alive = [(place, row) for place, row in rows if row["peak"]]
    own = [item for item in alive if item[1]["group"] == "shared"] or alive
    if not own:
        raise NotMeasuredError("no comparator neuron responds")
    layers = sorted({row["layer"] for _, row in own})
    first = min((item for item in own if item[1]["layer"] == layers[0]), key=lambda item: item[1]["active"])
    last = max((item for item in own if item[1]["layer"] == layers[-1]), key=lambda item: item[1]["comparator"])
    return [first, last] if len(layers) > 1 else [first]


def _name(row: Row) -> str:
    return f"L{row['layer']}#{row['neuron']}"


def _label(axes: Axes, row: Row) -> None:
    """The neuron's name, inside its field."""
    axes.text(0.05, 0.95, _name(row), transform=axes.transAxes, va="top", fontsize=4.5,
              bbox={"fc": "white", "ec": "none", "alpha": 0.7, "pad": 0.6})  # fmt: skip


def _field(axes: Axes, view: RunView, matrix: np.ndarray, pair: tuple[str, str]) -> None:
    axis = view.run.result("k3.fields").tensor("axis")
    panels.field(axes, view.language, axis, np.asarray(matrix), shown=(20, 80))
    axes.tick_params(labelsize=5, length=1.5, pad=1)
    axes.set_xlabel(f"$y_{pair[0][1]}$", fontsize=6, labelpad=-4)
    axes.set_ylabel(f"$y_{pair[1][1]}$", fontsize=6, labelpad=-5)


def fields_y3(axes: Axes, view: RunView) -> str:
    """Receptive fields at y3, as pairwise marginals."""
    result, chosen = view.run.result("k3.fields"), _chosen_fields(view, "y3")
    grid = _insets(axes, len(chosen), len(PAIRS), (0.24, 0.12))
    for (place, row), line in zip(chosen, grid, strict=True):
        for pair, small, matrix in zip(PAIRS, line, result.tensor("marginals_y3")[place], strict=True):
            _field(small, view, matrix, pair)
        _label(line[0], row)
    axes.set_title("fields at $y_3$", loc="left")
    said = " and ".join(f"{_name(row)} (active on {number(row['active'])} of the grid)" for _, row in chosen)
    return (
        f"Receptive fields of {said} at the position of y3 over a (y1, y2, y3) grid, shown as the three pairwise "
        f"marginals, each averaged over the third {view.language.noun} and divided by its own peak; dashed: equal "
        f"{view.language.nouns}."
    )


def fields_y2(axes: Axes, view: RunView) -> str:
    """Receptive fields at y2."""
    result, chosen = view.run.result("k3.fields"), _chosen_fields(view, "y2")
    for (place, row), small in zip(chosen, _insets(axes, 1, len(chosen), (0, 0.2))[0], strict=True):
        _field(small, view, result.tensor("fields_y2")[place], PAIRS[0])
        _label(small, row)
    axes.set_title("fields at $y_2$", loc="left")
    said = " and ".join(
        f"{_name(row)} (the sign of y2 − y1 explains R² = {number(row['comparator'])})" for _, row in chosen
    )
    return f"Receptive fields of {said} at the position of y2 over (y1, y2), with y3 = {view.language.middle}."


def _histogram(axes: Axes, view: RunView, position: str, headroom: float = 1.35) -> Row:
    """The cloud on the flag at a position, fitted with that position's operand perturbed, split by its meaning."""
    result = view.run.result("k3.flags")
    table = result.table("cloud")
    seen = view.language.sign * np.stack([table.array(operand) for operand in CASES_OF_THREE[: int(position[1])]], 1)
    largest = seen[:, -1] == seen.max(1)
    along = table.array(f"flag_{position}_{position}")
    bins = np.linspace(float(along.min()), float(along.max()), 40).tolist()
    shades = (style.colour(position), style.COLOURS["baseline"])
    for wins, label, shade in zip((largest, ~largest), _meaning(view, position), shades, strict=True):
        axes.hist(along[wins], bins=bins, color=shade, alpha=0.65, label=label)
    axes.set_ylim(0, axes.get_ylim()[1] * headroom)
    axes.legend(loc="upper left", ncols=2, columnspacing=0.6, handlelength=0.8, handletextpad=0.3, fontsize=5.5)
    return result.table("separation").one(position=position, fitted=position)


def _meaning(view: RunView, position: str) -> tuple[str, str]:
    """What a set and an unset flag say."""
    if position == "y2":
        wins, loses = (">", "<") if view.language.sign > 0 else ("<", ">")
        return f"$y_2{wins}y_1$", f"$y_2{loses}y_1$"
    return f"$y_{position[1]}$ {view.language.largest}", f"$y_{position[1]}$ not"


def flag(position: str) -> Panel:
    """The cloud on the flag at a position, with its causal effect beside."""

    def panel(axes: Axes, view: RunView) -> str:
        row = _histogram(axes, view, position, headroom=2.2)
        axes.set(xlabel=f"flag component ({view.flag_layer})", ylabel="prompts")
        axes.set_title(f"flag at $y_{position[1]}$", loc="left")
        patches = view.run.result("k3.flags").table("patches")
        table = patches.where(position=position, case=position, examples="evaluation", metric=view.recovery.metric)
        found = {"flag": table.one(condition=f"flag_{position}"), "full": table.one(condition="full")}
        small = axes.inset_axes((0.34, 0.56, 0.36, 0.26))
        small.bar(range(2), [found[name]["mean"] for name in found], 0.7, color=[style.colour(name) for name in found])
        small.set_xticks(range(2), list(found), fontsize=5)
        small.tick_params(labelsize=5, length=1.5, pad=1)
        small.set_title("PR", fontsize=5.5, pad=1.5)
        small.patch.set_alpha(0.8)
        prompts = count(len(view.run.result("k3.flags").table("cloud")))
        return (
            f"{prompts} prompts on the direction fitted in the residual leaving {view.flag_layer} at {position}'s "
            f"position with {position} perturbed; a threshold tells whether {position} is the "
            f"{view.language.largest} so far with accuracy {estimate(row)}. Inset: {view.recovery.words} of this "
            f"direction, {estimate(found['flag'])}, and of the full residual, {estimate(found['full'])}."
        )

    return panel


def both_flags(axes: Axes, view: RunView) -> str:
    """The flags at y2 and at y3."""
    said = []
    for (small,), position in zip(_insets(axes, 2, 1, (0.2, 0)), ("y2", "y3"), strict=True):
        row = _histogram(small, view, position)
        small.set_ylabel(f"at $y_{position[1]}$")
        small.tick_params(labelsize=5.5, length=1.5, pad=1)
        said.append(f"at {position} with accuracy {estimate(row)}")
    small.set_xlabel(f"flag component ({view.flag_layer})")
    axes.set_title("flags", loc="left")
    return (
        f"Prompts on one direction in the residual leaving {view.flag_layer} at y2's (top) and at y3's position "
        f"(bottom): a threshold tells whether that {view.language.noun} is the {view.language.largest} so far, "
        f"{', '.join(said)}."
    )


def readout(view: RunView) -> tuple[Result, int]:
    """The result about the last token, and the read-out layer."""
    return view.run.result("k3.readout"), view.value("readout_layer_k3")[0]


def answer(axes: Axes, view: RunView) -> str:
    """The last token on two principal components, by the winner."""
    result, layer = readout(view)
    points = result.tensor("projections")[result.tensor("shown").tolist().index(layer)]
    winner = result.tensor("winner").ravel()
    panels.winners(axes, points, winner)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.18 * (high - low))
    axes.legend(loc="upper center", ncols=3, handletextpad=0.1, columnspacing=0.6, title=None)
    axes.set(xlabel="PC1", ylabel="PC2")
    axes.set_title(f"L{layer}, last token", loc="left")
    row = result.table("pca").one(layer=layer)
    return (
        f"Top two principal components of the residual leaving layer {layer} at the last token, "
        f"{count(len(winner))} prompts coloured by which operand wins; the nearest of three means names the winner in "
        f"{estimate(row)} of the prompts held out."
    )


def attention(axes: Axes, view: RunView) -> str:
    """What the read-out head attends to, by the winner."""
    result = view.run.result("k3.readout")
    found = result.table("attention")
    table = Table(found.name, tuple(row for row in found if row["token"] >= 0), found.columns)
    head = view.spelled("readout_head")
    said = []
    for case in CASES_OF_THREE:
        rows = sorted(table.where(winner=case), key=lambda row: row["token"])
        axes.plot(
            [row["token"] for row in rows], [row["mean"] for row in rows], "o-", markersize=2, linewidth=0.9,
            color=style.colour(case), label=f"$y_{case[1]}$ wins",
        )  # fmt: skip
        most = max(rows, key=lambda row: row["mean"])
        where = f" ({most['position']})" if most["position"] else ""
        said.append(f"when {case} wins, most ({number(most['mean'])}) to token {most['token']}{where}")
    named = {row["token"]: row["position"] for row in table if row["position"] and ".first" not in row["position"]}
    axes.set_xticks(list(named), [f"$y_{name[1]}$" if name[0] == "y" else name for name in named.values()])
    high = axes.get_ylim()[1]
    axes.set(xlabel=style.TOKEN, ylabel="attention weight", ylim=(0, high * 1.4))
    axes.legend(loc="upper left", ncols=2, fontsize=5.5, columnspacing=0.6, handlelength=1)
    axes.set_title(f"attention of {head}", loc="left")
    return (
        f"Attention of head {head} from the last token to the question tokens, by the position of the "
        f"{view.language.extreme}: {', '.join(said)}."
    )


def readout_heads(axes: Axes, view: RunView) -> str:
    """Every head of the read-out layer on its own."""
    result, layer = readout(view)
    table = result.table("heads").where(order="y1>y2>y3", metric=view.recovery.metric)
    whole, rows = table.one(head=-1), sorted((row for row in table if row["head"] >= 0), key=lambda row: row["head"])
    best = view.chosen("readout_head", rows)
    shades = [style.COLOURS["flag"] if row is best else style.COLOURS["random"] for row in rows]
    heads = [row["head"] for row in rows]
    axes.bar(heads, [row["mean"] for row in rows], 0.75, color=shades)
    error_bars.draw(axes, heads, rows, fmt="none", ecolor=style.COLOURS["ink"], elinewidth=0.6, capsize=1)
    axes.axhline(whole["mean"], linestyle="--", color=style.COLOURS["ink"], linewidth=0.9, label="whole attention")
    axes.axhline(0, color=style.COLOURS["ink"], linewidth=0.6)
    axes.set_xticks(heads[:: max(1, len(heads) // 8)])
    low, high = axes.get_ylim()
    axes.set(xlabel=f"head of layer {layer}", ylabel=view.recovery.axis, ylim=(low, high + 0.2 * (high - low)))
    axes.legend(loc="upper left", fontsize=5.5)
    axes.set_title("heads, last token", loc="left")
    return (
        f"{view.recovery.begins} of each head's own output in layer {layer} at the last token, for the order y1 > y2 "
        f"> y3: head {best['head']} recovers {estimate(best)}, the whole attention sublayer (dashed) {estimate(whole)}."
    )


def readout_patches(axes: Axes, view: RunView) -> str:
    """The whole residual at the last token against two of its components."""
    result, layer = readout(view)
    table = result.table("patches").where(metric=view.recovery.metric)
    orders = table.unique("order")
    kinds = {"full": "full", "pcs": "two PCs", "random": "random"}
    series: dict[str, list[Row | None]] = {
        label: [table.one(order=order, condition=kind) for order in orders] for kind, label in kinds.items()
    }
    shades = {"full": style.COLOURS["full"], "two PCs": style.COLOURS["pc1"], "random": style.COLOURS["random"]}
    panels.bars(axes, [_stacked(order) for order in orders], series, shades, ylabel=view.recovery.axis)
    axes.tick_params(axis="x", labelsize=6)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.3 * (high - low))
    axes.legend(loc="upper center", ncols=3, fontsize=5.5, columnspacing=0.5, handlelength=0.8, handletextpad=0.3)
    axes.set_title("last token", loc="left")
    said = "; ".join(
        f"{order.replace('>', ' > ')}: full {estimate(table.one(order=order, condition='full'))}, two components "
        f"{estimate(table.one(order=order, condition='pcs'))}"
        for order in orders
    )
    return (
        f"{view.recovery.begins} of a full-rank patch and of a patch of the top two principal components of the "
        f"residual leaving layer {layer} at the last token, and of random planes, for three value orders: {said}."
    )


def _stacked(order: str) -> str:
    """A value order as a narrow tick label."""
    return "\n".join(f"$y_{name[1]}${'>' if place < 2 else ''}" for place, name in enumerate(order.split(">")))
