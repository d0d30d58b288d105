"""Do both numbers meet in one plane, and is it their sum? The shared representation at y2's position.

1. Clean prompts (3,000) are projected on v1, v2 and v2⊥ in the pre-MLP residual of the transport layer at y2, and, to
   compare, in the residual leaving that layer. Beside the projections stand the coefficients c1, c2 of the component
   v1·c1 + v2·c2 in the plane: the same where v1 and v2 are orthogonal.
2. How much of each coordinate does a per-number mean explain? R² of the means by y1 (v1, c1) or by y2 (v2, v2⊥, c2).
3. How separable is y1 > y2 on the plane? A ridge classifier on the two coordinates, accuracy on held-out prompts
   (20 %: 600). Ridge probes p1, p2 for log y1 and log y2 on the whole residual, fitted on the others: their components
   against y1 and y2 on those 600. Pairs stay together in both orders, so that no held-out pair was seen reversed.
4. Cosines among u, v1, v2; those that the paper contrasts with intervals over the prompts of the cloud at y2 (from
   which v2 is) and the starts of u, and beside what two random directions of the head's output space have
   (`methods/angles.py`).
5. The patches of the paper in both cases (`patches.py`), scored by IIA and position recovery on evaluation examples
   and, so that over-fitting shows, on fitting examples; random planes of the same residual as controls.

Tables
- `cloud`: y1, y2, v1, v2, v2_perp, c1, c2. `explained`: site ("mid", "resid"), coordinate, by, r2, n.
- `separability`: metric, mean, se, n, lo, hi. `cosines`: first, second, cosine.
- `angles`: of ("v1_v2", "u_v2": |cosines|; "contrast": the second less the first; "relative": the first over what 95 in
  100 pairs of random directions of the head's output space stay below), mean, se, n, lo, hi.
- `probes`: y1, y2, p1, p2 (components of held-out prompts). `probe_scores`: probe, target, penalty, cosine_v1,
  cosine_v2, mean, … (held-out R²).
- `patches`: case, condition (a name of patches.py, or "random_plane"), examples, draws, spread, metric, … as in
  two/number.py; `patches_scored`: case, condition, draw, examples, example, pld, clean, corrupted, hit.
Tensors: plane (d × 2: v1, v2⊥); p1, p2 (d, unit); boundary (the classifier's weights of v1, v2⊥, and its constant).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from numberline.engine.lab import Lab
from numberline.engine.sites import resid
from numberline.experiments.common.experiment import Context, Result, experiment
from numberline.experiments.two.patches import (
    RANDOM_DRAWS,
    SPACE,
    SharedSpace,
    case_pairs,
    space_of,
    swapping,
    two_numbers,
)
from numberline.experiments.two.transport import output_space
from numberline.methods.angles import again, overlaps
from numberline.methods.clouds import explained, groups, read
from numberline.methods.das import random_subspaces
from numberline.methods.draws import Scoreboard
from numberline.methods.probes import HELD_OUT, accuracy, r2, ridge
from numberline.results.cases import CASES
from numberline.tasks.layout import encode
from numberline.tasks.populations import cloud
from numberline.tasks.scale import scaled

PATCHES = ("full_number_y2", "v2", "v1", "v1_mid", "v1_v2", "plane", "full_mid", "full_resid")
COORDINATES = {"v1": 0, "v2": 1, "v2_perp": 1, "c1": 0, "c2": 1}
"""The coordinates, and the operand that each should carry."""


@experiment("k2.shared", needs=SPACE)
def shared(lab: Lab, context: Context) -> Result:
    """Do the two {nouns} meet in one plane at y2's position, and is the plane their sum?"""
    space = space_of(lab, context)
    return measure(lab, context, space, angle_rows(lab, context, space))


def measure(lab: Lab, context: Context, space: SharedSpace, angles: Sequence[Mapping[str, Any]] = ()) -> Result:
    """Geometry and patches, given the directions and how they lie to each other."""
    geometry = geometry_of(lab, context, space)
    tables = dict(geometry.tables) | patch_rows(lab, context, space).tables("patches")
    tables |= {"cosines": cosines(space), "angles": list(angles)}
    return Result.of(tables, context.sizes.evaluation, geometry.tensors)


def cosines(space: SharedSpace) -> list[dict[str, Any]]:
    """Every pair of directions."""
    named = {"u": space.u, "v1": space.v1, "v2": space.v2}
    return [
        {"first": a, "second": b, "cosine": float(torch.nn.functional.cosine_similarity(named[a], named[b], dim=0))}
        for a in named
        for b in named
    ]


def angle_rows(lab: Lab, context: Context, space: SharedSpace) -> list[dict[str, Any]]:
    """How v1 and u lie to v2, with intervals."""
    task = two_numbers(context)
    operands = cloud(task, context.sizes.number_cloud, context.seed)
    (states,) = read(lab, encode(lab.tokenizer, task, operands), [resid(space.number_layer).at("y2")])
    starts = [space.u, context.tensor("k2.number", "u_second").flatten()]
    numbers = torch.tensor(operands)[:, 1]
    slope = context.need("k2.number").table("v2").one()["method"] == "slope"
    scale = scaled(task.concept, numbers) if slope else None
    drawn = again(states, [*starts, space.v1], numbers, scale, together=2)
    rank = output_space(lab, *space.transport_head).rank
    found = overlaps(starts, space.v1, space.v2, rank, drawn, len(operands))
    return [{"of": name, **estimate.columns} for name, estimate in found.items()]


def patch_rows(lab: Lab, context: Context, space: SharedSpace) -> Scoreboard:
    """The scores of every patch, and of random planes, in both cases, on evaluation and on fitting examples."""
    drawn = random_subspaces(lab.network.d_model, 2, RANDOM_DRAWS, context.seed)
    patches = {name: [space.patches[name]] for name in PATCHES}
    patches["random_plane"] = [swapping(space.site, plane) for plane in drawn]
    total = sum(len(draws) for draws in patches.values())
    count = context.meter(len(CASES) * total * (context.sizes.evaluation + context.sizes.fitting))
    board = Scoreboard()
    for case in CASES:
        for split in ("evaluation", "fitting"):
            examples = case_pairs(lab, context, case, split)
            conditions = {name: [patch(examples) for patch in draws] for name, draws in patches.items()}
            board.draws(examples, conditions, {"case": case, "examples": split}, count)
    return board


def geometry_of(lab: Lab, context: Context, space: SharedSpace) -> Result:
    """The cloud on the plane: coordinates, what per-number means explain, and what can be read off linearly."""
    task = two_numbers(context)
    operands = cloud(task, context.sizes.shared_cloud, context.seed)
    prompts = encode(lab.tokenizer, task, operands)
    numbers = torch.tensor(operands)
    before, after = read(lab, prompts, [space.site, resid(space.layer).at("y2")])
    directions = torch.cat([space.directions, space.plane.basis[:, 1:]], 1)
    coordinates = {
        site: torch.cat([x @ directions, space.coefficients(x)], 1) for site, x in (("mid", before), ("resid", after))
    }
    # The cloud holds each pair in both orders, one after the other: a whole number of pairs is held out.
    train = len(prompts) - 2 * round(HELD_OUT * len(prompts) / 2)
    plane = coordinates["mid"][:, [0, 2]]
    wins = torch.where(numbers[:, 0] > numbers[:, 1], 1.0, -1.0).double()
    boundary = ridge(plane[:train], wins[:train, None])
    straight = scaled(task.concept, numbers)
    probe = ridge(before[:train], straight[:train])
    unit = probe.weights / probe.weights.norm(dim=0)
    components, predicted = before[train:].double() @ unit, probe(before[train:])
    separated = accuracy(wins[train:], boundary(plane[train:])[:, 0])
    held_out = numbers[train:]
    return Result.of(
        {
            "cloud": _columns(numbers, {name: coordinates["mid"][:, i] for i, name in enumerate(COORDINATES)}),
            "explained": explained_rows(coordinates, numbers),
            "separability": [{"metric": "held-out accuracy of y1 > y2", **separated.columns}],
            "probes": _columns(held_out, {"p1": components[:, 0], "p2": components[:, 1]}),
            "probe_scores": [
                {
                    "probe": f"p{i + 1}",
                    "target": f"{'log ' if task.concept.scale == 'log' else ''}y{i + 1}",
                    "penalty": float(probe.penalties[i]),
                    "cosine_v1": float(unit[:, i] @ space.v1.double()),
                    "cosine_v2": float(unit[:, i] @ space.v2.double()),
                    **r2(straight[train:, i], predicted[:, i]).columns,
                }
                for i in range(2)
            ],
        },
        len(prompts),
        {
            "plane": space.plane.basis,
            "p1": unit[:, 0].float(),
            "p2": unit[:, 1].float(),
            "boundary": torch.cat([boundary.weights[:, 0], boundary.intercepts]),
        },
    )


def explained_rows(
    coordinates: Mapping[str, Float[Tensor, "n 5"]], numbers: Int[Tensor, "n 2"]
) -> list[dict[str, Any]]:
    """How much of each coordinate the mean for each number explains, before the MLP and at the end of the layer."""
    rows = []
    for site, values in coordinates.items():
        for i, (name, operand) in enumerate(COORDINATES.items()):
            share = explained(values[:, i], groups(numbers[:, operand])[1])
            rows.append({"site": site, "coordinate": name, "by": f"y{operand + 1}", "r2": share, "n": len(numbers)})
    return rows


def _columns(numbers: Int[Tensor, "n 2"], values: Mapping[str, Float[Tensor, " n"]]) -> dict[str, Sequence[Any]]:
    found = {"y1": numbers[:, 0].tolist(), "y2": numbers[:, 1].tolist()}
    return {**found, **{name: column.tolist() for name, column in values.items()}}
