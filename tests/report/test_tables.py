"""Tables as CSV, Markdown and LaTeX: full numbers, and everything escaped."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numberline.report.registry import TABLES
from numberline.report.tables import TableContent, as_csv, as_latex, as_markdown, latex, markdown

NASTY = r"a_b & c% $x$ {y} #1 ^~ \end{table} <b> | ` *"
TABLE = TableContent(NASTY, ["u", "text"], [[1, NASTY], ["v1 & v2", "two\nlines"]], rules=[1])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("u", r"$\mathbf{u}$"),
        ("v1 & v2", r"$\mathbf{v}_1$ \& $\mathbf{v}_2$"),
        ("(v1, v2) plane", r"($\mathbf{v}_1$, $\mathbf{v}_2$) plane"),
        ("L13 full at y2", r"L13 full at $y_2$"),
        ("my_u", r"my\_u"),
        ("under", "under"),
        ("0.94 [0.91, 0.96]", "0.94 [0.91, 0.96]"),
        ("−0.08", "$-$0.08"),
        ("50 %", r"50 \%"),
        ("\\input{x}", r"\textbackslash{}input\{x\}"),
    ],
)
def test_latex_escapes_and_sets_names(text, expected):
    assert latex(text) == expected


@given(st.text())
def test_latex_leaves_no_command_of_the_text(text):
    plain = latex("x" + text)
    for special in "$&#%_{}":
        assert plain.replace("\\" + special, "").count(special) == latex_allowed(plain, special)


def latex_allowed(text: str, special: str) -> int:
    """How often our own replacements use a special character unescaped."""
    rest = text.replace("\\" + special, "")
    return rest.count(special) if special in "${}_" else 0


@given(st.text())
def test_markdown_cells_stay_one_cell(text):
    cell = markdown(text)
    assert "\n" not in cell
    assert "<" not in cell
    assert cell.replace("\\\\", "").replace("\\|", "").count("|") == 0


def test_a_table_in_three_formats():
    assert as_markdown(TABLE, "a-label").splitlines()[2:4] == ["| u | text |", "|---|---|"]
    assert len(as_markdown(TABLE, "a-label").splitlines()) == 6
    tex = as_latex(TABLE, "a-label")
    assert r"\label{tab:a-label}" in tex
    assert tex.count(r"\end{table}") == 1
    assert tex.count(r"\\") == 3
    assert r"\label{app:x}" in as_latex(TABLE, "app:x")
    assert list(csv.reader(io.StringIO(as_csv(TABLE, "")))) == [["u", "text"], ["1", NASTY], ["v1 & v2", "two\nlines"]]


@pytest.mark.parametrize("label", TABLES)
def test_every_table_can_be_made(label, view):
    content = TABLES[label].make(view)
    assert content.rows
    assert all(len(row) == len(content.columns) for row in content.rows)
    assert all(len(row) == len(content.data_columns) for row in content.data_rows)
    assert "quick" in content.caption.lower()
    tex = as_latex(content, label)
    assert tex.count(r"\begin{tabular}") == 1
    assert "<b>" not in as_markdown(content, label)


def test_csv_has_full_numbers_and_intervals(view):
    rows = list(csv.DictReader(io.StringIO(as_csv(TABLES["app-whole-iia"].make(view), ""))))
    u = next(row for row in rows if (row["condition"], row["metric"]) == ("u", "whole"))
    assert (float(u["mean"]), float(u["lo"]), int(u["n"])) == (0.46, 0.46 - 0.04, 64)


def test_an_answer_without_a_number_is_shown_as_text(view):
    rows = TABLES["app-patch-examples"].make(view).rows
    assert rows[-1][-1] == "'x_1'"
