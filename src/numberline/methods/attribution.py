"""Which neurons carry a patch's effect? Attribution patching, for all neurons of some MLPs at once.

1. The patch runs on the corrupted prompts. A zero-valued input is added to the vector that feeds each MLP's
   down-projection, at one position; it changes nothing and has a gradient.
2. One backward pass of the summed PLD gives ∂PLD/∂a_i of every neuron, at the patched state. In half precision the sum
   is scaled before and the gradient after.
3. The first-order estimate of what freezing neuron i would do to the PLD is s_i = (a_i_corr − a_i_patched) · ∂PLD/∂a_i,
   averaged over the examples.
4. A ranking puts the largest scores first, whatever their sign. The paper does not say whether its ranking is by sign
   or by size. Comparators come in opposed pairs (a step is one hinge minus another), whose scores have opposite signs;
   to freeze one without the other makes a state that no prompt has. On the planted model, where the neurons are known,
   the ranking by size finds them and the ranking by sign does not.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from numberline.engine.edits import Edit, add, swap
from numberline.engine.journal import Piece
from numberline.engine.lab import Read
from numberline.engine.recording import Recording
from numberline.engine.sites import Position, Site, neurons
from numberline.methods.das import at_once, loss_scale
from numberline.methods.pairs import Pairs, pld

Place = tuple[int, int]
"""A neuron: its layer and its index."""
Activations = Mapping[int, Float[Tensor, "n neurons"]]
"""Every neuron of some layers at one position, by layer."""


def attribute(
    pairs: Pairs,
    patch: Callable[[Pairs], Sequence[Edit]],
    layers: Sequence[int],
    position: Position,
    progress: Callable[[int], object] | None = None,
) -> Float[Tensor, "layers neurons"]:
    """The mean score of every neuron of these layers' MLPs, under a patch."""
    sites = [neurons(layer).at(position) for layer in layers]
    total = torch.zeros(len(layers), pairs.lab.network.d_mlp, dtype=torch.float64)
    chapter = pairs.lab.journal.chapter("attribute", pairs.clean.prompts.ids, pairs.corrupted.prompts.ids, sites)

    def summed(rows: slice) -> Piece:
        part = pairs.part(rows)
        return {"sum": _scores(part, patch(part), sites).sum(1)}

    def run(rows: slice) -> None:
        total.add_(chapter.piece(f"{rows.start}:{rows.stop}", partial(summed, rows))["sum"])
        if progress is not None:
            progress(rows.stop - rows.start)

    first = neurons(min(layers)).at(position)
    pairs.lab.memory.halving(len(pairs), lambda: at_once(pairs, first), run)
    return total / len(pairs)


def _scores(pairs: Pairs, patch: Sequence[Edit], sites: Sequence[Site]) -> Float[Tensor, "layers n neurons"]:
    """Every example's scores."""
    network, inputs = pairs.lab.network, []
    for site in sites:
        device = network.blocks[site.layer].device
        inputs.append(torch.zeros(len(pairs), network.d_mlp, device=device, requires_grad=True))
    edits = [*patch, *(add(site, zeros) for site, zeros in zip(sites, inputs, strict=True))]
    found = pairs.lab.run(pairs.corrupted, edits, Read(logits=pairs.answers, sites=sites), grad=True)
    scale = loss_scale(pairs.lab)
    (pld(found.logits).sum() * scale).backward()
    scores = []
    for site, zeros in zip(sites, inputs, strict=True):
        assert zeros.grad is not None
        change = pairs.corrupted.value(site)[:, 0].double() - found.at[site][:, 0].detach().double()
        scores.append((change * zeros.grad.double() / scale).cpu())
    return torch.stack(scores)


def ranking(scores: Float[Tensor, "layers neurons"], layers: Sequence[int]) -> list[Place]:
    """All neurons, those whose freezing would change the PLD most first."""
    width = scores.shape[1]
    order = scores.flatten().abs().argsort(descending=True, stable=True).tolist()
    return [(layers[i // width], i % width) for i in order]


def shuffled(width: int, layers: Sequence[int], seed: int) -> list[Place]:
    """All neurons of these layers in random order: its first k are a random draw of k."""
    order = torch.randperm(width * len(layers), generator=torch.Generator().manual_seed(seed)).tolist()
    return [(layers[i // width], i % width) for i in order]


def activations(recording: Recording, layers: Sequence[int], position: Position) -> Activations:
    """Every neuron of these layers at one position, un-edited."""
    return {layer: recording.value(neurons(layer).at(position))[:, 0] for layer in layers}


def pin(values: Activations, places: Sequence[Place], position: Position) -> list[Edit]:
    """Pin neurons to given values, one edit per layer. With the run's own values, this freezes them."""
    edits = []
    for layer in sorted({layer for layer, _ in places}):
        ids = [neuron for there, neuron in places if there == layer]
        edits.append(swap(neurons(layer, ids).at(position), values[layer][:, ids]))
    return edits
