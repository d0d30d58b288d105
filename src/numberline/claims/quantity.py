"""What is a measured quantity? A value with its 95 % interval, and the number of examples it rests on."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from numberline.estimates import Estimate, wilson
from numberline.results.table import NotMeasuredError

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Quantity:
    """A value with its 95 % interval and the number of examples it rests on; a point where lo = hi = value."""

    value: float
    lo: float
    hi: float
    n: int

    @classmethod
    def of(cls, row: Row) -> "Quantity":
        """From the columns of a score."""
        numbers = [row[name] for name in ("mean", "lo", "hi")]
        if any(number is None or math.isnan(number) for number in numbers):
            raise NotMeasuredError("the score has no value (no example counts for it)")
        value, lo, hi = map(float, numbers)
        return cls(value, lo, hi, int(row["n"]))

    @classmethod
    def from_estimate(cls, estimate: Estimate) -> "Quantity":
        """From an estimate."""
        return cls.of(estimate.columns)

    @classmethod
    def point(cls, value: float | int, n: int = 1) -> "Quantity":
        """A number that has no sampling error, such as a cosine of two directions."""
        return cls(float(value), float(value), float(value), n)

    @classmethod
    def count(cls, right: float | int, n: int) -> "Quantity":
        """A share of n, with its Wilson interval."""
        if n == 0:
            raise NotMeasuredError("no example counts for it")
        return cls.from_estimate(wilson([True] * round(right) + [False] * (n - round(right))))

    def __abs__(self) -> "Quantity":
        ends = (abs(self.lo), abs(self.hi))
        low = 0.0 if self.lo <= 0 <= self.hi else min(ends)
        return Quantity(abs(self.value), low, max(ends), self.n)


def largest(values: Iterable[Quantity]) -> Quantity:
    """The most of several: at most a threshold only if all are, above it as soon as one is."""
    listed = list(values)
    return _ends(max, listed)


def smallest(values: Iterable[Quantity]) -> Quantity:
    """The least of several: at least a threshold only if all are, below it as soon as one is."""
    listed = list(values)
    return _ends(min, listed)


def _ends(of: Callable[[Iterable[float]], float], listed: list[Quantity]) -> Quantity:
    value, lo, hi = ([getattr(each, end) for each in listed] for end in ("value", "lo", "hi"))
    return Quantity(of(value), of(lo), of(hi), min(each.n for each in listed))
