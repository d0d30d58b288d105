"""How sure is the angle between two directions? Cosines with intervals, and what chance would give.

1. A direction that is a cloud's first principal component (or the slope of its means by value) depends on the prompts
   of the cloud. They are drawn again, the ones that belong together (a pair in both orders) together, and the direction
   is found again, in the space of the leading components and of the directions that it is compared with: what lies
   outside changes a cosine with them by the square of a small angle only.
2. A learned direction has no such sample: it is fitted once, on all fitting examples. Where it was fitted from several
   starts, each resample takes one of them. So an interval covers the prompts of the cloud and the starts, and not other
   fitting examples; where a direction has neither, it is a point.
3. Chance: the |cosine| of two random directions of a space of r dimensions is at most √q in 95 of 100 draws, with q the
   quantile of a Beta(1/2, (r − 1)/2), the square of a coordinate of a random unit vector.
"""

import math
from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float, Int
from scipy.stats import beta
from torch import Tensor

from numberline.methods.clouds import groups
from numberline.methods.intervals import CONFIDENCE, Estimate, from_resamples, resamples
from numberline.methods.pca import principal_components

Direction = Float[Tensor, " d"]
Drawn = Float[Tensor, "resamples d"]


def again(
    x: Float[Tensor, "n d"],
    beside: Sequence[Direction],
    numbers: Int[Tensor, " n"] | None = None,
    scale: Float[Tensor, " n"] | None = None,
    together: int = 1,
) -> Drawn:
    """The first component of a cloud, found again in every resample; with numbers the slope of its means by value on
    their place on a scale.

    `beside` are the directions that it will be compared with; `together` prompts are drawn as one.
    """
    leading = principal_components(x)
    frame = torch.linalg.qr(torch.cat([leading.directions.double(), torch.stack(list(beside), 1).double()], 1))[0]
    inside = (x.double() - leading.mean.double()) @ frame
    weights = resamples(len(x) // together).repeat_interleave(together, 1) / together
    if numbers is None or scale is None:
        # Weighted means of all products of two coordinates, for all resamples at once.
        products = (inside[:, :, None] * inside[:, None]).flatten(1)
        mean, spread = weights @ inside, (weights @ products).unflatten(1, (frame.shape[1], -1))
        return torch.mm(_first(spread - mean[:, :, None] * mean[:, None]), frame.T)
    member = torch.nn.functional.one_hot(groups(numbers)[1]).double()
    sums = (weights @ (member[:, :, None] * inside[:, None]).flatten(1)).unflatten(1, (member.shape[1], -1))
    counts = weights @ member
    means, seen = sums / counts.clamp(min=1e-12)[:, :, None], (counts > 0).double()
    place = (member.T @ scale.double()) / member.sum(0)
    away = (place - (seen * place).sum(1, keepdim=True) / seen.sum(1, keepdim=True)) * seen
    slopes = torch.nn.functional.normalize((away[:, :, None] * means).sum(1), dim=1)
    return torch.mm(slopes, frame.T)


def _first(spread: Float[Tensor, "resamples k k"]) -> Float[Tensor, "resamples k"]:
    """The eigenvector of the largest eigenvalue."""
    vectors: Tensor = torch.linalg.eigh(spread)[1]
    return vectors[:, :, -1]


def chance(rank: int) -> float:
    """The |cosine| that 95 in 100 pairs of random directions of a space do not exceed."""
    return math.sqrt(float(beta.ppf(CONFIDENCE, 0.5, (rank - 1) / 2))) if rank > 1 else 1.0


def overlaps(
    u: Sequence[Direction], v1: Direction, v2: Direction, rank: int, drawn: Drawn | None, n: int
) -> Mapping[str, Estimate]:
    """How v1 and u (from several starts) lie to v2, which was `drawn` again or is fixed; v1 is from a space of a rank.

    - v1_v2, u_v2: |cosines|; contrast: by how much u's is larger;
    - relative: v1's, over what two random directions of that space stay below in 95 of 100 draws.
    """
    start = torch.arange(len(drawn) if drawn is not None else len(u)) % len(u)
    others = drawn if drawn is not None else v2.double().expand(len(start), -1)
    point = _overlaps(u[0][None], v1, v2[None], rank)
    spread = _overlaps(torch.stack(list(u))[start], v1, others, rank)
    return {name: from_resamples(float(value), spread[name], n) for name, value in point.items()}


def _overlaps(
    u: Float[Tensor, "*any d"], v1: Direction, v2: Float[Tensor, "*any d"], rank: int
) -> dict[str, Float[Tensor, "*any"]]:
    first = torch.nn.functional.cosine_similarity(v1.double(), v2.double(), dim=-1).abs()
    number = torch.nn.functional.cosine_similarity(u.double(), v2.double(), dim=-1).abs()
    return {"v1_v2": first, "u_v2": number, "contrast": number - first, "relative": first / chance(rank)}
