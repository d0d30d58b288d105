"""What does the patched model say? Answers, example by example."""

from collections.abc import Sequence
from typing import Any

from numberline.report.exhibit import Section
from numberline.report.figure import caption
from numberline.report.figures.whole import patch_words
from numberline.report.tables import TableContent, table
from numberline.report.view import RunView
from numberline.results.table import NotMeasuredError, Row

CASES = ("y1", "y2")
FIRST_TABLE = ("full_number_y1", "u", "v1", "v1_mid", "full_number_y2", "v2")
EXAMPLE_COLUMNS = ("case", "clean_y1", "clean_y2", "corrupted_y1", "corrupted_y2", "r", "said", "text")
SECOND_TABLE = ("v1_v2", "plane", "full_resid", "flag")


@table(
    "app-patch-examples",
    section=Section.BEHAVIOUR,
    order=3,
    needs=("behaviour.outcomes",),
    question="What exactly does the patched model say?",
)
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


@table(
    "app-whole-examples-a",
    section=Section.WHOLE,
    order=5,
    needs=("k2.whole",),
    question="What does the model say when one operand is patched?",
)
def whole_examples_a(view: RunView) -> TableContent:
    """Generated answers under the number patches."""
    lead = (
        "Generated answers under the patches of app-whole-directions, chosen to include correct answers and mistakes "
        "where there are any: the perturbed number, the clean and corrupted operands, r, and the generated number. A "
        "patch succeeds when the model generates r"
    )
    return _examples(view, FIRST_TABLE, lead)


@table(
    "app-whole-examples-b",
    section=Section.WHOLE,
    order=6,
    needs=("k2.whole",),
    question="What does the model say when both operands, or the flag, are patched?",
)
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
        raise NotMeasuredError("k2.whole has no examples of these patches")
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
