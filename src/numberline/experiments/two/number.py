"""Along which direction is a number held? u at y1, v2 at y2, beside the curved geometry (two digits).

1. u: DAS at resid(number_layer).at("y1") on 128 fitting examples, y1 perturbed; again from a second initialisation.
   Signed so that its component rises with y1 over the 2,000-prompt cloud.
2. Principal components of that cloud at y1's and at y2's position, mean-centred and unscaled. v2 is the first one at
   y2, signed so that its component rises with y2; where that does not do what y2 does, it is the slope of the states on
   y2 (common/own_number.py). The table `v2` says which, on the evidence of examples of the hand `choosing`.
3. Patches at y1 (y1 perturbed): full rank, u, u of the second initialisation, PC1, and random directions (5 draws).
   Patches at y2 (y2 perturbed): full rank, v2, PC1, random directions. On the evaluation and on the fitting examples.
   And how many examples a fit needs: u_16 is u learned on the first 16 of them, scored on those and held out. (The
   paper finds 16 too few, but does not say for which direction; here it is u.)
4. Components along u, PC1, PC2, PC3 (and v2 at y2) per value of the number, as means over the cloud, and the
   least-squares fit p·log y + q to the cloud. Variance explained by the first 20 principal components and by u.

Tables
- `patches`: case, position, condition ("full", "u", "u_second", "u_16", "pc1", "v2", "random"), examples ("evaluation",
  "fitting"), draws, spread (standard deviation over draws), metric, mean, se, n, lo, hi, near_ties, nonpositive.
- `patches_scored`: case, position, condition, draw, examples, example, pld, clean, corrupted (PLDs), hit: each example.
- `layout`: position ("y1.first", "y1", …, "last"), token: where they are in every prompt.
- `v2`: method ("PCA", "slope"), pc1, slope, full (pooled recoveries on the examples that choose), share (of the full
  one), relevant, why.
- `stability`: initialisation, seed, cosine (absolute, with the first), first_loss, last_loss, iia, fitting_iia.
- `components`: position, direction ("u", "pc1", "pc2", "pc3", "v2"), value, mean, se, n, lo, hi, standardized.
- `log_fits`: position, direction, p, q, r2; `linear_fits` (p·y + q) where the concept's scale is linear.
- `monotone`: position, direction, mean, se, n, lo, hi: the means' rank correlation with the number, over values.
- `curvature`: position, of ("line", "curve", "gain"), mean, se, n, lo, hi: the share of held-out per-value means'
  variance that a line explains, that a curve in number order explains, and the difference (`methods/curvature.py`).
- `variance`: position, direction ("pc1" … "pc20", "u", "v2"), share, cumulative (principal components only).
- `cosines`: first, second, cosine, for u, u_second, pc1 at y1 and v2.

Components are relative to the cloud's mean.
Tensors (d is the model's width): u, u_second, v2 (d); operands (n × 2); losses (initialisations × steps); and for y1
and y2 each: pcs_y1 (d × 20), mean_y1 (d), values_y1 (V), means_y1 (V × d, relative to mean_y1), projections_y1 (n × 4:
u, pc1, pc2, pc3), projections_y2 (n × 4: v2, pc1, pc2, pc3).
Subspaces: u, u_second, v2.
"""

from typing import Any

import torch

from numberline.engine.lab import Lab
from numberline.engine.sites import resid
from numberline.experiments.common import roles
from numberline.experiments.common.directions import EXAMPLES, Cloud, Place, Rows, along, cosines, monotone
from numberline.experiments.common.examples import case_pairs
from numberline.experiments.common.experiment import Context, Result, experiment
from numberline.experiments.common.own_number import own_number
from numberline.experiments.two.patches import RANDOM_DRAWS
from numberline.methods import clouds, das
from numberline.methods.draws import Scoreboard
from numberline.tasks.counterfactuals import Hand
from numberline.tasks.layout import encode
from numberline.tasks.pairs import CounterfactualPairs
from numberline.tasks.populations import cloud
from numberline.tasks.task import Task

FEW = 16
"""Examples of the fit that shows how many are too few."""


@experiment("k2.number", needs=("k2.trace",))
def number(lab: Lab, context: Context) -> Result:
    """Along which direction does the model hold each {noun}?"""
    return analyse(lab, context, Task(context.concept), roles.require(context, "number_layer").layer)


def analyse(lab: Lab, context: Context, task: Task, layer: int, width: int = 1, suffix: str = "") -> Result:
    """The analysis of this file for any two-operand task; values in bins of `width`, subspaces named with a suffix."""
    first, second = (Place(operand, resid(layer).at(operand)) for operand in task.operands)
    operands = cloud(task, context.sizes.number_cloud, context.seed)
    prompts = encode(lab.tokenizer, task, operands)
    one, two = (
        Cloud.of(lab, place, x, operands)
        for place, x in zip((first, second), clouds.read(lab, prompts, [first.site, second.site]), strict=True)
    )
    pairs_of = {
        (case, kind): case_pairs(lab, context, task, case, kind, upto=layer)
        for case in task.operands
        for kind in EXAMPLES
    }
    few: dict[Hand, CounterfactualPairs] = {
        "evaluation": pairs_of["y1", "evaluation"],
        "fitting": pairs_of["y1", "fitting"].part(slice(0, FEW)),
    }
    steps = das.STEPS * (2 * context.sizes.fitting + len(few["fitting"]))
    patched = (7 + 2 * RANDOM_DRAWS) * (context.sizes.evaluation + context.sizes.fitting)
    count = context.meter(steps + patched + sum(map(len, few.values())))

    fits = das.fit(
        pairs_of["y1", "fitting"],
        first.site,
        seeds=(context.seed, context.seed + 1),
        progress=lambda done: count(2 * done * context.sizes.fitting),
        patience=context.sizes.patience,
    )
    u, u_second = (one.signed(fit.subspace) for fit in fits)
    choosing = case_pairs(lab, context, task, "y2", "choosing", upto=layer)
    v2, choice = own_number(context, two, second.site, choosing)
    random = das.random_subspaces(lab.network.d_model, 1, RANDOM_DRAWS, context.seed)
    tried = {
        "y1": {"full": None, "u": u, "u_second": u_second, "pc1": one.component(1), "random": random},
        "y2": {"full": None, "v2": v2, "pc1": two.component(1), "random": random},
    }
    board = Scoreboard()
    for (case, kind), pairs in pairs_of.items():
        labels = {"case": case, "position": case, "examples": kind}
        board.draws(pairs, along(pairs, resid(layer).at(case), tried[case]), labels, count)
    (fit_16,) = das.fit(
        few["fitting"],
        first.site,
        seeds=(context.seed,),
        progress=lambda done: count(done * len(few["fitting"])),
        patience=context.sizes.patience,
    )
    for kind, pairs in few.items():
        labels = {"case": "y1", "position": "y1", "examples": kind}
        board.draws(pairs, along(pairs, first.site, {"u_16": fit_16.subspace}), labels, count)

    named = {one: {"u": u, **one.components(3)}, two: {"v2": v2, **two.components(3)}}
    components = [row for each, directions in named.items() for row in each.by_value(directions, width)]
    return Result.of(
        {
            **board.tables("patches"),
            "layout": [{"position": name, "token": token} for name, token in prompts.positions.items()],
            "v2": [choice],
            "stability": [_stability(number, fit, fits[0], board.rows) for number, fit in enumerate(fits)],
            "components": components,
            "monotone": monotone(components),
            "curvature": [*one.curvature(width), *two.curvature(width)],
            task.concept.fits: [row for each, named_ in named.items() for row in each.fits(task.concept, named_)],
            "variance": [*one.variance({"u": u}), *two.variance({"v2": v2})],
            "cosines": cosines({"u": u, "u_second": u_second, "pc1": one.component(1), "v2": v2}),
        },
        n=len(pairs_of["y1", "evaluation"]),
        tensors={
            **{name: space.basis[:, 0] for name, space in (("u", u), ("u_second", u_second), ("v2", v2))},
            **one.tensors(u, 3, width),
            **two.tensors(v2, 3, width),
            "operands": one.operands,
            "losses": torch.stack([fit.losses for fit in fits]),
        },
        subspaces={f"u{suffix}": u, f"u_second{suffix}": u_second, f"v2{suffix}": v2},
    )


def _stability(number: int, fit: das.Fit, first: das.Fit, patches: Rows) -> dict[str, Any]:
    """One initialisation of u: how it ended, and how near to the first."""
    name = "u" if number == 0 else "u_second"
    scores = {row["examples"]: row["mean"] for row in patches if row["condition"] == name and row["metric"] == "iia"}
    return {
        "initialisation": number,
        "seed": int(fit.subspace.provenance["seed"]),
        "cosine": float((fit.subspace.basis[:, 0] @ first.subspace.basis[:, 0]).abs()),
        "first_loss": float(fit.losses[0]),
        "last_loss": float(fit.losses[-1]),
        "iia": scores["evaluation"],
        "fitting_iia": scores["fitting"],
    }
