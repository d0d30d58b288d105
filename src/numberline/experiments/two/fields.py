"""What do the comparator neurons respond to? Receptive fields over (y1, y2), and directions in the plane.

1. The shared neurons of k2.neurons, by worst rank, and for each case the six highest-ranked neurons of its top 20 that
   are not in the other's.
2. Receptive fields at y2's position on the stride-4 grid, each divided by its peak (`methods/fields.py`), with three
   numbers for each: the share of the grid above half the peak, how much of it sign(y2 − y1) explains, and the share of
   pairs of values whose order it tells.
3. Where a stage is summed up (tables `stages`, `locality`), it is over the shared neurons of one comparator MLP: a
   first stage of local comparisons has a low reach, and a second stage has neurons whose reach is everything. (Not all
   of them: attribution also finds neurons that write an offset which others take back.)
4. In what interval of numbers does each shared neuron compare, and is it silent outside (`methods/locality.py`)? For
   each comparator MLP: how local those are that compare, how much of the range the local ones cover, and how far the
   neuron reaches that reaches furthest, judged on pairs that did not choose it.
5. Gate and up directions of all neurons of the comparator MLPs in the frame (v1, v2⊥), norm folded in.

Tables
- `fields`: layer, neuron, group ("shared", "y1", "y2"), rank (in its group), peak, active, comparator, correlation,
  reach.
- `stages`: layer, neurons (how many), active, comparator (means over the shared neurons of the layer).
- `locality`: layer, of ("mean": over the layer's shared neurons, bootstrapped over them; "best": the neuron that
  reaches furthest, Wilson over pairs of values), neuron (−1: several), mean, se, n, lo, hi: reach.
- `comparisons`: layer, neuron, comparing (share of the field's variance), compares, locality, local, first, last (its
  interval; none where it has none); of the shared neurons.
- `judged`: layer, of ("locality": the median of those that compare; "coverage": share of the range; "furthest": reach
  on the pairs left out), neurons (how many are shared), comparing (how many of them compare), neuron (the furthest; −1:
  several), mean, se, n, lo, hi.
- `directions`: layer, neuron, part ("gate", "up"), v1, v2_perp, norm; of the neurons in `fields`.
Tensors: fields (rows of `fields` × y1 × y2); axis.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from numberline.engine.lab import Lab
from numberline.experiments.common.comparing import TOP
from numberline.experiments.common.experiment import Context, Result, experiment
from numberline.experiments.two.patches import SPACE, SharedSpace, space_of, two_numbers
from numberline.methods import locality as local
from numberline.methods.attribution import Place
from numberline.methods.fields import Fields, active_share, comparator, reach, read_directions
from numberline.methods.intervals import mean
from numberline.results.cases import CASES
from numberline.tasks.fields import operand_fields

EXCLUSIVE = 6
"""How many neurons of one case only are drawn."""


@experiment("k2.fields", needs=(*SPACE, "k2.freeze", "k2.neurons"))
def fields(lab: Lab, context: Context) -> Result:
    """What do the comparator neurons respond to?"""
    groups = groups_of(context.need("k2.neurons").rows("scores"))
    return measure(lab, context, space_of(lab, context), groups)


def groups_of(scores: Sequence[Mapping[str, Any]]) -> dict[str, list[Place]]:
    """The shared neurons by worst rank, and each case's exclusive ones by their rank in it."""
    found: dict[str, list[Place]] = {"shared": _ordered([row for row in scores if row["shared"]], CASES)}
    for case in CASES:
        own = [row for row in scores if row[f"rank_{case}"] <= TOP and not row["shared"]]
        found[case] = _ordered(own, (case,))[:EXCLUSIVE]
    return found


def _ordered(rows: Sequence[Mapping[str, Any]], by: Sequence[str]) -> list[Place]:
    ordered = sorted(rows, key=lambda row: max(row[f"rank_{case}"] for case in by))
    return [(row["layer"], row["neuron"]) for row in ordered]


def measure(lab: Lab, context: Context, space: SharedSpace, groups: Mapping[str, Sequence[Place]]) -> Result:
    """Fields and directions of some neurons, by group."""
    places = [place for group in groups.values() for place in group]
    found = operand_fields(lab, two_numbers(context), places, context.sizes.field_stride, "y2")
    rows = field_rows(found, groups)
    tables = {
        "fields": rows,
        "stages": stages(rows),
        "locality": locality(found, groups["shared"]),
        **comparisons(found, groups["shared"]),
        "directions": direction_rows(lab, space, places),
    }
    cells = len(found.axis) ** 2
    return Result.of(tables, cells, {"fields": found.values, "axis": torch.tensor(found.axis)})


def field_rows(found: Fields, groups: Mapping[str, Sequence[Place]]) -> list[dict[str, Any]]:
    """Each neuron with the numbers that say how local and how global it is."""
    labels = [(group, rank) for group, places in groups.items() for rank in range(1, len(places) + 1)]
    rows = []
    for number, (group, rank) in enumerate(labels):
        (layer, neuron), field = found.places[number], found.values[number]
        explained, correlation = comparator(field, found.axis, found.sign)
        rows.append(
            {
                "layer": layer,
                "neuron": neuron,
                "group": group,
                "rank": rank,
                "peak": float(found.peaks[number]),
                "active": active_share(field),
                "comparator": explained,
                "correlation": correlation,
                "reach": reach(field).mean if field.dim() == 2 else None,
            }
        )
    return rows


def stages(rows: Sequence[Mapping[str, Any]], group: str = "shared") -> list[dict[str, Any]]:
    """The neurons of a group in each comparator MLP, averaged."""
    shared = [row for row in rows if row["group"] == group]
    found = []
    for layer in sorted({row["layer"] for row in shared}):
        mine = [row for row in shared if row["layer"] == layer]
        means = {name: sum(row[name] for row in mine) / len(mine) for name in ("active", "comparator")}
        found.append({"layer": layer, "neurons": len(mine), **means})
    return found


def locality(found: Fields, shared: Sequence[Place]) -> list[dict[str, Any]]:
    """How far the comparisons of each comparator MLP's shared neurons reach: on average, and at best."""
    reaches = {place: reach(found.values[found.places.index(place)]) for place in shared}
    rows: list[dict[str, Any]] = []
    for layer in sorted({layer for layer, _ in shared}):
        mine = {neuron: each for (there, neuron), each in reaches.items() if there == layer}
        best = max(mine, key=lambda neuron: mine[neuron].mean)
        typical = mean(torch.tensor([each.mean for each in mine.values()]))
        rows.append({"layer": layer, "of": "mean", "neuron": -1, **typical.columns})
        rows.append({"layer": layer, "of": "best", "neuron": best, **mine[best].columns})
    return rows


def comparisons(found: Fields, shared: Sequence[Place]) -> dict[str, list[dict[str, Any]]]:
    """The tables `comparisons` and `judged`; empty where the axis is too short to have intervals."""
    rows: list[dict[str, Any]] = []
    stages: list[dict[str, Any]] = []
    for layer in sorted({layer for layer, _ in shared}) if len(found.axis) >= local.LEAST else ():
        mine = [place for place in shared if place[0] == layer]
        fields = torch.stack([found.values[found.places.index(place)] for place in mine])
        seen = [local.compare(field, found.axis) for field in fields]
        for (_, neuron), each in zip(mine, seen, strict=True):
            first, last = each.interval or (None, None)
            rows.append(
                {
                    "layer": layer,
                    "neuron": neuron,
                    "comparing": each.comparing,
                    "compares": each.compares,
                    "locality": each.locality,
                    "local": each.local,
                    "first": first,
                    "last": last,
                }
            )
        best, furthest = local.furthest(fields)
        scores = {
            "locality": (-1, local.locality(seen, len(found.axis))),
            "coverage": (-1, local.coverage(seen, found.axis)),
            "furthest": (mine[best][1], furthest),
        }
        about = {"layer": layer, "neurons": len(mine), "comparing": sum(each.compares for each in seen)}
        stages += [{**about, "of": of, "neuron": neuron, **score.columns} for of, (neuron, score) in scores.items()]
    return {"comparisons": rows, "judged": stages}


def direction_rows(lab: Lab, space: SharedSpace, places: Sequence[Place]) -> list[dict[str, Any]]:
    """Each neuron's read directions in the plane; `norm` is the whole direction's, in the plane and outside."""
    rows = []
    for layer in sorted({layer for layer, _ in places}):
        inside = read_directions(lab, layer, space.plane.basis)
        whole = {name: matrix.norm(dim=1) for name, matrix in lab.network.blocks[layer].read_matrices.items()}
        for neuron in sorted({neuron for there, neuron in places if there == layer}):
            for part, coordinates in inside.items():
                x, y = coordinates[neuron].tolist()
                norm = float(whole[part][neuron])
                rows.append({"layer": layer, "neuron": neuron, "part": part, "v1": x, "v2_perp": y, "norm": norm})
    return rows
