"""What does a stored result say? Values with intervals, pulled from the tables of a run, and why one is not there.

A claim reads results through `Evidence`. A result that was not run, or that says what was missing on this model, raises
`NotMeasuredError` with the reason. Tables of a result that is missing in part are still evidence.

`Quantity` does arithmetic on intervals: a sum, difference or quotient of two takes the worst of both ends. Such bounds
are wider than 95 %, so that a verdict from them errs towards "undecided".
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from numberline.estimates import wilson
from numberline.results.language import PAPER, Language
from numberline.results.result import Result
from numberline.results.table import NotMeasuredError, Table

__all__ = ["Evidence", "NotMeasuredError", "Quantity", "Row", "average", "largest", "smallest"]

Row = Mapping[str, Any]
SHARES = ("iia", "first", "whole")
"""Metrics that are shares of examples. Where all or none count, a bootstrap interval has no width: Wilson's it is."""


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
        if row.get("metric") in SHARES and lo == hi and value in (0.0, 1.0):
            return cls.count(value * row["n"], row["n"])
        return cls(value, lo, hi, int(row["n"]))

    @classmethod
    def point(cls, value: float | int, n: int = 1) -> "Quantity":
        """A number that has no sampling error, such as a cosine of two directions."""
        return cls(float(value), float(value), float(value), n)

    @classmethod
    def count(cls, right: float | int, n: int) -> "Quantity":
        """A share of n, with its Wilson interval."""
        if n == 0:
            raise NotMeasuredError("no example counts for it")
        return cls.of(wilson([True] * round(right) + [False] * (n - round(right))).columns)

    def __add__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.value + other.value, self.lo + other.lo, self.hi + other.hi, min(self.n, other.n))

    def __sub__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.value - other.value, self.lo - other.hi, self.hi - other.lo, min(self.n, other.n))

    def __truediv__(self, other: "Quantity") -> "Quantity":
        """A share of something that is itself clearly above zero."""
        if other.lo <= 0:
            raise NotMeasuredError(f"there is nothing to take a share of: the whole is {other.value:.2f}")
        ends = [end / whole for end in (self.lo, self.hi) for whole in (other.lo, other.hi)]
        return Quantity(self.value / other.value, min(ends), max(ends), min(self.n, other.n))

    def __abs__(self) -> "Quantity":
        ends = (abs(self.lo), abs(self.hi))
        low = 0.0 if self.lo <= 0 <= self.hi else min(ends)
        return Quantity(abs(self.value), low, max(ends), self.n)


def average(values: Iterable[Quantity]) -> Quantity:
    """The mean of several, and of their ends."""
    listed = list(values)
    total = reduce(Quantity.__add__, listed)
    return total / Quantity.point(len(listed), total.n)


def largest(values: Iterable[Quantity]) -> Quantity:
    """The one with the largest value."""
    return max(values, key=lambda measured: measured.value)


def smallest(values: Iterable[Quantity]) -> Quantity:
    """The one with the smallest value."""
    return min(values, key=lambda measured: measured.value)


@dataclass(frozen=True)
class Evidence:
    """The results of a run, by id, and the words of its concept."""

    results: Mapping[str, Result]
    language: Language = PAPER

    def rows(self, id: str, table: str, **where: Any) -> Table:
        """The rows of a table whose columns have these values; raises where there is none."""
        result = self._result(id)
        if table not in result.tables:
            self._check_there(id, result)
        found = result.table(table)
        found = found.where(**where) if len(found) else found  # an empty table has no columns either
        if not len(found):
            raise NotMeasuredError(f"{found.name} has no row")
        return found

    def one(self, id: str, table: str, **where: Any) -> Quantity:
        """The score of one row."""
        return Quantity.of(self.rows(id, table, **where).one())

    def patch(self, id: str, metric: str, **where: Any) -> Quantity:
        """A patch's score on the evaluation examples."""
        return self.one(id, "patches", examples="evaluation", metric=metric, **where)

    def role(self, name: str, id: str) -> tuple[int, ...]:
        """A role's value, from the result that finds it."""
        result = self._result(id)
        role = result.role(name)
        if role is None:
            self._check_there(id, result)
            raise NotMeasuredError(f"{id} says nothing of the role {name}")
        if not role.found:
            raise NotMeasuredError(f"the role {name} was not found: {role.why}")
        return role.value

    def _result(self, id: str) -> Result:
        if id not in self.results:
            raise NotMeasuredError(f"{id} was not run", not_run=id)
        return self.results[id]

    def _check_there(self, id: str, result: Result) -> None:
        if result.missing is not None:
            raise NotMeasuredError(f"{id} could not be measured: {result.why}")
