"""Whole numbers: the paper's question, "The maximum of …", and the same for the minimum.

The paper's solved examples are 12 and 4, and for lists 12, 437 and 5. Values with as many digits keep a gap of the
leading digit's worth, so that no two of a prompt share it. A patch of a whole number may overwrite a digit of it: the
mixed answer is the leading digit of one number and the last of another.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Literal

from numberline.errors import NumberlineError
from numberline.tasks.concept import Concept, Sentence, Words

NAMED = ("zero", "one", "two", "three", "four", "five", "six")
PAIR_EXEMPLAR = ("12", "4")
LIST_EXEMPLAR = ("12", "437", "5")
ASKED: Mapping[str, tuple[Literal[1, -1], Words]] = {
    "max": (1, Words("number", "larger", "largest", "smaller", extreme="maximum", extremes="maxima", function="max")),
    "min": (-1, Words("number", "smaller", "smallest", "larger", extreme="minimum", extremes="minima", function="min")),
}


def first_integer(text: str) -> int | None:
    """The first run of digits, as a number."""
    found = re.search(r"[0-9]+", text)
    return int(found.group()) if found else None


def leading_digit(word: str) -> str:
    """What the first answer token shows of a number that is written digit by digit."""
    return word[0]


def mixed_digits(first: str, last: str) -> str:
    """The leading digit of one number and the last of another."""
    return leading_digit(first) + last[-1]


@cache
def whole_numbers(name: str, digits: int = 2) -> Concept:
    """The maximum or the minimum of numbers with so many digits."""
    if digits < 1:
        raise NumberlineError(f"operands need at least one digit, not {digits}: use digits=2 or digits=3")
    sign, words = ASKED[name]
    stem = f"The {words.extreme} of"
    length = NAMED[digits] if digits < len(NAMED) else str(digits)
    return Concept(
        name,
        range(10 ** (digits - 1), 10**digits),
        spell=str,
        parse=first_integer,
        pair=Sentence(stem, PAIR_EXEMPLAR),
        several=Sentence(stem, LIST_EXEMPLAR),
        words=replace(words, adjective=f"{length}-digit", part="digit"),
        sign=sign,
        gap=10 ** (digits - 1),
        lead=leading_digit,
        mixed=mixed_digits,
        answer_tokens=digits + 1,
        scale="log",
        digits=digits,
        resize=partial(whole_numbers, name),
    )


MAX, MIN = whole_numbers("max"), whole_numbers("min")
