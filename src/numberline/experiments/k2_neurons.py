"""Which neurons compare? Attribution on fitting examples, verified by freezing on evaluation examples.

1. In each case all neurons of the comparator MLPs are scored by attribution at y2 while the (v1, v2) plane is patched
   (`methods/attribution.py`), on the fitting examples, and ranked by size.
2. On the evaluation examples the plane is patched and the top k of the case's own ranking are pinned to their values in
   the corrupted run, k = 1, 3, 10, 30, … up to all neurons; against two random draws of k neurons. All of a case's
   conditions are one sweep.
3. The shared set is the intersection of the two cases' top 20. It is frozen, so are each case's own 20 and, as
   controls, as many random ones as the shared set has.

Tables
- `scores`: layer, neuron, y1, y2 (its score in each case), rank_y1, rank_y2 (from 1), shared; all neurons.
- `shared`: the rows of `scores` that are shared, by worst rank (no columns if there are none).
- `freeze`: case, ranking ("attribution", "random"), draw (−1: none), k, metric, mean, se, n, lo, hi, …
- `sets`: case, frozen ("none", "shared", "own", "random"), draw, k, metric, …
Tensors: scores (cases × layers × neurons); layers.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from numberline.engine.lab import Lab
from numberline.experiments.experiment import Context, Result, experiment
from numberline.experiments.patches import CASES, SPACE, SharedSpace, space_of, trial
from numberline.experiments.roles import require
from numberline.methods.attribution import Place, activations, attribute, pin, ranking, shuffled
from numberline.methods.scores import score

DEPTHS = (1, 3, 10, 30, 100, 300, 1000, 3000)
TOP = 20
DRAWS = 2


@experiment("k2.neurons", needs=(*SPACE, "k2.freeze"), feeds=("app-attribution", "comparison-mechanism"))
def neurons(lab: Lab, context: Context) -> Result:
    """Which neurons carry the comparison, in both cases?"""
    return measure(lab, context, space_of(lab, context), require(context, "comparator_mlps").value)


def measure(lab: Lab, context: Context, space: SharedSpace, layers: Sequence[int]) -> Result:
    """Rank, freeze and intersect, given the plane and the comparator MLPs."""
    width, sizes = lab.network.d_mlp, context.sizes
    depths = [k for k in DEPTHS if k < width * len(layers)] + [min(width * len(layers), DEPTHS[-1])]
    depths = sorted(set(depths))
    conditions = (1 + DRAWS) * len(depths) + 3 + DRAWS
    count = context.meter(len(CASES) * (sizes.fitting + conditions * sizes.evaluation))
    plane = space.patches["plane"]
    scores = {
        case: attribute(lab, trial(lab, context, case, fitting=True), plane, layers, progress=count) for case in CASES
    }
    ranked = {case: ranking(scores[case], layers) for case in CASES}
    shared = shared_set(ranked)
    randoms = [shuffled(width, layers, context.seed + draw) for draw in range(DRAWS)]
    tables: dict[str, list[dict[str, Any]]] = {"freeze": [], "sets": []}
    for case in CASES:
        curve = [({"ranking": "attribution", "draw": -1, "k": k}, ranked[case][:k]) for k in depths]
        curve += [
            ({"ranking": "random", "draw": draw, "k": k}, order[:k])
            for draw, order in enumerate(randoms)
            for k in depths
        ]
        sets: list[tuple[dict[str, Any], Sequence[Place]]] = [
            ({"frozen": "none", "draw": -1}, ()),
            ({"frozen": "shared", "draw": -1}, shared),
            ({"frozen": "own", "draw": -1}, ranked[case][:TOP]),
            *(({"frozen": "random", "draw": i}, order[: len(shared)]) for i, order in enumerate(randoms)),
        ]
        examples = trial(lab, context, case)
        corrupted = activations(examples.corrupted, layers)
        frozen = [[*plane(examples), *pin(corrupted, places)] for _, places in (*curve, *sets)]
        labels = [{"case": case, **label, "k": len(places)} for label, places in (*curve, *sets)]
        rows = score(lab, examples, frozen, count).rows(labels)
        tables["freeze"] += [row for row in rows if "ranking" in row]
        tables["sets"] += [row for row in rows if "frozen" in row]
    tables["scores"] = score_rows(scores, ranked, shared, layers)
    tables["shared"] = sorted(
        (row for row in tables["scores"] if row["shared"]), key=lambda row: max(row["rank_y1"], row["rank_y2"])
    )
    stacked = torch.stack([scores[case] for case in CASES])
    return Result.of(tables, sizes.evaluation, {"scores": stacked, "layers": torch.tensor(layers)})


def shared_set(ranked: Mapping[str, Sequence[Place]], top: int = TOP) -> list[Place]:
    """The neurons in the top of every case's ranking, in the order of the first's."""
    tops = [set(order[:top]) for order in ranked.values()]
    first = next(iter(ranked.values()))
    return [place for place in first[:top] if all(place in others for others in tops)]


def score_rows(
    scores: Mapping[str, Float[Tensor, "layers neurons"]],
    ranked: Mapping[str, Sequence[Place]],
    shared: Sequence[Place],
    layers: Sequence[int],
) -> list[dict[str, Any]]:
    """Every neuron with its score and its rank (from 1) in each case."""
    ranks = {case: {place: rank for rank, place in enumerate(order, start=1)} for case, order in ranked.items()}
    chosen = set(shared)
    width = next(iter(scores.values())).shape[1]
    listed = {case: scores[case].tolist() for case in CASES}
    return [
        {
            "layer": layer,
            "neuron": neuron,
            **{case: listed[case][number][neuron] for case in CASES},
            **{f"rank_{case}": ranks[case][layer, neuron] for case in CASES},
            "shared": (layer, neuron) in chosen,
        }
        for number, layer in enumerate(layers)
        for neuron in range(width)
    ]


def shared_places(result: Result) -> list[Place]:
    """The shared neurons of a k2.neurons result, by worst rank."""
    return [(row["layer"], row["neuron"]) for row in result.rows("shared")] if result.tables["shared"].num_rows else []
