"""The tables of the paper, made from a run: scores, examples, settings, directions."""

from collections.abc import Sequence
from typing import Any

from numberline.claims.paper_values import paper_values
from numberline.report.figure import caption
from numberline.report.figures.whole import patch_words
from numberline.report.formatting import count, estimate, number
from numberline.report.tables import TableContent, table
from numberline.report.view import RunView
from numberline.results.stored import CannotDrawError, Row

CASES = ("y1", "y2")
FIRST_TABLE = ("full_number_y1", "u", "v1", "v1_mid", "full_number_y2", "v2")
EXAMPLE_COLUMNS = ("case", "clean_y1", "clean_y2", "corrupted_y1", "corrupted_y2", "r", "said", "text")
SECOND_TABLE = ("v1_v2", "plane", "full_resid", "flag")


@table("app-patch-examples", needs=("behaviour.outcomes",))
def patch_examples(view: RunView) -> TableContent:
    """What the patched model says, example by example."""
    rows = view.run.result("behaviour.outcomes").table("examples").rows
    names = {"u": "u at y1", "full_number_y2": "full at y2"}
    answer = max if view.kind == "max" else min
    printed = [
        [
            names.get(row["condition"], row["condition"]),
            operands(row["clean"]),
            answer(row["clean"]),
            operands(row["corrupted"]),
            answer(row["corrupted"]),
            _said(row),
        ]
        for row in rows
    ]
    answered = view.kind
    return TableContent(
        caption(view, "Examples of generated answers on held-out counterfactuals: the clean and corrupted "
                 f"operands, their {answered}ima, and the answer generated under each intervention"),
        ["intervention", "clean (y1, y2)", answered, "corrupted (y1, y2)", answered, "patched answer"],
        printed,
        _starts(rows, "condition"),
        data_columns=["intervention", *EXAMPLE_COLUMNS],
        data_rows=_example_data(rows),
    )  # fmt: skip


@table("app-whole-iia", needs=("k2.whole",))
def whole_iia(view: RunView) -> TableContent:
    """IIA on the first digit and on the whole number, all patches."""
    result = view.run.result("k2.whole").table("whole")
    patches = [row.patch for row in paper_values().whole if len(result.where(condition=row.patch))]
    printed = []
    for patch in patches:
        cells = [patch_words(patch, view)]
        for case in CASES:
            for metric in ("first", "whole"):
                found = result.where(condition=patch, case=case, metric=metric).rows
                cells.append(estimate(found[0], 3) if found else "–")
        printed.append(cells)
    columns = ("condition", "case", "metric", "mean", "se", "n", "lo", "hi")
    return TableContent(
        caption(view, "IIA on the first generated token and on the whole generated number, with 95 % intervals. "
                 f"Dashes mark cases in which a patch is not evaluated. n = {count(result.rows[0]['n'])} per case"),
        ["patch", "first digit", "whole number", "first digit", "whole number"],
        printed,
        spans=[("", 1), ("y1 perturbed", 2), ("y2 perturbed", 2)],
        data_columns=columns,
        data_rows=[[row[name] for name in columns] for row in result],
    )  # fmt: skip


@table("app-whole-examples-a", needs=("k2.whole",))
def whole_examples_a(view: RunView) -> TableContent:
    """Generated answers under the number patches."""
    lead = (
        "Generated answers under the patches of app-whole-directions, chosen to include correct answers and mistakes "
        "where there are any: the perturbed number, the clean and corrupted operands, r, and the generated number. A "
        "patch succeeds when the model generates r"
    )
    return _examples(view, FIRST_TABLE, lead)


@table("app-whole-examples-b", needs=("k2.whole",))
def whole_examples_b(view: RunView) -> TableContent:
    """Generated answers under the shared patches."""
    lead = "Generated answers, as in app-whole-examples-a, under the remaining patches"
    return _examples(view, SECOND_TABLE, lead)


def _examples(view: RunView, patches: Sequence[str], lead: str) -> TableContent:
    table = view.run.result("k2.whole").table("examples")
    rows = [row for patch in patches for row in table.where(condition=patch)]
    # Of the number patches the paper shows the case in which each is fitted.
    if patches is FIRST_TABLE:
        own = {"full_number_y2": "y2", "v2": "y2"}
        kept = [row for row in rows if row["case"] == own.get(row["condition"], "y1")]
        rows = kept or rows
    if not rows:
        raise CannotDrawError("k2.whole has no examples of these patches")
    starts = _starts(rows, "condition")
    printed = [
        [
            patch_words(row["condition"], view) if place in starts or not place else "",
            row["case"],
            operands(row["clean"]),
            operands(row["corrupted"]),
            row["r"],
            _said(row),
        ]
        for place, row in enumerate(rows)
    ]
    return TableContent(
        caption(view, lead),
        ["patch", "perturbed", "clean (y1, y2)", "corrupted (y1, y2)", "r", "generated"],
        printed,
        starts,
        data_columns=["patch", *EXAMPLE_COLUMNS],
        data_rows=_example_data(rows),
    )


def _example_data(rows: Sequence[Row]) -> list[list[Any]]:
    return [
        [row["condition"], row["case"], *row["clean"], *row["corrupted"], row["r"], row["said"], row["text"]]
        for row in rows
    ]


def operands(values: Sequence[int]) -> str:
    """(99, 61)."""
    return f"({', '.join(map(str, values))})"


def _said(row: Row) -> str:
    """The generated number, or the text where it holds none."""
    return str(row["said"]) if row["said"] is not None else repr(row["text"])


def _starts(rows: Sequence[Row], column: str) -> list[int]:
    """The numbers of rows where a column changes."""
    return [place for place in range(1, len(rows)) if rows[place][column] != rows[place - 1][column]]


@table("app:setup-hparams", needs=("k2.number", "k2.neurons"))
def hyperparameters(view: RunView) -> TableContent:
    """Sample sizes and hyperparameters of this run."""
    sizes = view.sizes
    if not sizes:
        raise CannotDrawError("run.json does not say the sample sizes")
    rows: list[list[Any]] = []
    for group, quantity, value in _settings(view):
        rows.append([group if not rows or rows[-1][3] != group else "", quantity, value, group])
    starts = [place for place in range(1, len(rows)) if rows[place][3] != rows[place - 1][3]]
    return TableContent(
        caption(view, "Sample sizes and hyperparameters of this run"),
        ["", "quantity", "value"],
        [row[:3] for row in rows],
        starts,
        data_columns=["group", "quantity", "value"],
        data_rows=[[row[3], row[1], row[2]] for row in rows],
    )


def _settings(view: RunView) -> list[tuple[str, str, str]]:
    """Group, quantity, value: from run.json, and from what the results hold."""
    size = view.sizes
    found = [
        ("populations", "evaluation / fitting examples", f"{size['evaluation']} / {size['fitting']}"),
        ("populations", "clouds (number layer / shared plane / three numbers)",
         f"{size['number_cloud']} / {size['shared_cloud']} / {size['three_cloud']}"),
        ("populations", "operand counts k in the accuracy sweeps, prompts per k",
         f"{', '.join(map(str, size['operand_counts']))}; {size['operand_prompts']}"),
        ("populations", "base random seed", str(view.run.about["configuration"]["seed"])),
    ]  # fmt: skip
    found += _from_results(view)
    found += [
        ("sweeps and fields", "prompts per dose-response cell", str(size["dose_prompts"])),
        ("sweeps and fields", "dose-response window", f"±{size['dose_window']}"),
        ("sweeps and fields", "receptive-field grid", f"stride {size['field_stride']}"),
    ]
    return found


def _from_results(view: RunView) -> list[tuple[str, str, str]]:
    found = []
    number_ = view.run.find("k2.number")
    if number_ is not None and number_.missing is None:
        steps = number_.meta["tensors"].get("losses", [0, 0])
        found.append(("learned directions", "Adam steps", str(steps[-1])))
        found.append(("learned directions", "initialisations in the stability check (u)", str(steps[0])))
    neurons = view.run.find("k2.neurons")
    if neurons is not None and neurons.missing is None:
        table = neurons.table("freeze")
        found.append(("attribution", "candidate neurons", count(neurons.meta["tables"]["scores"])))
        depths = sorted(set(table.array("k").tolist()))
        found.append(("attribution", "freeze-sweep depths k", ", ".join(count(k) for k in depths)))
    return found


def beside_the_paper(view: RunView) -> TableContent:
    """Table app-whole-iia beside the paper's, a row for each patch and case."""
    paper = paper_values()
    result = view.run.result("k2.whole").table("whole")
    rows = []
    for row in paper.whole:
        for case, theirs in row.scores.items():
            cells = [patch_words(row.patch, view), case]
            for place, metric in enumerate(("first", "whole")):
                found = result.where(condition=row.patch, case=case, metric=metric).rows
                cells += [estimate(found[0], 3) if found else "not measured", number(theirs[place], 3)]
            rows.append(cells)
    lead = (
        f"IIA on the first digit and on the whole number, with 95 % intervals, beside the paper's on {paper.model} "
        f"(n = {count(result.rows[0]['n'])} here, 400 there)"
    )
    columns = ["patch", "case", "first digit", "paper", "whole number", "paper"]
    return TableContent(caption(view, lead), columns, rows)
