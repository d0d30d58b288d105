"""Numbers in other notations: in words, below zero, with decimals.

The first answer token must tell the values of an example apart. So negative numbers give their sign, and decimals of
unequal lengths their whole part, at the end of the prompt. Of those, 9.9 and 9.11, a tokenizer that writes digit by
digit makes prompts of unequal lengths, which cannot be patched into each other: then they are refused.
"""

import re

from numberline.tasks.concept import Concept, Sentence, Words, ordered

TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
UNITS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
MEANT = tuple(10 * ten + unit for ten in range(2, 10) for unit in range(1, 10))
"""21 to 99 without the round ones, which have fewer words."""


def tens(word: str) -> str:
    """The first part of a number word: "forty" of "forty-two"."""
    return word.partition("-")[0]


NUMBER_WORDS = ordered(
    "number-words",
    [f"{TENS[number // 10 - 2]}-{UNITS[number % 10 - 1]}" for number in MEANT],
    pair=Sentence("The larger of", ("eighty-one", "thirty-four")),
    several=Sentence("The largest of", ("thirty-four", "eighty-one", "twenty-six")),
    words=Words("number word", larger="larger", largest="largest", smaller="smaller", part="part"),
    gap=len(UNITS),
    lead=tens,
    scale="log",
    coordinate=[float(number) for number in MEANT].__getitem__,
    answer_tokens=6,
)


def first_negative(text: str) -> int | None:
    """The first negative whole number."""
    found = re.search(r"[-−]([0-9]+)", text)
    return -int(found.group(1)) if found else None


NEGATIVE = Concept(
    "negative",
    range(-99, -9),
    spell=str,
    parse=first_negative,
    pair=Sentence("The maximum of", ("-12", "-4")),
    several=Sentence("The maximum of", ("-12", "-437", "-5")),
    words=Words(
        "negative number",
        "larger",
        "largest",
        "smaller",
        extreme="maximum",
        extremes="maxima",
        function="max",
        adjective="negative two-digit",
        part="digit",
    ),
    gap=10,
    shown="-",
    lead=lambda word: word[1],
    answer_tokens=3,
)


def hundredths(text: str) -> int | None:
    """The first decimal number of a text, in hundredths."""
    found = re.search(r"[0-9]+\.[0-9]{1,2}", text)
    return round(100 * float(found.group())) if found else None


DECIMAL = Words(
    "decimal", "larger", "largest", "smaller", extreme="maximum", extremes="maxima", function="max", part="digit"
)
DECIMALS = Concept(
    "decimals",
    range(100, 1000),
    spell=lambda value: f"{value / 100:.2f}",
    parse=hundredths,
    pair=Sentence("The maximum of", ("2.31", "0.75")),
    several=Sentence("The maximum of", ("2.31", "8.04", "0.75")),
    words=DECIMAL,
    gap=100,
    lead=lambda word: word[0],
    answer_tokens=5,
    scale="log",
    coordinate=lambda value: value / 100,
    axis="decimal",
)
UNEQUAL_DECIMALS = Concept(
    "decimals-unequal",
    range(910, 1000),
    spell=lambda value: f"{value / 100:.2f}".rstrip("0"),
    parse=hundredths,
    pair=Sentence("The maximum of", ("9.4", "9.25")),
    several=Sentence("The maximum of", ("9.25", "9.4", "9.37")),
    words=DECIMAL,
    shown="9.",
    answer_tokens=3,
    coordinate=lambda value: value / 100,
    axis="decimal",
)
