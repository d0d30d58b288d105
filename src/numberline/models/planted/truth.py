"""What was planted, in the frame the weights are in: the answer sheet against which methods are scored.

1. Directions are unit vectors of the (rotated) residual stream, named as in the paper, per number of operands.
2. Heads and neurons are indices after the permutations.
3. Receptive fields are computed from the circuit, not from the model: each comparator is evaluated on the ideal state
   of y2's token over all (y1, y2), as if RMSNorm were a fixed scale.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from numberline.models.planted import number
from numberline.models.planted.broken import FROM_Y1, Design
from numberline.models.planted.comparing import HELIX, helix_of
from numberline.models.planted.language import CONSTANT, ONE, ONE_VALUE, Circuit, Form, Neuron

Place = tuple[int, int]  # (layer, index of a head or of a neuron)


@dataclass(frozen=True)
class Decoys:
    """What looks right and is not used: it decodes the number, attends to y1, compares; nothing reads it."""

    curve: Float[Tensor, "width n"]  # orthonormal axes of the number's curves in the number layer, at its last token
    junk: Float[Tensor, "width m"]  # axes that decoy heads and neurons write to
    heads: Mapping[str, Place]
    neurons: tuple[Place, ...]


@dataclass(frozen=True)
class Truth:
    """The planted mechanism. A role that a broken variant does not have is None, or absent from its mapping."""

    seed: int
    noise: float
    variant: str | None
    breaks: tuple[str, ...]  # claims that must fail on this model
    number_layer: int
    transport_heads: Mapping[str, tuple[Place, ...]]  # by the operand that is carried
    comparator_mlps: tuple[int, ...]
    flag_layer: int | None
    readout_layer: int
    readout_head: Place
    naming_head: Place
    directions: Mapping[int, Mapping[str, Float[Tensor, " width"]]]  # by number of operands, then by name
    answer_subspace: Float[Tensor, "width 2"] | None
    magnitudes: Float[Tensor, " 90"]  # f(y) for y = 10 … 99
    first_stage: tuple[Place, ...]
    second_stage: tuple[Place, ...]
    fields: Mapping[Place, Float[Tensor, "90 90"]]  # [y1 − 10, y2 − 10] → planted activation at y2's token
    decoys: Decoys

    def magnitude(self, y: int) -> float:
        """f(y), the coordinate of y along its direction."""
        return float(self.magnitudes[y - 10])


def evaluate(form: Form, state: Mapping[str, Tensor]) -> Tensor:
    """A form on a state that holds a field per axis; axes it lacks are zero."""
    zero = torch.zeros(len(number.VALUES), len(number.VALUES), dtype=torch.float64)
    return sum((weight * state[axis] for axis, weight in form.items() if axis in state), start=zero)


def ideal_state(tables: Mapping[str, Sequence[float]], design: Design) -> dict[str, Tensor]:
    """y2's token before the comparison, as a field over (y1, y2): its own number, and y1's, transported."""
    n = len(number.VALUES)
    ones = torch.ones(n, n, dtype=torch.float64)
    state = {CONSTANT: ones, ONE: ONE_VALUE * ones, "last2": ones}
    earlier: dict[str, Tensor] = {}
    for axis, table in tables.items():
        values = torch.tensor(table, dtype=torch.float64)
        state[axis] = values.expand(n, n)
        earlier[axis] = values[:, None].expand(n, n)
    if FROM_Y1 in design.curved:
        return state | {axis: earlier[source] for axis, source in zip(helix_of(1), HELIX, strict=True)}
    state["from_y1"] = (1.0 - design.alignment**2) ** 0.5 * earlier["own"]
    if design.alignment:
        state["own"] = state["own"] + design.alignment * earlier["own"]
    return state


def receptive_fields(circuit: Circuit, blocks: Sequence[int], state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The activation of every neuron of these blocks at y2's token, by name, over (y1, y2)."""
    current = dict(state)
    fields: dict[str, Tensor] = {}
    for block in blocks:
        update: dict[str, Tensor] = {}
        for neuron in circuit.blocks[block].neurons:
            fields[neuron.name] = activation(neuron, current)
            for axis, weight in neuron.write.items():
                update[axis] = update.get(axis, 0.0 * fields[neuron.name]) + weight * fields[neuron.name]
        for axis, change in update.items():
            current[axis] = current.get(axis, 0.0 * change) + change
    return fields


def activation(neuron: Neuron, state: Mapping[str, Tensor]) -> Tensor:
    """silu(gate) · up."""
    return torch.nn.functional.silu(evaluate(neuron.gate, state)) * evaluate(neuron.up, state)
