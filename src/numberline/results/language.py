"""How does a report speak of what was compared? The words of a task's concept, as run.json holds them.

A report is made from a run's folder alone and knows no task. So a run writes down what figures, captions and claims
need of its concept: the question with an example, the words for a value and for the winner, and the axis on which
components are drawn. Without more it is the paper's question, the maximum of whole numbers.
"""

from typing import Literal

from pydantic import BaseModel, Field


class Language(BaseModel, frozen=True, strict=True, extra="forbid"):
    """What a report needs of a concept, in words that stand inside a sentence."""

    name: str = "max"
    """The task, as the user names it."""
    stem: str = "The maximum of"
    """How the question begins."""
    question: str = "The maximum of 60 and 10 is"
    """The question with two values in place."""
    winner: str = "larger"
    """Which of two values is asked for: the larger, the later, the older."""
    best: str = "largest"
    """Which of many: the largest, the latest, the oldest."""
    noun: str = "number"
    """One value."""
    nouns: str = "numbers"
    """Several values."""
    axis: str = "number"
    """What stands at an axis along which values lie."""
    scale: Literal["log", "linear"] = "log"
    """The scale on which a component is expected to be straight."""
    sign: Literal[1, -1] = 1
    """1 where the greater value wins, −1 where the lesser does."""
    extent: str = "10 to 99"
    """All values, in words."""
    spelled: dict[int, str] = Field(default_factory=dict)
    """How a value is written, where not as its decimal digits."""

    def spell(self, value: int) -> str:
        """A value as it stands in a prompt."""
        return self.spelled.get(value, str(value))
