"""How does a report speak of what was compared? The words of a task's concept, as run.json holds them.

A report is made from a run's folder alone and knows no task. So a run writes down what figures, captions, tables and
claims need of its concept: the question with an example, the words for a value and for the winner, how values are
written, and the axis on which components are drawn. Without more it is the paper's question, the maximum of two-digit
whole numbers.

A text that is declared before any run (a heading, a claim's sentence) has the words' names in braces, and `say` puts
the words there: "how the model compares {nouns}". Other names in braces stay, for whoever knows them.
"""

import re
from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, Field


class Language(BaseModel, frozen=True, strict=True, extra="forbid"):
    """What a report needs of a concept, in words that stand inside a sentence."""

    name: str = "max"
    """The concept."""
    function: str = "max"
    """The question as a function: max(y1, …, yk)."""
    question: str = "The maximum of 60 and 10 is"
    """The question with two values in place."""
    example: tuple[str, str] = ("60", "10")
    """Those values as they are written."""
    noun: str = "number"
    """One value."""
    nouns: str = "numbers"
    """Several values."""
    larger: str = "larger"
    """Which of two values is asked for: the larger, the later, the older."""
    largest: str = "largest"
    """Which of many."""
    smaller: str = "smaller"
    """The other of two."""
    extreme: str = "maximum"
    """The winner as a noun."""
    extremes: str = "maxima"
    """Several winners."""
    adjective: str = "two-digit"
    """What stands before "pairs", "triples" and "prompts"."""
    part: str = "digit"
    """What each token of a value shows of it."""
    mixed: bool = True
    """Whether an answer can mix two values: the first part of one and the last of another."""
    sign: Literal[1, -1] = 1
    """1 where the greater value wins, −1 where the lesser does."""
    scale: Literal["log", "linear"] = "log"
    """The scale on which a component is expected to be straight."""
    axis: str = ""
    """What stands beside an operand's name at an axis."""
    extent: str = "10 to 99"
    """All values, in words."""
    middle: str = "55"
    """The value in the middle."""
    spelled: dict[int, str] = Field(default_factory=dict)
    """How a value is written, where not as its decimal digits."""
    coordinates: dict[int, float] = Field(default_factory=dict)
    """Where a value lies on an axis, where not at itself."""

    @property
    def greater(self) -> str:
        """The word for the greater of two values, whichever is asked for."""
        return self.larger if self.sign > 0 else self.smaller

    @property
    def fits(self) -> str:
        """The table of fits on this scale."""
        return f"{self.scale}_fits"

    def spell(self, value: int) -> str:
        """A value as it stands in a prompt."""
        return self.spelled.get(value, str(value))

    def place(self, value: int) -> float:
        """Where a value lies on an axis."""
        return self.coordinates.get(value, float(value))

    def winner(self, values: Iterable[int]) -> int:
        """The value that answers the question."""
        return max(values, key=lambda value: self.sign * value)

    def scaled(self, operand: str) -> str:
        """What a component is straight against: log y1, or y1."""
        return f"log {operand}" if self.scale == "log" else operand

    @property
    def words(self) -> dict[str, str]:
        """Every word by its name."""
        return {name: value for name, value in self if isinstance(value, str)}

    def say(self, text: str) -> str:
        """A declared text with these words in place of their names; {Noun} stands at the beginning of a sentence."""
        words = {**self.words, "Noun": self.noun.capitalize()}
        return re.sub(r"\{(\w+)\}", lambda name: words.get(name.group(1), name.group()), text)


PAPER = Language()
"""The paper's question: what is not said is as there."""
