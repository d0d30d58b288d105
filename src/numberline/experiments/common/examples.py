"""Which counterfactuals does an experiment use? Those of the run's sample, or the user's own (`run --examples FILE`).

1. A sample is dealt to three hands (tasks/counterfactuals.py): scores are made on `evaluation`, fits and rankings on
   `fitting`, choices between candidates on `choosing`.
2. The user's examples of a case are dealt, in the order of the file, in the same proportions. They need not be ranked
   tuples: any valid counterfactual will do. Where the file has too few of a case, what needs them is missing.
3. The file is for two operands. Examples of three or more are sampled, as are all clouds and grids.
4. With `run --solved`, only tuples that the model solves are dealt (solved.py).
"""

from numberline.engine.lab import Lab
from numberline.experiments.common.experiment import Context, MissingError
from numberline.experiments.common.solved import solved_tuples
from numberline.tasks.counterfactuals import Counterfactual, Hand, deal, deal_examples, perturb, pool
from numberline.tasks.pairs import CounterfactualPairs, record_pairs
from numberline.tasks.task import Task

LEAST = 8
"""Fewer examples of a hand say nothing."""


def counterfactuals(context: Context, task: Task, case: str, hand: Hand = "evaluation") -> tuple[Counterfactual, ...]:
    """The examples of a case in one hand."""
    plain = task == Task(context.concept)
    if plain and context.solved:
        return perturb(task, deal(solved_tuples(context), context.sizes).hand(hand), case)
    if not context.examples or not plain:
        return perturb(task, pool(task, context.seed, context.sizes).hand(hand), case)
    mine = [example for example in context.examples if example.case == case]
    found = deal_examples(mine, context.sizes)[hand]
    if len(found) < LEAST:
        raise MissingError(
            f"the examples given hold {len(mine)} in which {case} changes, of which {len(found)} are for {hand}: give "
            f"about {LEAST * 6} or more"
        )
    return found


def case_pairs(
    lab: Lab, context: Context, task: Task, case: str, hand: Hand = "evaluation", upto: int | None = None
) -> CounterfactualPairs:
    """The recorded examples of a case in one hand; `upto`: the last layer at which the clean side is a source."""
    return record_pairs(lab, task, counterfactuals(context, task, case, hand), upto=upto)
