"""What is a figure here? A declaration (exhibit.py) and panels. A panel is a function that draws into its axes and
returns its sentence of the caption, so that picture and words come from the same numbers:

    def attention(axes: Axes, view: RunView) -> str:
        rows = view.run.result("k2.transport").table("attention")
        …
        return "Attention of head L14.H14 from y2 to y1, by the value of y1."

A panel whose result is missing says so in its place and in the caption; a figure all of whose panels are missing is not
drawn, and the reason is listed.
"""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from numberline.report import error_bars, style
from numberline.report.exhibit import Exhibit
from numberline.report.view import RunView
from numberline.results.table import NotMeasuredError

Panel = Callable[[Axes, RunView], str]


@dataclass(frozen=True)
class Drawing:
    """A drawn figure and its caption in plain words."""

    figure: Figure
    caption: str


class FigureSpec(Exhibit[Drawing]):
    """A figure as it is declared."""


figure = FigureSpec.declare


def compose(page: Figure, view: RunView, axes: Mapping[str, Axes], panels: Mapping[str, Panel], lead: str) -> Drawing:
    """Draw each panel into its axes; the caption: the lead, the panels' sentences, what error bars are."""
    sentences: list[str] = []
    reasons: list[str] = []
    bars: dict[str, str] = {}
    for letter, panel in panels.items():
        try:
            sentence = panel(axes[letter], view)
            named = axes[letter].get_title("left")
        except NotMeasuredError as missing:
            reasons.append(str(missing))
            sentence, named = f"Not measured: {missing}.", ""
            _explain(axes[letter], str(missing))
        if len(panels) > 1:
            style.title(axes[letter], letter, named)
            sentence = f"({letter}) {sentence}"
        sentences.append(sentence)
        bars[letter] = error_bars.said(axes[letter])
    if len(reasons) == len(panels):
        raise NotMeasuredError("; ".join(dict.fromkeys(reasons)))
    return Drawing(page, caption(view, lead, [*sentences, error_bars.sentence(bars)]))


def caption(view: RunView, lead: str, sentences: Sequence[str] = ()) -> str:
    """A caption: what is shown, of which model, panel by panel, and how small the run was."""
    end = f" ({view.note[0].upper()}{view.note[1:]}.)" if view.note else ""
    return " ".join([f"{view.model}: {lead.rstrip('.')}.", *filter(None, sentences)]) + end


def _explain(axes: Axes, reason: str) -> None:
    """Words in place of a panel."""
    axes.clear()
    axes.set_axis_off()
    text = textwrap.fill(f"not measured: {reason}", 34)
    axes.text(0.5, 0.5, text, ha="center", va="center", transform=axes.transAxes, fontsize=6.5, color=style.GREY)
