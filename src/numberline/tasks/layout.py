"""Where is each operand in the token sequence, and which token does its answer begin with?

1. `engine/prompts.py` tokenizes a task's prompts and finds each operand by its characters.
2. The prefix is everything before y1's first token. It is the same for every prompt of a task; this is checked against
   a fixed reference prompt of the task, never against the batch, so batches recorded apart can be used together.
3. An answer's first token t(y) is the token that follows the literal prompt: its final space included, or, where the
   prompt has none, the space that the answer begins with.
4. A prompt that is a conversation is written by the tokenizer's chat template, once, around the reference question; the
   question stands in it as it is, so that operands are found by their characters as in any other prompt.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from numberline.engine.prompts import Prompts, Tokenizer, first_tokens, named
from numberline.errors import LayoutError, NumberlineError
from numberline.tasks.task import Task

DATE = "26 Jul 2024"
"""The day on which a conversation takes place, where a template wants to know it; Llama's own default."""


def encode(tokenizer: Tokenizer, task: Task, operands: Sequence[Sequence[int]]) -> Prompts:
    """The task's prompts for these operands, tokenized, with the position of every operand."""
    if not operands:
        raise NumberlineError("no operands were given, so there is no prompt to encode: give at least one tuple")
    prompts = _located(tokenizer, task, [tuple(int(value) for value in row) for row in operands])
    shared = _located(tokenizer, task, [reference(task)])
    prefix = shared.positions["y1.first"]
    same = (prompts.ids[:, :prefix] == shared.ids[:, :prefix]).all(1)
    if prompts.positions["y1.first"] != prefix or not bool(same.all()):
        other = int(same.long().argmin())
        raise NumberlineError(
            f"{named(prompts.texts, other)} does not begin with the {prefix} tokens that every prompt of the task must "
            "share: its operand changes how the tokenizer splits the words before it, so use another tokenizer"
        )
    return replace(prompts, prefix=prefix)


def alike(tokenizer: Tokenizer, task: Task, operands: Sequence[Sequence[int]]) -> list[list[int]]:
    """The places of the rows whose prompts have one layout, together; one group where all have the same."""
    rows = [tuple(int(value) for value in row) for row in operands]
    try:
        _located(tokenizer, task, rows)
    except LayoutError:
        groups: dict[tuple[int, ...], list[int]] = {}
        for place, row in enumerate(rows):
            groups.setdefault(tuple(_located(tokenizer, task, [row]).positions.values()), []).append(place)
        return list(groups.values())
    return [list(range(len(rows)))]


def _located(tokenizer: Tokenizer, task: Task, rows: Sequence[tuple[int, ...]]) -> Prompts:
    """Prompts with the tokens of each operand."""
    before, after = frame(tokenizer, task)
    spans = [[(len(before) + start, len(before) + end) for start, end in task.spans(row)] for row in rows]
    positions = {name: [each[i] for each in spans] for i, name in enumerate(task.operands)}
    return Prompts.of(tokenizer, [f"{before}{_asked(task, row)}{after}" for row in rows], positions)


def frame(tokenizer: Tokenizer, task: Task) -> tuple[str, str]:
    """What stands before and after the question of every prompt."""
    question = _asked(task, reference(task))
    if not task.concept.variant.chat:
        return task.prompt(reference(task)).removesuffix(question), ""
    if getattr(tokenizer, "chat_template", None) is None:
        raise NumberlineError("the tokenizer has no chat template, so there is no prompt 'chat': choose another prompt")
    before, found, after = _conversation(tokenizer, task.turns(reference(task))).rpartition(question)
    if not found:
        raise NumberlineError("the chat template changes the question, so there is no prompt 'chat': choose another")
    return before, after


def _conversation(tokenizer: Any, turns: list[dict[str, str]]) -> str:
    """A conversation as the tokenizer's template writes it, up to where the model's answer begins."""
    try:
        # What templates may be told, so that a prompt is the same every day and the answer comes at once.
        text = tokenizer.apply_chat_template(
            turns, tokenize=False, add_generation_prompt=True, enable_thinking=False, date_string=DATE
        )
    except Exception as error:  # a template is a program of the model's, and fails in its own way
        raise NumberlineError(f"the chat template refuses the conversation ({error}): choose another prompt") from error
    first = tokenizer("", add_special_tokens=True)["input_ids"][:1]
    return str(text).removeprefix(tokenizer.decode(first)) if first else str(text)


def _asked(task: Task, row: Sequence[int]) -> str:
    """The question as it stands in the prompt; templates take the spaces around a turn away."""
    question = task.question(row)
    return question.strip() if task.concept.variant.chat else question


def reference(task: Task) -> tuple[int, ...]:
    """The operands of the task's reference prompt: its smallest value, k times (any fixed value would do)."""
    return (task.values[0],) * task.k


def answer_tokens(tokenizer: Tokenizer, task: Task, values: Sequence[int]) -> Int[Tensor, " n"]:
    """t(y) for every value y: the first token of the answer, right after a prompt of the task."""
    unique = sorted(set(values))
    before, after = frame(tokenizer, task)
    words = [f"{task.gap_before_answer}{task.continued(value)}" for value in unique]
    first = first_tokens(tokenizer, [f"{before}{_asked(task, reference(task))}{after}"] * len(words), words)
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
                    f"example {number} holds {task.spell(seen[first[value]])} and {task.spell(value)}, whose "
                    f"answers begin with the same token {first[value]}, so the read-out cannot tell them apart: choose "
                    "operands that begin differently"
                )
            seen[first[value]] = value
