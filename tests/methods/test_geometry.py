"""Probes, principal components, clouds and draws: against scikit-learn, against plain algebra."""

from itertools import product

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge, RidgeClassifierCV, RidgeCV

from numberline.methods import clouds
from numberline.methods.intervals import from_resamples, resamples
from numberline.methods.pca import principal_components
from numberline.methods.probes import PENALTIES, accuracy, r2, ridge

SHAPES = [(80, 12), (40, 90)]  # more examples than dimensions, and fewer


def data(n: int, d: int):
    generator = torch.Generator().manual_seed(n)
    x = torch.randn(n, d, generator=generator) * torch.linspace(0.1, 3, d) + 5
    targets = x[:, :4] @ torch.randn(4, 3, generator=generator) + torch.randn(n, 3, generator=generator)
    targets[:, 2] = torch.where(targets[:, 2] > targets[:, 2].mean(), 1.0, -1.0)
    return x, targets


@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_ridge_is_scikit_learns(n, d):
    x, targets = data(n, d)
    probe = ridge(x, targets)
    predicted = probe(x)
    for place in range(3):
        other = RidgeCV(PENALTIES.numpy()).fit(x.double().numpy(), targets[:, place].double().numpy())
        assert probe.penalties[place] == pytest.approx(other.alpha_)
        np.testing.assert_allclose(predicted[:, place].numpy(), other.predict(x.double().numpy()), atol=1e-6)
    classifier = RidgeClassifierCV(PENALTIES.numpy()).fit(x.double().numpy(), targets[:, 2].numpy())
    assert (torch.sign(predicted[:, 2]).numpy() == classifier.predict(x.double().numpy())).all()


@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_the_penalty_is_the_best_of_leaving_one_out_by_hand(n, d):
    x, targets = (part.double().numpy() for part in data(n, d))
    penalties = PENALTIES[::4]
    errors = []
    for penalty in penalties.tolist():
        left = []
        for out in range(n):
            kept = np.arange(n) != out
            model = Ridge(penalty).fit(x[kept], targets[kept, 0])
            left.append((model.predict(x[out : out + 1])[0] - targets[out, 0]) ** 2)
        errors.append(np.mean(left))
    found = ridge(torch.tensor(x), torch.tensor(targets), penalties).penalties[0]
    assert float(found) == pytest.approx(float(penalties[int(np.argmin(errors))]))


def test_a_constant_activation_predicts_the_mean():
    targets = torch.arange(30.0)[:, None].double()
    for d in (4, 50):
        probe = ridge(torch.full((30, d), 3.0), targets)
        assert torch.allclose(probe(torch.full((2, d), 3.0)), torch.full((2, 1), 14.5).double())


def test_scores_of_probes():
    truth = torch.tensor([1.0, 2.0, 3.0, 4.0])
    assert r2(truth, truth).mean == 1.0
    assert r2(truth, torch.full((4,), 2.5)).mean == pytest.approx(0.0)
    found = r2(truth, truth + torch.tensor([0.1, -0.2, 0.1, 0.3]))
    assert found.lo <= found.mean <= found.hi <= 1.0
    assert accuracy(torch.tensor([1.0, -1.0, 1.0, -1.0]), torch.tensor([0.2, -3.0, -0.1, -1.0])).mean == 0.75


@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_principal_components_are_scikit_learns(n, d):
    x = data(n, d)[0]
    found, other = principal_components(x, 6), PCA(6).fit(x.double().numpy())
    np.testing.assert_allclose(found.shares, other.explained_variance_ratio_, rtol=1e-4)
    np.testing.assert_allclose((found.directions.T.numpy() * other.components_).sum(1) ** 2, np.ones(6), atol=1e-4)
    np.testing.assert_allclose(found.mean, other.mean_, atol=1e-5)
    assert found.share_along(x, found.directions[:, 2]) == pytest.approx(float(found.shares[2]), rel=1e-4)
    assert found.project(x).mean(0).abs().max() < 1e-4


def test_a_flat_cloud_has_as_many_components_as_dimensions():
    plane = torch.linalg.qr(torch.randn(30, 2, generator=torch.Generator().manual_seed(0)))[0]
    for n in (20, 60):
        x = torch.randn(n, 2, generator=torch.Generator().manual_seed(1)) @ plane.T
        found = principal_components(x.double().float())
        assert float(found.shares[:2].sum()) == pytest.approx(1.0, abs=1e-5)
        assert (plane.T @ found.directions[:, :2]).square().sum() == pytest.approx(2.0, abs=1e-4)


def test_values_bins_and_fits():
    numbers = torch.tensor([row[0] for row in product(range(100, 200), range(3))])
    components = 2.0 * numbers.double().log() - 1.0
    fit = clouds.line_fit(components, numbers.double().log())
    assert (fit["p"], fit["q"], fit["r2"]) == pytest.approx((2.0, -1.0, 1.0))
    rows = clouds.by_value(components, numbers)
    assert [row["value"] for row in rows] == list(range(100, 200))
    assert all(row["n"] == 3 and row["se"] == pytest.approx(0.0, abs=1e-9) for row in rows)
    binned = clouds.by_value(components, numbers, width=25)
    assert [(row["value"], row["n"]) for row in binned] == [(112, 75), (137, 75), (162, 75), (187, 75)]
    which = clouds.groups(numbers)[1]
    assert clouds.explained(components, which) == pytest.approx(1.0)
    assert clouds.explained(components.flip(0).roll(7), which) < 1.0
    means = clouds.group_means(torch.stack([components, -components], 1), which)
    assert torch.allclose(means[:, 0], -means[:, 1])


def test_a_monotone_component_and_how_sure_that_is():
    values = torch.arange(10.0, 100.0).double()
    noise = torch.randn(90, generator=torch.Generator().manual_seed(0)).double()
    for means in (values.log(), values**3, -1 / values):
        found = clouds.monotone(values, means)
        assert (found.mean, found.lo, found.hi, found.n) == (
            pytest.approx(1.0),
            pytest.approx(1.0),
            pytest.approx(1.0),
            90,
        )
    assert clouds.monotone(values, -values).hi == pytest.approx(-1.0)
    loose = clouds.monotone(values, values + 20 * noise)
    assert 0.7 < loose.lo < loose.mean < loose.hi < 0.95
    few = clouds.monotone(values[::9], (values + 20 * noise)[::9])
    assert few.hi - few.lo > 2 * (loose.hi - loose.lo)
    bent = clouds.monotone(values, (values - 55).abs())
    assert bent.hi < 0.5


def test_the_rank_correlation_of_a_resample_is_scipys():
    generator = torch.Generator().manual_seed(3)
    x, y = torch.randn(2, 20, generator=generator).double()
    weights = (resamples(20) * 20).round().long()
    other = [float(spearmanr(x.repeat_interleave(each), y.repeat_interleave(each)).statistic) for each in weights]
    found = from_resamples(0.0, torch.tensor(other).double(), 20)
    mine = clouds.monotone(x, y)
    assert (mine.lo, mine.hi) == pytest.approx((found.lo, found.hi))
    ranks = [clouds._ranks(each, weights[:1].double())[0].repeat_interleave(weights[0]) for each in (x, y)]
    assert float(torch.corrcoef(torch.stack(ranks))[0, 1]) == pytest.approx(other[0])
