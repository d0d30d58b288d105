"""Which figures, tables and plots are there? All that are declared, in the paper's order.

A new figure is a function with `@figure` in a file of `figures/`, a table one with `@table` in `paper_tables/`, and a
plot to look closer at one with `@interactive` in `interactive/`: nothing else names them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from numberline.discovery import by_name, declared
from numberline.report.exhibit import Exhibit, Section
from numberline.report.figure import FigureSpec
from numberline.report.interactive.plot import PlotSpec
from numberline.report.tables import TableSpec

Spec = TypeVar("Spec", FigureSpec, TableSpec)


def in_order(specs: Sequence[Spec]) -> dict[str, Spec]:
    """Figures or tables by label, as they follow one another on the page."""
    return by_name(sorted(specs, key=lambda spec: spec.place), lambda spec: spec.label)


FIGURES: Mapping[str, FigureSpec] = in_order(declared(FigureSpec, "numberline.report.figures"))
TABLES: Mapping[str, TableSpec] = in_order(declared(TableSpec, "numberline.report.paper_tables"))
EXHIBITS: Mapping[str, Exhibit[Any]] = {**FIGURES, **TABLES}
"""Figures, then tables: the order in which they are made."""

PLOTS: Mapping[str, tuple[PlotSpec, ...]] = {
    label: tuple(found)
    for label in FIGURES
    if (found := [plot for plot in declared(PlotSpec, "numberline.report.interactive") if plot.under == label])
}
"""Plots to look closer at, by the label of the figure under which they stand."""

SECTIONS: Mapping[str, tuple[str, ...]] = {
    section.value: tuple(
        spec.label for spec in sorted(EXHIBITS.values(), key=lambda spec: spec.place) if spec.section is section
    )
    for section in Section
}
"""The sections of the page, in the paper's order, with the labels of what stands in each."""
