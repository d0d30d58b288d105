"""With which sample sizes and hyperparameters was this run made, and what was left out of it? Beside the paper's."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from numberline import hyperparameters
from numberline.report.exhibit import Section
from numberline.report.figure import caption
from numberline.report.tables import TableContent, table
from numberline.report.view import RunView
from numberline.results.formatting import count, number
from numberline.results.result import Result

POPULATIONS, LEARNED, ATTRIBUTION = "populations", "learned directions", "attribution"
SWEEPS, PROBES, LEFT_OUT = "sweeps and fields", "probes", "dropped and doubtful examples"
BATCH = "as many as memory holds"


class Setting(NamedTuple):
    """A row: its group, what it is, its value in this run, and the paper's where it states one."""

    group: str
    quantity: str
    value: str
    paper: str = "–"


@table(
    "app:setup-hparams",
    section=Section.SETUP,
    order=1,
    needs=(
        "behaviour.solved",
        "k2.number",
        "k2.three_digit",
        "k2.neurons",
        "k2.dose",
        "k2.fields",
        "k2.trace",
        "k3.trace",
    ),
    question="How much was measured, with which settings, and what was left out?",
)
def hyperparameters_of(view: RunView) -> TableContent:
    """Sample sizes and hyperparameters of this run."""
    found = [*_populations(view), *_learned(view), *_attribution(view), *_sweeps(view), *_probes(), *_left_out(view)]
    starts = [place for place in range(1, len(found)) if found[place].group != found[place - 1].group]
    rows = [
        [each.group if not place or place in starts else "", each.quantity, each.value, each.paper]
        for place, each in enumerate(found)
    ]
    return TableContent(
        caption(view, "Sample sizes and hyperparameters of this run, beside the paper's"),
        ["", "quantity", "this run", "paper"],
        rows,
        starts,
        data_columns=["group", "quantity", "value", "paper"],
        data_rows=[list(each) for each in found],
    )


def _populations(view: RunView) -> Iterator[Setting]:
    size, words = view.sizes, view.language
    yield Setting(
        POPULATIONS, "evaluation / fitting examples", f"{size['evaluation']} / {size['fitting']}", "400 / 128"
    )
    if "choosing" in size:
        yield Setting(POPULATIONS, "examples that choose layers, heads and fits", str(size["choosing"]))
    yield Setting(
        POPULATIONS, f"clouds ({words.noun} layer / shared plane / three {words.nouns})",
        f"{size['number_cloud']} / {size['shared_cloud']} / {size['three_cloud']}", "2000 / 3000 / 1500",
    )  # fmt: skip
    yield Setting(
        POPULATIONS, "operand counts k in the accuracy sweeps, prompts per k",
        f"{', '.join(map(str, size['operand_counts']))}; {size['operand_prompts']}", "2, 3, 4, 5, 10, 20; 200",
    )  # fmt: skip
    yield Setting(POPULATIONS, "base random seed", str(view.run.about.configuration.seed), "52")


def _learned(view: RunView) -> Iterator[Setting]:
    found = _measured(view, "k2.number")
    starts, steps = found.tensor("losses").shape if found else (2, hyperparameters.STEPS)
    yield Setting(LEARNED, "Adam steps, learning rate", f"{steps}, {hyperparameters.RATE}", "100, 0.05")
    if patience := view.sizes.get("patience"):
        yield Setting(LEARNED, "a fit ends when its loss falls no further, in steps", str(patience))
    yield Setting(LEARNED, "minibatch (gradients accumulated)", BATCH, "16–32")
    yield Setting(LEARNED, "initialisations in the stability check (u)", str(starts), "2")


def _attribution(view: RunView) -> Iterator[Setting]:
    scale, half = number(hyperparameters.HALF_PRECISION_SCALE, 0), "16" in view.shape.dtype
    used = scale if half else f"{scale} (not used in {view.shape.dtype})"
    yield Setting(ATTRIBUTION, "minibatch, half-precision loss scale", f"{BATCH}, {used}", "16, 100")
    found = _measured(view, "k2.neurons")
    if found is not None:
        depths = sorted(set(found.table("freeze").array("k").tolist()))
        yield Setting(ATTRIBUTION, "candidate neurons", count(len(found.table("scores"))), "37,888")
        yield Setting(
            ATTRIBUTION, "freeze-sweep depths k", ", ".join(map(count, depths)), "1, 3, 10, 30, 100, 300, 1,000, 3,000"
        )


def _sweeps(view: RunView) -> Iterator[Setting]:
    size, dose, fields = view.sizes, _measured(view, "k2.dose"), _measured(view, "k2.fields")
    window = f"±{size['dose_window']}"
    grid = _some(dose.tensor("grid").tolist()) if dose else "not measured"
    yield Setting(SWEEPS, "dose-response grid values, window", f"{grid}; {window}", "15, 25, …, 95; ±2")
    yield Setting(SWEEPS, "prompts per dose-response cell", str(size["dose_prompts"]), "64")
    axis = fields.tensor("axis").tolist() if fields else []
    ends = f" over y from {axis[0]:.0f} to {axis[-1]:.0f}" if axis else ""
    yield Setting(
        SWEEPS, "receptive-field grid", f"stride {size['field_stride']}{ends}", "stride 4 over y from 11 to 99"
    )


def _probes() -> Iterator[Setting]:
    low, high, many = hyperparameters.PENALTIES
    grid = f"{many} log-spaced values from {10.0**low:g} to {10**high:,}"
    yield Setting(PROBES, "ridge penalties (leave-one-out)", grid, "13 log-spaced values from 0.01 to 10,000")
    yield Setting(PROBES, "held-out share", number(hyperparameters.HELD_OUT, 1), "0.2")


def _left_out(view: RunView) -> Iterator[Setting]:
    """What the model does not solve, and where the logit difference does not fall from clean to corrupted."""
    two, three = (_measured(view, id) for id in ("behaviour.solved", "k3.trace"))
    if two is not None:
        row = two.table("solved").rows[0]
        what = "examples of two operands drawn / solved / used"
        yield Setting(
            LEFT_OUT, what, " / ".join(count(row[name]) for name in ("n", "solved", "used")), "all are solved"
        )
    if three is not None:
        row = three.table("population").rows[0]
        dropped = row["candidates"] - row["kept"]
        yield Setting(
            LEFT_OUT, "quadruples drawn / solved in all orders / dropped",
            f"{count(row['candidates'])} / {count(row['kept'])} / {count(dropped)}", "1,400 / 1,341 / 59",
        )  # fmt: skip
    for id, table_, what, paper in (
        ("k2.trace", "trace", f"two {view.language.nouns}", "–"),
        ("k2.three_digit", "patches", "three digits", "1 per case"),
        ("k3.trace", "trace", f"three {view.language.nouns}", "–"),
    ):
        found = _measured(view, id)
        if found is not None:
            yield Setting(
                LEFT_OUT, f"clean minus corrupted PLD not above zero, {what}", _doubtful(found, table_), paper
            )


def _doubtful(found: Result, name: str) -> str:
    """In each case, how many examples of how many have no positive scale; none of them is dropped."""
    rows = found.table(name)
    rows = rows.where(examples="evaluation") if rows.has("examples") else rows
    said = []
    for case in rows.unique("case"):
        own = max(rows.where(case=case), key=lambda row: row["n"])
        said.append(f"{own['nonpositive']} of {count(own['n'])} ({case})")
    return ", ".join(said)


def _measured(view: RunView, id: str) -> Result | None:
    found = view.run.find(id)
    return found if found is not None and found.missing is None else None


def _some(values: list[Any]) -> str:
    """15, 25, …, 95."""
    return ", ".join(map(str, [*values[:2], "…", values[-1]] if len(values) > 4 else values))
