"""Along which direction does a token hold its own number? v2 at y2's position, and v3 at y3's.

The paper takes the first principal component there, and learns a direction "whenever the principal components are not
causally relevant", without saying when that is. What is learned at that place is not the number: it need only turn the
answer, and whatever the token knows of the outcome turns it further (the paper says so, and k2.shortcut shows it).

1. Candidates, in this order:
   - `PCA`: the first principal component of the cloud.
   - `slope`: along which way the state moves as the number rises, on its concept's scale: the least-squares slope of
     the means by value. The other numbers average out of the means, what winds or turns with the number averages out
     of the slope, and no answer has a part in it.
2. Each is swapped on examples of the hand `choosing`, its number perturbed, beside the whole residual. It is *relevant*
   with at least half of the whole residual's pooled recovery.
3. The first one that is relevant is taken, and where none is, the one that recovers most, and the table says so: no
   direction is learned from the answers. On the paper's model it is the first principal component, whatever it does.

A direction may recover more than the whole residual does. Of a learned one that is to be held against it: beyond 1.5
times it moves what the number does not. Of these two it says something else: the whole residual also moves the digits,
as where the answer is copied from that token (the variant `no-code`, where the planted v2 recovers four times as much).

Why the slope, and what other estimators do where the truth is known: docs/ground-truth.md.
"""

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from numberline.engine.edits import swap
from numberline.engine.sites import Site
from numberline.engine.subspace import Subspace
from numberline.experiments.common import role_rules, roles
from numberline.experiments.common.directions import Cloud
from numberline.experiments.common.experiment import Context
from numberline.methods import clouds
from numberline.methods.pairs import Pairs
from numberline.methods.scores import score
from numberline.tasks.scale import scaled

RELEVANT = 0.5
"""The share of the full-rank patch's recovery from which on a direction is causally relevant."""


def own_number(context: Context, seen: Cloud, site: Site, choosing: Pairs) -> tuple[Subspace, dict[str, Any]]:
    """The direction, and a row: method, pc1, slope, full (pooled recoveries), share (of full), relevant, why."""
    candidates = {"PCA": seen.component(1), "slope": slope(context, seen)}
    swaps = [[swap(site, choosing.clean, direction)] for direction in (None, *candidates.values())]
    scores = score(choosing, swaps)
    full, *found = (scores.pooled(number).mean for number in range(len(swaps)))
    recovery = dict(zip(candidates, found, strict=True))
    least = max(RELEVANT * full, role_rules.LEAST)
    method = "PCA" if roles.is_papers(choosing.lab) else choose(recovery, least)
    why = f"of the whole residual's recovery of {full:.2f}, PC1 has {found[0]:.2f} and the slope {found[1]:.2f}"
    row = {"method": method, "pc1": recovery["PCA"], "slope": recovery["slope"], "full": full}
    relevant = recovery[method] >= least
    row |= {"share": recovery[method] / full if full > 0 else 0.0, "relevant": relevant}
    return candidates[method], {**row, "why": why if relevant else f"{why}: not relevant"}


def choose(recovery: Mapping[str, float], least: float) -> str:
    """The first candidate that recovers as much as it must, or the one that recovers most."""
    relevant = [method for method, value in recovery.items() if value >= least]
    return relevant[0] if relevant else max(recovery, key=lambda method: recovery[method])


def slope(context: Context, seen: Cloud) -> Subspace:
    """The unit direction along which the means by value move as the number rises."""
    values, which = clouds.groups(seen.numbers)
    direction = least_squares_slope(clouds.group_means(seen.x, which), scaled(context.concept, values))
    return Subspace(direction[:, None].float(), {**seen.provenance, "method": "slope of the means by value"})


def least_squares_slope(means: Float[Tensor, "values d"], numbers: Float[Tensor, " values"]) -> Float[Tensor, " d"]:
    """The unit slope of means on numbers: signed, so that the component rises with the number."""
    centred = numbers.double() - numbers.double().mean()
    moved: Tensor = (means.double() - means.double().mean(0)).T @ centred
    return torch.nn.functional.normalize(moved, dim=0)
