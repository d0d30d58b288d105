"""How do local comparators drive the global ones? Causal edges and virtual weights among the shared neurons.

1. Causal edge: in the corrupted run one shared neuron of an earlier comparator MLP, at y2, is set to its clean value;
   the shift of each shared neuron of a later comparator MLP there, in units of its standard deviation over a
   1,500-prompt cloud; mean over the evaluation examples, in each case. All edges of a case are one sweep.
2. Virtual weight through the gate: the cosine of the earlier neuron's write direction and the later one's gate row
   with the norm folded in (`methods/connectivity.py`).
3. Matched random pairs: the same edges among as many other neurons of the same layers, ten draws; the neurons at whose
   end an edge is read must vary over the cloud. Do the shared ones drive each other more?

Tables
- `edges`: case, from_layer, from_neuron, to_layer, to_neuron, mean, se, n, lo, hi.
- `driving`: case, of ("chosen": mean |edge| of the shared pairs, "random": of random ones, "share": the shared ones' of
  the two), draws, pairs (how many, in each), mean, se, n, lo, hi: over examples and draws.
- `weights`: from_layer, from_neuron, to_layer, to_neuron, cosine. `spreads`: layer, neuron, sd.
Tensors: edges (cases × from × to), weights (from × to); sources, targets (rows layer, neuron).
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from numberline.engine.lab import Lab
from numberline.engine.sites import neurons
from numberline.experiments.common.comparing import SETS
from numberline.experiments.common.experiment import Context, MissingError, Result, experiment
from numberline.experiments.two.neurons import shared_places
from numberline.experiments.two.patches import SPACE, case_pairs, two_numbers
from numberline.methods.attribution import Activations, Place
from numberline.methods.clouds import read
from numberline.methods.connectivity import driving, edges, others_like, silent, spreads, virtual_weights
from numberline.methods.intervals import mean
from numberline.methods.pairs import Pairs
from numberline.results.cases import CASES
from numberline.tasks.layout import encode
from numberline.tasks.populations import cloud


@experiment("k2.connectivity", needs=(*SPACE, "k2.freeze", "k2.neurons"))
def connectivity(lab: Lab, context: Context) -> Result:
    """How do first-stage neurons drive second-stage ones?"""
    return measure(lab, context, shared_places(context.need("k2.neurons")))


def measure(lab: Lab, context: Context, shared: Sequence[Place]) -> Result:
    """Edges and weights from the shared neurons of each comparator MLP to those of later ones."""
    layers = sorted({layer for layer, _ in shared})
    if len(layers) < 2:
        where = f"layer {layers[0]}" if layers else "no layer"
        raise MissingError(f"the shared neurons are in {where} alone, so that there are no two stages to connect")
    sources = [place for place in shared if place[0] < layers[-1]]
    targets = [place for place in shared if place[0] > layers[0]]
    task = two_numbers(context)
    operands = cloud(task, context.sizes.edge_cloud, context.seed)
    ends = sorted({layer for layer, _ in targets})
    found = read(lab, encode(lab.tokenizer, task, operands), [neurons(layer).at("y2") for layer in ends])
    seen = dict(zip(ends, found, strict=True))
    spread = spreads(seen, targets)
    weights = virtual_weights(lab, sources, targets)
    others = random_pairs(lab, context, sources, targets, seen)
    swept = len(sources) + len({place for begins, _ in others for place in begins})
    count = context.meter(len(CASES) * swept * context.sizes.evaluation)
    rows, averages, compared = [], [], []
    for case in CASES:
        pairs = case_pairs(lab, context, case)
        shifts = edges(pairs, sources, targets, spread, "y2", count)
        averages.append(shifts.mean(2))
        rows += [{"case": case, **label, **mean(shifts[i, j]).columns} for i, j, label in later(sources, targets)]
        random = random_edges(pairs, others, seen, count)
        label = {"case": case, "draws": len(random), "pairs": random.shape[1]}
        chosen = torch.stack([shifts[i, j] for i, j, _ in later(sources, targets)])
        compared += [{**label, "of": of, **each.columns} for of, each in driving(chosen, random).items()]
    return Result.of(
        {
            "edges": rows,
            "driving": compared,
            "weights": [{**label, "cosine": float(weights[i, j])} for i, j, label in later(sources, targets)],
            "spreads": [
                {"layer": layer, "neuron": neuron, "sd": float(sd)}
                for (layer, neuron), sd in zip(targets, spread, strict=True)
            ],
        },
        context.sizes.evaluation,
        {
            "edges": torch.stack(averages),
            "weights": weights,
            "sources": torch.tensor(sources),
            "targets": torch.tensor(targets),
        },
    )


def random_pairs(
    lab: Lab, context: Context, sources: Sequence[Place], targets: Sequence[Place], seen: Activations
) -> list[tuple[list[Place], list[Place]]]:
    """Draws of as many other neurons of the same layers: where edges begin, and where they are read."""
    taken, width = {*sources, *targets}, range(lab.network.d_mlp)
    free = {layer: [i for i in width if (layer, i) not in taken] for layer, _ in taken}
    still = {layer: silent(values.double().cpu().std(0)).tolist() for layer, values in seen.items()}
    varying = {layer: [i for i in free[layer] if not still[layer][i]] for layer in seen}
    begins = others_like(sources, free, SETS, context.seed)
    return list(zip(begins, others_like(targets, varying, SETS, context.seed + 1), strict=True))


def random_edges(
    pairs: Pairs, others: Sequence[tuple[list[Place], list[Place]]], seen: Activations, progress: Callable[[int], None]
) -> Float[Tensor, "draws edges examples"]:
    """Each example's shift in all random pairs; all draws are one sweep."""
    begins, ends = (sorted({place for draw in others for place in draw[part]}) for part in (0, 1))
    if not begins or not ends:
        return torch.zeros(len(others), 0, len(pairs), dtype=torch.float64)
    shifts = edges(pairs, begins, ends, spreads(seen, ends), "y2", progress)
    rows, columns = ({place: i for i, place in enumerate(places)} for places in (begins, ends))
    return torch.stack(
        [
            torch.stack([shifts[rows[sources[i]], columns[targets[j]]] for i, j, _ in later(sources, targets)])
            for sources, targets in others
        ]
    )


def later(sources: Sequence[Place], targets: Sequence[Place]) -> list[tuple[int, int, dict[str, Any]]]:
    """The pairs that go from an earlier to a later layer, with their labels."""
    return [
        (i, j, {"from_layer": source[0], "from_neuron": source[1], "to_layer": target[0], "to_neuron": target[1]})
        for i, source in enumerate(sources)
        for j, target in enumerate(targets)
        if source[0] < target[0]
    ]
