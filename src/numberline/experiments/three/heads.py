"""Which heads carry y1 and y2 to y3's position? The heads of the layer after the number layer, three operands.

1. Three value orders (the head groups of the paper), each patched at the runner-up's position: y1 > y2 > y3 at y2,
   y1 > y3 > y2 and y2 > y3 > y1 at y3. Evaluation examples.
2. Each head's contribution is restored together with the whole residual leaving the number layer at the same position;
   that co-patch alone is the baseline. One sweep per order.
3. The excess of a head is its pooled recovery minus the baseline's, paired by example.
4. The head with the largest excess in y1 > y3 > y2 is the role transport_head_y1, in y2 > y3 > y1 transport_head_y2;
   chosen on the hand `choosing`.
5. The heads are ranked by their mean absolute effect over the three orders; the paper shows eight. It does not say
   whether an effect counts from the baseline; here it does: position recovery minus the co-patch's.

Tables
- `heads`: order ("y1>y2>y3", from the largest), position, layer, head (−1: none), condition ("with full_number",
  "full_number": the baseline), metric (iia, pr, pooled), mean, se, n, lo, hi, near_ties, nonpositive.
- `excess`: order, position, layer, head, mean, se, n, lo, hi; `excess_choosing`: of the examples that choose.
- `ranking`: layer, head, rank (from 1), effect (the mean absolute effect).
Roles: transport_head_y1, transport_head_y2.
"""

from numberline.engine.edits import swap
from numberline.engine.lab import Lab
from numberline.engine.sites import resid
from numberline.experiments.common import role_rules, roles
from numberline.experiments.common.experiment import Context, Result, experiment
from numberline.experiments.three.space import ordered_pairs, spelled
from numberline.experiments.two.heads import Rows, layer_after, named
from numberline.experiments.two.trace import HANDS
from numberline.methods.heads import sweep_heads
from numberline.tasks.counterfactuals import CASE_ORDERS, HEAD_GROUPS

BASELINE = "full_number"


@experiment("k3.heads", needs=("k3.trace",))
def heads(lab: Lab, context: Context) -> Result:
    """Which heads carry the first two {nouns} to the third's position?"""
    number_layer = roles.require(context, "number_layer_k3").layer
    layer = layer_after(lab, number_layer)
    sizes = context.sizes
    count = context.meter(len(HEAD_GROUPS) * (1 + lab.network.n_heads) * (sizes.evaluation + sizes.choosing))
    rows, excess = Rows(), {hand: Rows() for hand in HANDS}
    for order, position in HEAD_GROUPS.items():
        for hand in HANDS:
            pairs = ordered_pairs(lab, context, order, hand)
            together = swap(resid(number_layer).at(position), pairs.clean)
            swept = sweep_heads(pairs, layer, position, [together], progress=count)
            about = {"order": spelled(order), "position": position}
            excess[hand] += [{**about, **row} for row in swept.excess]
            rows += [{**about, **row} for row in swept.rows(named(BASELINE))] if hand == "evaluation" else []
    carriers = [
        role_rules.leading_head(
            f"transport_head_{case}", [row for row in excess["choosing"] if row["order"] == spelled(CASE_ORDERS[case])]
        )
        for case in ("y1", "y2")
    ]
    tables = {
        "heads": rows,
        "excess": excess["evaluation"],
        "excess_choosing": excess["choosing"],
        "ranking": ranking(rows),
    }
    return Result.of(tables, n=context.sizes.evaluation, roles=roles.settle(lab, context, *carriers))


def ranking(rows: Rows) -> Rows:
    """From the table `heads`: every head's mean absolute effect over the orders, largest first."""
    recovery = {(row["order"], row["head"]): row["mean"] for row in rows if row["metric"] == "pr"}
    orders = list(dict.fromkeys(order for order, _ in recovery))  # in one order, so that sums are the same in every run
    places = {row["head"]: row["layer"] for row in rows if row["head"] >= 0}
    effects = {
        head: sum(abs(recovery[order, head] - recovery[order, -1]) for order in orders) / len(orders) for head in places
    }
    ordered = sorted(places, key=lambda head: -effects[head])
    return [
        {"layer": places[head], "head": head, "rank": rank, "effect": effects[head]}
        for rank, head in enumerate(ordered, start=1)
    ]
