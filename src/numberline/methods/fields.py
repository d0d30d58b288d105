"""What does a neuron respond to? Its receptive field over the operands, and how local that field is.

1. One forward pass per cell of a grid of prompts (stride 4, ties and equal leading digits included); the field is the
   neuron's post-activation value at the position of the last operand seen, divided by its peak, the largest absolute
   value. Cells share the runs of their common beginnings. A field over three operands is shown as its three pairwise
   marginals, each averaged over the third number and divided by its own peak.
2. A global comparator is a step along y1 = y2: `comparator` is the share of the field's variance that sign(y2 − y1)
   explains (R², the diagonal left out), and `sign` is the sign of that correlation. With more operands it is the sign
   of the last one minus the best of those before it.
3. A local field is quiet almost everywhere: `active` is the share of the grid where it exceeds half its peak. A step of
   one side covers about 0.5, of two sides (±1) about 1, a band or a corner little.
4. How far does its comparison reach? For two values the neuron says f(y1, y2) − f(y2, y1) about their order. `reach` is
   the share of all pairs of values whose order it tells: with the sign it has on average, and at least half as loudly
   as where it is loudest. A global comparator reaches 1; a difference y2 − y1 that never saturates, or one number
   alone, reaches 0.3; a comparison on an interval, or a range that is only recognised, reaches as far as that is wide.
   What a field has in common for both orders (an offset) does not count.
5. In the plane, a neuron is two directions: its gate's and its up-projection's read rows, with the norm's gain folded
   in, projected on the orthonormal frame (v1, v2⊥).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import torch
from jaxtyping import Float
from torch import Tensor

from numberline.engine.lab import Lab
from numberline.engine.prompts import Prompts
from numberline.engine.sites import Position, neurons
from numberline.methods.attribution import Place
from numberline.methods.intervals import Estimate, wilson

HALF = 0.5


@dataclass(frozen=True, eq=False)
class Fields:
    """Receptive fields of some neurons, each divided by its peak: axes neuron, y1, y2, ….

    `sign` is 1 where the largest operand wins, −1 where the smallest does.
    """

    places: tuple[Place, ...]
    axis: tuple[int, ...]
    values: Float[Tensor, "places *axes"]
    peaks: Float[Tensor, " places"]
    sign: int = 1


def receptive_fields(
    lab: Lab,
    prompts: Prompts,
    places: Sequence[Place],
    axis: Sequence[int],
    axes: int,
    position: Position,
    sign: int = 1,
) -> Fields:
    """The fields of neurons at a position, over prompts that are a grid: `axis`, `axes` times, the last fastest."""
    layers = sorted({layer for layer, _ in places})
    rows = {layer: [i for i, place in enumerate(places) if place[0] == layer] for layer in layers}
    raw = torch.zeros(len(places), len(prompts))
    sites = [neurons(layer, [places[i][1] for i in rows[layer]]).at(position) for layer in layers]
    for layer, found in zip(layers, lab.activations(prompts, sites) if sites else (), strict=True):
        raw[rows[layer]] = found[:, 0].float().cpu().T
    values, peaks = _over_peak(raw)
    return Fields(tuple(places), tuple(axis), values.reshape(-1, *(len(axis),) * axes), peaks, sign)


def _over_peak(raw: Float[Tensor, "fields cells"]) -> tuple[Float[Tensor, "fields cells"], Float[Tensor, " fields"]]:
    peaks = raw.abs().amax(1)
    return raw / peaks.clamp(min=torch.finfo(raw.dtype).tiny)[:, None], peaks


def marginals(fields: Float[Tensor, "places *axes"]) -> Float[Tensor, "places pairs first second"]:
    """Each field averaged over all but two operands, for every two, (y1, y2), (y1, y3), …; each over its own peak."""
    operands = range(1, fields.dim())
    pairs = [fields.mean([i for i in operands if i not in pair]) for pair in combinations(operands, 2)]
    stacked = torch.stack(pairs, 1) if fields.dim() > 3 else fields[:, None]
    return _over_peak(stacked.flatten(0, 1).flatten(1))[0].reshape(stacked.shape)


def active_share(field: Float[Tensor, "*axes"]) -> float:
    """The share of the grid where the field exceeds half its peak, in size."""
    peak = field.abs().max()
    return float((field.abs() > HALF * peak).double().mean()) if peak > 0 else 0.0


def comparison(axis: Sequence[int], operands: int = 2, sign: int = 1) -> Float[Tensor, "*axes"]:
    """The sign of the last operand minus the best of the others, over the grid: sign(y2 − y1) for two."""
    values = torch.tensor(axis, dtype=torch.float64)
    *others, last = torch.meshgrid(*[values] * operands, indexing="ij")
    return torch.sign(last - sign * (sign * torch.stack(others)).amax(0))


def comparator(field: Float[Tensor, "*axes"], axis: Sequence[int], sign: int = 1) -> tuple[float, float]:
    """(R², correlation) of the field with that comparison, where it is not a tie."""
    step = comparison(axis, field.dim(), sign)
    pair = torch.stack([field.double()[step != 0], step[step != 0]])
    if float(pair[0].std()) < 1e-12:
        return 0.0, 0.0
    correlation = float(torch.corrcoef(pair)[0, 1])
    return correlation**2, correlation


def reach(field: Float[Tensor, "y1 y2"]) -> Estimate:
    """The share of pairs of values whose order the neuron tells, with its Wilson interval over those pairs."""
    told = (field - field.T).double()[*torch.triu_indices(len(field), len(field), 1)]
    loudest = told.abs().max()
    sign = 1.0 if told.mean() >= 0 else -1.0
    return wilson(((sign * told >= HALF * loudest) & (loudest > 0)).tolist())


def read_directions(lab: Lab, layer: int, frame: Float[Tensor, "d 2"]) -> dict[str, Float[Tensor, "neurons 2"]]:
    """Every neuron's gate and up directions in a frame of the residual stream (norm folded in)."""
    matrices = lab.network.blocks[layer].read_matrices
    return {name: rows.cpu() @ frame.float().cpu() for name, rows in matrices.items()}
