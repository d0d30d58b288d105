"""A curve is a curve: what bends in number order has a gain, a straight line has none, with jitter or without."""

import math

import numpy as np
import pytest
import torch
from scipy.interpolate import make_smoothing_spline

from numberline.errors import NumberlineError
from numberline.methods.curvature import PENALTIES, curvature, smoothed
from numberline.methods.pca import principal_components

VALUES = torch.arange(10, 100)
GAIN = 0.05
WIDTH = 40


def placed(columns, seed=0):
    """Coordinates somewhere in a wide space, turned at random."""
    generator = torch.Generator().manual_seed(seed)
    frame = torch.linalg.qr(torch.randn(WIDTH, len(columns), generator=generator).double())[0]
    return torch.stack([column.double() for column in columns], 1) @ frame.T + 3.0


def jitter(size, seed=0):
    generator = torch.Generator().manual_seed(100 + seed)
    return size * torch.randn(len(VALUES), WIDTH, generator=generator).double()


T = (VALUES - 10) / 89
LINES = {"even": T, "logarithm": VALUES.double().log(), "steps": (10 * T).round(), "late": T**4}
CURVES = {
    "parabola": (T, 0.8 * (2 * T - 1) ** 2),
    "half circle": ((math.pi * T).cos(), (math.pi * T).sin()),
    "helix": (2 * T, (2 * math.pi * VALUES / 10).cos(), (2 * math.pi * VALUES / 10).sin()),
    "logarithmic arc": tuple(part(2.4 * VALUES.double().log()) for part in (torch.cos, torch.sin)),
}


@pytest.mark.parametrize("name", LINES)
def test_a_straight_line_has_no_gain_however_it_is_walked(name):
    found = curvature(placed([LINES[name]]), VALUES)
    assert found["gain"].mean == pytest.approx(0.0, abs=1e-6)
    assert found["line"].mean > 0.9


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", LINES)
def test_jitter_is_no_curve_though_the_old_rule_took_it_for_one(name, seed):
    line = LINES[name] / LINES[name].double().std()
    means = placed([line], seed) + jitter(0.1, seed)
    assert float(principal_components(means).shares[0]) <= 0.9  # the old rule: curved
    gain = curvature(means, VALUES)["gain"]
    assert gain.mean <= 0.01
    assert gain.hi <= GAIN


@pytest.mark.parametrize("name", CURVES)
def test_a_curve_has_a_gain(name):
    gain = curvature(placed(CURVES[name]), VALUES)["gain"]
    assert gain.lo > GAIN
    assert gain.lo < gain.mean < gain.hi
    if name == "half circle":
        assert gain.mean == pytest.approx(0.16, abs=0.03)
    noisy = curvature(placed(CURVES[name]) + jitter(0.01), VALUES)["gain"]
    assert noisy.mean == pytest.approx(gain.mean, abs=0.03)


def test_a_curve_in_another_order_is_jitter():
    order = torch.randperm(len(VALUES), generator=torch.Generator().manual_seed(2))
    for columns in CURVES.values():
        assert curvature(placed(columns)[order], VALUES)["gain"].hi <= GAIN


def test_the_gain_is_what_the_curve_explains_beyond_the_line():
    found = curvature(placed(CURVES["helix"]) + jitter(0.05), VALUES)
    assert found["gain"].mean == pytest.approx(found["curve"].mean - found["line"].mean)
    assert found["gain"].n == len(VALUES) - 2  # neither end is held out


def test_splines_are_scipys_with_the_penalty_that_cross_validation_prefers():
    generator = np.random.default_rng(0)
    x = np.sort(generator.choice(np.arange(60.0), 30, replace=False))
    y = np.stack([np.sin(x / 8), np.exp(-x / 20)], 1) + 0.1 * generator.normal(size=(30, 2))
    at = np.linspace(x[0], x[-1], 17)
    step = float(np.diff(x).mean())
    for penalty in (0.01, 3.0, 1e4):
        other = [make_smoothing_spline(x / step, column, lam=penalty)(at / step) for column in y.T]
        np.testing.assert_allclose(smoothed(x, y, at, np.array([penalty])), np.stack(other, 1), atol=1e-8)
    scores = []
    for penalty in PENALTIES:
        smoother = smoothed(x, np.eye(len(x)), x, np.array([penalty]))
        scores.append(((y - smoother @ y) ** 2).sum(0) / (len(x) - np.trace(smoother)) ** 2)
    for i, best in enumerate(np.argmin(scores, 0)):
        np.testing.assert_allclose(smoothed(x, y, at)[:, i], smoothed(x, y, at, PENALTIES[[best]])[:, i], atol=1e-8)


def test_few_values_are_refused():
    with pytest.raises(NumberlineError, match="9 values"):
        curvature(torch.randn(9, 4), torch.arange(9))
    assert curvature(placed(CURVES["half circle"])[::9], VALUES[::9])["gain"].mean > GAIN
