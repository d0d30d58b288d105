"""What do two patches do to the same examples? Per-example scores of a run, compared example by example.

    scored = evidence.scored("k2.shared", "patches", examples="evaluation")
    both, plane = scored.of(condition="v1_v2", case="y1"), scored.of(condition="plane", case="y1")
    part_of(both.effect, plane.effect)      # a Quantity: what both do, as a share of what the plane does

An effect is how far a patch moves the PLD from the corrupted run's. Examples are resampled, and so are the draws of a
control. A share is of a whole that is itself clearly above zero; where it is not, there is nothing to take a share of.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from numberline.claims.quantity import Quantity
from numberline.estimates import Statistic, Values, Weights, bootstrap, drawn_mean
from numberline.results.table import NoColumnError, NotMeasuredError


@dataclass(frozen=True, eq=False)
class Examples:
    """One condition's scores: effects and hits by draw and example; `scale` is clean minus corrupted PLD."""

    effect: Values
    """(draws, n)"""
    hit: Values
    scale: Values
    """(n)"""

    @property
    def recovery(self) -> Statistic:
        """The pooled recovery, in each resample."""
        moved = drawn_mean(self.effect)
        return lambda weights: moved(weights) / (weights @ self.scale)


@dataclass(frozen=True)
class Scored:
    """A stored table of per-example scores."""

    name: str
    table: pa.Table

    def where(self, **values: Any) -> "Scored":
        """The rows whose columns have these values."""
        missing = [name for name in values if name not in self.table.column_names]
        if missing:
            raise NoColumnError(self.name, missing, self.table.column_names)
        found = self.table
        for name, value in values.items():
            found = found.filter(pc.equal(found[name], value))
        return Scored(f"{self.name} [{', '.join(f'{name}={value}' for name, value in values.items())}]", found)

    def of(self, **values: Any) -> Examples:
        """The scores of one condition."""
        rows = self.where(**values).table
        if not rows.num_rows:
            raise NotMeasuredError(f"{self.name} has no row with {', '.join(f'{k}={v}' for k, v in values.items())}")
        example = rows["example"].to_numpy()
        n = int(example.max()) + 1
        draw = rows["draw"].to_numpy() if "draw" in rows.column_names else np.zeros(len(example), int)
        order = np.lexsort((example, draw))
        if len(order) % n or not np.array_equal(example[order], np.tile(np.arange(n), len(order) // n)):
            raise NotMeasuredError(f"{self.name} with {values} is not one condition: {len(order)} rows of {n} examples")
        pld, clean, corrupted, hit = (
            rows[name].to_numpy(zero_copy_only=False).astype(float)[order].reshape(-1, n)
            for name in ("pld", "clean", "corrupted", "hit")
        )
        return Examples(pld - corrupted, hit, (clean - corrupted)[0])


def measured(statistic: Statistic, n: int) -> Quantity:
    """Any statistic of n examples."""
    return Quantity.from_estimate(bootstrap(statistic, n))


def part_of(part: Statistic | Values, whole: Statistic | Values, n: int | None = None) -> Quantity:
    """One mean effect as a share of another, example by example."""
    top, bottom = (value if callable(value) else drawn_mean(np.atleast_2d(value)) for value in (part, whole))
    if n is None:
        n = max(np.atleast_2d(value).shape[1] for value in (part, whole) if not callable(value))
    total = bootstrap(bottom, n)
    if total.lo <= 0:
        raise NotMeasuredError(f"there is nothing to take a share of: the whole is {total.mean:.2f}")
    return measured(lambda weights: top(weights) / bottom(weights), n)


def mean_of(statistics: Sequence[Statistic]) -> Statistic:
    """The mean of several statistics of the same examples, in each resample."""
    return lambda weights: _stack(statistics, weights).mean(0)


def most_of(statistics: Sequence[Statistic]) -> Statistic:
    """The largest of several, in each resample."""
    return lambda weights: _stack(statistics, weights).max(0)


def absolute(statistic: Statistic) -> Statistic:
    """Without its sign."""
    return lambda weights: np.abs(statistic(weights))


def _stack(statistics: Sequence[Callable[[Weights], Values]], weights: Weights) -> Values:
    return np.stack([statistic(weights) for statistic in statistics])
