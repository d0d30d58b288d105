"""Why is v2 not learned? The direction that DAS finds at y2, against v2.

1. A rank-one direction by DAS at resid(number_layer).at("y2") on the fitting examples, y2 perturbed.
2. Components along it and along v2 over the 2,000-prompt cloud, by value of y2 and by which number is larger. If the
   learned one follows the outcome, the two groups part at the same y2; `outcome` says how far.
3. Patches at y2, y2 perturbed: full rank, the learned direction (das), v2, random directions.

Tables
- `patches`: as in two/number.py, conditions "full", "das", "v2", "random".
- `components`: direction ("das", "v2"), larger ("y1", "y2"), value (of y2), mean, se, n, lo, hi.
- `outcome`: direction, value_r2 (variance that y2's per-value means explain), both_r2 (those and one more term for
  which number is larger), shift (that term, in standard deviations of the component; the paper says only that
  the learned direction partly encodes the outcome), cosine (with v2).
Tensors: das, v2 (d), operands (n × 2), projections (n × 2: das, v2). Subspaces: shortcut.
"""

from typing import Any

import torch

from numberline.engine.lab import Lab
from numberline.engine.sites import resid
from numberline.engine.subspace import Subspace
from numberline.experiments.common import roles
from numberline.experiments.common.directions import EXAMPLES, Cloud, Place, along
from numberline.experiments.common.examples import case_pairs
from numberline.experiments.common.experiment import Context, Result, experiment
from numberline.experiments.two.patches import RANDOM_DRAWS
from numberline.methods import clouds, das
from numberline.methods.draws import draw_rows
from numberline.tasks.layout import encode
from numberline.tasks.populations import cloud
from numberline.tasks.task import Task


@experiment("k2.shortcut", needs=("k2.trace", "k2.number"))
def shortcut(lab: Lab, context: Context) -> Result:
    """Does a direction learned at the second {noun} follow the {noun}, or already the outcome?"""
    place = Place("y2", resid(roles.require(context, "number_layer").layer).at("y2"))
    v2 = context.subspace("k2.number", "v2")
    task, sizes = Task(context.concept), context.sizes
    pairs_of = {kind: case_pairs(lab, context, task, "y2", kind) for kind in EXAMPLES}
    conditions = 3 + RANDOM_DRAWS
    count = context.meter(das.STEPS * sizes.fitting + conditions * (sizes.evaluation + sizes.fitting))
    (fit,) = das.fit_with_restart(
        [pairs_of["fitting"]],
        place.site,
        context.seed,
        progress=lambda done: count(done * sizes.fitting),
        patience=sizes.patience,
    )
    operands = cloud(task, sizes.number_cloud, context.seed)
    prompts = encode(lab.tokenizer, task, operands)
    seen = Cloud.of(lab, place, clouds.read(lab, prompts, [place.site])[0], operands)
    learned = seen.signed(fit.subspace)
    random = das.random_subspaces(lab.network.d_model, 1, RANDOM_DRAWS, context.seed)
    tried = {"full": None, "das": learned, "v2": v2, "random": random}
    patches = [
        row
        for kind, pairs in pairs_of.items()
        for row in draw_rows(
            pairs, along(pairs, place.site, tried), {"case": "y2", "position": "y2", "examples": kind}, count
        )
    ]
    named = {"das": learned, "v2": v2}
    return Result.of(
        {
            "patches": patches,
            "components": [row for name, space in named.items() for row in _components(seen, name, space)],
            "outcome": [_outcome(seen, name, space, v2) for name, space in named.items()],
        },
        n=len(pairs_of["evaluation"]),
        tensors={
            **{name: space.basis[:, 0] for name, space in named.items()},
            "operands": seen.operands,
            "projections": torch.stack([seen.along(space) for space in named.values()], 1).float(),
            "losses": fit.losses,
        },
        subspaces={"shortcut": learned},
    )


def _components(seen: Cloud, name: str, direction: Subspace) -> list[dict[str, Any]]:
    """The mean component for each value of y2, apart for prompts whose first or second number is the larger."""
    components, first_is_larger = seen.along(direction), seen.operands[:, 0] > seen.operands[:, 1]
    return [
        {"direction": name, "larger": larger, **row}
        for larger, chosen in (("y1", first_is_larger), ("y2", ~first_is_larger))
        for row in clouds.by_value(components[chosen], seen.numbers[chosen])
    ]


def _outcome(seen: Cloud, name: str, direction: Subspace, v2: Subspace) -> dict[str, Any]:
    """How much of a component the number explains, and how much the number and the outcome together."""
    components, larger = seen.along(direction), (seen.operands[:, 0] < seen.operands[:, 1]).double()
    value = clouds.groups(seen.numbers)[1]
    within, outcome = (x - clouds.group_means(x[:, None], value)[value, 0] for x in (components, larger))
    shift = float(within @ outcome / outcome.square().sum())
    return {
        "direction": name,
        "value_r2": clouds.explained(components, value),
        "both_r2": 1
        - float((within - shift * outcome).square().sum() / (components - components.mean()).square().sum()),
        "shift": shift / float(components.std()),
        "cosine": float(direction.basis[:, 0] @ v2.basis[:, 0]),
    }
