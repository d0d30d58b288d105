"""How do local comparators drive the global ones? Causal edges and virtual weights among the shared neurons.

1. Causal edge: in the corrupted run one shared neuron of an earlier comparator MLP, at y2, is set to its clean value;
   the shift of each shared neuron of a later comparator MLP there, in units of its standard deviation over a
   1,500-prompt cloud; mean over the evaluation examples, in each case. All edges of a case are one sweep.
2. Virtual weight through the gate: the cosine of the earlier neuron's write direction and the later one's gate row
   with the norm folded in (`methods/connectivity.py`).

Tables
- `edges`: case, from_layer, from_neuron, to_layer, to_neuron, mean, se, n, lo, hi.
- `weights`: from_layer, from_neuron, to_layer, to_neuron, cosine. `spreads`: layer, neuron, sd.
Tensors: edges (cases × from × to), weights (from × to); sources, targets (rows layer, neuron).
"""

from collections.abc import Sequence
from typing import Any

import torch

from numberline.engine.lab import Lab
from numberline.engine.sites import neurons
from numberline.experiments.common.experiment import Context, MissingError, Result, experiment
from numberline.experiments.two.neurons import shared_places
from numberline.experiments.two.patches import CASES, SPACE, case_pairs, two_numbers
from numberline.methods.attribution import Place
from numberline.methods.clouds import read
from numberline.methods.connectivity import edges, spreads, virtual_weights
from numberline.methods.intervals import mean
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
    spread = spreads(dict(zip(ends, found, strict=True)), targets)
    count = context.meter(len(CASES) * len(sources) * context.sizes.evaluation)
    weights = virtual_weights(lab, sources, targets)
    rows, averages = [], []
    for case in CASES:
        shifts = edges(case_pairs(lab, context, case), sources, targets, spread, "y2", count)
        averages.append(shifts.mean(2))
        rows += [{"case": case, **label, **mean(shifts[i, j]).columns} for i, j, label in later(sources, targets)]
    return Result.of(
        {
            "edges": rows,
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


def later(sources: Sequence[Place], targets: Sequence[Place]) -> list[tuple[int, int, dict[str, Any]]]:
    """The pairs that go from an earlier to a later layer, with their labels."""
    return [
        (i, j, {"from_layer": source[0], "from_neuron": source[1], "to_layer": target[0], "to_neuron": target[1]})
        for i, source in enumerate(sources)
        for j, target in enumerate(targets)
        if source[0] < target[0]
    ]
