"""What can be compared? A concept: ordered values, how each is written and read back, the question, and its words.

A concept is one declaration, in a module of tasks/concepts/ or in a file of the user's; nothing else names it:

    WEEKDAYS = ordered(
        "weekdays",
        ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
        pair=Sentence("The later of", ("Tuesday", "Friday")),
        several=Sentence("The latest of", ("Tuesday", "Friday", "Wednesday")),
        words=Words("weekday", larger="later", largest="latest", smaller="earlier"),
    )

1. Values are whole numbers that rise along the order, so that all sampling is arithmetic on them. `spell` writes one as
   it stands in a prompt, `parse` finds the first one in what a model says.
2. `gap` is how far apart the values of a sampled tuple are at least, and `lead` is what the first answer token shows of
   a word: values of one prompt never share it, or the first token could not tell them apart. What all values begin
   with (`shown`: the century of years) stands at the end of the prompt, and an answer goes on after it.
3. `scale` is the scale on which a component is expected to be straight, over the `coordinate` of each value.
4. Whole numbers come in lengths: `with_digits` gives the same question about longer ones.
5. The same question can be asked in other words (`tasks/variants.py`): `asked` gives the concept with one of them.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from numberline.errors import NumberlineError, nearest
from numberline.tasks.variants import FURTHER_EXAMPLES, PAPER_PROMPT, VARIANTS, Variant

NAME = re.compile(r"[a-z0-9]+([-_][a-z0-9]+)*")


@dataclass(frozen=True)
class Sentence:
    """How operands are asked about: what stands before them and after them, and the operands of a solved example."""

    stem: str
    exemplar: tuple[str, ...]
    end: str = " is "

    def pieces(self, k: int) -> tuple[str, ...]:
        """What stands before each of k operands, and after the last."""
        return (f"{self.stem} ", *[", "] * (k - 2), " and ", self.end)


@dataclass(frozen=True)
class Words:
    """How a concept is spoken of, in words that stand inside a sentence.

    `larger` and `largest` are what the question asks for, of two values and of several; `smaller` is the other of two.
    What is not said follows from the rest.
    """

    noun: str
    larger: str
    largest: str
    smaller: str
    nouns: str = ""
    extreme: str = ""
    """The winner as a noun: the maximum."""
    extremes: str = ""
    function: str = ""
    """The question as a function: max(y1, …, yk)."""
    adjective: str = ""
    """Before "pairs" and "prompts": two-digit."""
    part: str = "token"
    """What an operand's tokens show of it: a digit."""

    def __post_init__(self) -> None:
        defaults = {
            "nouns": f"{self.noun}s",
            "extreme": self.largest,
            "function": self.largest,
            "extremes": f"{self.largest} {self.nouns or self.noun + 's'}",
            "adjective": self.noun,
        }
        for name, default in defaults.items():
            object.__setattr__(self, name, getattr(self, name) or default)


def whole_word(word: str) -> str:
    """The lead of words that the first answer token tells apart."""
    return word


@dataclass(frozen=True)
class Concept:
    """Ordered things that can be compared, and the question that is asked about them."""

    name: str
    values: range
    spell: Callable[[int], str] = field(repr=False)
    parse: Callable[[str], int | None] = field(repr=False)
    pair: Sentence
    several: Sentence
    words: Words = field(repr=False)
    sign: Literal[1, -1] = 1
    """1 where the greater value wins, −1 where the lesser does."""
    gap: int = 0
    lead: Callable[[str], str] = field(default=whole_word, repr=False)
    mixed: Callable[[str, str], str] | None = field(default=None, repr=False)
    """The answer that mixes two words (r, a), where a patch may overwrite a part of one; none where it cannot."""
    shown: str = ""
    """What every value begins with: the prompt ends with it, for it tells nothing apart."""
    answer_tokens: int = 4
    """How many tokens are decoded for an answer."""
    scale: Literal["log", "linear"] = "linear"
    coordinate: Callable[[int], float] = field(default=float, repr=False)
    """Where a value lies on an axis."""
    axis: str = ""
    """What stands beside an operand's name at an axis."""
    digits: int | None = None
    """How many digits each value has, where values are whole numbers."""
    resize: Callable[[int], "Concept"] | None = field(default=None, repr=False, compare=False)
    variant: Variant = PAPER_PROMPT
    """In which words the question is asked."""

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise NumberlineError(f"a concept cannot be called {self.name!r}: use a-z, 0-9, - and _")
        for value in self.values:
            word = self.spell(value)
            if self.parse(word) != value:
                raise NumberlineError(
                    f"{self.name}: {word!r} is not read back as itself but as {self._named(self.parse(word))}: spell "
                    "every value differently"
                )
            if not word.startswith(self.shown):
                raise NumberlineError(
                    f"{self.name}: {word!r} does not begin with {self.shown!r}, which prompts show of every "
                    f"{self.words.noun}: leave `shown` out"
                )
        for sentence in (self.pair, self.several):
            for word in sentence.exemplar:
                if self.parse(word) is None:
                    raise NumberlineError(f"{self.name}: the example holds {word!r}, which is no {self.words.noun}")

    def _named(self, value: int | None) -> str:
        return "nothing" if value is None else repr(self.spell(value))

    def winner(self, values: Sequence[int]) -> int:
        """The value that answers the question."""
        return max(values, key=lambda value: self.sign * value)

    @property
    def fits(self) -> str:
        """The name of a table of fits on this concept's scale."""
        return f"{self.scale}_fits"

    def with_digits(self, digits: int) -> "Concept":
        """The same question about whole numbers of another length."""
        if self.resize is None:
            raise NumberlineError(f"{self.words.nouns} have no digits, so they cannot have {digits}: leave that out")
        return replace(self.resize(digits), variant=self.variant)

    def asked(self, prompt: str) -> "Concept":
        """The same concept, asked about in the words of another prompt."""
        if prompt not in VARIANTS:
            raise NumberlineError(f"there is no prompt {prompt!r}: {nearest(prompt, VARIANTS)}")
        return replace(self, variant=VARIANTS[prompt])

    @property
    def prompts(self) -> tuple[str, ...]:
        """The prompts in which the question reads differently, the paper's first."""
        different = {self._signature(name): name for name in reversed(list(VARIANTS))}
        return tuple(name for name in VARIANTS if name in different.values())

    def sentence(self, listed: bool) -> Sentence:
        """How two operands, or a list of them, are asked about."""
        said, adjective = (self.several, self.words.largest) if listed else (self.pair, self.words.larger)
        if self.variant.comparative:
            said = replace(said, stem=f"The {adjective} of")
        end = f"{said.end}{self.shown}"
        return replace(said, end=end if self.variant.space else end.rstrip())

    def examples(self, listed: bool) -> tuple[tuple[str, ...], ...]:
        """The operands of each solved example, as they are written."""
        first, n = (self.several if listed else self.pair).exemplar, len(self.values)
        more = (
            tuple(self.spell(self.values[int(n * share)]) for share in row[: len(first)]) for row in FURTHER_EXAMPLES
        )
        return (first, *(words for words in more if len(set(words)) == len(words)))[: self.variant.shots]

    def _signature(self, prompt: str) -> tuple[object, ...]:
        other = self.asked(prompt)
        return other.variant.chat, *((other.sentence(listed), other.examples(listed)) for listed in (False, True))


def first_of(spellings: Sequence[Sequence[str]], text: str) -> int | None:
    """The place of the value that a text names first, in any spelling; "forty-two" is not read as "forty"."""
    places = {word: place for place, words in enumerate(spellings) for word in words}
    listed = "|".join(re.escape(word) for word in sorted(places, key=len, reverse=True))
    found = re.search(rf"(?<!\w)({listed})(?!\w)", text)
    return places[found.group(1)] if found else None


def ordered(
    name: str, spellings: Sequence[str | Sequence[str]], pair: Sentence, several: Sentence, words: Words, **more: Any
) -> Concept:
    """A concept whose values are listed, from the least to the greatest.

    A value that has several spellings is written as the first, and read in any.
    """
    listed = tuple((word,) if isinstance(word, str) else tuple(word) for word in spellings)
    written = tuple(first for first, *_ in listed)
    return Concept(
        name, range(len(listed)), written.__getitem__, partial(first_of, listed), pair, several, words,
        **{"axis": words.noun, **more},
    )  # fmt: skip


def other_end(concept: Concept, name: str, larger: str, largest: str) -> Concept:
    """The same values, asked for from the other end: the earlier of two, the earliest of several."""
    words = concept.words
    return replace(
        concept,
        name=name,
        sign=-concept.sign,
        pair=replace(concept.pair, stem=concept.pair.stem.replace(words.larger, larger)),
        several=replace(concept.several, stem=concept.several.stem.replace(words.largest, largest)),
        words=replace(
            words, larger=larger, largest=largest, smaller=words.larger, extreme="", extremes="", function=""
        ),
    )
