"""How do values lie along an axis? At their concept's coordinates, and under its words where they are not numbers."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis

from numberline.results.arrays import Array
from numberline.results.language import Language

NAMED = 4
"""How many values are named along an axis of words."""
WORD_SIZE = 4.5
"""Of the words along a small map."""


def symbol(operand: str) -> str:
    """An operand as the paper writes it."""
    return f"${operand[0]}_{operand[1:]}$"


def label(language: Language, operand: str) -> str:
    """An operand at an axis: y1, or y1 (month)."""
    return symbol(operand) + (f" ({language.axis})" if language.axis else "")


def places(language: Language, values: Array | Sequence[int]) -> Array:
    """Where values lie along an axis."""
    return np.array([language.place(int(value)) for value in values])


def name(axis: Axis, language: Language, operand: str) -> None:
    """Name an axis after an operand, and its ticks after values where these are words."""
    axis.set_label_text(label(language, operand))
    if language.spelled:
        listed = sorted(language.spelled)[:: -(-len(language.spelled) // NAMED)]
        axis.set_ticks([language.place(value) for value in listed], [language.spell(value) for value in listed])


def name_cells(axes: Axes, language: Language, shown: Sequence[float | int]) -> None:
    """Ticks of a map whose cells are values, along both axes: these values, or their words."""
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(shown)
        if language.spelled:
            axis.set_ticklabels([language.spell(round(value)) for value in shown], fontsize=WORD_SIZE)


def straight(language: Language, operand: str) -> str:
    """The line that is fitted, in words: p log y1 + q."""
    return f"p {language.scaled(operand)} + q"


def straight_symbol(language: Language, operand: str = "") -> str:
    """The same in symbols; of any operand unless one is given."""
    of = symbol(operand).strip("$") if operand else "y"
    return rf"$p\,\log\,{of}+q$" if language.scale == "log" else rf"$p\,{of}+q$"
