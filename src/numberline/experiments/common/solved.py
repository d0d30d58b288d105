"""How many of the examples of two operands does the model solve, and are the others used too?

1. A tuple is solved when both prompts of both cases are: the most likely next token is the winner's first.
2. The paper uses all of them. So does a run, and this says how many it solves: where few are, scores are about a model
   that does something else.
3. With `run --solved`, four times as many tuples are drawn, as far as there are so many, and only solved ones are dealt
   to the hands. Every experiment on two operands then needs this one.

Three operands are always filtered so (three/space.py). Clouds and grids are for geometry, and never are.
"""

from collections.abc import Mapping
from dataclasses import replace

import torch

from numberline.engine.lab import Lab
from numberline.experiments.common.experiment import Context, Experiment, MissingError, Result, experiment
from numberline.methods.intervals import wilson
from numberline.tasks.counterfactuals import cases, clean_operands, corrupted_operands, needed
from numberline.tasks.sampling import Rows, count_ranked, ranked_tuples
from numberline.tasks.solved import names_winner, solves
from numberline.tasks.task import Task

SOLVED = "behaviour.solved"
MORE = 4
"""How many times as many tuples are drawn where some will be left out."""


@experiment(SOLVED)
def solved(lab: Lab, context: Context) -> Result:
    """How many of the examples of two {nouns} does the model solve?

    Table `solved`: filtered (whether only these are used), solved, used (how many are dealt to the hands), mean, se, n,
    lo, hi: of all that were drawn, or of the user's own examples. Tensor: solved (n).
    """
    task = Task(context.concept)
    if context.examples:
        right = torch.ones(len(context.examples), dtype=torch.bool)
        for side in (clean_operands, corrupted_operands):
            right &= names_winner(lab, task, side(context.examples))
    else:
        right = solves(lab, task, drawn_tuples(context), cases(task.k).values())
    kept = [bool(each) for each in right]
    used = min(sum(kept) if context.solved else len(kept), needed(context.sizes))
    row = {"filtered": context.solved, "solved": sum(kept), "used": used, **wilson(kept).columns}
    return Result.of({"solved": [row]}, n=len(kept), tensors={"solved": right.to(torch.uint8)})


def drawn_tuples(context: Context) -> Rows:
    """The tuples of two operands that are dealt, or those from which the solved ones are taken."""
    task, wanted = Task(context.concept), needed(context.sizes)
    return ranked_tuples(task, min(MORE * wanted, count_ranked(task)) if context.solved else wanted, context.seed)


def solved_tuples(context: Context) -> Rows:
    """Those that the model solves."""
    mask = context.tensor(SOLVED, "solved").bool().tolist()
    found = tuple(row for row, right in zip(drawn_tuples(context), mask, strict=True) if right)
    if len(found) < needed(context.sizes):
        raise MissingError(
            f"the model solves {len(found)} of {len(mask)} tuples in both cases; {needed(context.sizes)} are needed"
        )
    return found


def on_solved(experiments: Mapping[str, Experiment]) -> dict[str, Experiment]:
    """The experiments, those on two operands with the need to know what the model solves."""
    return {
        id: replace(each, needs=(SOLVED, *each.needs)) if id.startswith("k2.") else each
        for id, each in experiments.items()
    }
