"""Which concept does a TOML file declare? What a Python file can, as data; what is wrong in it is said with its line.

1. The file is read as TOML, and its keys and their types are compared with the declaration below.
2. What the types do not say is checked: spellings that repeat, an example that is no value, a gap that leaves nothing.
3. The first mistake, in the order of the file, is refused with the line on which it stands.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from numberline.errors import NumberlineError, nearest
from numberline.tasks.concept import NAME, Concept, Sentence, Words, ordered

LEAST = 3
"""How many values the smallest counterfactual of two operands takes."""
TOKEN = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|#[^\n]*|[\[\]]|[\w.+-]+")
"""A string, a comment, a bracket or a number of a TOML list."""
MEANT = {
    "string_type": "text in quotes",
    "string_too_short": "a word",
    "list_type": "a list in brackets",
    "int_type": "a whole number",
    "model_type": "a table of keys",
}
"""What pydantic's errors mean to somebody who writes the file."""

Where = tuple[str | int, ...]
Word = Annotated[str, Field(min_length=1)]


def _listed(spellings: object) -> object:
    return [spellings] if isinstance(spellings, str) else spellings


class Declared(BaseModel, strict=True, extra="forbid"):
    """A part of a file: other keys than these are refused."""


class Asked(Declared):
    """The question of two operands, or of several."""

    stem: str
    exemplar: list[str]


class Spoken(Declared):
    """The words of a report; those that are left out follow from the others, as in Python."""

    noun: Word
    larger: Word
    largest: Word
    smaller: Word
    nouns: str = ""
    extreme: str = ""
    extremes: str = ""
    function: str = ""
    adjective: str = ""
    part: str = "token"


class Declaration(Declared):
    """A concept as a file has it."""

    name: str = ""
    values: list[Annotated[list[str], BeforeValidator(_listed)]]
    """From the least to the greatest; a value is its spelling, or several, of which the first stands in prompts."""
    gap: Annotated[int, Field(ge=0)] = 0
    scale: Literal["log", "linear"] = "linear"
    places: list[float] | None = None
    """Where each value lies on the axis; 0, 1, 2, … unless given."""
    axis: str = ""
    wins: Literal["greater", "lesser"] = "greater"
    answer_tokens: Annotated[int, Field(ge=1)] = 4
    pair: Asked
    several: Asked
    words: Spoken

    def mistakes(self) -> Iterator[tuple[Where, str]]:
        """What is wrong although every key is there and of its type."""
        if self.name and not NAME.fullmatch(self.name):
            yield ("name",), f"a concept cannot be called {self.name!r}: use a-z, 0-9, - and _"
        if len(self.values) < LEAST:
            yield ("values",), f"{len(self.values)} values are too few to compare: give at least {LEAST}"
        known: dict[str, int] = {}
        for place, spellings in enumerate(self.values):
            for word in spellings or [""]:
                if not word or word != word.strip():
                    yield ("values", place), f"{word!r} is no spelling: write it without spaces around it"
                if word in known:
                    yield ("values", place), f"{word!r} is the spelling of value {known[word] + 1} too: remove one"
                known[word] = place
        yield from self._wrong_scale()
        for name, asked, fewest in (("pair", self.pair, 2), ("several", self.several, 3)):
            if not asked.stem or asked.stem != asked.stem.strip():
                yield (name, "stem"), f"the stem {asked.stem!r} must begin and end with a word: a space follows anyway"
            if len(asked.exemplar) < fewest or (name == "pair" and len(asked.exemplar) > fewest):
                yield (
                    (name, "exemplar"),
                    (
                        f"the example of {name!r} has {len(asked.exemplar)} values: give "
                        f"{'two' if name == 'pair' else 'at least three'}"
                    ),
                )
            for i, word in enumerate(asked.exemplar):
                if word not in known:
                    yield (
                        (name, "exemplar", i),
                        f"the example holds {word!r}, which is no value: {nearest(word, known)}",
                    )
            if len({known[word] for word in asked.exemplar if word in known}) < len(asked.exemplar):
                yield (name, "exemplar"), "the example holds a value twice, so that nothing wins: give different ones"

    def _wrong_scale(self) -> Iterator[tuple[Where, str]]:
        """What is wrong with gap, places and scale."""
        count = len(self.values)
        if count - 2 * self.gap < LEAST:
            yield (
                ("gap",),
                (
                    f"no three of {count} values are more than {self.gap} apart: use a gap of at most "
                    f"{max((count - LEAST) // 2, 0)}"
                ),
            )
        places = range(count) if self.places is None else self.places
        if len(places) != count:
            yield ("places",), f"there are {len(places)} places for {count} values: give one for each"
        for i, (before, after) in enumerate(pairwise(places), start=1):
            if after <= before:
                yield ("places", i), f"the place {after:g} follows {before:g}: places rise, as the values do"
        if self.scale == "log" and min(places, default=1) <= 0:
            yield ("scale",), f"the first value lies at {min(places)}, which has no logarithm: give places above 0"

    def concept(self, name: str) -> Concept:
        """What it declares."""
        coordinate = {} if self.places is None else {"coordinate": tuple(self.places).__getitem__}
        return ordered(
            self.name or name,
            self.values,
            pair=Sentence(self.pair.stem, tuple(self.pair.exemplar)),
            several=Sentence(self.several.stem, tuple(self.several.exemplar)),
            words=Words(**self.words.model_dump()),
            gap=self.gap,
            scale=self.scale,
            axis=self.axis or self.words.noun,
            sign=1 if self.wins == "greater" else -1,
            answer_tokens=self.answer_tokens,
            **coordinate,
        )


def read_concept(path: Path) -> Concept:
    """The concept that a TOML file declares; named as the file where it has no name."""
    try:
        text = path.read_text(encoding="utf-8")
        given = tomllib.loads(text)
    except FileNotFoundError:
        raise NumberlineError(f"{path} is no file: give a TOML file that declares a concept") from None
    except (OSError, UnicodeDecodeError) as error:
        raise NumberlineError(f"{path} cannot be read ({error}): give a TOML file in UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        what, _, place = str(error).removesuffix(")").rpartition(" (at ")
        number = re.search(r"line (\d+)", place)
        at = int(number[1]) if number else len(text.splitlines())
        raise NumberlineError(f"{path}, line {at}: this is no TOML ({what or place}): correct it") from None
    try:
        declared = Declaration.model_validate(given)
    except ValidationError as error:
        # A key that is misspelled is missing too: what is there is the mistake.
        misspelled = [each for each in error.errors() if each["type"] == "extra_forbidden"]
        found = [(tuple(each["loc"]), _sentence(each)) for each in misspelled or error.errors()]
    else:
        found = list(declared.mistakes())
        if not found:
            return declared.concept(re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-") or "mine")
    line, sentence = min((line_of(text, where), sentence) for where, sentence in found)
    raise NumberlineError(f"{path}, line {line}: {sentence}")


def _sentence(error: Any) -> str:
    """What pydantic found, as a sentence."""
    *tables, key = error["loc"]
    table = f"[{tables[0]}]" if tables else "the file"
    if error["type"] == "missing":
        return f"{table} has no {key!r}: add it"
    if error["type"] == "extra_forbidden":
        return f"{table} has a key {key!r} that means nothing: {nearest(key, _keys(tables))}"
    kind = "string_type" if tables == ["values"] else error["type"]
    meant = MEANT.get(kind, error["msg"].removeprefix("Input should be ").removeprefix("a valid "))
    name = repr(key) if isinstance(key, str) else f"item {key + 1} of {tables[-1]!r}"
    return f"{name} is {error['input']!r}: it should be {meant}"


def _keys(tables: Sequence[str | int]) -> list[str]:
    """The keys of a table."""
    part = Declaration.model_fields[str(tables[0])].annotation if tables else Declaration
    return list(part.model_fields) if isinstance(part, type) and issubclass(part, BaseModel) else []


def line_of(text: str, where: Where) -> int:
    """The line of a key, or of an item of its list; of its table where it has none; else the first."""
    names = [part for part in where if isinstance(part, str)]
    items = [part for part in where if isinstance(part, int)]
    table, nearest_line, start = "", 1, 0
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        if header := re.match(r"\s*\[+\s*[\"']?([\w.-]+)[\"']?\s*\]", line):
            table = header[1]
            nearest_line = number if [table] == names[:1] else nearest_line
        if re.match(rf"\s*[\"']?{re.escape(names[-1])}[\"']?\s*=", line) and table == "".join(names[:-1]):
            return number + (_lines_to_item(text[start:], items[0]) if items else 0)
        start += len(line)
    return nearest_line


def _lines_to_item(text: str, wanted: int) -> int:
    """How many lines after its key an item of a list stands."""
    depth, item = 0, -1
    for token in TOKEN.finditer(text, text.index("=")):
        word = token.group()
        if word == "]":
            depth -= 1
            continue
        item += depth == 1 and not word.startswith("#")
        depth += word == "["
        if item == wanted:
            return text.count("\n", 0, token.start())
    return 0
