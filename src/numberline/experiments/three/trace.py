"""Which quadruples does the model solve, and where is each of three operands held? The causal trace of three numbers.

1. 1,400 quadruples (a, b, c, r) are drawn. Those whose clean and corrupted prompts are solved (next token t(a),
   t(b)) in all four value orders of the paper are kept. The first 528 of these serve all three-number experiments: 400
   for evaluation, 128 for fitting.
2. The trace of two/trace.py in three cases: y1, y2 or y3 perturbed.
3. The number layer of three operands is read from it (rule 7 in roles.py).

Tables
- `population`: candidates, kept, used, evaluation, fitting, choosing, orders (the four value orders).
- `trace`, `trace_choosing`, `trace_scored`: as in two/trace.py, with case "y3" and the positions "y3.first", "y3".
Roles: number_layer_k3.
Tensors: solved (candidates; 1 where kept).
"""

import torch

from numberline.engine.lab import Lab
from numberline.experiments.common import role_rules, roles
from numberline.experiments.common.experiment import Context, MissingError, Result, experiment
from numberline.experiments.three.space import solved, spelled, three_numbers
from numberline.experiments.two.trace import HANDS, traced
from numberline.tasks.counterfactuals import CASE_ORDERS, VALUE_ORDERS, needed, perturb, pool
from numberline.tasks.pairs import record_pairs


@experiment("k3.trace", needs=("k2.trace",))
def trace(lab: Lab, context: Context) -> Result:
    """Where is each of three operands held, layer by layer and token by token?"""
    task, sizes = three_numbers(context), context.sizes
    mask = solved(lab, context, task)
    kept = int(mask.sum())
    if kept < needed(sizes):
        raise MissingError(
            f"the model solves {kept} of {len(mask)} quadruples in all four value orders; {needed(sizes)} are needed"
        )
    split = pool(task, context.seed, sizes, mask.tolist())
    pairs_of = {
        hand: {case: record_pairs(lab, task, perturb(task, split.hand(hand), case)) for case in CASE_ORDERS}
        for hand in HANDS
    }
    traces = traced(lab, context, pairs_of)
    own = role_rules.number_layer_k3(traces["trace_choosing"], roles.known(context, "number_layer"))
    found = roles.settle(lab, context, own)
    population = {
        "candidates": len(mask),
        "kept": kept,
        "used": len(split.evaluation) + len(split.fitting),
        "evaluation": len(split.evaluation),
        "fitting": len(split.fitting),
        "choosing": len(split.choosing),
        "orders": [spelled(order) for order in VALUE_ORDERS],
    }
    tables = {"population": [population], **traces}
    return Result.of(tables, n=len(split.evaluation), tensors={"solved": mask.to(torch.uint8)}, roles=found)
