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
Roles: transport_head.
"""

from typing import Any

from numberline.engine.edits import swap
from numberline.engine.lab import Lab
from numberline.engine.sites import resid
from numberline.experiments.common import role_rules, roles
from numberline.experiments.common.experiment import Context, MissingError, Result, experiment
from numberline.experiments.two.patches import case_pairs
from numberline.methods.heads import sweep_heads

Rows = list[dict[str, Any]]


@experiment("k2.heads", needs=("k2.trace", "k2.number"))
def heads(lab: Lab, context: Context) -> Result:
    """Which head carries the first {noun} to the second's position?"""
    number_layer = roles.require(context, "number_layer").layer
    v2 = context.subspace("k2.number", "v2")
    layer = layer_after(lab, number_layer)
    pairs = case_pairs(lab, context, "y1")
    count = context.meter((1 + 2 * lab.network.n_heads) * len(pairs))
    together = swap(resid(number_layer).at("y2"), pairs.clean, v2)
    swept = sweep_heads(pairs, layer, "y2", [together], alone=True, progress=count)
    rows, excess = swept.rows(named("v2")), swept.excess
    found = roles.settle(lab, context, role_rules.leading_head("transport_head", excess))
    return Result.of({"heads": rows, "excess": excess}, n=len(pairs), roles=found)


def layer_after(lab: Lab, number_layer: int) -> int:
    """The layer whose heads can carry the operands on."""
    if number_layer + 1 >= lab.network.n_layers:
        raise MissingError(
            f"no layer follows layer {number_layer}, which holds the operands, so no head can carry them on"
        )
    return number_layer + 1


def named(baseline: str) -> dict[str, str]:
    """The conditions of a sweep of heads, by what is patched together with each."""
    return {"baseline": baseline, "together": f"with {baseline}"}
