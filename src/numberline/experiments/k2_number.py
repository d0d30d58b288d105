"""Along which direction is a number held? u at y1, v2 at y2, beside the curved geometry (two digits).

1. u: DAS at resid(number_layer).at("y1") on 128 fitting examples, y1 perturbed; again from a second initialisation.
   Signed so that its component rises with y1 over the 2,000-prompt cloud.
2. Principal components of that cloud at y1's and at y2's position, mean-centred and unscaled. v2 is the first one at
   y2, signed so that its component rises with y2.
3. Patches at y1 (y1 perturbed): full rank, u, u of the second initialisation, PC1, and random directions (5 draws).
   Patches at y2 (y2 perturbed): full rank, v2, random directions. On the evaluation and on the fitting examples.
4. Components along u, PC1, PC2, PC3 (and v2 at y2) per value of the number, as means over the cloud, and the
   least-squares fit p·log y + q to the cloud. Variance explained by the first 20 principal components and by u.

Tables
- `patches`: case, position, condition ("full", "u", "u_second", "pc1", "v2", "random"), examples ("evaluation",
  "fitting"), draws, spread (standard deviation over draws), metric, mean, se, n, lo, hi, near_ties, nonpositive.
- `stability`: initialisation, seed, cosine (absolute, with the first), first_loss, last_loss, iia, fitting_iia.
- `components`: position, direction ("u", "pc1", "pc2", "pc3", "v2"), value, mean, se, n, lo, hi, standardized.
- `log_fits`: position, direction, p, q, r2.
- `variance`: position, direction ("pc1" … "pc20", "u", "v2"), share, cumulative (principal components only).
- `cosines`: first, second, cosine, for u, u_second, pc1 at y1 and v2.

Components are relative to the cloud's mean.
Tensors (d is the model's width): u, u_second, v2 (d); operands (n × 2); losses (initialisations × steps); and for y1 and
y2 each: pcs_y1 (d × 20), mean_y1 (d), values_y1 (V), means_y1 (V × d, relative to mean_y1), projections_y1 (n × 4: u, pc1,
pc2, pc3), projections_y2 (n × 3: v2 = pc1, pc2, pc3).
Subspaces: u, u_second, v2.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from numberline.engine.edits import swap
from numberline.engine.lab import Lab
from numberline.engine.sites import Site, resid
from numberline.engine.subspace import Subspace
from numberline.experiments import roles
from numberline.experiments.experiment import Context, Result, experiment
from numberline.experiments.patches import RANDOM_DRAWS
from numberline.methods import clouds, das
from numberline.methods.draws import Draws, draw_rows
from numberline.methods.pca import Components, principal_components
from numberline.methods.scores import Trial, record_trial
from numberline.tasks.counterfactuals import perturb, pool
from numberline.tasks.layout import Prompts, encode
from numberline.tasks.populations import cloud
from numberline.tasks.task import Task

Rows = list[dict[str, Any]]
EXAMPLES = ("evaluation", "fitting")


@experiment("k2.number", needs=("k2.trace",), feeds=("number-reps", "app-u-manifold", "app-u-vs-pc1"))
def number(lab: Lab, context: Context) -> Result:
    """Along which direction does the model hold each number?"""
    return analyse(lab, context, Task(context.kind), roles.require(context, "number_layer").layer)


def analyse(lab: Lab, context: Context, task: Task, layer: int, width: int = 1, suffix: str = "") -> Result:
    """The analysis of this file for any two-operand task; values in bins of `width`, subspaces named with a suffix."""
    first, second = (Place(operand, resid(layer).at(operand)) for operand in task.operands)
    prompts = encode(lab.loaded.tokenizer, task, cloud(task, context.sizes.number_cloud, context.seed))
    one, two = (
        Cloud.of(lab, place, x, prompts)
        for place, x in zip((first, second), clouds.read(lab, prompts, [first.site, second.site]), strict=True)
    )
    trials = {(case, kind): recorded(lab, context, task, case, kind) for case in task.operands for kind in EXAMPLES}
    steps = 2 * das.STEPS * context.sizes.fitting
    patched = (7 + RANDOM_DRAWS * 2 - 1) * (context.sizes.evaluation + context.sizes.fitting)
    count = context.meter(steps + patched)

    fits = das.fit(
        lab,
        trials["y1", "fitting"],
        first.site,
        seeds=(context.seed, context.seed + 1),
        progress=lambda done: count(2 * done * context.sizes.fitting),
    )
    u, u_second = (one.signed(fit.subspace) for fit in fits)
    v2 = two.component(1)
    random = das.random_subspaces(lab.network.d_model, 1, RANDOM_DRAWS, context.seed)
    tried = {
        "y1": {"full": None, "u": u, "u_second": u_second, "pc1": one.component(1), "random": random},
        "y2": {"full": None, "v2": v2, "random": random},
    }
    patches: Rows = []
    for (case, kind), trial in trials.items():
        labels = {"case": case, "position": case, "examples": kind}
        patches += draw_rows(lab, trial, along(resid(layer).at(case), trial, tried[case]), labels, count)

    named = {
        one: {"u": u, **{f"pc{i}": one.component(i) for i in (1, 2, 3)}},
        two: {"v2": v2, **{f"pc{i}": two.component(i) for i in (2, 3)}},
    }
    return Result.of(
        {
            "patches": patches,
            "stability": [_stability(number, fit, fits[0], patches) for number, fit in enumerate(fits)],
            "components": [row for each, directions in named.items() for row in each.by_value(directions, width)],
            "log_fits": [row for each, directions in named.items() for row in each.log_fits(directions)],
            "variance": [*one.variance({"u": u}), *two.variance({"v2": v2})],
            "cosines": cosines({"u": u, "u_second": u_second, "pc1": one.component(1), "v2": v2}),
        },
        n=len(trials["y1", "evaluation"]),
        tensors={
            **{name: space.basis[:, 0] for name, space in (("u", u), ("u_second", u_second), ("v2", v2))},
            **one.tensors(named[one], width),
            **two.tensors(named[two], width),
            "operands": one.operands,
            "losses": torch.stack([fit.losses for fit in fits]),
        },
        subspaces={f"u{suffix}": u, f"u_second{suffix}": u_second, f"v2{suffix}": v2},
    )


@dataclass(frozen=True)
class Place:
    """An operand and the site where it is looked for."""

    operand: str
    site: Site


@dataclass(frozen=True, eq=False)
class Cloud:
    """Activations of many clean prompts at one site, with the number they should carry and their components."""

    name: str
    x: Float[Tensor, "n d"]
    operands: Int[Tensor, "n k"]
    numbers: Int[Tensor, " n"]
    pca: Components
    provenance: Mapping[str, str]

    @classmethod
    def of(cls, lab: Lab, place: Place, x: Float[Tensor, "n d"], prompts: Prompts, position: str = "") -> "Cloud":
        """A cloud read at a place; its components are signed so that they rise with the place's operand."""
        operands = torch.tensor(prompts.operands)
        numbers = operands[:, int(place.operand[1:]) - 1]
        found = principal_components(x)
        signed = Subspace(found.directions).signed(x, numbers.double()).basis
        about = {"model": lab.loaded.fingerprint, "site": str(place.site), "data": f"{len(prompts)} clean prompts"}
        pca = Components(found.mean, signed, found.variances, found.total)
        return cls(position or place.operand, x, operands, numbers, pca, about)

    def component(self, i: int) -> Subspace:
        """The i-th principal component, counted from one."""
        return Subspace(self.pca.directions[:, i - 1 : i], {**self.provenance, "method": f"PCA, component {i}"})

    def signed(self, subspace: Subspace) -> Subspace:
        """A learned direction, signed so that its component rises with the number."""
        return Subspace(subspace.basis.cpu(), subspace.provenance).signed(self.x, self.numbers.double())

    def along(self, direction: Subspace) -> Float[Tensor, " n"]:
        """The components along a direction, relative to the cloud's mean."""
        return ((self.x - self.pca.mean).double() @ direction.basis.double())[:, 0]

    def by_value(self, directions: Mapping[str, Subspace], width: int = 1) -> Rows:
        """The mean component for each value of the number, for each direction."""
        return [
            {"position": self.name, "direction": name, **row}
            for name, direction in directions.items()
            for row in clouds.by_value(self.along(direction), self.numbers, width)
        ]

    def log_fits(self, directions: Mapping[str, Subspace]) -> Rows:
        """The fit p·log y + q for each direction."""
        return [
            {"position": self.name, "direction": name, **clouds.log_fit(self.along(direction), self.numbers)}
            for name, direction in directions.items()
        ]

    def variance(self, directions: Mapping[str, Subspace]) -> Rows:
        """The share of variance along each principal component, and along other directions."""
        shares = self.pca.shares.tolist()
        rows = [(f"pc{i}", share, sum(shares[:i])) for i, share in enumerate(shares, start=1)]
        rows += [(name, self.pca.share_along(self.x, space.basis[:, 0]), None) for name, space in directions.items()]
        return [
            {"position": self.name, "direction": name, "share": share, "cumulative": cumulative}
            for name, share, cumulative in rows
        ]

    def tensors(self, directions: Mapping[str, Subspace], width: int = 1) -> dict[str, Tensor]:
        """What figures draw: components, per-value means relative to the mean, projections on the directions."""
        values, which = clouds.groups(self.numbers, width)
        return {
            f"pcs_{self.name}": self.pca.directions,
            f"mean_{self.name}": self.pca.mean,
            f"values_{self.name}": values,
            f"means_{self.name}": clouds.group_means(self.x - self.pca.mean, which).float(),
            f"projections_{self.name}": torch.stack([self.along(space) for space in directions.values()], 1).float(),
        }


def recorded(lab: Lab, context: Context, task: Task, case: str, examples: str = "evaluation") -> Trial:
    """The recorded evaluation or fitting examples of a case, for any task."""
    split = pool(task, context.seed, context.sizes)
    return record_trial(lab, task, perturb(task, split.fitting if examples == "fitting" else split.evaluation, case))


def along(site: Site, trial: Trial, directions: Mapping[str, Subspace | Sequence[Subspace] | None]) -> dict[str, Draws]:
    """Swaps at one site: in full (None), along a subspace, or along several that are draws of one control."""
    listed = {
        name: [space] if space is None or isinstance(space, Subspace) else space for name, space in directions.items()
    }
    return {name: [[swap(site, trial.clean, space)] for space in spaces] for name, spaces in listed.items()}


def cosines(directions: Mapping[str, Subspace]) -> Rows:
    """The cosine of every two directions."""
    names = list(directions)
    return [
        {"first": a, "second": b, "cosine": float(directions[a].basis[:, 0] @ directions[b].basis[:, 0])}
        for i, a in enumerate(names)
        for b in names[i + 1 :]
    ]


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
