"""With which tokenizers can a concept be used? Asked of a tokenizer alone: no weights are read.

1. A prompt of the concept, of two operands and of three, is laid out as a run would (`ability.layout`): every operand
   must have tokens of its own, in equally many for all values, and answers must begin with different tokens.
2. Where the paper's prompt is refused for its last space, the one without it may do.
3. Else the reason for the refusal is given.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from numberline.engine.prompts import Tokenizer
from numberline.errors import NumberlineError
from numberline.tasks.ability import Layout, layout
from numberline.tasks.concept import Concept
from numberline.tasks.task import Task

PROMPTS = ("paper", "no-space")
"""The prompts whose tokens may differ around an operand or an answer."""
MOST = 40
"""About how many values are looked at, evenly spread; a run looks at all."""


@dataclass(frozen=True)
class Usable:
    """Whether a concept can be asked about, and in which prompt."""

    k: int
    prompt: str | None
    layout: Layout | None
    why: str = ""

    def __str__(self) -> str:
        if self.layout is None:
            return f"not usable with this tokenizer, because {self.why}"
        option = "" if self.prompt == PROMPTS[0] else f" with --prompt {self.prompt}"
        return f"usable{option}: {self.layout}"

    def like(self, other: "Usable") -> bool:
        """Whether the same can be said for another number of operands."""
        return (self.prompt, self.why) == (other.prompt, other.why)


def usable(tokenizer: Tokenizer, concept: Concept, k: int = 2, most: int | None = MOST) -> Usable:
    """The first prompt that a tokenizer can have, or why it can have none."""
    refused: list[str] = []
    for prompt in (name for name in PROMPTS if name in concept.prompts):
        try:
            return Usable(k, prompt, layout(tokenizer, Task(concept.asked(prompt), k), most))
        except NumberlineError as error:
            refused.append(str(error).rpartition(": ")[0] or str(error))  # what to do is for a run to say
    return Usable(k, None, None, refused[0])


def usability(tokenizer: Tokenizer, concept: Concept) -> Iterator[Usable]:
    """For two operands and for three."""
    for k in (2, 3):
        yield usable(tokenizer, concept, k)
