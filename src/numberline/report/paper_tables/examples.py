"""What does the patched model say? Answers, example by example."""

from collections.abc import Sequence
from typing import Any

from numberline.report.exhibit import Section
from numberline.report.figure import caption
from numberline.report.figures.whole import patch_words
from numberline.report.tables import TableContent, table
from numberline.report.view import RunView
from numberline.results.language import Language
from numberline.results.table import NotMeasuredError, Row

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
    language = view.language
    printed = [
        [
            names.get(row["condition"], row["condition"]),
            operands(language, row["clean"]),
            language.spell(language.winner(row["clean"])),
            operands(language, row["corrupted"]),
            language.spell(language.winner(row["corrupted"])),
            _said(language, row),
        ]
        for row in rows
    ]
    answered = language.function
    return TableContent(
        caption(view, "Examples of generated answers on held-out counterfactuals: the clean and corrupted "
                 f"operands, their {language.extremes}, and the answer generated under each intervention"),
        ["intervention", "clean (y1, y2)", answered, "corrupted (y1, y2)", answered, "patched answer"],
        printed,
        _starts(rows, "condition"),
        data_columns=["intervention", *EXAMPLE_COLUMNS],
        data_rows=_example_data(language, rows),
    )  # fmt: skip


@table(
    "app-whole-examples-a",
    section=Section.WHOLE,
    order=5,
    needs=("k2.whole",),
    question="What does the model say when one operand is patched?",
)
def whole_examples_a(view: RunView) -> TableContent:
    """Generated answers under the {noun} patches."""
    lead = (
        "Generated answers under the patches of app-whole-directions, chosen to include correct answers and mistakes "
        f"where there are any: the perturbed {view.language.noun}, the clean and corrupted operands, r, and the "
        f"generated {view.language.noun}. A patch succeeds when the model generates r"
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
    # Of the first patches the paper shows the case in which each is fitted.
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
            operands(view.language, row["clean"]),
            operands(view.language, row["corrupted"]),
            view.language.spell(row["r"]),
            _said(view.language, row),
        ]
        for place, row in enumerate(rows)
    ]
    return TableContent(
        caption(view, lead),
        ["patch", "perturbed", "clean (y1, y2)", "corrupted (y1, y2)", "r", "generated"],
        printed,
        starts,
        data_columns=["patch", *EXAMPLE_COLUMNS],
        data_rows=_example_data(view.language, rows),
    )


def _example_data(language: Language, rows: Sequence[Row]) -> list[list[Any]]:
    return [
        [row["condition"], row["case"], *map(language.spell, (*row["clean"], *row["corrupted"], row["r"])),
         None if row["said"] is None else language.spell(row["said"]), row["text"]]
        for row in rows
    ]  # fmt: skip


def operands(language: Language, values: Sequence[int]) -> str:
    """(99, 61)."""
    return f"({', '.join(map(language.spell, values))})"


def _said(language: Language, row: Row) -> str:
    """The generated value, or the text where it holds none."""
    return language.spell(row["said"]) if row["said"] is not None else repr(row["text"])


def _starts(rows: Sequence[Row], column: str) -> list[int]:
    """The numbers of rows where a column changes."""
    return [place for place in range(1, len(rows)) if rows[place][column] != rows[place - 1][column]]
