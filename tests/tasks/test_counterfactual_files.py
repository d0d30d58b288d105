"""A user's own counterfactuals: what is written is read back, and a bad row is refused by its line and reason."""

from pathlib import Path

import pytest

from numberline.errors import NumberlineError
from numberline.tasks import (
    MAX,
    MIN,
    Task,
    from_csv,
    perturb,
    pool,
    read_counterfactuals,
    to_csv,
    write_counterfactuals,
)

HEADER = "case,clean_y1,clean_y2,corrupted_y1,corrupted_y2\n"
GOOD = "y1,60,40,20,40\n"


@pytest.mark.parametrize("kind", [MAX, MIN], ids=lambda kind: kind.name)
@pytest.mark.parametrize(("k", "digits"), [(2, 2), (2, 3), (3, 2), (5, 2)])
def test_round_trip(tmp_path: Path, kind, k: int, digits: int) -> None:
    task = Task(kind, k, digits)
    tuples = pool(task).evaluation[:20]
    examples = tuple(example for case in task.operands for example in perturb(task, tuples, case))
    write_counterfactuals(tmp_path / "mine.csv", task, examples)
    assert read_counterfactuals(tmp_path / "mine.csv", task) == examples
    assert [path.name for path in tmp_path.iterdir()] == ["mine.csv"]


def test_text() -> None:
    (example,) = from_csv(Task(), HEADER + GOOD)
    assert (example.case, example.a, example.b, example.r) == ("y1", 60, 40, 20)
    assert to_csv(Task(), [example]) == HEADER + GOOD


def test_what_a_spreadsheet_makes_of_it(tmp_path: Path) -> None:
    """A byte-order mark, Windows line ends, blank lines, spaces, other columns, another order, no case."""
    path = tmp_path / "sheet.csv"
    text = "corrupted_y1,corrupted_y2,note,clean_y1,clean_y2\r\n\r\n20,40,mine, 60 ,40\r\n\r\n"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert read_counterfactuals(path, Task()) == from_csv(Task(), HEADER + GOOD)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("y1,sixty,40,20,40", "clean_y1 is 'sixty', but operands are numbers from 10 to 99"),
        ("y1,60,40,20.0,40", "corrupted_y1 is '20.0', but operands are numbers from 10 to 99"),
        ("y1,60,,20,40", "clean_y2 is '', but operands are numbers from 10 to 99"),
        ("y1,60,40,-20,40", "corrupted_y1 is '-20', but operands are numbers from 10 to 99"),
        ("y1,601,40,20,40", "clean_y1 is '601', but operands are numbers from 10 to 99"),
        ("y1,60,4,20,4", "clean_y2 is '4', but operands are numbers from 10 to 99"),
        ("y1,60,40,60,40", "0 operands differ"),
        ("y1,60,40,20,30", "2 operands differ"),
        ("y1,60,40,50,40", "y1 wins both"),
        ("y1,60,40,45,40", "40 and 45 share the leading '4'"),
        ("y1,60,40,40,40", "40 and 40 share the leading '4'"),
        ("y2,60,40,20,40", "case is 'y2', but the operand that changes is y1"),
        ("y1,60,40,20", "the row does not have as many fields as there are columns"),
        ("y1,60,40,20,40,9", "the row does not have as many fields as there are columns"),
        ("y1,60,40,20,40", "the row repeats line 2"),
        ('y1,60,40,20,"40', "unexpected end of data"),
    ],
)
def test_bad_rows_are_refused_with_their_line(tmp_path: Path, row: str, reason: str) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(HEADER + GOOD + "y2,30,70,30,10\n" + row + "\n" + "y1,80,50,30,50\n")
    with pytest.raises(NumberlineError) as refusal:
        read_counterfactuals(path, Task())
    assert reason in str(refusal.value)
    if "unexpected" not in reason:  # an open quotation mark runs to the end of the file
        assert str(refusal.value).startswith(f"{path}, line 4: ")
    assert "\n" not in str(refusal.value)


def test_files_that_hold_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NumberlineError, match="line 1: the column clean_y3 is missing"):
        from_csv(Task(k=3), HEADER + GOOD)
    with pytest.raises(NumberlineError, match="line 1: the column clean_y1 is missing"):
        from_csv(Task(), "")
    with pytest.raises(NumberlineError, match="holds no counterfactual"):
        from_csv(Task(), HEADER)
    with pytest.raises(NumberlineError, match=r"cannot be read \(No such file or directory\)"):
        read_counterfactuals(tmp_path / "none.csv", Task())
    (tmp_path / "latin.csv").write_bytes(HEADER.encode() + "é".encode("latin-1"))
    with pytest.raises(NumberlineError, match="is not UTF-8 text"):
        read_counterfactuals(tmp_path / "latin.csv", Task())


def test_min_reads_the_same_row_the_other_way() -> None:
    (example,) = from_csv(Task(MIN), HEADER + "y1,20,40,60,40\n")
    assert (example.a, example.b, example.r) == (20, 40, 60)
