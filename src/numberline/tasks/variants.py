"""In which other words can the same question be asked? The prompt of the paper, and its variants, declared once.

A model that fails on the paper's prompt may well compare numbers: it was trained on a chat, needs more examples, or its
tokenizer writes a number together with the space before it. A variant changes the words around the operands and nothing
else: the populations, who wins, and what is measured stay the same. `numberline check MODEL` says which one a model
answers best, `numberline run MODEL --prompt NAME` uses it.

1. `paper`: an instruction, one solved example, the question, and one space.
2. `no-space`: the same without the last space, which then belongs to the answer (" 60").
3. `few-shot`: the same with three more solved examples, in which the winner stands in every place.
4. `larger-of`: the question in the concept's own comparative, "The larger of 60 and 10 is ".
5. `chat`: the solved example and the question as turns of the model's own chat template.

A variant that says the same as the paper's prompt (a concept that asks for "the later of" anyway) is none of that
concept, and one that a tokenizer cannot have (no chat template, answers that begin alike) is refused with the reason.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Variant:
    """How a question is written, beside its words."""

    name: str
    what: str
    shots: int = 1
    """How many solved examples stand before the question."""
    space: bool = True
    """Whether the space before the answer is a part of the prompt."""
    comparative: bool = False
    """Whether "the larger of" is asked in place of the concept's own stem."""
    chat: bool = False
    """Whether the tokenizer's chat template is used."""


PAPER_PROMPT = Variant("paper", "the paper's: an instruction, one solved example, the question, a space")
VARIANTS: Mapping[str, Variant] = {
    variant.name: variant
    for variant in (
        PAPER_PROMPT,
        Variant("no-space", "without the space at the end", space=False),
        Variant("few-shot", "with four solved examples", shots=4),
        Variant("larger-of", "in other words: the larger of", comparative=True),
        Variant("chat", "in the model's chat template", chat=True),
    )
}

FURTHER_EXAMPLES = ((0.2, 0.7, 0.45), (0.9, 0.4, 0.65), (0.35, 0.55, 0.75))
"""Where among a concept's values the operands of further solved examples lie. With the paper's, whose first of two and
second of three wins, every place wins at least once."""
