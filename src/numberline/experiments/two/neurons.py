"""Which neurons compare? Attribution on fitting examples, tested by freezing on evaluation examples.

1. In each case all neurons of the comparator MLPs are scored by attribution at y2 while the (v1, v2) plane is patched,
   on the fitting examples, and ranked by size (`comparing.py`).
2. On the evaluation examples the plane is patched and the top k of the case's own ranking are frozen, k = 1, 3, 10,
   30, … up to all neurons; against two random draws of k neurons.
3. The shared set is the intersection of the two cases' top 20. It is frozen, so are each case's own 20 and, as
   controls, ten random sets of as many neurons of the same MLPs, none of them shared.

Tables
- `scores`: layer, neuron, y1, y2 (its score in each case), rank_y1, rank_y2 (from 1), shared; all neurons.
- `shared`: the rows of `scores` that are shared, by worst rank (no columns if there are none).
- `freeze`: case, ranking ("attribution", "random"), draw (−1: none), k, metric, mean, se, n, lo, hi, …
- `sets`: case, frozen ("none", "shared", "own", "random"), draw, k, metric, …; `sets_scored`: each example.
Tensors: scores (cases × layers × neurons); layers.
"""

from collections.abc import Mapping, Sequence

import torch

from numberline.engine.lab import Lab
from numberline.experiments.common.comparing import TOP, freeze_neurons, rank, runs
from numberline.experiments.common.experiment import Context, Result, experiment
from numberline.experiments.common.roles import require
from numberline.experiments.two.freeze import meeting_of_two
from numberline.experiments.two.patches import SPACE, SharedSpace, space_of
from numberline.methods.attribution import Place
from numberline.results.cases import CASES


@experiment("k2.neurons", needs=(*SPACE, "k2.freeze"))
def neurons(lab: Lab, context: Context) -> Result:
    """Which neurons carry the comparison, in both cases?"""
    return measure(lab, context, space_of(lab, context), require(context, "comparator_mlps").value)


def measure(lab: Lab, context: Context, space: SharedSpace, layers: Sequence[int]) -> Result:
    """Rank, intersect and freeze, given the plane and the comparator MLPs."""
    sizes, meeting = context.sizes, meeting_of_two(lab, context, space)
    count = context.meter(len(CASES) * (sizes.fitting + runs(lab, layers) * sizes.evaluation))
    ranked = rank(meeting, layers, count)
    shared = shared_set(ranked.order)
    frozen, sets = freeze_neurons(lab, meeting, ranked, shared, context.seed, count)
    scores = ranked.rows(shared)
    listed = sorted((row for row in scores if row["shared"]), key=lambda row: max(row["rank_y1"], row["rank_y2"]))
    tables = {"freeze": frozen.rows, **sets.tables("sets"), "scores": scores, "shared": listed}
    stacked = torch.stack([ranked.scores[case] for case in CASES])
    return Result.of(tables, sizes.evaluation, {"scores": stacked, "layers": torch.tensor(layers)})


def shared_set(ranked: Mapping[str, Sequence[Place]], top: int = TOP) -> list[Place]:
    """The neurons in the top of every case's ranking, in the order of the first's."""
    tops = [set(order[:top]) for order in ranked.values()]
    first = next(iter(ranked.values()))
    return [place for place in first[:top] if all(place in others for others in tops)]


def shared_places(result: Result) -> list[Place]:
    """The shared neurons of a k2.neurons result, by worst rank."""
    return [(row["layer"], row["neuron"]) for row in result.table("shared")]
