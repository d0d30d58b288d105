"""What is asked: the prompts of the paper, and who wins.

A task is a declaration. `Kind` says what the question is ("The maximum of …") and which value wins it; `Task` adds how
many operands there are and how many digits each has. A new question is a new `Kind`, not new code: `min` is one.

The paper's prompt is a one-shot completion: an instruction, one solved exemplar, and the question, ending in one space.
Two operands are joined by "and" after the exemplar (12, 4); three or more are listed after the exemplar (12, 437, 5).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from numberline.errors import NumberlineError

INSTRUCTION = "Answer in the following format with a single answer."
PAIR_EXEMPLAR = (12, 4)
LIST_EXEMPLAR = (12, 437, 5)


@dataclass(frozen=True)
class Kind:
    """A question about ordered things: its words, which end of the order wins, and how a value is written.

    Whole numbers need no more. Other things (months, dates) also say which `values` exist, the `gap` that sampled
    values keep, and the `lead` of a word: what the first answer token shows of it (a leading digit, a month's name).
    """

    name: str
    stem: str
    sign: int
    spell: Callable[[int], str] = field(default=str, repr=False)
    lead: Callable[[str], str] = field(default=lambda word: word[0], repr=False)
    values: range | None = None
    gap: int | None = None

    def winner(self, values: Sequence[int]) -> int:
        """The value that answers the question."""
        return max(values, key=lambda value: self.sign * value)


MAX = Kind("max", "The maximum of", +1)
MIN = Kind("min", "The minimum of", -1)
KINDS = {kind.name: kind for kind in (MAX, MIN)}


@dataclass(frozen=True)
class Task:
    """`k` operands of `digits` digits each, and what is asked about them."""

    kind: Kind = MAX
    k: int = 2
    digits: int = 2
    exemplar: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.k < 2:
            raise NumberlineError(f"a comparison needs at least two operands, not k={self.k}: use k=2 or more")
        if self.digits < 1:
            raise NumberlineError(f"operands need at least one digit, not {self.digits}: use digits=2 or digits=3")
        if not self.exemplar:
            object.__setattr__(self, "exemplar", PAIR_EXEMPLAR if self.k == 2 else LIST_EXEMPLAR)

    @property
    def values(self) -> range:
        """Every value an operand can take: [10, 100) for two digits."""
        return self.kind.values or range(10 ** (self.digits - 1), 10**self.digits)

    @property
    def extent(self) -> str:
        """Those values in words: "10 to 99"."""
        return f"{self.kind.spell(self.values[0])} to {self.kind.spell(self.values[-1])}"

    @property
    def gap(self) -> int:
        """The paper's minimum gap g between the values of a sampled tuple: 10 for two digits, 100 for three."""
        return int(10 ** (self.digits - 1)) if self.kind.gap is None else self.kind.gap

    @property
    def operands(self) -> tuple[str, ...]:
        """The operands' names: y1, y2, …"""
        return tuple(f"y{i}" for i in range(1, self.k + 1))

    @property
    def marker(self) -> str:
        """The text whose last occurrence precedes the question's operands."""
        return self.kind.stem + " "

    def prompt(self, values: Sequence[int]) -> str:
        """The whole prompt for these operands, ending in one space."""
        if len(values) != self.k:
            raise NumberlineError(f"the task has k={self.k} operands but {len(values)} were given: {tuple(values)}")
        solved = self._statement(self.exemplar) + self.kind.spell(self.kind.winner(self.exemplar)) + "."
        return f"{INSTRUCTION} {solved} {self._statement(values)}"

    def answer(self, values: Sequence[int]) -> int:
        """The operand that wins."""
        return self.kind.winner(values)

    def lead(self, value: int) -> str:
        """What the first answer token shows of a value: its leading digit. Sampled operands never share it."""
        return self.kind.lead(self.kind.spell(value))

    def spans(self, values: Sequence[int]) -> tuple[tuple[int, int], ...]:
        """Where each operand of the question stands in `prompt(values)`: its first character, and one past its last."""
        text = self.prompt(values)
        start = text.rindex(self.marker) + len(self.marker)
        spans = []
        for value, joint in zip(values, _joints(self.k), strict=True):
            end = start + len(self.kind.spell(value))
            spans.append((start, end))
            start = end + len(joint)
        return tuple(spans)

    def _statement(self, values: Sequence[int]) -> str:
        words = zip((self.kind.spell(value) for value in values), _joints(len(values)), strict=True)
        return f"{self.kind.stem} " + "".join(word + joint for word, joint in words)


def _joints(n: int) -> list[str]:
    """What follows each of n operands: commas, then "and", then the verb and the one space that ends the prompt."""
    return [", "] * (n - 2) + [" and ", " is "]
