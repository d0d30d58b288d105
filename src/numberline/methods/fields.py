"""What does a neuron respond to? Its receptive field over (y1, y2), and how local that field is.

1. One forward pass per cell of a grid of prompts (stride 4, ties and equal leading digits included); the field is the
   neuron's post-activation value at y2's position, divided by its peak, the largest absolute value.
2. A global comparator is a step along y1 = y2: `comparator` is the share of the field's variance that sign(y2 − y1)
   explains (R², the diagonal left out), and `sign` is the sign of that correlation.
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

import torch
from jaxtyping import Float
from torch import Tensor

from numberline.engine.lab import Lab
from numberline.engine.sites import neurons
from numberline.methods.attribution import Place
from numberline.methods.intervals import Estimate, wilson
from numberline.tasks.layout import encode
from numberline.tasks.populations import field_grid, field_values
from numberline.tasks.task import Task

HALF = 0.5


@dataclass(frozen=True, eq=False)
class Fields:
    """Receptive fields of some neurons, each divided by its peak: axes neuron, y1, y2."""

    places: tuple[Place, ...]
    axis: tuple[int, ...]
    values: Float[Tensor, "places y1 y2"]
    peaks: Float[Tensor, " places"]


def receptive_fields(lab: Lab, task: Task, places: Sequence[Place], stride: int, position: str = "y2") -> Fields:
    """The fields of neurons of a two-operand task."""
    axis = field_values(task, stride)
    recording = lab.record(encode(lab.tokenizer, task, field_grid(task, stride)))
    raw = torch.zeros(len(places), len(axis) ** 2)
    for layer in sorted({layer for layer, _ in places}):
        rows = [i for i, place in enumerate(places) if place[0] == layer]
        found = recording.value(neurons(layer, [places[i][1] for i in rows]).at(position))[:, 0]
        raw[rows] = found.float().cpu().T
    peaks = raw.abs().amax(1)
    values = raw / peaks.clamp(min=torch.finfo(raw.dtype).tiny)[:, None]
    return Fields(tuple(places), axis, values.reshape(-1, len(axis), len(axis)), peaks)


def active_share(field: Float[Tensor, "y1 y2"]) -> float:
    """The share of the grid where the field exceeds half its peak, in size."""
    peak = field.abs().max()
    return float((field.abs() > HALF * peak).double().mean()) if peak > 0 else 0.0


def comparison(axis: Sequence[int]) -> Float[Tensor, "y1 y2"]:
    """sign(y2 − y1) over the grid."""
    values = torch.tensor(axis, dtype=torch.float64)
    return torch.sign(values[None, :] - values[:, None])


def comparator(field: Float[Tensor, "y1 y2"], axis: Sequence[int]) -> tuple[float, float]:
    """(R², correlation) of the field with sign(y2 − y1), off the diagonal."""
    step = comparison(axis)
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
