"""What do many clean prompts look like at a few sites? Activations over a cloud; prompts that begin alike share a run.

`by_value` and `line_fit` summarize a component of them against the value that it should carry; `monotone` says how
nearly the means by value rise with it.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from numberline.engine.lab import Lab
from numberline.engine.prompts import Prompts
from numberline.engine.sites import Site
from numberline.methods.intervals import Estimate, from_resamples, mean, resamples


def read(
    lab: Lab, prompts: Prompts, sites: Sequence[Site], progress: Callable[[int], object] | None = None
) -> list[Float[Tensor, "n _"]]:
    """The activations at each site (of one token each), on the CPU in single precision or better."""
    found = [value[:, 0] for value in lab.activations(prompts, sites)]
    if progress is not None:
        progress(len(prompts))
    return [value.to("cpu", torch.promote_types(value.dtype, torch.float32)) for value in found]


def groups(numbers: Int[Tensor, " n"], width: int = 1) -> tuple[Int[Tensor, " values"], Int[Tensor, " n"]]:
    """The values (or the middles of bins of a width) that occur, and which of them each example has."""
    middles = torch.div(numbers, width, rounding_mode="floor") * width + width // 2
    values, which = middles.unique(return_inverse=True)
    return values, which


def group_means(x: Float[Tensor, "n d"], which: Int[Tensor, " n"]) -> Float[Tensor, "values d"]:
    """The mean activation of each group."""
    count = int(which.max()) + 1
    sums = torch.zeros(count, x.shape[1], dtype=torch.float64).index_add_(0, which, x.double())
    return sums / torch.bincount(which, minlength=count)[:, None]


def by_value(components: Float[Tensor, " n"], numbers: Int[Tensor, " n"], width: int = 1) -> list[dict[str, Any]]:
    """Rows (value, mean, se, n, lo, hi, standardized): a component's mean for each value of a number."""
    values, which = groups(numbers, width)
    centre, spread = float(components.mean()), float(components.std())
    rows = []
    for place, value in enumerate(values.tolist()):
        estimate = mean(components[which == place])
        standardized = (estimate.mean - centre) / spread if spread > 0 else 0.0
        rows.append({"value": value, **estimate.columns, "standardized": standardized})
    return rows


def line_fit(components: Float[Tensor, " n"], x: Float[Tensor, " n"]) -> dict[str, float]:
    """The least-squares fit p·x + q over all examples, and the share of variance that it explains."""
    y = components.double()
    p = float((x - x.mean()) @ (y - y.mean()) / (x - x.mean()).square().sum())
    q = float(y.mean() - p * x.mean())
    total = float((y - y.mean()).square().sum())
    return {"p": p, "q": q, "r2": 1 - float((y - p * x - q).square().sum()) / total if total > 0 else 0.0}


def explained(components: Float[Tensor, " n"], which: Int[Tensor, " n"]) -> float:
    """The share of a component's variance that the means of groups explain."""
    means = group_means(components[:, None], which)[which, 0]
    total = (components.double() - components.double().mean()).square().sum()
    return float(1 - (components.double() - means).square().sum() / total)


def rank_correlation(x: Float[Tensor, " n"], y: Float[Tensor, " n"]) -> float:
    """Spearman's: the correlation of the ranks (equal values are ranked in the order given)."""
    ranks = torch.stack([values.argsort(stable=True).argsort() for values in (x, y)]).double()
    return float(torch.corrcoef(ranks)[0, 1])


def monotone(values: Float[Tensor, " n"], means: Float[Tensor, " n"]) -> Estimate:
    """The rank correlation of means with their values; the interval is over values, drawn again."""
    weights = resamples(len(values)) * len(values)
    x, y = (_ranks(each, weights) for each in (values, means))
    x, y = (each - (weights * each).sum(1, keepdim=True) / weights.sum(1, keepdim=True) for each in (x, y))
    drawn = (weights * x * y).sum(1) / ((weights * x * x).sum(1) * (weights * y * y).sum(1)).sqrt()
    return from_resamples(rank_correlation(values, means), drawn, len(values))


def _ranks(x: Float[Tensor, " n"], weights: Float[Tensor, "resamples n"]) -> Float[Tensor, "resamples n"]:
    """The rank of each example in samples that hold it as often as its weight says: equals share their mean rank."""
    order = x.argsort(stable=True)
    last = torch.empty_like(weights)
    last[:, order] = weights[:, order].cumsum(1)
    return last - (weights - 1) / 2
