"""What does an error bar show? One function draws them all, from rows of a table, and the caption says what they are.

1. A bar reaches from `lo` to `hi` of its row: the 95 % interval that the tables print and the claims judge.
2. A drawn bar remembers the rows that it shows. Which kind of interval these have is read off their numbers: where
   `lo` and `hi` are the Wilson interval of the row's mean and n, it is Wilson's; else it is a bootstrap's, over draws
   too where the row has several. A mean that a figure takes over rows says itself what it has (`interval`).
3. `said` is the sentence of some axes, with the n of the rows; `figure.compose` puts it into every caption.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isclose
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer

from numberline.estimates import wilson
from numberline.report.view import join
from numberline.results.formatting import count
from numberline.results.table import Row

WILSON, BOOTSTRAP, NORMAL = "Wilson", "bootstrap", "normal"
KINDS = (WILSON, BOOTSTRAP, NORMAL)
OVER_DRAWS = ", those of random controls over draws too"


class Intervals(ErrorbarContainer):
    """Error bars that know the rows whose intervals they show, and what those rows are counted in."""

    def __init__(self, drawn: ErrorbarContainer, rows: Sequence[Row], over: str) -> None:
        super().__init__(drawn.lines, drawn.has_xerr, drawn.has_yerr, label=drawn.get_label())
        self.kinds = {kind(row) for row in rows}
        self.counts = {int(row["n"]) for row in rows}
        self.over_draws = any(row.get("draws", 1) > 1 and kind(row) != WILSON for row in rows)
        self.over = over


def draw(axes: Axes, x: Sequence[float] | Any, rows: Sequence[Row], over: str = "examples", **look: Any) -> None:
    """Points with error bars (with fmt="none" only the bars): the intervals of rows, which are counted in `over`."""
    means = np.array([row["mean"] for row in rows], dtype=float)
    errors = np.array([[row["mean"] - row["lo"] for row in rows], [row["hi"] - row["mean"] for row in rows]])
    # A bootstrap's percentiles need not enclose the mean of very few examples.
    drawn = axes.errorbar(x, means, np.maximum(errors, 0), **look)
    axes.containers[-1] = Intervals(drawn, rows, over)


def kind(row: Row) -> str:
    """How a row's interval was made: by Wilson's formula or by a bootstrap, unless it says so itself."""
    if "interval" in row:
        return str(row["interval"])
    right = round(row["mean"] * row["n"])
    if row["n"] and 0 <= right <= row["n"] and isclose(right / row["n"], row["mean"], abs_tol=1e-9):
        share = wilson([True] * right + [False] * (row["n"] - right))
        if isclose(share.lo, row["lo"], abs_tol=1e-6) and isclose(share.hi, row["hi"], abs_tol=1e-6):
            return WILSON
    return BOOTSTRAP


def said(axes: Axes) -> str:
    """What the error bars of some axes are, insets included; nothing where there are none."""
    found = list(_drawn(axes))
    if not found:
        return ""
    kinds = set().union(*(bars.kinds for bars in found))
    named, over = join([name for name in KINDS if name in kinds]), join(list(map(_n, _by_unit(found))))
    return f"95 % {named} intervals over {over}{OVER_DRAWS if any(bars.over_draws for bars in found) else ''}"


def _drawn(axes: Axes) -> Iterator[Intervals]:
    yield from (bars for bars in axes.containers if isinstance(bars, Intervals))
    for inset in axes.child_axes:
        assert isinstance(inset, Axes)
        yield from _drawn(inset)


def _by_unit(found: Iterable[Intervals]) -> Iterator[tuple[str, set[int]]]:
    units: dict[str, set[int]] = {}
    for bars in found:
        units.setdefault(bars.over, set()).update(bars.counts)
    yield from units.items()


def _n(unit: tuple[str, set[int]]) -> str:
    over, counts = unit
    few, many = count(min(counts)), count(max(counts))
    return f"n = {many} {over}" if few == many else f"n = {few} to {many} {over}"


def sentence(parts: Mapping[str, str]) -> str:
    """What the error bars of a figure's panels are, by letter; said once where all that have any are alike."""
    letters: dict[str, list[str]] = {}
    for letter, words in parts.items():
        if words:
            letters.setdefault(words, []).append(letter)
    if not letters:
        return ""
    alike = len(letters) == 1 and len(next(iter(letters.values()))) == len(parts)
    named = [words if alike else f"({', '.join(own)}) {words}" for words, own in letters.items()]
    return f"Error bars: {'; '.join(named)}."
