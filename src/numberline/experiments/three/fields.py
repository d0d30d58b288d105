"""What do the comparator neurons respond to when there are three {nouns}? Receptive fields over (y1, y2, y3).

1. The neurons: the shared set of two numbers, and this task's own, the six of each comparator MLP whose attribution
   (k3.neurons), summed over the cases, is largest.
2. At y3's position: the post-activation value over a grid of (y1, y2, y3) with stride 4, 12,167 prompts. They share
   their beginnings token by token, so each distinct beginning runs once (`Lab.activations`). Shown as the three
   pairwise marginals, each averaged over the third number and divided by its own peak.
3. At y2's position, which cannot depend on y3: over (y1, y2) with y3 = 55.
4. The two numbers of `methods/fields.py` for each: the share of the grid above half the peak, and how much of the field
   the sign of y3 − max(y1, y2) (at y2: of y2 − y1) explains.

Tables
- `fields`: position ("y3", "y2"), layer, neuron, group ("shared", "own"), rank (in its group), peak, active,
  comparator, correlation. A row's place among the rows of its position is its place in the tensors.
- `stages`: position, group, layer, neurons (how many), active, comparator (means).
Tensors: marginals_y3 (rows × 3 × axis × axis; the pairs (y1, y2), (y1, y3), (y2, y3), indexed [first, second]; each
divided by its own peak), fields_y3 (rows × y1 × y2 × y3), fields_y2 (rows × y1 × y2), axis.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from numberline.engine.lab import Lab
from numberline.experiments.common.experiment import Context, Result, experiment
from numberline.experiments.three.space import SPACE_OF_THREE, three_numbers
from numberline.experiments.two.fields import field_rows, stages
from numberline.experiments.two.neurons import shared_places
from numberline.methods.attribution import Place
from numberline.methods.fields import marginals
from numberline.tasks.counterfactuals import CASE_ORDERS
from numberline.tasks.fields import operand_fields

OWN = 6
"""How many neurons of each comparator MLP are chosen by this task's own attribution."""


@experiment("k3.fields", needs=(*SPACE_OF_THREE, "k2.freeze", "k2.neurons", "k3.neurons"))
def fields(lab: Lab, context: Context) -> Result:
    """What do the comparator neurons respond to when there are three {nouns}?"""
    shared = shared_places(context.need("k2.neurons"))
    own = own_places(context.need("k3.neurons").rows("scores"))
    return measure(lab, context, {"shared": shared, "own": own})


def own_places(scores: Sequence[Mapping[str, Any]], count: int = OWN) -> list[Place]:
    """The neurons of each layer whose attribution, summed in size over the cases, is largest; layer by layer."""
    found: list[Place] = []
    for layer in sorted({row["layer"] for row in scores}):
        mine = [row for row in scores if row["layer"] == layer]
        best = sorted(mine, key=lambda row: -sum(abs(row[case]) for case in CASE_ORDERS))[:count]
        found += [(layer, row["neuron"]) for row in best]
    return found


def measure(lab: Lab, context: Context, groups: Mapping[str, Sequence[Place]]) -> Result:
    """Fields of some neurons, by group, at y3 and at y2."""
    task, stride = three_numbers(context), context.sizes.field_stride
    places = [place for group in groups.values() for place in group]
    # The number that y2's position cannot see is held at the middle of its range: 55, as in the paper.
    fixed: dict[str, dict[str, int]] = {"y3": {}, "y2": {"y3": task.values[len(task.values) // 2]}}
    count = context.meter(len(fixed))
    rows: list[dict[str, Any]] = []
    summed: list[dict[str, Any]] = []
    found = {}
    for position, held in fixed.items():
        found[position] = operand_fields(lab, task, places, stride, position, held)
        here = field_rows(found[position], groups)
        rows += [{"position": position, **row} for row in here]
        summed += [{"position": position, "group": group, **row} for group in groups for row in stages(here, group)]
        count(1)
    tensors = {
        "marginals_y3": marginals(found["y3"].values),
        "fields_y3": found["y3"].values,
        "fields_y2": found["y2"].values,
        "axis": torch.tensor(found["y3"].axis),
    }
    return Result.of({"fields": rows, "stages": summed}, len(found["y3"].axis) ** task.k, tensors)
