"""Do the numbers lie on a curve, or on a straight line with jitter? What a curve explains of numbers it has not seen.

1. Given is the mean activation of each value of a number. Of the values in order, every fifth is held out in turn
   (never the first or the last: between known neighbours, nothing is extrapolated).
2. On the others: their principal components, the ten leading ones, and in each a smoothing spline over the number,
   whose penalty is the one that generalized cross-validation prefers.
3. The splines say where the values held out should be: in all leading components (`curve`), and in the first alone
   (`line`: the best line, on which a number may lie anywhere). Each explains a share of their variance about the mean.
4. The `gain` is the difference: what the other components' order tells beyond the line. A straight line has a gain of
   zero however unevenly numbers lie on it. So has jitter: a value's own offset is not told by its neighbours, though it
   takes variance from the first component; splines that follow it lose, and the gain is slightly negative. A curve's
   gain is the share of the variance that it leaves the line for: 0.16 of a half circle, half of a helix with its turns.

The splines are natural cubic ones. With n values, the fit is y minus what the penalty takes, U (1 + λΛ)⁻¹ Uᵀ y, where
UΛUᵀ is the integral of the product of second derivatives of the cardinal splines: one eigendecomposition serves every
component and every λ (scipy's own make_smoothing_spline is the same, one component and half a second at a time).

Intervals are bootstrapped over the values held out; the fits are not made again.
"""

from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from torch import Tensor

from numberline.errors import NumberlineError
from numberline.methods.intervals import Estimate, ratio
from numberline.methods.pca import principal_components

FOLDS = 5
LEADING = 10
"""Components that the curve may use."""
LEAST = 10
"""Fewer values say nothing: a fold would hold out one or two."""
PENALTIES = np.logspace(-4, 8, 49)
"""In units of the mean distance of two values."""

Matrix = NDArray[np.float64]


def curvature(means: Float[Tensor, "values d"], values: Int[Tensor, " values"]) -> Mapping[str, Estimate]:
    """The share of held-out variance that the line and the curve explain, and the gain of the curve."""
    if len(values) < LEAST:
        raise NumberlineError(
            f"a curve through {len(values)} values cannot be told from jitter: at least {LEAST} are needed"
        )
    left = torch.cat([_held_out(means.double(), values.double(), fold) for fold in range(FOLDS)])
    total, line, curve = left.unbind(1)
    lost = {"line": ratio(line, total), "curve": ratio(curve, total)}
    explained = {name: Estimate(1 - x.mean, x.se, x.n, 1 - x.hi, 1 - x.lo) for name, x in lost.items()}
    return {**explained, "gain": ratio(line - curve, total)}


def _held_out(means: Float[Tensor, "values d"], values: Float[Tensor, " values"], fold: int) -> Float[Tensor, "out 3"]:
    """The squares of each held-out value's distance from the mean, from the line's guess, and from the curve's."""
    place = torch.arange(len(values))
    out = (place % FOLDS == fold) & (place > 0) & (place < len(values) - 1)
    known = principal_components(means[~out], LEADING)
    guess = torch.from_numpy(
        smoothed(values[~out].numpy(), known.project(means[~out]).numpy(), values[out].numpy()),
    )
    away = means[out] - known.mean.double()
    directions = known.directions.double()
    from_line = away - guess[:, :1] @ directions[:, :1].T
    from_curve = away - guess @ directions.T
    return torch.stack([x.square().sum(1) for x in (away, from_line, from_curve)], 1)


def smoothed(x: Matrix, y: Matrix, at: Matrix, penalties: Matrix = PENALTIES) -> Matrix:
    """Smoothing splines through the columns of y, each with the best of the penalties, evaluated somewhere."""
    step = float(np.diff(x).mean())
    cardinal = CubicSpline(x / step, np.eye(len(x)), bc_type="natural")
    bend = cardinal(x / step, 2)  # linear between the knots
    width = np.diff(x / step)
    low, high = bend[:-1], bend[1:]
    product = (low.T * width) @ (2 * low + high) + (high.T * width) @ (2 * high + low)
    spectrum, vectors = np.linalg.eigh(product / 6)
    spectrum[:2] = 0.0  # a straight line costs nothing
    shrink = 1 / (1 + penalties[:, None] * spectrum.clip(min=0.0))
    moments = vectors.T @ y
    residual = (1 - shrink) ** 2 @ moments**2
    best = (residual / (len(x) - shrink.sum(1))[:, None] ** 2).argmin(0)
    guess: Matrix = cardinal(at / step) @ vectors @ (shrink[best].T * moments)
    return guess
