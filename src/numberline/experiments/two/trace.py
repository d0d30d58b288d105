"""Where is each operand held, layer by layer? The causal trace of two numbers.

1. 400 evaluation counterfactuals in each case: y1 perturbed, y2 perturbed.
2. The clean residual stream leaving one layer is restored in the corrupted run at one token, in full: every layer,
   every token from the first of y1 to the last of the prompt. One sweep per case.
3. Scores: IIA, position recovery (averaged within the case, as in the paper) and pooled recovery.
4. Two roles are read from the pooled recovery (rules in role_rules.py): the number layer and the read-out layer. They
   are chosen on other examples, the hand `choosing`, so that what is measured there on evaluation examples chose
   nothing.

Tables
- `trace`: case, layer, token (index in the prompt), token_text (of the first example), position ("y1.first", "y1", …,
  "last", or ""), metric (iia, pr, pooled), mean, se, n, lo, hi, near_ties, nonpositive. `trace_choosing`: the same of
  the examples that choose. `trace_scored`: case, layer, token, …, example, pld, clean, corrupted, hit: each example.
- `scale`: case, mean, se, n, lo, hi: the denominator of position recovery, clean minus corrupted PLD, in logits.
Roles: number_layer, readout_layer.
"""

from collections.abc import Mapping
from typing import Any

from numberline.engine.lab import Lab
from numberline.experiments.common import role_rules, roles
from numberline.experiments.common.experiment import Context, Result, experiment
from numberline.experiments.two.patches import case_pairs
from numberline.methods.draws import Scoreboard
from numberline.methods.intervals import mean
from numberline.methods.pairs import Pairs
from numberline.methods.trace import question_tokens
from numberline.methods.trace import trace as restored
from numberline.results.cases import CASES
from numberline.tasks.counterfactuals import Hand

HANDS: tuple[Hand, ...] = ("choosing", "evaluation")


@experiment("k2.trace")
def trace(lab: Lab, context: Context) -> Result:
    """Where is each of two operands held, layer by layer and token by token?"""
    pairs_of = {hand: {case: case_pairs(lab, context, case, hand) for case in CASES} for hand in HANDS}
    tables = traced(lab, context, pairs_of)
    evidence = tables["trace_choosing"]
    found = roles.settle(lab, context, role_rules.number_layer(evidence), role_rules.readout_layer(evidence))
    judged = pairs_of["evaluation"]
    scale = [{"case": case, **mean(pairs.scale).columns} for case, pairs in judged.items()]
    return Result.of({**tables, "scale": scale}, n=len(judged[CASES[0]]), roles=found)


def traced(lab: Lab, context: Context, pairs_of: Mapping[Hand, Mapping[str, Pairs]]) -> dict[str, Any]:
    """The tables `trace`, `trace_scored` and `trace_choosing`: every layer and question token, in every case."""
    prompts = next(iter(pairs_of["evaluation"].values())).clean.prompts
    tokens = question_tokens(lab.tokenizer, prompts)  # a token has one text in all cases
    examples = sum(len(pairs) for cases in pairs_of.values() for pairs in cases.values())
    count = context.meter(lab.network.n_layers * len(tokens) * examples)
    boards = {hand: Scoreboard() for hand in HANDS}
    for hand, cases in pairs_of.items():
        for case, pairs in cases.items():
            found = restored(pairs, tokens=tokens, progress=count)
            boards[hand].add(found.scores, [{"case": case, **label} for label in found.labels])
    return {**boards["evaluation"].tables("trace"), "trace_choosing": boards["choosing"].rows}
