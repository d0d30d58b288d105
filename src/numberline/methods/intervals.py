"""How sure is a measured mean? Its standard error and its 95 % interval.

Means and ratios of means have a percentile bootstrap interval over examples; shares have the Wilson score interval that
the paper's error bars show (`numberline.estimates`).
"""

import math
from dataclasses import replace
from functools import cache

import torch
from jaxtyping import Float
from torch import Tensor

from numberline.errors import NumberlineError
from numberline.estimates import CONFIDENCE, Estimate, wilson
from numberline.seed import SEED

__all__ = ["CONFIDENCE", "Estimate", "from_resamples", "mean", "ratio", "resamples", "wilson"]

RESAMPLES = 1000


def mean(values: Float[Tensor, " n"]) -> Estimate:
    """The mean, its standard error, and the percentile bootstrap interval."""
    return _bootstrapped(values, torch.ones_like(values))


def ratio(numerator: Float[Tensor, " n"], denominator: Float[Tensor, " n"]) -> Estimate:
    """Mean numerator over mean denominator; examples are resampled in pairs. The error is the bootstrap's."""
    return _bootstrapped(numerator, denominator)


def _bootstrapped(numerator: Float[Tensor, " n"], denominator: Float[Tensor, " n"]) -> Estimate:
    n = len(numerator)
    if n == 0:
        raise NumberlineError("a mean of no examples was asked for: give at least one")
    top, bottom = numerator.double(), denominator.double()
    share = resamples(n)
    found = from_resamples(float(top.mean() / bottom.mean()), (share @ top) / (share @ bottom), n)
    plain = bool((denominator == 1).all())
    return replace(found, se=float(top.std() / math.sqrt(n))) if plain and n > 1 else found


def from_resamples(value: float, drawn: Float[Tensor, " resamples"], n: int) -> Estimate:
    """Any statistic of n examples, with its error and its percentile interval over the resamples that have it."""
    seen = drawn[~drawn.isnan()] if bool((~drawn.isnan()).any()) else drawn
    lo, hi = torch.quantile(seen, torch.tensor([(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], dtype=torch.float64))
    return Estimate(value, float(seen.std()), n, float(lo), float(hi))


@cache
def resamples(n: int) -> Float[Tensor, "resamples n"]:
    """How often each of n examples is drawn in each resample: the same draws for every score of n examples."""
    generator = torch.Generator().manual_seed(SEED)
    drawn = torch.randint(n, (RESAMPLES, n), generator=generator)
    return torch.zeros(RESAMPLES, n, dtype=torch.float64).scatter_add_(1, drawn, torch.ones(RESAMPLES, n).double()) / n
