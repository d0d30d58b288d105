"""Which value does the model name? The first value in what it says.

1. Each prompt is continued greedily by as many tokens as the concept asks for: one more than the operands have digits,
   as in the paper.
   Prompts that a tokenizer splits into more or fewer tokens than others are continued apart.
2. What the prompt shows of every answer is put before it.
3. The answer is the first value of the concept in that text, the first integer; a text without one has no answer.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from numberline.engine.lab import Lab
from numberline.methods.answers import continuations
from numberline.tasks.layout import alike, encode
from numberline.tasks.task import Task


@dataclass(frozen=True)
class Answer:
    """What the model said after one prompt, and the value it named, if any."""

    text: str
    value: int | None


def read_answers(task: Task, texts: Iterable[str]) -> tuple[Answer, ...]:
    """The answers in what the model said."""
    whole = (f"{task.concept.shown}{text}" for text in texts)
    return tuple(Answer(text, task.concept.parse(text)) for text in whole)


def answer(
    lab: Lab, task: Task, operands: Sequence[Sequence[int]], progress: Callable[[int], object] = lambda _: None
) -> tuple[Answer, ...]:
    """What the un-edited model answers to the task's prompts; `progress` is told how many were answered just now."""
    texts = [""] * len(operands)
    for rows in alike(lab.tokenizer, task, operands):
        prompts = encode(lab.tokenizer, task, [operands[row] for row in rows])
        (said,) = continuations(lab, prompts, task.concept.answer_tokens, progress=progress)
        for row, text in zip(rows, said, strict=True):
            texts[row] = text
    return read_answers(task, texts)
