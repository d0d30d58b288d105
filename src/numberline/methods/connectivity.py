"""Which neuron drives which? Causal edges, and virtual weights.

1. The causal edge from neuron i to a later neuron j: in the corrupted run only neuron i, at one position, is set to its
   clean value, and the shift of j is read there, in units of j's standard deviation over a cloud. Mean over examples.
   A neuron that is silent in the cloud has no such unit: its edges are NaN.
   All source neurons are conditions of one sweep that reads all targets.
2. The virtual weight through the gate is the cosine between i's write direction and j's gate row with the norm's gain
   folded in (through the up-projection where the MLP has no gate). It knows the weights only, not the data.
3. The alignment of a write direction w with a subspace Q is ρ = ‖Qᵀw‖ / ‖w‖. Write directions are not isotropic, so it
   is read against all neurons of the layer.
"""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from numberline.engine.edits import swap
from numberline.engine.lab import Lab, Read
from numberline.engine.sites import Position, neurons
from numberline.methods.attribution import Activations, Place
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
    silent = spread <= SILENT * spread.max()
    return shifts / spread.double().masked_fill(silent, torch.nan)[:, None]


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
