"""Which head carries y1 to y2's position? The heads of the layer after the number layer.

1. y1 perturbed, evaluation examples. Each head's contribution at y2's position is restored, together with a restoration
   along v2 of the residual leaving the number layer at the same position: a single head written into a corrupted
   residual stream has almost no effect.
2. The co-patch alone is the baseline; the same sweep without the co-patch stands beside. All in one sweep.
3. The excess of a head is its pooled recovery with the co-patch minus the baseline's, paired by example.
4. The head with the largest excess is the role transport_head.

Tables
- `heads`: layer, head (−1: none), condition ("with v2", "alone", "v2": the baseline), metric (iia, pr, pooled), mean,
  se, n, lo, hi, near_ties, nonpositive.
- `excess`: layer, head, mean, se, n, lo, hi, and how far it is behind the best head, as a share of the best's excess,
  paired by example: behind, behind_lo, behind_hi.
- `roles`: transport_head.
"""

from collections.abc import Callable
from typing import Any

from numberline.engine.edits import Edit, swap
from numberline.engine.lab import Lab
from numberline.engine.sites import head, resid
from numberline.experiments.common import roles
from numberline.experiments.common.experiment import Context, MissingError, Result, experiment
from numberline.experiments.two.patches import trial as recorded
from numberline.methods.intervals import Estimate, ratio
from numberline.methods.scores import Trial, score

Rows = list[dict[str, Any]]


@experiment("k2.heads", needs=("k2.trace", "k2.number"))
def heads(lab: Lab, context: Context) -> Result:
    """Which head carries the first number to the second's position?"""
    number_layer = roles.require(context, "number_layer").layer
    v2 = context.need("k2.number").subspaces["v2"]
    layer = layer_after(lab, number_layer)
    trial = recorded(lab, context, "y1")
    count = context.meter((1 + 2 * lab.network.n_heads) * len(trial))
    together = swap(resid(number_layer).at("y2"), trial.clean, v2)
    rows, excess = sweep_heads(lab, trial, layer, "y2", {"v2": together}, count, alone=True)
    found = roles.settle(lab, context, roles.leading_head("transport_head", excess))
    return Result.of({"heads": rows, "excess": excess, "roles": found}, n=len(trial))


def layer_after(lab: Lab, number_layer: int) -> int:
    """The layer whose heads can carry the numbers on."""
    if number_layer + 1 >= lab.network.n_layers:
        raise MissingError(f"no layer follows the number layer {number_layer}, so no head can carry the number on")
    return number_layer + 1


def sweep_heads(
    lab: Lab,
    trial: Trial,
    layer: int,
    position: str,
    baseline: dict[str, Edit],
    count: Callable[[int], None],
    alone: bool = False,
) -> tuple[Rows, Rows]:
    """The rows of `heads` and of `excess`: each head at a position together with a co-patch, named in `baseline`."""
    ((name, together),) = baseline.items()
    all_heads = range(lab.network.n_heads)
    edits = [swap(head(layer, number).at(position), trial.clean) for number in all_heads]
    conditions = [[together], *([together, edit] for edit in edits), *([edit] for edit in edits if alone)]
    labels = [
        {"layer": layer, "head": number, "condition": condition}
        for condition, numbers in ((name, [-1]), (f"with {name}", all_heads), ("alone", all_heads if alone else []))
        for number in numbers
    ]
    scores = score(lab, trial, conditions, count)
    gained = scores.pld[1 : 1 + len(all_heads)] - scores.pld[0]
    best = gained[int(gained.mean(1).argmax())]
    excess = [
        {
            "layer": layer,
            "head": number,
            **ratio(gained[number], trial.scale).columns,
            **_behind(ratio(best - gained[number], best)),
        }
        for number in all_heads
    ]
    return scores.rows(labels), excess


def _behind(share: Estimate) -> dict[str, float]:
    return {"behind": share.mean, "behind_lo": share.lo, "behind_hi": share.hi}
