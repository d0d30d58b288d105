"""What is a measured score? A mean with its standard error and its 95 % interval; a share has the Wilson interval.

Every score in a result table has the five columns of an `Estimate`. Nothing here needs torch: experiments make
estimates, and claims read them.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist

from numberline.errors import NumberlineError

CONFIDENCE = 0.95


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
