"""Which neuron drives which? Causal edges, and virtual weights.

1. The causal edge from neuron i to a later neuron j: in the corrupted run only neuron i, at one position, is set to its
   clean value, and the shift of j is read there, in units of j's standard deviation over a cloud. Mean over examples.
   A neuron that is silent in the cloud has no such unit: its edges are NaN.
   All source neurons are conditions of one sweep that reads all targets.
2. Do some neurons drive others more than neurons of these layers do anyway? Against draws of as many pairs of other
   neurons of the same layers: the mean |edge| of the pairs beside that of the random ones, and the share of the two
   that is theirs: 1/2 where they drive like any, 2/3 where twice as much, 1 where nothing else drives anything. (Their
   ratio is share / (1 − share), and may be infinite.) Examples are resampled, the same for both, and so are draws.
3. The virtual weight through the gate is the cosine between i's write direction and j's gate row with the norm's gain
   folded in (through the up-projection where the MLP has no gate). It knows the weights only, not the data.
4. The alignment of a write direction w with a subspace Q is ρ = ‖Qᵀw‖ / ‖w‖. Write directions are not isotropic, so it
   is read against all neurons of the layer.
"""

from collections.abc import Callable, Mapping, Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from numberline.engine.edits import swap
from numberline.engine.lab import Lab, Read
from numberline.engine.sites import Position, neurons
from numberline.methods.attribution import Activations, Place
from numberline.methods.intervals import Estimate, from_resamples, resamples
from numberline.methods.pairs import Pairs

SILENT = 1e-6
"""A spread below this share of the largest is rounding."""


def edges(
    pairs: Pairs,
    sources: Sequence[Place],
    targets: Sequence[Place],
    spread: Float[Tensor, " targets"],
    position: Position,
    progress: Callable[[int], object] | None = None,
) -> Float[Tensor, "sources targets n"]:
    """Each example's shift of each target, in units of its spread, when one source takes its clean value."""
    conditions = [[swap(neurons(layer, (neuron,)).at(position), pairs.clean)] for layer, neuron in sources]
    layers = sorted({layer for layer, _ in targets})
    sites = {layer: neurons(layer, [i for there, i in targets if there == layer]).at(position) for layer in layers}
    found = pairs.lab.sweep(pairs.corrupted, conditions, Read(sites=list(sites.values())), progress=progress)
    shifts = torch.zeros(len(sources), len(targets), len(pairs), dtype=torch.float64)
    for layer, site in sites.items():
        columns = [i for i, place in enumerate(targets) if place[0] == layer]
        before = pairs.corrupted.value(site)[:, 0].double().cpu()
        after = found.at[site][:, :, 0].double().cpu()
        shifts[:, columns] = (after - before).transpose(1, 2)
    return shifts / spread.double().masked_fill(silent(spread), torch.nan)[:, None]


def silent(spread: Float[Tensor, " places"]) -> Bool[Tensor, " places"]:
    """Which neurons do not vary, beside those that do."""
    return spread <= SILENT * spread.max()


def others_like(
    places: Sequence[Place], candidates: Mapping[int, Sequence[int]], draws: int, seed: int
) -> list[list[Place]]:
    """Random sets with as many neurons in each layer as these, out of other candidates (or all that there are)."""
    generator = torch.Generator().manual_seed(seed)
    wanted = {layer: [neuron for there, neuron in places if there == layer] for layer, _ in places}
    free = {layer: sorted({*candidates[layer]} - {*taken}) for layer, taken in wanted.items()}
    return [
        [
            (layer, free[layer][i])
            for layer, taken in wanted.items()
            for i in torch.randperm(len(free[layer]), generator=generator)[: len(taken)].tolist()
        ]
        for _ in range(draws)
    ]


def driving(chosen: Float[Tensor, "pairs n"], random: Float[Tensor, "draws others n"]) -> dict[str, Estimate]:
    """The mean |edge| of chosen and of random pairs, and the chosen ones' share of the two."""
    chosen, random = chosen[~chosen.isnan().any(1)], random.nan_to_num()
    n, draws = chosen.shape[1], len(random)
    found = {"chosen": _size(chosen.mean(1)), "random": _size(random.mean(2)).mean()}
    # In a resample every edge is a weighted mean over examples, and the random ones' size one over draws.
    again = {
        "chosen": _size(resamples(n) @ chosen.T),
        "random": (_size((resamples(n) @ random.mT).transpose(0, 1)) * resamples(draws)).sum(1),
    }
    found["share"] = found["chosen"] / (found["chosen"] + found["random"])
    again["share"] = again["chosen"] / (again["chosen"] + again["random"])
    return {name: from_resamples(float(value), again[name], n) for name, value in found.items()}


def _size(edges: Float[Tensor, "*any pairs"]) -> Float[Tensor, "*any"]:
    """The mean |edge|; 0 where there is none."""
    return edges.abs().sum(-1) / max(edges.shape[-1], 1)


def spreads(values: Activations, places: Sequence[Place]) -> Float[Tensor, " places"]:
    """Each neuron's standard deviation over a cloud."""
    return torch.stack([values[layer][:, neuron].double().cpu().std() for layer, neuron in places])


def virtual_weights(lab: Lab, sources: Sequence[Place], targets: Sequence[Place]) -> Float[Tensor, "sources targets"]:
    """The cosine of each source's write direction with each target's gate row, the norm folded in."""
    blocks = lab.network.blocks
    writes = torch.stack([blocks[layer].down_matrix[neuron].float().cpu() for layer, neuron in sources])
    rows = {layer: blocks[layer].read_matrices for layer in {layer for layer, _ in targets}}
    reads = torch.stack([rows[layer].get("gate", rows[layer]["up"])[neuron].cpu() for layer, neuron in targets])
    return torch.nn.functional.normalize(writes, dim=1) @ torch.nn.functional.normalize(reads, dim=1).T


def alignment(lab: Lab, layer: int, basis: Float[Tensor, "d k"]) -> Float[Tensor, " neurons"]:
    """ρ of every write direction of a layer's MLP with a subspace."""
    writes = lab.network.blocks[layer].down_matrix.float().cpu()
    along, size = (writes @ basis.float().cpu()).square().sum(1), writes.square().sum(1)
    return (along / size.clamp(min=1e-24)).sqrt()
