"""How sure is a measured score? Its standard error and its 95 % interval.

Shares have the Wilson score interval that the paper's error bars show; means and ratios of means have a percentile
bootstrap interval over examples.

Every score in a result table has the five columns of an `Estimate`.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from statistics import NormalDist

import torch
from jaxtyping import Float
from torch import Tensor

from numberline.errors import NumberlineError
from numberline.seed import SEED

CONFIDENCE = 0.95
RESAMPLES = 1000


@dataclass(frozen=True)
class Estimate:
    """A mean over n examples, its standard error, and its interval from `lo` to `hi`."""

    mean: float
    se: float
    n: int
    lo: float
    hi: float

    @property
    def columns(self) -> dict[str, float | int]:
        """The estimate as columns of a table's row."""
        return asdict(self)


def wilson(right: Sequence[bool], confidence: float = CONFIDENCE) -> Estimate:
    """The share of true entries, with its Wilson score interval: never outside [0, 1], and not a point at 100 %."""
    n, count = len(right), sum(map(bool, right))
    if n == 0:
        raise NumberlineError("a share of no examples was asked for: give at least one")
    mean, z = count / n, NormalDist().inv_cdf((1 + confidence) / 2)
    centre = (mean + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(mean * (1 - mean) / n + z * z / (4 * n * n))
    # At 0 and 1 the bounds are exactly 0 and 1; rounding must not say otherwise.
    lo, hi = 0.0 if count == 0 else centre - half, 1.0 if count == n else centre + half
    return Estimate(mean, math.sqrt(mean * (1 - mean) / n), n, lo, hi)


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
