"""What does the model say after a prompt? Greedy decoding, in batches whose memory is bounded whatever their number."""

from collections.abc import Callable, Sequence
from typing import Any

from jaxtyping import Int
from torch import Tensor

from numberline.engine.edits import Edit
from numberline.engine.lab import Lab
from numberline.engine.prompts import Prompts

BATCH_BYTES = 256 * 2**20
"""How much a recording may hold while prompts are only to be answered."""


def continuations(
    lab: Lab,
    prompts: Prompts,
    steps: int,
    conditions: Sequence[Sequence[Edit]] = ((),),
    progress: Callable[[int], object] = lambda _: None,
) -> list[list[str]]:
    """What the model says under each condition in `steps` tokens; `progress` is told how many were continued just now.

    The edits of the conditions hold for any batch of prompts: their values are one for all, not one for each.
    """
    size, said = batch_size(lab, prompts), [list[str]() for _ in conditions]
    for start in range(0, len(prompts), size):
        recording = lab.record(prompts[start : start + size])
        for under, tokens in zip(said, lab.decode(recording, conditions, steps), strict=True):
            under.extend(decoded(lab.tokenizer, tokens))
        progress(len(recording))
    return said


def decoded(tokenizer: Any, tokens: Int[Tensor, "n steps"]) -> list[str]:
    """Tokens as text."""
    return list(tokenizer.batch_decode(tokens.tolist(), skip_special_tokens=True))


def batch_size(lab: Lab, prompts: Prompts) -> int:
    """How many of these prompts fit one bounded recording."""
    one, two = lab.cost(prompts[:1]), lab.cost(prompts[[0, 0]])
    return max((BATCH_BYTES - one) // (two - one) + 1, 1)
