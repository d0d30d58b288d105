"""Which value does the model name? Greedy decoding, and the first value in what it says.

1. Prompts are recorded a batch at a time, so that memory is bounded whatever their number.
2. Each is continued greedily by as many tokens as the concept asks for: one more than the operands have digits, as in
   the paper.
3. The answer is the first value of the concept in that text, the first integer; a text without one has no answer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from jaxtyping import Int
from torch import Tensor

from numberline.engine.lab import Lab
from numberline.engine.prompts import Prompts
from numberline.tasks.layout import encode
from numberline.tasks.task import Task

BATCH_BYTES = 256 * 2**20
"""How much a recording may hold while prompts are only to be answered."""


@dataclass(frozen=True)
class Answer:
    """What the model said after one prompt, and the value it named, if any."""

    text: str
    value: int | None


def read_answers(tokenizer: Any, task: Task, tokens: Int[Tensor, "n steps"]) -> tuple[Answer, ...]:
    """The answers in decoded tokens."""
    texts = tokenizer.batch_decode(tokens.tolist(), skip_special_tokens=True)
    return tuple(Answer(text, task.concept.parse(text)) for text in texts)


def answer(
    lab: Lab, task: Task, operands: Sequence[Sequence[int]], progress: Callable[[int], object] = lambda _: None
) -> tuple[Answer, ...]:
    """What the un-edited model answers to the task's prompts; `progress` is told how many were answered just now."""
    prompts = encode(lab.tokenizer, task, operands)
    size, answers = batch_size(lab, prompts), list[Answer]()
    for start in range(0, len(prompts), size):
        recording = lab.record(prompts[start : start + size])
        decoded = lab.decode(recording, [[]], steps=task.concept.answer_tokens)[0]
        answers += read_answers(lab.tokenizer, task, decoded)
        progress(len(recording))
    return tuple(answers)


def batch_size(lab: Lab, prompts: Prompts) -> int:
    """How many of these prompts fit one bounded recording."""
    one, two = lab.cost(prompts[:1]), lab.cost(prompts[[0, 0]])
    return max((BATCH_BYTES - one) // (two - one) + 1, 1)
