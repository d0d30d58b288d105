"""What is asked: the prompts of the paper, and who wins.

A task is a concept, how many operands there are, and for whole numbers how many digits each has. A new question is a
new concept (concept.py), not new code.

The paper's prompt is a one-shot completion: an instruction, one solved exemplar, and the question, ending in one space.
Two operands are joined by "and" after the exemplar (12, 4); three or more are listed after the exemplar (12, 437, 5).
Other words for the same question are variants of the concept (variants.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from numberline.errors import NumberlineError
from numberline.tasks.concept import Concept, Sentence
from numberline.tasks.concepts.whole_numbers import MAX

INSTRUCTION = "Answer in the following format with a single answer."


@dataclass(frozen=True)
class Task:
    """`k` operands, and what is asked about them. `listed` is the format of three or more, which two can have too."""

    concept: Concept = MAX
    k: int = 2
    digits: int | None = None
    listed: bool | None = None

    def __post_init__(self) -> None:
        if self.k < 2:
            raise NumberlineError(f"a comparison needs at least two operands, not k={self.k}: use k=2 or more")
        if self.digits not in (None, self.concept.digits):
            object.__setattr__(self, "concept", self.concept.with_digits(self.digits))
        object.__setattr__(self, "digits", self.concept.digits)
        object.__setattr__(self, "listed", self.k > 2 if self.listed is None else self.listed)

    @property
    def values(self) -> range:
        """Every value an operand can take: [10, 100) for two digits."""
        return self.concept.values

    @property
    def extent(self) -> str:
        """Those values in words: "10 to 99"."""
        return f"{self.spell(self.values[0])} to {self.spell(self.values[-1])}"

    @property
    def gap(self) -> int:
        """The minimum gap g between the values of a sampled tuple: the paper's 10 for two digits, 100 for three."""
        return self.concept.gap

    @property
    def operands(self) -> tuple[str, ...]:
        """The operands' names: y1, y2, …"""
        return tuple(f"y{i}" for i in range(1, self.k + 1))

    @property
    def sentence(self) -> Sentence:
        """The question's format."""
        return self.concept.sentence(bool(self.listed))

    @property
    def gap_before_answer(self) -> str:
        """The space that an answer begins with, where the prompt does not end in it."""
        paper = (self.concept.several if self.listed else self.concept.pair).end + self.concept.shown
        return paper[len(self.sentence.end) :]

    def spell(self, value: int) -> str:
        """A value as it stands in a prompt."""
        return self.concept.spell(value)

    def continued(self, value: int) -> str:
        """A value as it stands after a prompt that shows what all values begin with."""
        return self.spell(value).removeprefix(self.concept.shown)

    def question(self, values: Sequence[int]) -> str:
        """The question for these operands, ending in one space."""
        return self._statement([self.spell(value) for value in values])

    def prompt(self, values: Sequence[int]) -> str:
        """The whole prompt for these operands, ending in one space."""
        if len(values) != self.k:
            raise NumberlineError(f"the task has k={self.k} operands but {len(values)} were given: {tuple(values)}")
        return self._beginning + self.question(values)

    def turns(self, values: Sequence[int]) -> list[dict[str, str]]:
        """The same as a conversation: solved examples that the model has answered, and the question."""
        said = [INSTRUCTION, *(text for question, answer in self._examples for text in (question.strip(), answer))]
        said = [f"{said[0]} {said[1]}", *said[2:], self.question(values).strip()]
        return [{"role": "assistant" if i % 2 else "user", "content": text} for i, text in enumerate(said)]

    def answer(self, values: Sequence[int]) -> int:
        """The operand that wins."""
        return self.concept.winner(values)

    def lead(self, value: int) -> str:
        """What the first answer token shows of a value: its leading digit. Sampled operands never share it."""
        return self.concept.lead(self.spell(value))

    def spans(self, values: Sequence[int]) -> tuple[tuple[int, int], ...]:
        """Where each operand stands in `question(values)`: its first character, and one past its last."""
        end = 0
        spans = []
        for before, value in zip(self.sentence.pieces(self.k), values, strict=False):
            start = end + len(before)
            end = start + len(self.spell(value))
            spans.append((start, end))
        return tuple(spans)

    @cached_property
    def _beginning(self) -> str:
        """What every prompt begins with: the instruction and the solved examples."""
        solved = "".join(f"{question}{self.gap_before_answer}{answer}. " for question, answer in self._examples)
        return f"{INSTRUCTION} {solved}"

    @property
    def _examples(self) -> list[tuple[str, str]]:
        """Each solved example: the question about its operands, and the answer."""
        found = []
        for words in self.concept.examples(bool(self.listed)):
            values = [value for value in map(self.concept.parse, words) if value is not None]
            found.append((self._statement(words), self.continued(self.answer(values))))
        return found

    def _statement(self, words: Sequence[str]) -> str:
        *before, end = self.sentence.pieces(len(words))
        return "".join(piece + word for piece, word in zip(before, words, strict=True)) + end
