"""Where is each number in the token sequence, and which token does its answer begin with?

1. Every prompt is tokenized whole, with the tokenizer's own special tokens. One at the start (BOS) stays; one at the
   end is dropped, because the model is to continue the text.
2. An operand's tokens are those that overlap its characters after the last "The maximum of " (offset mapping). A token
   may begin with the space before the number (GPT-2's " 60"), never with other text.
3. The prefix is everything before y1's first token. It is the same for every prompt of a task; this is checked against
   a fixed reference prompt of the task, never against the batch, so batches recorded apart can be used together.
4. An answer's first token t(y) is the token that follows the literal prompt, its final space included: what
   encode(prompt + answer) adds to encode(prompt). Where the tokenizer would merge that space into the number, so that
   the prompt is no true prefix, t(y) is the number's first token right after a parenthesis, written without a space:
   the paper's prompts end in a space, and a model that reads a lone space token continues with "60", not " 60".
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Int
from torch import Tensor

from numberline.errors import NumberlineError
from numberline.tasks.task import Task

ANCHOR = "("


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

    `positions` maps "y1", "y2", … to the last token of each operand, "y1.first", … to its first, and "last" to the last
    token of the prompt. The first `prefix` tokens are the same in every prompt of the task.
    """

    texts: tuple[str, ...]
    ids: Int[Tensor, "n tokens"]
    positions: Mapping[str, int]
    prefix: int
    operands: tuple[tuple[int, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, index: slice | Sequence[int]) -> "Prompts":
        rows = list(range(len(self))[index]) if isinstance(index, slice) else [int(row) for row in index]
        return Prompts(
            texts=tuple(self.texts[row] for row in rows),
            ids=self.ids[rows],
            positions=self.positions,
            prefix=self.prefix,
            operands=tuple(self.operands[row] for row in rows) if self.operands else (),
        )


def encode(tokenizer: Tokenizer, task: Task, operands: Sequence[Sequence[int]]) -> Prompts:
    """The task's prompts for these operands, tokenized, with the position of every operand."""
    if not operands:
        raise NumberlineError("no operands were given, so there is no prompt to encode: give at least one tuple")
    # The reference prompt stands last: it fixes the prefix for every batch of this task.
    rows = [*(tuple(int(value) for value in row) for row in operands), reference(task)]
    texts = [task.prompt(row) for row in rows]
    tokens = _tokenize(tokenizer, texts)
    names = [f"prompt {i} ({text[text.rindex(task.marker) :]!r})" for i, text in enumerate(texts, start=1)]
    layouts = [_layout(task, *prompt) for prompt in zip(rows, names, texts, tokens, strict=True)]
    prefix = layouts[-1]["y1.first"]
    for name, layout, token in zip(names[:-1], layouts[:-1], tokens[:-1], strict=True):
        if layout["y1.first"] != prefix or token.ids[:prefix] != tokens[-1].ids[:prefix]:
            raise NumberlineError(
                f"{name} does not begin with the {prefix} tokens that every prompt of the task must share: its operand "
                "changes how the tokenizer splits the words before it, so use another tokenizer"
            )
        if layout != layouts[0]:
            raise NumberlineError(
                f"{name} has the token layout {layout}, but {names[0]} has {layouts[0]}: use operands that split into "
                "equally many tokens, or encode the two apart"
            )
    ids = torch.tensor([token.ids for token in tokens[:-1]], dtype=torch.long)
    return Prompts(tuple(texts[:-1]), ids, layouts[0], prefix, tuple(rows[:-1]))


def reference(task: Task) -> tuple[int, ...]:
    """The operands of the task's reference prompt: its smallest value, k times (any fixed value would do)."""
    return (task.values[0],) * task.k


def answer_tokens(tokenizer: Tokenizer, task: Task, values: Sequence[int]) -> Int[Tensor, " n"]:
    """t(y) for every value y: the first token of the answer, right after a prompt of the task."""
    unique = sorted(set(values))
    words = [task.kind.spell(value) for value in unique]
    first = _continuations(tokenizer, task.prompt(reference(task)), words)
    if None in first:
        first = _continuations(tokenizer, ANCHOR, words)
    if None in first:
        alone = [tokenizer(word, add_special_tokens=False)["input_ids"] for word in words]
        first = [ids[0] for ids in alone]
    table = dict(zip(unique, first, strict=True))
    return torch.tensor([table[value] for value in values], dtype=torch.long)


def check_distinct_answers(tokenizer: Tokenizer, task: Task, groups: Sequence[Sequence[int]]) -> None:
    """Refuse a group of values (the operands of a prompt or of a counterfactual) in which two answers start alike."""
    flat = sorted({value for group in groups for value in group})
    first = dict(zip(flat, answer_tokens(tokenizer, task, flat).tolist(), strict=True))
    for number, group in enumerate(groups, start=1):
        seen: dict[int, int] = {}
        for value in dict.fromkeys(group):
            if first[value] in seen:
                raise NumberlineError(
                    f"example {number} holds {task.kind.spell(seen[first[value]])} and {task.kind.spell(value)}, whose "
                    f"answers begin with the same token {first[value]}, so the read-out cannot tell them apart: choose "
                    "operands with distinct leading digits"
                )
            seen[first[value]] = value


@dataclass(frozen=True)
class _Tokens:
    ids: list[int]
    offsets: list[tuple[int, int]]


def _tokenize(tokenizer: Tokenizer, texts: Sequence[str]) -> list[_Tokens]:
    """Ids and character offsets, without special tokens at the end."""
    if not tokenizer.is_fast:
        raise NumberlineError(
            f"{type(tokenizer).__name__} is a slow tokenizer and gives no character offsets, so the operands cannot be "
            "found: load the fast one (a tokenizer.json)"
        )
    encoded = tokenizer(list(texts), return_offsets_mapping=True, return_special_tokens_mask=True)
    result = []
    for ids, offsets, special in zip(
        encoded["input_ids"], encoded["offset_mapping"], encoded["special_tokens_mask"], strict=True
    ):
        end = len(ids) - next((i for i, flag in enumerate(reversed(special)) if not flag), len(ids))
        result.append(_Tokens(list(ids[:end]), offsets[:end]))
    return result


def _layout(task: Task, values: Sequence[int], name: str, text: str, tokens: _Tokens) -> dict[str, int]:
    """The named positions of one prompt."""
    positions: dict[str, int] = {}
    starts, ends = zip(*tokens.offsets, strict=True)  # both rise along the text
    for operand, (start, end) in zip(task.operands, task.spans(values), strict=True):
        first, last = bisect_right(ends, start), bisect_left(starts, end) - 1
        if first > last:
            raise NumberlineError(f"no token of {name} covers {operand}={text[start:end]!r}: use another tokenizer")
        a, b = starts[first], ends[last]
        if text[a:start].strip() or b > end:
            raise NumberlineError(
                f"the tokenizer glues {operand}={text[start:end]!r} of {name} to its neighbours as {text[a:b]!r}, so "
                "the number has no token of its own: use another tokenizer"
            )
        positions[f"{operand}.first"], positions[operand] = first, last
    positions["last"] = len(tokens.ids) - 1
    return positions


def _continuations(tokenizer: Tokenizer, text: str, words: Sequence[str]) -> list[int | None]:
    """The first token that each word adds to the text; None where the text's tokens are not a prefix of the whole's."""
    base, *whole = (tokens.ids for tokens in _tokenize(tokenizer, [text, *(text + word for word in words)]))
    return [ids[len(base)] if ids[: len(base)] == base and len(ids) > len(base) else None for ids in whole]
