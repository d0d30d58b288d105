"""Does a neuron compare two numbers, and only within an interval of them? Its comparison signal, and where that lies.

A field f over (y1, y2) is given, as measured by `methods/fields.py`, over the same values for both.

1. About the order of two values i < j a neuron says c(i, j) = f(i, j) − f(j, i). What both orders have in common (an
   offset, a sum, |y2 − y1|) says nothing. `comparing` is the smaller of two shares of the field's variance: the part
   that changes its sign with the order, Σ(c/2)², and what is left when the one number that explains more is known. A
   neuron compares if that is at least a tenth; one that recognises a range of one number does not.
2. A neuron is local to an interval of at most half the range if it compares inside and is silent outside. Inside: of
   the pairs with both numbers in it nine in ten are ordered, with one sign, by at least a tenth of its loudness, which
   is the root mean square of c there. Outside: of the pairs with both numbers out of it, c is below that tenth.
   `locality` is the share of the pairs outside at which the neuron is silent, in the interval where that is largest
   (the narrowest of these); 0 where it compares inside no interval. A pair with one number inside counts for neither:
   a neuron that compares while y2 is in a range, with whatever y1 is, is local.
3. The stage that such neurons make tiles the range if their intervals cover it: `coverage`. An interval ends somewhere
   between two values of the axis, which makes the bounds of the coverage.
4. A global comparator orders pairs over the whole range. The neuron that reaches furthest (`fields.reach`) is chosen on
   the pairs whose smaller value has an even place on the axis, and judged on the others: told with the sign it has on
   the first, and half as loudly as it is loudest there.

What some fields give (axis 11, 15 … 99; tests/methods/test_locality.py):

| field | comparing | locality | reach |
|---|---|---|---|
| sign(y2 − y1), a global comparator | 0.65 | 0 | 1 |
| y2 − y1, which never saturates; max(y2 − y1, 0) | 0.50, 0.60 | 0 | 0.3 |
| the same of logarithms | 0.50, 0.38 | 0.18 | 0.2 |
| y1 + y2, |y2 − y1|, an offset | 0 | 0 | 0 |
| y2 alone, a range of y2 | 0 | (not asked) | 0.3, 0.25 |
| sign(y2 − y1) or y2 − y1 where both are in a third of the range | 0.85 | 1 | 0.1 |
| max(y2 − y1, 0) where y2 is in a third of the range | 0.4 to 0.6 | 1 | 0 to 0.3 |
| sign(y2 − y1) where they are nearer than a fifth of the range | 1.0 | 0.7 | 0.3 |
| noise | 0.5 | 0.2 | 0 |

Intervals are over values of the axis, resampled: the pairs of one value go together. Where all or no pairs count, they
are Wilson's, of as many values. The fields themselves have no sampling error: a run gives the same ones again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from numberline.errors import NumberlineError
from numberline.methods.intervals import Estimate, from_resamples, resamples, wilson

COMPARES = 0.1
"""The share of a field's variance from which on it compares."""
SILENT = 0.1
"""Below this share of its loudness inside the interval, a neuron is silent."""
ORDERED = 0.9
"""The share of pairs inside its interval that a neuron orders."""
LOCAL = 0.5
"""From this locality on a neuron is local: silent at most pairs outside."""
LOUD = 0.5
"""The share of the loudest pair from which on a pair is told (as in `fields.reach`)."""
LEAST = 4
"""An axis of fewer values has no pairs inside and outside of half its range."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Where a neuron compares: its interval's first and last value, and at which pairs outside it is silent."""

    comparing: float
    interval: tuple[int, int] | None
    outside: Bool[Tensor, " pairs"]
    silent: Bool[Tensor, " pairs"]

    @property
    def compares(self) -> bool:
        """Whether the field says enough about the order of two numbers."""
        return self.comparing >= COMPARES

    @property
    def locality(self) -> float:
        """The share of pairs outside the interval at which the neuron is silent; 0 where it has no interval."""
        return float(self.silent[self.outside].double().mean()) if self.interval else 0.0

    @property
    def local(self) -> bool:
        """Whether it compares, and is silent at most pairs outside its interval."""
        return self.compares and self.locality >= LOCAL


def comparing(field: Float[Tensor, "y1 y2"]) -> float:
    """The share of a field's variance that is about the order of two numbers, and not one number's alone."""
    field = field.double() - field.double().mean()
    variance = field.square().mean()
    if float(variance) < 1e-24:
        return 0.0
    ordered = ((field - field.T) / 2).square().mean()
    left = torch.stack([(field - field.mean(axis, keepdim=True)).square().mean() for axis in (0, 1)]).min()
    return float(torch.minimum(ordered, left) / variance)


def compare(field: Float[Tensor, "y1 y2"], axis: Sequence[int]) -> Comparison:
    """What a neuron compares, and the interval in which it does."""
    told, grid = signal(field), _grid(tuple(axis))
    square = told.square()
    loudness = (grid.inside @ square / grid.inside.sum(1)).sqrt()
    sign = torch.where(grid.inside @ told >= 0, 1.0, -1.0).double()
    heard = loudness > 1e-6 * square.max().sqrt()
    ordered = ((sign[:, None] * told >= SILENT * loudness[:, None]) * grid.inside).sum(1) / grid.inside.sum(1)
    silent = told.abs() < SILENT * loudness[:, None]
    share = (silent * grid.outside).sum(1) / grid.outside.sum(1)
    share = share.masked_fill((ordered < ORDERED) | ~heard, -1.0)
    # Intervals come with the narrow ones first, and argmax takes the first of equals.
    best = int(share.argmax())
    first, last = grid.ends[best].tolist()
    found = (axis[first], axis[last]) if float(share[best]) >= 0 else None
    return Comparison(comparing(field), found, grid.outside[best] > 0, silent[best])


def locality(comparisons: Sequence[Comparison], values: int) -> Estimate:
    """The median locality of the neurons that compare; 0 where none does."""
    asked = [each for each in comparisons if each.compares]
    weights = pair_weights(values)
    drawn = [
        _shares(weights, each.outside, each.silent) if each.interval else torch.zeros(len(weights)).double()
        for each in asked
    ]
    if not asked:
        return Estimate(0.0, 0.0, values, 0.0, 0.0)
    middle = torch.tensor([each.locality for each in asked]).double().quantile(0.5)
    return _or_wilson(float(middle), torch.stack(drawn).nanquantile(0.5, 0), values)


def coverage(comparisons: Sequence[Comparison], axis: Sequence[int]) -> Estimate:
    """The share of the range that the intervals of the local neurons cover; bounds by where between values they end."""
    found = [each.interval for each in comparisons if each.local and each.interval]
    before = {value: axis[max(i - 1, 0)] for i, value in enumerate(axis)}
    after = {value: axis[min(i + 1, len(axis) - 1)] for i, value in enumerate(axis)}
    lo = _length(found, axis)
    hi = _length([(before[first], after[last]) for first, last in found], axis)
    return Estimate((lo + hi) / 2, (hi - lo) / 4, len(axis), lo, hi)


def furthest(fields: Float[Tensor, "neurons y1 y2"]) -> tuple[int, Estimate]:
    """The neuron that orders most of one half of the pairs, and the share of the other half that it orders."""
    values = fields.shape[1]
    smaller = torch.triu_indices(values, values, 1)[0]
    chosen, judged = smaller % 2 == 0, smaller % 2 == 1
    told = torch.stack([signal(field) for field in fields])
    loudest = told[:, chosen].abs().amax(1, keepdim=True)
    sign = torch.where(told[:, chosen].mean(1, keepdim=True) >= 0, 1.0, -1.0)
    right = (sign * told >= LOUD * loudest) & (loudest > 0)
    best = int(right[:, chosen].double().mean(1).argmax())
    drawn = _shares(pair_weights(values), judged, right[best])
    return best, _or_wilson(float(right[best, judged].double().mean()), drawn, values)


def signal(field: Float[Tensor, "y1 y2"]) -> Float[Tensor, " pairs"]:
    """c(i, j) = f(i, j) − f(j, i) for every two values i < j."""
    return (field - field.T).double()[*torch.triu_indices(len(field), len(field), 1)]


def pair_weights(values: int) -> Float[Tensor, "resamples pairs"]:
    """How much each pair of values weighs when the values are drawn again."""
    drawn = resamples(values) * values
    i, j = torch.triu_indices(values, values, 1)
    return drawn[:, i] * drawn[:, j]


@dataclass(frozen=True, eq=False)
class _Grid:
    """Every interval of at most half the range, narrow ones first, and the pairs inside and outside of each."""

    ends: Int[Tensor, "intervals 2"]
    inside: Float[Tensor, "intervals pairs"]
    outside: Float[Tensor, "intervals pairs"]


@cache
def _grid(axis: tuple[int, ...]) -> _Grid:
    if len(axis) < LEAST:
        raise NumberlineError(f"an axis of {len(axis)} values has no interval to compare in: use at least {LEAST}")
    i, j = torch.triu_indices(len(axis), len(axis), 1)
    half = (axis[-1] - axis[0]) / 2
    ends = [(a, b) for a, b in zip(i.tolist(), j.tolist(), strict=True) if axis[b] - axis[a] <= half]
    ends.sort(key=lambda end: (axis[end[1]] - axis[end[0]], end))
    first, last = torch.tensor(ends).T[:, :, None]
    out = ((i < first) | (i > last)) & ((j < first) | (j > last))
    return _Grid(torch.tensor(ends), ((i >= first) & (j <= last)).double(), out.double())


def _shares(
    weights: Float[Tensor, "resamples pairs"], among: Bool[Tensor, " pairs"], right: Bool[Tensor, " pairs"]
) -> Float[Tensor, " resamples"]:
    """The weighted share of right ones among some pairs, in every resample (nan where none of them was drawn)."""
    return (weights @ (among & right).double()) / (weights @ among.double())


def _or_wilson(value: float, drawn: Float[Tensor, " resamples"], values: int) -> Estimate:
    found = from_resamples(value, drawn, values)
    return wilson([value > 0] * values) if value in (0.0, 1.0) and found.lo == found.hi else found


def _length(intervals: Sequence[tuple[int, int]], axis: Sequence[int]) -> float:
    """The share of the range inside at least one interval."""
    covered, end = 0.0, float(axis[0])
    for first, last in sorted(intervals):
        covered += max(0.0, last - max(first, end))
        end = max(end, last)
    return covered / (axis[-1] - axis[0])
