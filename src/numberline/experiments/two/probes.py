"""What can be read off linearly, and where? Ridge probes at every layer and question token.

1. The 2,000-prompt cloud; a fifth is held out. A pair and its mirror image are held out together, so that no probe has
   seen the held-out numbers in the other order (the paper does not say how its fifth was drawn).
2. At every layer and every token from y1's first to the last: ridge regression of log y1 and of log y2, and a ridge
   classifier of y1 > y2. The penalty is one of 13 log-spaced values in [1e-2, 1e4], chosen by the leave-one-out error,
   in closed form; activations are mean-centred and not scaled.
3. Held-out R² for the logarithms, held-out accuracy for the comparison.
4. A token cannot know an operand that comes after it: the scores there are the floors.

Tables
- `probes`: target ("log_y1", "log_y2", "y1>y2"; on a linear scale "y1", "y2"), layer, token, token_text, position,
  knows ("nothing", "part", "all": how much of what the target needs the token has seen), penalty, mean, se, n, lo, hi.
- `floors`: target, layer, token, mean, lo, hi: the best score among sites that know nothing of the operand in question
  (for y1 > y2: that have not seen y2). There is none for log y1, which every question token has seen.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from numberline.engine.lab import Lab
from numberline.engine.prompts import Prompts
from numberline.experiments.common.experiment import Context, Result, experiment
from numberline.methods.probes import held_out, probe_everywhere
from numberline.methods.trace import question_tokens
from numberline.tasks.layout import encode
from numberline.tasks.populations import cloud
from numberline.tasks.sampling import Rows
from numberline.tasks.scale import scaled
from numberline.tasks.task import Task

COMPARISON = "y1>y2"


@experiment("k2.probes")
def probes(lab: Lab, context: Context) -> Result:
    """What of each {noun} can be read off linearly, and where?"""
    task = Task(context.concept)
    operands = cloud(task, context.sizes.number_cloud, context.seed)
    prompts = encode(lab.tokenizer, task, operands)
    # Each pair is held out with its mirror image, which stands next to it.
    chosen = held_out(len(prompts), context.seed, together=2)
    count = context.meter(lab.network.n_layers * len(question_tokens(lab.tokenizer, prompts)))
    rows = probe_everywhere(lab, prompts, targets_of(task, operands), chosen, count)
    for row in rows:
        row["knows"] = knows(row["target"], row["token"], prompts)
    return Result.of({"probes": rows, "floors": floors(rows)}, n=int(chosen.sum()))


def targets_of(task: Task, operands: Rows) -> dict[str, Float[Tensor, " n"]]:
    """log y1 and log y2 (y1 and y2 where the concept's scale is linear), and ±1 for y1 > y2."""
    values = torch.tensor(operands)
    straight, prefix = scaled(task.concept, values), "log_" if task.concept.scale == "log" else ""
    larger = torch.where(values[:, 0] > values[:, 1], 1.0, -1.0).double()
    return {f"{prefix}y1": straight[:, 0], f"{prefix}y2": straight[:, 1], COMPARISON: larger}


def knows(target: str, token: int, prompts: Prompts) -> str:
    """How much of the operand that the target needs last has been seen at a token."""
    operand = "y1" if target in ("log_y1", "y1") else "y2"
    if token < prompts.positions[f"{operand}.first"]:
        return "nothing"
    return "part" if token < prompts.positions[operand] else "all"


def floors(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each target, the best score where the operand has not been seen."""
    blind = [row for row in rows if row["knows"] == "nothing"]
    seen_late = dict.fromkeys(row["target"] for row in blind)  # every question token has seen y1
    best = [max((row for row in blind if row["target"] == t), key=lambda row: row["mean"]) for t in seen_late]
    return [{name: row[name] for name in ("target", "layer", "token", "mean", "lo", "hi")} for row in best]
