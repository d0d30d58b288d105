"""What do a figure and a table of the page have in common? They are declared once, and the declaration says it all:

    @figure(
        "app-trace-k2",
        section=Section.PLACES, order=1,
        needs=("k2.trace",),
        question="At which layer and token does each operand matter?",
        paper=("layout_two", "scale"),
    )
    def trace(view: RunView) -> Drawing:
        \"""Causal trace of two {nouns} over layers and tokens.\"""

The heading, the question and the section's name have a run's words in place of what stands in braces
(`Language.say`).

The label names its files, the first line of the docstring is its heading, and it stands in its section of the page at
its place, with the question that it answers and the paper's numbers (keys of claims/paper_values.toml) beside it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, Self, TypeVar

from numberline.report.view import RunView

Made = TypeVar("Made")


class Section(StrEnum):
    """The sections of the page, in the paper's order."""

    ALGORITHM = "The algorithm"
    TWO = "Two {nouns}"
    THREE = "Three {nouns}"
    BEHAVIOUR = "Behaviour"
    PLACES = "Where the computation happens"
    NUMBERS = "Individual {nouns}"
    SHARED = "The shared representation"
    NEURONS = "The comparator neurons"
    THREE_IN_DETAIL = "Three {nouns} in detail"
    WHOLE = "The whole generated {noun}"
    BEYOND = "Beyond the paper"
    SETUP = "Setup"


@dataclass(frozen=True)
class Exhibit(Generic[Made]):
    """A figure or a table as it is declared. `order` is its place in its section."""

    label: str
    section: Section
    order: int
    needs: tuple[str, ...]
    question: str
    paper: tuple[str, ...]
    make: Callable[[RunView], Made]

    @classmethod
    def declare(
        cls, label: str, *, section: Section, order: int, needs: Sequence[str], question: str, paper: Sequence[str] = ()
    ) -> Callable[[Callable[[RunView], Made]], Self]:
        """What stands above the function that makes it."""
        return lambda make: cls(label, section, order, tuple(needs), question, tuple(paper), make)

    @property
    def heading(self) -> str:
        """Its one-line title: the first line of the docstring."""
        return (self.make.__doc__ or self.label).strip().splitlines()[0].rstrip(".")

    @property
    def place(self) -> tuple[int, int]:
        """Where on the page it stands."""
        return list(Section).index(self.section), self.order
