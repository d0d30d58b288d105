"""What captions must say: which position recovery is shown, and what error bars are, of how many examples."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pyarrow.compute as pc
import pytest
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from synthetic import make_run, results

from numberline.errors import NumberlineError
from numberline.estimates import wilson
from numberline.library import open_run
from numberline.report import error_bars
from numberline.report.error_bars import Intervals
from numberline.report.figure import compose
from numberline.report.recovery import Recovery
from numberline.report.registry import FIGURES, TABLES
from numberline.report.view import RunView
from numberline.results.folder import RunFolder
from numberline.results.result import Result


def all_axes(page) -> Iterator[Axes]:
    """Every axes of a figure, those in parts of the page and in other axes included."""
    for axes in page.axes:
        yield axes
        yield from (inset for inset in axes.child_axes if isinstance(inset, Axes))


def whole(text: str) -> int:
    return int(text.replace(",", ""))


@pytest.mark.parametrize("label", FIGURES)
def test_a_caption_says_what_the_error_bars_are_and_of_how_many(label, drawings):
    drawing = drawings[label][0]
    bars = [
        each
        for axes in all_axes(drawing.figure)
        for each in axes.containers
        if isinstance(each, ErrorbarContainer) and (each.has_yerr or each.has_xerr)
    ]
    assert all(isinstance(each, Intervals) for each in bars), "an error bar that was not drawn by error_bars.draw"
    said = drawing.caption.partition("Error bars: ")[2]
    assert bool(said) == bool(bars)
    ranges = re.findall(r"n = ([\d,]+)(?: to ([\d,]+))? (\w+)", said)
    for each in bars:
        assert all(
            any(whole(few) <= n <= whole(many or few) and each.over.startswith(over) for few, many, over in ranges)
            for n in each.counts
        )
        assert all(kind in said for kind in each.kinds)
        assert not each.over_draws or "over draws too" in said


def test_the_kind_of_an_interval_is_read_off_its_numbers():
    right = wilson([True] * 60 + [False] * 4).columns
    assert error_bars.kind(right) == "Wilson"
    assert error_bars.kind({**right, "lo": right["lo"] + 0.01}) == "bootstrap"
    assert error_bars.kind(wilson([True] * 64).columns) == "Wilson"
    assert error_bars.kind({"mean": 1.0, "n": 64, "lo": 1.0, "hi": 1.0}) == "bootstrap"
    assert error_bars.kind({"mean": 1.7, "n": 64, "lo": 1.5, "hi": 1.9}) == "bootstrap"
    assert error_bars.kind({**right, "interval": error_bars.NORMAL}) == "normal"


def test_panels_whose_error_bars_differ_are_told_apart(view):
    page = Figure()
    first, second, third = page.subplots(1, 3)
    share, score = wilson([True] * 60 + [False] * 4).columns, {"mean": 1.7, "n": 9, "lo": 1.5, "hi": 1.9}

    def panel(rows, over="examples"):
        def drawn(axes, _):
            for row in rows:
                error_bars.draw(axes, [0], [row], over)
            return "It."

        return drawn

    chosen = {"a": panel([share]), "b": panel([share, score], "prompts"), "c": panel([])}
    drawing = compose(page, view, {"a": first, "b": second, "c": third}, chosen, "Lead")
    assert (
        "(c) It. Error bars: (a) 95 % Wilson intervals over n = 64 examples; (b) 95 % Wilson and bootstrap intervals "
        "over n = 9 to 64 prompts."
    ) in drawing.caption


def without(metric: str):
    """A run in whose results one of the metrics is nowhere."""

    def change(result: Result) -> Result:
        kept = {
            name: table.filter(pc.not_equal(table["metric"], metric)) if "metric" in table.column_names else table
            for name, table in result.tables.items()
        }
        return replace(result, tables=kept)

    return change


@pytest.fixture(scope="module")
def only_the_papers(tmp_path_factory) -> RunFolder:
    return RunFolder.open(make_run(tmp_path_factory.mktemp("papers"), change=without("pooled")))


@pytest.mark.parametrize("label", FIGURES)
def test_a_figure_of_recovery_shows_either_and_says_which(label, drawings, only_the_papers):
    """With the paper's recovery chosen, a figure is the same without a single pooled score."""
    pooled = drawings[label][0].caption
    if "recovery" not in pooled.lower():
        return
    papers = FIGURES[label].make(RunView(only_the_papers, Recovery.PAPER)).caption
    assert Recovery.POOLED.words in pooled.lower()
    assert Recovery.PAPER.words in papers.lower()
    assert Recovery.POOLED.words not in papers.lower()
    assert "ot measured" not in papers


def test_tables_and_python_have_the_choice_too(only_the_papers):
    table = TABLES["tab:app-directions"].make(RunView(only_the_papers, Recovery.PAPER))
    assert Recovery.PAPER.words in table.caption
    assert not any("not measured" in row for row in table.rows)
    run = open_run(only_the_papers.path)
    assert run.figure("app-k3-dissociation", recovery="paper").axes
    with pytest.raises(NumberlineError, match="there is no recovery 'mean': choose from pooled, paper"):
        run.figure("app-k3-dissociation", recovery="mean")
    assert results()["k3.directions"].rows("specificity"), "the results do have specificity"
