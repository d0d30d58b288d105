"""Where is each operand held, layer by layer? The causal trace of two numbers.

1. 400 evaluation counterfactuals in each case: y1 perturbed, y2 perturbed.
2. The clean residual stream leaving one layer is restored in the corrupted run at one token, in full: every layer,
   every token from the first of y1 to the last of the prompt. One sweep per case.
3. Scores: IIA, position recovery (averaged within the case, as in the paper) and pooled recovery.
4. Two roles are read from the pooled recovery (rules in roles.py): the number layer and the read-out layer.

Tables
- `trace`: case, layer, token (index in the prompt), token_text (of the first example), position ("y1.first", "y1", …,
  "last", or ""), metric (iia, pr, pooled), mean, se, n, lo, hi, near_ties, nonpositive.
- `scale`: case, mean, se, n, lo, hi: the denominator of position recovery, clean minus corrupted PLD, in logits.
Roles: number_layer, readout_layer.
"""

from collections.abc import Mapping
from typing import Any

from numberline.engine.lab import Lab
from numberline.experiments.common import role_rules, roles
from numberline.experiments.common.experiment import Context, Result, experiment
from numberline.experiments.two.patches import case_pairs
from numberline.methods.intervals import mean
from numberline.methods.pairs import Pairs
from numberline.methods.trace import question_tokens
from numberline.methods.trace import trace as restored
from numberline.results.cases import CASES


@experiment("k2.trace")
def trace(lab: Lab, context: Context) -> Result:
    """Where is each of two operands held, layer by layer and token by token?"""
    pairs_of = {case: case_pairs(lab, context, case) for case in CASES}
    rows = traced(lab, context, pairs_of)
    found = roles.settle(lab, context, role_rules.number_layer(rows), role_rules.readout_layer(rows))
    scale = [{"case": case, **mean(pairs.scale).columns} for case, pairs in pairs_of.items()]
    return Result.of({"trace": rows, "scale": scale}, n=len(pairs_of[CASES[0]]), roles=found)


def traced(lab: Lab, context: Context, pairs_of: Mapping[str, Pairs]) -> list[dict[str, Any]]:
    """The rows of a table `trace`: every layer and question token, in every case."""
    prompts = next(iter(pairs_of.values())).clean.prompts
    tokens = question_tokens(lab.tokenizer, prompts)  # a token has one text in all cases
    count = context.meter(len(pairs_of) * lab.network.n_layers * len(tokens) * len(prompts))
    return [
        {"case": case, **row}
        for case, pairs in pairs_of.items()
        for row in restored(pairs, tokens=tokens, progress=count).rows
    ]
