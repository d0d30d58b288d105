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
- `roles`: number_layer, readout_layer (columns in roles.py).
"""

from collections.abc import Mapping
from typing import Any

from numberline.engine.edits import swap
from numberline.engine.lab import Lab
from numberline.engine.prompts import Prompts
from numberline.engine.sites import resid
from numberline.experiments.common import roles
from numberline.experiments.common.experiment import Context, Result, experiment
from numberline.experiments.two.patches import CASES
from numberline.experiments.two.patches import trial as recorded
from numberline.methods.intervals import mean
from numberline.methods.scores import Trial, score


@experiment("k2.trace")
def trace(lab: Lab, context: Context) -> Result:
    """Where is each of two operands held, layer by layer and token by token?"""
    trials = {case: recorded(lab, context, case) for case in CASES}
    rows = traced(lab, context, trials)
    found = roles.settle(lab, context, roles.number_layer(rows), roles.readout_layer(rows))
    scale = [{"case": case, **mean(trial.scale).columns} for case, trial in trials.items()]
    return Result.of({"trace": rows, "scale": scale, "roles": found}, n=len(trials[CASES[0]]))


def traced(lab: Lab, context: Context, trials: Mapping[str, Trial]) -> list[dict[str, Any]]:
    """The rows of a table `trace`: every layer and question token, in every case."""
    rows: list[dict[str, Any]] = []
    prompts = next(iter(trials.values())).clean.prompts
    tokens = question_tokens(lab, prompts)
    sites = [{"layer": layer, **token} for layer in range(lab.network.n_layers) for token in tokens]
    count = context.meter(len(trials) * len(sites) * len(prompts))
    for case, trial in trials.items():
        conditions = [[swap(resid(site["layer"]).at(site["token"]), trial.clean)] for site in sites]
        labels = [{"case": case, **site} for site in sites]
        rows += score(lab, trial, conditions, count).rows(labels)
    return rows


def question_tokens(lab: Lab, prompts: Prompts) -> list[dict[str, Any]]:
    """Every token from the first of y1 to the last of the prompt: its index, its text, its name if it has one."""
    names: dict[int, str] = {}
    # An operand of one token has that token as its first and its last; it is named as the last, its position.
    for name, token in sorted(prompts.positions.items(), key=lambda item: item[0].endswith(".first")):
        names.setdefault(token, name)
    ids = prompts.ids[0].tolist()
    return [
        {
            "token": token,
            "token_text": str(lab.tokenizer.decode([ids[token]])),
            "position": names.get(token, ""),
        }
        for token in range(prompts.positions["y1.first"], len(ids))
    ]
