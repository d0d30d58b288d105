"""How does a user bring their own counterfactuals, or take ours elsewhere? As CSV, one counterfactual a row.

Columns, named in the first line:
- `clean_y1`, `clean_y2`, …: the operands of the clean prompt;
- `corrupted_y1`, `corrupted_y2`, …: those of the corrupted prompt, which differ in exactly one;
- `case` (may be missing): the operand that differs, checked when given.
Other columns are ignored. a, b and r follow from the operands. Every row must make a valid counterfactual of the task
(see `counterfactual`); the first that does not is refused with its line number and the reason.
"""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from numberline.errors import NumberlineError
from numberline.files import write_whole
from numberline.tasks.counterfactuals import Counterfactual, counterfactual
from numberline.tasks.task import Task


def to_csv(task: Task, examples: Iterable[Counterfactual]) -> str:
    """The counterfactuals as CSV text."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["case", *_columns(task)])
    for example in examples:
        writer.writerow([example.case, *(task.spell(value) for value in example.clean + example.corrupted)])
    return text.getvalue()


def from_csv(task: Task, text: str, name: str = "the CSV text") -> tuple[Counterfactual, ...]:
    """The counterfactuals in CSV text; `name` is what a refusal calls it."""
    reader = csv.DictReader(io.StringIO(text), strict=True)
    words = {task.spell(value): value for value in task.values}
    lines: dict[Counterfactual, int] = {}
    try:
        missing = [column for column in _columns(task) if column not in (reader.fieldnames or ())]
        if missing:
            raise NumberlineError(
                f"the column {missing[0]} is missing: a task with k={task.k} needs {', '.join(_columns(task))}"
            )
        for row in reader:
            example = _example(task, row, words)
            if example in lines:
                raise NumberlineError(f"the row repeats line {lines[example]}: remove one of the two")
            lines[example] = reader.line_num
    except (NumberlineError, csv.Error) as error:
        raise NumberlineError(f"{name}, line {max(reader.line_num, 1)}: {error}") from error
    if not lines:
        raise NumberlineError(f"{name} holds no counterfactual: add rows below the line of column names")
    return tuple(lines)


def write_counterfactuals(path: str | Path, task: Task, examples: Iterable[Counterfactual]) -> None:
    """Write a CSV file whole, or not at all."""
    write_whole(Path(path), to_csv(task, examples).encode())


def read_counterfactuals(path: str | Path, task: Task) -> tuple[Counterfactual, ...]:
    """Read a CSV file."""
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")  # spreadsheets put a byte-order mark in front
    except OSError as error:
        raise NumberlineError(f"{path} cannot be read ({error.strerror}): give the path of a CSV file") from error
    except UnicodeDecodeError as error:
        raise NumberlineError(f"{path} is not UTF-8 text: save it as CSV in UTF-8") from error
    return from_csv(task, text, str(path))


def _columns(task: Task) -> list[str]:
    return [f"{side}_{name}" for side in ("clean", "corrupted") for name in task.operands]


def _example(
    task: Task, row: Mapping[str | None, str | Sequence[str] | None], words: Mapping[str, int]
) -> Counterfactual:
    """One row of the file."""
    if None in row or None in row.values():
        raise NumberlineError("the row does not have as many fields as there are columns: separate them by commas")
    values = [_value(task, column, str(row[column]).strip(), words) for column in _columns(task)]
    example = counterfactual(task, values[: task.k], values[task.k :])
    if "case" in row and str(row["case"]).strip() != example.case:
        raise NumberlineError(
            f"case is {row['case']!r}, but the operand that changes is {example.case}: correct either"
        )
    return example


def _value(task: Task, column: str, word: str, words: Mapping[str, int]) -> int:
    if word in words:
        return words[word]
    raise NumberlineError(
        f"{column} is {word!r}, but operands are {task.concept.words.nouns} from {task.extent}: choose another value"
    )
