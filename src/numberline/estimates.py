"""What is a measured score? A mean with its standard error and its 95 % interval: one interval for one number.

1. A share of n examples has the Wilson score interval. Where answers come in clusters (several of one prompt, several
   draws of a control), n is the number of independent answers that would vary as much: p(1 − p) over the variance that
   the clusters show, and the number of clusters where all answers agree.
2. Means, ratios of means and every other statistic have the percentile interval of a bootstrap over examples. All
   scores of n examples are resampled alike, so that two scores of the same examples are compared example by example.
3. Controls of several draws resample the draws too.
4. A change between two shares of the same examples resamples how many examples are right before and after, only
   before, only after, or never, with two examples added, half of one to each (Jeffreys), so that "all, and then none"
   still has a width. So does a change beyond a control's, over the eight ways in which an example can be right.

Every score in a result table has the five columns of an `Estimate`. Nothing here needs torch: experiments make
estimates, and claims compare stored scores.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numberline.errors import NumberlineError
from numberline.seed import SEED

CONFIDENCE = 0.95
RESAMPLES = 1000
ADDED = 2.0
"""Examples added to a change between shares, alike to all ways in which an example can change."""

Values = NDArray[np.float64]
Weights = NDArray[np.float64]
"""How often each example is drawn in each resample, over n: (resamples, n)."""
Statistic = Callable[[Weights], Values]
"""From weights of examples to the statistic in each resample."""


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
    n = len(right)
    return wilson_of(sum(map(bool, right)) / n if n else 0.0, n, n, confidence)


def wilson_of(share: float, n: int, independent: float | int, confidence: float = CONFIDENCE) -> Estimate:
    """A share of n answers, of which as many as `independent` count."""
    if n == 0:
        raise NumberlineError("a share of no examples was asked for: give at least one")
    z, m = NormalDist().inv_cdf((1 + confidence) / 2), max(independent, 1.0)
    centre = (share + z * z / (2 * m)) / (1 + z * z / m)
    half = z / (1 + z * z / m) * math.sqrt(share * (1 - share) / m + z * z / (4 * m * m))
    # At 0 and 1 the bounds are exactly 0 and 1; rounding must not say otherwise.
    lo, hi = 0.0 if share == 0 else centre - half, 1.0 if share == 1 else centre + half
    return Estimate(share, math.sqrt(share * (1 - share) / m), n, lo, hi)


def clustered_share(right: Sequence[int], total: Sequence[int]) -> Estimate:
    """The share of right answers, which come in clusters: how many are right in each, of how many."""
    hits, sizes = np.asarray(right, float), np.asarray(total, float)
    hits, sizes = hits[sizes > 0], sizes[sizes > 0]
    clusters, n = len(sizes), int(sizes.sum())
    if not n:
        raise NumberlineError("a share of no examples was asked for: give at least one")
    share = float(hits.sum() / n)
    # The variance of a ratio of sums over clusters (linearised).
    off = hits - share * sizes
    variance = float(clusters / max(clusters - 1, 1) * np.square(off).sum() / n**2)
    return wilson_of(share, n, independent_answers(share, variance, clusters, n))


def drawn_share(hits: NDArray[Any]) -> Estimate:
    """The share of right answers of a control, (draws, n): over both the examples and the draws."""
    draws, n = hits.shape
    share = float(hits.mean())
    over_examples, over_draws = (np.asarray(hits.mean(axis), float) for axis in (0, 1))
    variance = float(over_examples.var(ddof=1) / n) if n > 1 else 0.0
    variance += float(over_draws.var(ddof=1) / draws) if draws > 1 else 0.0
    return wilson_of(share, n, independent_answers(share, variance, n, draws * n))


def independent_answers(share: float, variance: float, clusters: int, n: int) -> float:
    """How many independent answers would vary as much as these; the number of clusters where nothing varies."""
    return float(clusters) if variance == 0 else min(share * (1 - share) / variance, float(n))


@cache
def resamples(n: int) -> Weights:
    """The weight of each of n examples in each resample: the same draws for every score of n examples."""
    generator = np.random.default_rng(SEED)
    return np.stack([np.bincount(generator.integers(n, size=n), minlength=n) for _ in range(RESAMPLES)]) / n


def bootstrap(statistic: Statistic, n: int, confidence: float = CONFIDENCE) -> Estimate:
    """Any statistic of n examples, with its error and percentile interval."""
    if n == 0:
        raise NumberlineError("a mean of no examples was asked for: give at least one")
    value = float(statistic(np.full((1, n), 1 / n))[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        return from_resamples(value, statistic(resamples(n)), n, confidence)


def from_resamples(value: float, drawn: Values, n: int, confidence: float = CONFIDENCE) -> Estimate:
    """A statistic with its error and its percentile interval over the resamples that have it."""
    seen = drawn[~np.isnan(drawn)]
    seen = seen if len(seen) else drawn
    lo, hi = np.quantile(seen, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Estimate(value, float(seen.std(ddof=1)) if len(seen) > 1 else 0.0, n, float(lo), float(hi))


def mean(values: Values) -> Estimate:
    """The mean, its standard error, and the percentile bootstrap interval."""
    return bootstrap(lambda weights: weights @ values, len(values))


def ratio(top: Values, bottom: Values) -> Estimate:
    """Mean of one over mean of the other; examples are resampled in pairs."""
    return bootstrap(lambda weights: (weights @ top) / (weights @ bottom), len(top))


def drawn_mean(values: Values) -> Statistic:
    """The mean of a control's scores, (draws, n), in each resample of examples and of draws."""
    if len(values) == 1:
        return lambda weights: weights @ values[0]

    def statistic(weights: Weights) -> Values:
        # A single row of weights is the value itself: every draw counts alike there.
        single = len(weights) == 1
        draws = np.full((1, len(values)), 1 / len(values)) if single else resamples(len(values))
        return np.asarray(np.einsum("rd,dn,rn->r", draws, values, weights, optimize=True))

    return statistic


def share_lost(before: NDArray[Any], after: NDArray[Any], instead: NDArray[Any] | None = None) -> Estimate:
    """Of the share right before, (n), the part that is no longer right after, (draws, n): 1 − after / before.

    With the answers under a control `instead`, (draws, n): the part that is lost beyond what the control loses.
    """
    first = np.ones((1, before.shape[-1]), bool) & before.astype(bool) if instead is None else instead.astype(bool)
    was, now = before.astype(bool), after.astype(bool)
    draws, n = max(len(now), len(first)), len(was)
    now, first = (np.broadcast_to(each, (draws, n)) for each in (now, first))
    kind = 4 * was + 2 * first + now
    kinds = np.stack([(kind == number).sum(1) for number in range(8)], 1).astype(float)
    chosen = resamples(draws) @ kinds if draws > 1 else np.repeat(kinds, RESAMPLES, 0)
    possible = [0, 1, 6, 7] if instead is None else list(range(8))
    sampled = np.zeros_like(chosen)
    sampled[:, possible] = np.random.default_rng(SEED).standard_gamma(chosen[:, possible] + ADDED / len(possible))
    right = {
        name: [number for number in range(8) if number & bit] for name, bit in (("was", 4), ("first", 2), ("now", 1))
    }
    totals = {name: sampled[:, numbers].sum(1) for name, numbers in right.items()}
    value = float((first.mean() - now.mean()) / was.mean()) if was.any() else math.nan
    return from_resamples(value, (totals["first"] - totals["now"]) / totals["was"], n)
