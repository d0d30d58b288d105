"""Which neurons compare three numbers? Freezing while the span of v1, v2, v3 is patched at y3's position.

The two-number method (`comparing.py`) with one more number:

1. The span of v1, v2, v3 is patched in the pre-MLP residual of the transport layer at y3, in each perturbation case.
   Meanwhile one sub-block's output at y3 is pinned to its value in the unpatched corrupted run.
2. All neurons of the comparator MLPs (those of two numbers, as in the paper) are ranked by this task's own attribution
   on the fitting examples; the top k are frozen on the evaluation examples, against two random draws of k.
3. The shared neurons of two numbers are re-used unchanged: frozen here, beside this task's own top 20 and as many
   random ones.

The paper scores this by position recovery, for three-number IIA is near zero in cases y1 and y2.

Tables
- `blocks`: case, frozen ("none", "attention 15", "mlp 14", "mlp 14+15"), kind, layers, metric, mean, se, n, lo, hi, …
- `costs`: case, layer, mean, …: pooled recovery lost by freezing that MLP alone.
- `freeze`: case, ranking ("attribution", "random"), draw (−1: none), k, metric, mean, …
- `sets`: case, frozen ("none", "shared": the two-number set, "own", "random"), draw, k, metric, …
- `scores`: layer, neuron, y1, y2, y3 (its score in each case), rank_y1, rank_y2, rank_y3 (from 1), shared (in the
  two-number set); all neurons.
- `overlap`: case, top (20), shared (how many two-number neurons are in this case's top 20), of (how many there are).
Tensors: scores (cases × layers × neurons); layers.
"""

from collections.abc import Sequence

import torch

from numberline.engine.lab import Lab
from numberline.experiments.common.comparing import (
    TOP,
    Meeting,
    Ranked,
    Rows,
    freeze_blocks,
    freeze_neurons,
    rank,
    runs,
    sub_blocks,
)
from numberline.experiments.common.experiment import Context, Result, experiment
from numberline.experiments.common.roles import require
from numberline.experiments.three.space import SPACE_OF_THREE, ThreeSpace, case_pairs, space_of_three
from numberline.experiments.two.neurons import shared_places
from numberline.methods.attribution import Place
from numberline.tasks.counterfactuals import CASE_ORDERS


@experiment("k3.neurons", needs=(*SPACE_OF_THREE, "k2.freeze", "k2.neurons"))
def neurons(lab: Lab, context: Context) -> Result:
    """Which neurons carry the comparison of three {nouns}?"""
    layers, shared = require(context, "comparator_mlps").value, shared_places(context.need("k2.neurons"))
    return measure(lab, context, space_of_three(lab, context), layers, shared)


def measure(lab: Lab, context: Context, space: ThreeSpace, layers: Sequence[int], shared: Sequence[Place]) -> Result:
    """Freeze sub-blocks, rank, freeze neurons, given the space, the comparator MLPs and the two-number set."""
    sizes, meeting = context.sizes, meeting_of_three(lab, context, space)
    blocks = len(sub_blocks(meeting.layers(lab), "y3"))
    count = context.meter(len(CASE_ORDERS) * (sizes.fitting + (blocks + runs(lab, layers)) * sizes.evaluation))
    frozen_blocks, lost = freeze_blocks(lab, meeting, count)
    ranked = rank(meeting, layers, count)
    frozen, sets = freeze_neurons(lab, meeting, ranked, shared, context.seed, count)
    tables = {
        "blocks": frozen_blocks.rows,
        "costs": lost,
        "freeze": frozen.rows,
        **sets.tables("sets"),
        "scores": ranked.rows(shared),
        "overlap": overlap(ranked, shared),
    }
    stacked = torch.stack([ranked.scores[case] for case in CASE_ORDERS])
    return Result.of(tables, sizes.evaluation, {"scores": stacked, "layers": torch.tensor(layers)})


def meeting_of_three(lab: Lab, context: Context, space: ThreeSpace) -> Meeting:
    """The span of v1, v2, v3 at y3."""
    return Meeting(
        space.layer,
        "y3",
        space.patches["span"],
        tuple(CASE_ORDERS),
        lambda case, hand: case_pairs(lab, context, case, hand),
    )


def overlap(ranked: Ranked, shared: Sequence[Place]) -> Rows:
    """How many of the two-number set are in the top of each case's ranking."""
    return [
        {"case": case, "top": TOP, "shared": len(set(order[:TOP]) & set(shared)), "of": len(shared)}
        for case, order in ranked.order.items()
    ]
