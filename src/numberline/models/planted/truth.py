"""What was planted, in the frame the weights are in: the answer sheet against which methods are scored.

1. Directions are unit vectors of the (rotated) residual stream, named as in the paper, per number of operands.
2. Heads and neurons are indices after the permutations.
3. Receptive fields are computed from the circuit, not from the model: each comparator is evaluated on the ideal state
   of y2's token over all (y1, y2), as if RMSNorm were a fixed scale. So are virtual weights and causal edges.
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


@dataclass(frozen=True, eq=False)
class Comparator:
    """A comparing neuron: as it was described, where it reads and writes in the hidden frame, what it is given."""

    neuron: Neuron
    gate: Float[Tensor, " width"]
    write: Float[Tensor, " width"]
    norm: float  # the length of what enters its MLP
    sizes: Mapping[str, float]  # how long one unit of an axis is, where it is not 1
    given: Mapping[str, Float[Tensor, "90 90"]]  # the ideal state that enters its MLP, by axis
    field: Float[Tensor, "90 90"]

    def rescaled(self, state: Mapping[str, Tensor], moved: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The state after some axes moved, as RMSNorm shows it."""
        longer = sum(
            (self.sizes.get(axis, 1.0) ** 2 * (values**2 - state[axis] ** 2) for axis, values in moved.items()),
            start=torch.zeros_like(state[CONSTANT]),
        )
        scale = self.norm / (self.norm**2 + longer).sqrt()
        return {axis: values * scale for axis, values in {**state, **moved}.items()}


@dataclass(frozen=True)
class Truth:
    """The planted mechanism. A role that a broken variant does not have is None, or absent from its mapping."""

    seed: int
    noise: float
    variant: str | None
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
    comparators: Mapping[Place, Comparator]
    decoys: Decoys

    def magnitude(self, y: int) -> float:
        """f(y), the coordinate of y along its direction."""
        return float(self.magnitudes[y - 10])

    @property
    def fields(self) -> dict[Place, Float[Tensor, "90 90"]]:
        """Receptive fields: [y1 − 10, y2 − 10] → planted activation at y2's token."""
        return {place: comparator.field.float() for place, comparator in self.comparators.items()}

    def virtual_weights(self, sources: Sequence[Place], targets: Sequence[Place]) -> Float[Tensor, "sources targets"]:
        """Cosines of write directions with gate rows; NaN for a neuron that was not planted."""
        writes, gates = (
            torch.stack([self._vector(place, part) for place in places])
            for places, part in ((sources, "write"), (targets, "gate"))
        )
        return torch.nn.functional.normalize(writes, dim=1) @ torch.nn.functional.normalize(gates, dim=1).T

    def _vector(self, place: Place, part: str) -> Tensor:
        known = self.comparators.get(place)
        return torch.full((self.decoys.curve.shape[0],), torch.nan) if known is None else getattr(known, part)

    def causal_edges(
        self,
        sources: Sequence[Place],
        targets: Sequence[Place],
        clean: Sequence[Sequence[int]],
        corrupted: Sequence[Sequence[int]],
        cloud: Sequence[Sequence[int]],
    ) -> Float[Tensor, "sources targets"]:
        """The mean shift of each target when one source takes its clean value, in units of its spread over a cloud.

        One hinge without its partner writes far more than any prompt does, so that RMSNorm is not a fixed scale here.
        """
        good, bad, seen = (torch.tensor(pairs).T - number.VALUES.start for pairs in (clean, corrupted, cloud))
        found = torch.full((len(sources), len(targets)), torch.nan, dtype=torch.float64)
        for i, source in enumerate(sources):
            for j, target in enumerate(targets):
                if source[0] < target[0] and source in self.comparators and target in self.comparators:
                    one, other = self.comparators[source], self.comparators[target]
                    change = one.field[*good] - one.field[*bad]
                    state = {axis: values[*bad] for axis, values in other.given.items()}
                    moved = {axis: state[axis] + by * change for axis, by in one.neuron.write.items() if axis in state}
                    shifted = activation(other.neuron, other.rescaled(state, moved))
                    found[i, j] = (shifted - other.field[*bad]).mean() / other.field[*seen].std()
        return found


def evaluate(form: Form, state: Mapping[str, Tensor]) -> Tensor:
    """A form on a state that holds a field per axis; axes it lacks are zero."""
    zero = torch.zeros_like(state[CONSTANT])
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


def evaluated(
    circuit: Circuit, blocks: Sequence[int], state: Mapping[str, Tensor]
) -> dict[str, tuple[Mapping[str, Tensor], Tensor]]:
    """Every neuron of these blocks at y2's token, by name: the state it is given, and its activation."""
    current = dict(state)
    found: dict[str, tuple[Mapping[str, Tensor], Tensor]] = {}
    for block in blocks:
        update: dict[str, Tensor] = {}
        for neuron in circuit.blocks[block].neurons:
            for axis in neuron.write:
                current.setdefault(axis, torch.zeros_like(state[CONSTANT]))
        for neuron in circuit.blocks[block].neurons:
            found[neuron.name] = (current, activation(neuron, current))
            for axis, weight in neuron.write.items():
                update[axis] = update.get(axis, torch.zeros_like(state[CONSTANT])) + weight * found[neuron.name][1]
        current = current | {axis: current[axis] + change for axis, change in update.items()}
    return found


def activation(neuron: Neuron, state: Mapping[str, Tensor]) -> Tensor:
    """silu(gate) · up."""
    return torch.nn.functional.silu(evaluate(neuron.gate, state)) * evaluate(neuron.up, state)
