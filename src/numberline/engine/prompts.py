"""Prompts as token ids with named positions. How do texts become them, and which token does an answer begin with?

    Prompts.of(tokenizer, texts, {"giver": "Mary", "object": [(14, 18), (15, 19)], "verb": 3})

1. Every text is tokenized whole, with the tokenizer's own special tokens. One at the start (BOS) stays; one at the end
   is dropped, because the model is to continue the text.
2. A position is given by its characters (start, end), by a substring, of which the last occurrence counts (a question
   follows its examples), or by a token's index; one for all texts, or a list with one for each. Characters have the
   tokens that overlap them (offset mapping). A token may begin with the space before (GPT-2's " Mary"), not with other
   text. NAME is the last of these tokens, NAME.first the first of them, and "last" the last of the prompt.
3. All prompts of a batch have one layout: the same length and the same positions. Others are refused.
4. The prefix is what all prompts begin with, without the last token. It runs once.
5. An answer's first token is what encode(text + answer) adds to encode(text). Where the tokenizer would merge the
   text's final space into the answer, so that the text is no true beginning, it is the answer's first token right after
   a parenthesis, written without a space: a model that reads a lone space token continues with "60", not " 60".
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Int
from torch import Tensor

from numberline.errors import LayoutError, NumberlineError

ANCHOR = "("
SHOWN = 40
"""How many of a text's last characters a refusal shows."""

Span = tuple[int, int]
Where = Span | str | int
"""Where a position is: characters (start, end), a substring, or a token's index."""
Positions = Mapping[str, Where | Sequence[Where]]
"""Named positions, each with one place for all texts or a list of places, one for each text."""


@runtime_checkable
class Tokenizer(Protocol):
    """What is used of a Hugging Face tokenizer."""

    is_fast: bool

    def __call__(self, text: Any, **options: Any) -> Any:
        """Encode one text or a list of texts."""
        ...


@dataclass(frozen=True, eq=False)
class Prompts:
    """A batch of prompts with one token layout.

    `positions` maps each name to its last token, NAME.first to its first, and "last" to the last token of the prompt.
    The first `prefix` tokens are the same in every prompt.
    """

    texts: tuple[str, ...]
    ids: Int[Tensor, "n tokens"]
    positions: Mapping[str, int]
    prefix: int

    @classmethod
    def of(cls, tokenizer: Tokenizer, texts: Sequence[str], positions: Positions | None = None) -> "Prompts":
        """Texts, tokenized, with their positions found; refused when their layouts differ."""
        if not texts:
            raise NumberlineError("no texts were given, so there is no prompt to make: give at least one")
        tokens = tokenize(tokenizer, texts)
        places = {name: one_each(name, where, len(texts)) for name, where in (positions or {}).items()}
        layouts = [
            _layout(named(texts, i), text, tokens[i], {name: each[i] for name, each in places.items()})
            for i, text in enumerate(texts)
        ]
        for number, layout in enumerate(layouts):
            if layout != layouts[0]:
                raise LayoutError(
                    f"{named(texts, number)} has the token layout {layout}, but {named(texts, 0)} has {layouts[0]}: "
                    "use texts that split into equally many tokens, or encode the two apart"
                )
        ids = torch.tensor([each.ids for each in tokens], dtype=torch.long)
        alike = (ids[:, :-1] == ids[0, :-1]).all(0)
        return cls(tuple(texts), ids, layouts[0], int(alike.long().cumprod(0).sum()))

    @classmethod
    def join(cls, batches: Sequence["Prompts"]) -> "Prompts":
        """Batches of one layout and one prefix as one batch."""
        first = batches[0]
        for batch in batches:
            same = torch.equal(batch.ids[:1, : first.prefix], first.ids[:1, : first.prefix])
            if batch.positions != first.positions or batch.prefix != first.prefix or not same:
                raise NumberlineError(
                    f"prompts with the positions {dict(batch.positions)} and {batch.prefix} shared tokens cannot join "
                    f"those with {dict(first.positions)} and {first.prefix}: encode all texts together"
                )
        texts = tuple(text for batch in batches for text in batch.texts)
        return cls(texts, torch.cat([batch.ids for batch in batches]), first.positions, first.prefix)

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, index: slice | Sequence[int]) -> "Prompts":
        rows = list(range(len(self))[index]) if isinstance(index, slice) else [int(row) for row in index]
        return Prompts(tuple(self.texts[row] for row in rows), self.ids[rows], self.positions, self.prefix)


@dataclass(frozen=True)
class Tokens:
    """A text's token ids and the characters that each covers."""

    ids: list[int]
    offsets: list[Span]


def tokenize(tokenizer: Tokenizer, texts: Sequence[str]) -> list[Tokens]:
    """Ids and character offsets, without special tokens at the end."""
    if not tokenizer.is_fast:
        raise NumberlineError(
            f"{type(tokenizer).__name__} is a slow tokenizer and gives no character offsets, so positions cannot be "
            "found: load the fast one (a tokenizer.json)"
        )
    encoded = tokenizer(list(texts), return_offsets_mapping=True, return_special_tokens_mask=True)
    result = []
    for ids, offsets, special in zip(
        encoded["input_ids"], encoded["offset_mapping"], encoded["special_tokens_mask"], strict=True
    ):
        end = len(ids) - next((i for i, flag in enumerate(reversed(special)) if not flag), len(ids))
        result.append(Tokens(list(ids[:end]), [(start, stop) for start, stop in offsets[:end]]))
    return result


def first_tokens(tokenizer: Tokenizer, texts: Sequence[str], answers: Sequence[str]) -> list[int]:
    """The token that each answer begins with, right after its text."""
    first = _continuations(tokenizer, texts, answers)
    if None in first:
        first = _continuations(tokenizer, [ANCHOR] * len(answers), answers)
    if None in first:
        first = [tokenizer(answer, add_special_tokens=False)["input_ids"][0] for answer in answers]
    return [token for token in first if token is not None]


def named(texts: Sequence[str], number: int) -> str:
    """What a refusal calls a prompt: its number, counted from one, and how its text ends."""
    text = texts[number]
    return f"prompt {number + 1} ({text if len(text) <= SHOWN else '…' + text[-SHOWN:]!r})"


def one_each(name: str, where: Where | Sequence[Where], n: int) -> list[Where]:
    """A position's place in each of n texts. Two numbers in a tuple are characters; a list has one place per text."""
    if isinstance(where, str | int) or (isinstance(where, tuple) and [type(part) for part in where] == [int, int]):
        return [where] * n
    places = list(where)
    if len(places) != n:
        raise NumberlineError(
            f"the position {name!r} has {len(places)} places for {n} texts: give one for all, or a list with one for "
            "each text"
        )
    return places


def _layout(prompt: str, text: str, tokens: Tokens, places: Mapping[str, Where]) -> dict[str, int]:
    """The named positions of one prompt."""
    positions: dict[str, int] = {}
    for name, where in places.items():
        if name == "last" or name.endswith(".first"):
            raise NumberlineError(f"a position cannot be called {name!r}, which has a meaning already: choose another")
        if isinstance(where, int):
            if not -len(tokens.ids) <= where < len(tokens.ids):
                raise NumberlineError(
                    f"{prompt} has {len(tokens.ids)} tokens, so {name!r} cannot be token {where}: choose a smaller one"
                )
            first = last = where % len(tokens.ids)
        else:
            first, last = _covered(name, prompt, text, tokens, _span(name, prompt, text, where))
        positions[f"{name}.first"], positions[name] = first, last
    positions["last"] = len(tokens.ids) - 1
    return positions


def _span(name: str, prompt: str, text: str, where: Span | str) -> Span:
    if isinstance(where, str):
        start = text.rfind(where) if where else -1
        if start < 0:
            raise NumberlineError(f"{prompt} does not contain {name}={where!r}: give a part of the text")
        return start, start + len(where)
    start, end = where
    if not 0 <= start < end <= len(text):
        raise NumberlineError(
            f"{prompt} has {len(text)} characters, so {name!r} cannot be those from {start} to {end}: give the first "
            "and one past the last"
        )
    return where


def _covered(name: str, prompt: str, text: str, tokens: Tokens, span: Span) -> tuple[int, int]:
    """The first and the last token of some characters; refused when a token has others too."""
    start, end = span
    starts, ends = zip(*tokens.offsets, strict=True)  # both rise along the text
    first, last = bisect_right(ends, start), bisect_left(starts, end) - 1
    if first > last:
        raise NumberlineError(f"no token of {prompt} covers {name}={text[start:end]!r}: use another tokenizer")
    a, b = starts[first], ends[last]
    if text[a:start].strip() or b > end:
        raise NumberlineError(
            f"the tokenizer glues {name}={text[start:end]!r} of {prompt} to its neighbours as {text[a:b]!r}, so that "
            "it has no token of its own: give whole words, or use another tokenizer"
        )
    return first, last


def _continuations(tokenizer: Tokenizer, texts: Sequence[str], answers: Sequence[str]) -> list[int | None]:
    """The first token that each answer adds to its text; None where the text's tokens are no beginning of both's."""
    distinct = list(dict.fromkeys(texts))
    wholes = [text + answer for text, answer in zip(texts, answers, strict=True)]
    found = [tokens.ids for tokens in tokenize(tokenizer, [*distinct, *wholes])]
    bases = dict(zip(distinct, found, strict=False))
    return [
        whole[len(bases[text])] if whole[: len(bases[text])] == bases[text] and len(whole) > len(bases[text]) else None
        for text, whole in zip(texts, found[len(distinct) :], strict=True)
    ]
