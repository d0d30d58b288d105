"""Which examples does the model solve? Those whose clean and corrupted prompts it answers right, in every order asked.

An answer is right here when the most likely next token is the first one of the winner: what a patch is scored by.
"""

from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Bool
from torch import Tensor

from numberline.engine.lab import Lab, Read
from numberline.methods.answers import batch_size
from numberline.tasks.counterfactuals import Order, arrange, clean_operands, corrupted_operands
from numberline.tasks.layout import answer_tokens, encode
from numberline.tasks.sampling import Row
from numberline.tasks.task import Task


def solves(lab: Lab, task: Task, tuples: Sequence[Row], orders: Iterable[Order]) -> Bool[Tensor, " tuples"]:
    """Which ranked tuples are solved, clean and corrupted, in every value order (next token t(a), t(b))."""
    right = torch.ones(len(tuples), dtype=torch.bool)
    for order in orders:
        examples = arrange(task, tuples, order)
        right &= names_winner(lab, task, clean_operands(examples))
        right &= names_winner(lab, task, corrupted_operands(examples))
    return right


def names_winner(lab: Lab, task: Task, operands: Sequence[Row]) -> Bool[Tensor, " n"]:
    """Whether the most likely next token is the first one of the winner, prompt by prompt."""
    prompts = encode(lab.tokenizer, task, operands)
    wanted = answer_tokens(lab.tokenizer, task, [task.answer(row) for row in operands])
    size, said = batch_size(lab, prompts), []
    for start in range(0, len(prompts), size):
        found = lab.run(lab.record(prompts[start : start + size]), [], Read(argmax=True)).argmax
        assert found is not None
        said.append(found.cpu())
    return torch.cat(said) == wanted
