"""Which head carries y1 to y2's position? The heads of the layer after the number layer.

1. y1 perturbed, evaluation examples. Each head's contribution at y2's position is restored, together with a restoration
   along v2 of the residual leaving the number layer at the same position: a single head written into a corrupted
   residual stream has almost no effect.
2. The co-patch alone is the baseline; the same sweep without the co-patch stands beside. All in one sweep.
3. The excess of a head is its pooled recovery with the co-patch minus the baseline's, paired by example.
4. The head with the largest excess is the role transport_head; it is chosen on the hand `choosing`.
5. Does it do more than all others together? All heads of the layer, and all but that one, are restored at once with the
   same co-patch.

Tables
- `heads`: layer, head (−1: none or several), condition ("with v2", "alone", "v2": the baseline, "all with v2", "others
  with v2": all but the transport head), metric (iia, pr, pooled), mean, se, n, lo, hi, near_ties, nonpositive.
- `heads_scored`: layer, head, condition, example, pld, clean, corrupted, hit: each example.
- `excess`: layer, head, mean, se, n, lo, hi, and how far it is behind the best head, as a share of the best's excess,
  paired by example: behind, behind_lo, behind_hi. `excess_choosing`: the same of the examples that choose.
Roles: transport_head.
"""

from typing import Any

from numberline.engine.edits import Edit, swap
from numberline.engine.lab import Lab
from numberline.engine.sites import resid
from numberline.experiments.common import role_rules, roles
from numberline.experiments.common.experiment import Context, MissingError, Result, experiment
from numberline.experiments.two.patches import case_pairs
from numberline.experiments.two.trace import HANDS
from numberline.methods.draws import Scoreboard
from numberline.methods.heads import sweep_heads
from numberline.methods.pairs import Pairs

Rows = list[dict[str, Any]]


@experiment("k2.heads", needs=("k2.trace", "k2.number"))
def heads(lab: Lab, context: Context) -> Result:
    """Which head carries the first {noun} to the second's position?"""
    number_layer = roles.require(context, "number_layer").layer
    v2 = context.subspace("k2.number", "v2")
    layer = layer_after(lab, number_layer)
    choosing, pairs = (case_pairs(lab, context, "y1", hand) for hand in HANDS)
    every = range(lab.network.n_heads)
    count = context.meter((1 + len(every)) * len(choosing) + (3 + 2 * len(every)) * len(pairs))

    def together(examples: Pairs) -> list[Edit]:
        return [swap(resid(number_layer).at("y2"), examples.clean, v2)]

    tried = sweep_heads(choosing, layer, "y2", together(choosing), progress=count).excess
    (role,) = roles.settle(lab, context, role_rules.leading_head("transport_head", tried))
    sets = {"all with v2": list(every)}
    if role.found and role.layer == layer:
        sets["others with v2"] = [number for number in every if number != role.head]
    swept = sweep_heads(pairs, layer, "y2", together(pairs), alone=True, sets=sets, progress=count)
    board = Scoreboard()
    board.add(swept.scores, swept.labels(named("v2")))
    tables = {**board.tables("heads"), "excess": swept.excess, "excess_choosing": tried}
    return Result.of(tables, n=len(pairs), roles=[role])


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
