"""Every figure, table and plot in the words of another concept: days of the year, on a linear axis."""

import json
import re
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from matplotlib.text import Text
from synthetic import make_run

from numberline.report.registry import FIGURES, PLOTS, TABLES
from numberline.report.view import RunView
from numberline.results.folder import RunFolder
from numberline.results.language import Language
from numberline.results.result import Result

DAYS = Language(
    name="days",
    function="latest",
    question="The later of day 60 and day 10 is",
    example=("day 60", "day 10"),
    noun="day",
    nouns="days",
    larger="later",
    largest="latest",
    smaller="earlier",
    extreme="latest",
    extremes="latest days",
    adjective="day",
    part="word",
    mixed=False,
    scale="linear",
    axis="day",
    middle="day 55",
    spelled={value: f"day {value}" for value in range(10, 1000)},
)
NUMBERS = re.compile(
    r"\b[Nn]umbers?\b(?! of operands)|[Mm]axim|\bdigits?\b|\blog[\\, ]*y|\blarge[rs]t?\b(?! (recovery|mean))"
)


def on_a_line(result: Result) -> Result:
    """As an experiment writes it where the scale is linear."""
    tables = {name.replace("log_fits", "linear_fits"): table for name, table in result.tables.items()}
    for name, table in tables.items():
        if "target" in table.column_names:
            plain = pc.replace_substring(table["target"], "log_", "")
            tables[name] = table.set_column(table.column_names.index("target"), "target", pa.chunked_array(plain))
    return replace(result, tables=tables)


@pytest.fixture(scope="module")
def view(tmp_path_factory) -> RunView:
    return RunView(RunFolder.open(make_run(tmp_path_factory.mktemp("days"), language=DAYS, change=on_a_line)))


def said_wrongly(text: str) -> list[str]:
    return [found.group() for found in NUMBERS.finditer(text)]


def test_words_of_numbers_would_be_found():
    for text in ("two numbers", "p log y1 + q", r"$p\,\log\,y_1+q$", "the larger", "first digit", "The maximum of"):
        assert said_wrongly(text) != [], text
    assert said_wrongly("k = 2 is the number of operands; the largest recovery is 1; later") == []


@pytest.mark.parametrize("label", [label for label in FIGURES if label != "app-three-digit"])
def test_a_figure_speaks_of_days(view, label):
    drawing = FIGURES[label].make(view)
    assert said_wrongly(drawing.caption) == []
    drawn = " | ".join(text.get_text() for text in drawing.figure.findobj(Text))
    assert said_wrongly(drawn) == []


@pytest.mark.parametrize("label", list(TABLES))
def test_a_table_speaks_of_days(view, label):
    content = TABLES[label].make(view)
    # The made-up run holds three digits and populations of numbers, which a run of days does not.
    rows = [row for row in content.rows if not any(name in str(row) for name in ("three digits", "-digit "))]
    printed = " | ".join(str(cell) for row in [content.columns, *rows] for cell in row)
    assert said_wrongly(f"{content.caption} {printed}") == []


@pytest.mark.parametrize(("label", "place"), [(label, i) for label, made in PLOTS.items() for i in range(len(made))])
def test_a_plot_speaks_of_days(view, label, place):
    plot = PLOTS[label][place].make(view)
    names = [*plot.views.names, plot.views.asks] if plot.views else []
    shown = json.dumps({key: plot.content[key] for key in ("data", "layout")}, ensure_ascii=False)
    assert said_wrongly(" | ".join([plot.says.replace("neuron's number", ""), *map(str, names)])) == []
    assert said_wrongly(" | ".join(re.findall(r'"([^"]*)"', shown)).replace("neuron's number", "")) == []
