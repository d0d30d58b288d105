"""Cosines with intervals: the component of each resample by hand, starts, and chance by drawing."""

import pytest
import torch

from numberline.methods.angles import again, chance, overlaps
from numberline.methods.clouds import group_means, groups
from numberline.methods.intervals import resamples
from numberline.methods.pca import principal_components

WIDTH = 30


def axis(*weights, seed=0):
    """A unit direction: some weights on the first axes."""
    direction = torch.zeros(WIDTH)
    direction[: len(weights)] = torch.tensor(weights)
    return direction / direction.norm()


def cloud(n, seed=0):
    """Numbers along the first axis, noise along all."""
    generator = torch.Generator().manual_seed(seed)
    numbers = torch.randint(10, 30, (n,), generator=generator)
    x = 0.3 * torch.randn(n, WIDTH, generator=generator)
    x[:, 0] += (numbers - 20) / 6
    return x, numbers


def test_every_resample_has_its_own_component():
    x, numbers = cloud(40)
    weights = (resamples(40) * 40).round().long()
    beside = [axis(0, 0, 1), axis(1, 1)]
    plain, slopes = again(x, beside), again(x, beside, numbers, numbers.log())
    # 20 components and the directions beside span most of it; the rest is the square of a small angle.
    for i in range(5):
        sample = x.repeat_interleave(weights[i], 0)
        first = principal_components(sample).directions[:, 0].double()
        assert float((plain[i] @ first).abs()) == pytest.approx(1.0, abs=5e-3)
        for direction in beside:
            assert float((plain[i] @ direction.double()).abs()) == pytest.approx(
                float((first @ direction.double()).abs()), abs=0.02
            )
        drawn = numbers.repeat_interleave(weights[i])
        values, held = groups(drawn)
        scale = values.double().log()
        slope = (scale - scale.mean()) @ group_means(sample, held).double()
        assert float(slopes[i] @ slope / slope.norm()) == pytest.approx(1.0, abs=0.02)


def test_prompts_that_belong_together_are_drawn_together():
    x = cloud(100)[0]
    twice = x.repeat_interleave(2, 0)
    alone, paired = again(x, [axis(0, 1)]), again(twice, [axis(0, 1)], together=2)
    assert torch.allclose((alone * paired).sum(1).abs(), torch.ones(len(alone)).double(), atol=1e-9)
    # As single prompts they would seem to be twice as many.
    split = again(twice, [axis(0, 1)])
    spread = [(each @ axis(0, 1).double()).abs().std() for each in (alone, split)]
    assert spread[1] < 0.85 * spread[0]


@pytest.mark.parametrize("rank", [1, 2, 16])
def test_chance_is_what_random_directions_of_the_space_have(rank):
    generator = torch.Generator().manual_seed(1)
    space = torch.linalg.qr(torch.randn(WIDTH, rank, generator=generator))[0]
    one, other = torch.randn(2, 20_000, rank, generator=generator) @ space.T
    cosines = torch.nn.functional.cosine_similarity(one, other, dim=1).abs()
    assert chance(rank) == pytest.approx(float(cosines.quantile(0.95)), rel=0.03)


def test_overlaps_cover_the_cloud_and_the_starts():
    x = cloud(200)[0]
    v2 = principal_components(x).directions[:, 0]
    u, other, v1 = axis(0.5, 1), axis(0.8, 1), axis(0.02, 0, 1)
    whole = overlaps([u, other], v1, v2, 8, again(x, [u, other, v1]), len(x))
    assert whole["u_v2"].mean == pytest.approx(0.447, abs=0.05)
    # The other start's cosine is 0.62.
    assert whole["u_v2"].lo < 0.5 < 0.6 < whole["u_v2"].hi
    assert whole["contrast"].lo > 0.2
    assert whole["contrast"].mean == pytest.approx(whole["u_v2"].mean - whole["v1_v2"].mean)
    assert whole["relative"].mean == pytest.approx(whole["v1_v2"].mean / chance(8))
    # Without a cloud to draw from, only the starts differ.
    fixed = overlaps([u, other], v1, v2, 8, None, len(x))
    assert fixed["v1_v2"].lo == fixed["v1_v2"].hi
    assert fixed["u_v2"].lo < fixed["u_v2"].hi
