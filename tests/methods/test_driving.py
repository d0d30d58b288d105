"""Do some neurons drive others beyond matched random pairs? The share of the mean |edge| of both, on made-up shifts."""

import pytest
import torch

from numberline.methods.connectivity import driving, others_like

DRAWS, PAIRS, N = 10, 12, 50


def shifts(size, *shape, seed=0):
    """Edges of about this size in every example, with noise as large."""
    generator = torch.Generator().manual_seed(seed)
    return size * (1 + torch.randn(*shape, N, generator=generator).double())


def test_pairs_like_any_others_have_half_and_stronger_ones_more():
    like = driving(shifts(0.3, PAIRS), shifts(0.3, DRAWS, PAIRS, seed=1))["share"]
    assert like.lo < 0.5 < like.hi
    double = driving(shifts(0.6, PAIRS), shifts(0.3, DRAWS, PAIRS, seed=1))
    assert double["share"].mean == pytest.approx(2 / 3, abs=0.02)
    assert 0.5 < double["share"].lo < double["share"].hi < 0.75
    assert double["chosen"].mean == pytest.approx(0.6, abs=0.05)
    assert double["random"].mean == pytest.approx(0.3, abs=0.05)
    weaker = driving(shifts(0.1, PAIRS), shifts(0.3, DRAWS, PAIRS, seed=1))["share"]
    assert weaker.hi < 0.5


def test_draws_that_differ_widen_the_interval():
    chosen, random = shifts(0.6, PAIRS), shifts(0.3, DRAWS, PAIRS, seed=1)
    uneven = random * torch.linspace(0, 2, DRAWS).double()[:, None, None]
    even, wide = driving(chosen, random)["share"], driving(chosen, uneven)["share"]
    assert wide.mean == pytest.approx(even.mean, abs=0.02)
    assert wide.hi - wide.lo > 1.5 * (even.hi - even.lo)


def test_silent_neurons_have_no_edge():
    chosen = shifts(0.6, PAIRS)
    whole = driving(chosen, torch.zeros(DRAWS, PAIRS, N).double())["share"]
    assert (whole.mean, whole.lo) == (1.0, 1.0)
    assert driving(chosen, torch.zeros(DRAWS, 0, N).double())["share"].mean == 1.0
    broken = chosen.clone()
    broken[0] = torch.nan
    assert driving(broken, shifts(0.3, DRAWS, PAIRS))["chosen"].mean == pytest.approx(
        float(chosen[1:].mean(1).abs().mean())
    )


def test_random_neurons_are_others_of_the_same_layers():
    places = [(3, 1), (3, 2), (4, 7)]
    sets = others_like(places, {3: range(10), 4: range(8)}, draws=5, seed=0)
    assert len({tuple(each) for each in sets}) > 1
    for each in sets:
        assert [layer for layer, _ in each] == [3, 3, 4]
        assert len(set(each)) == 3
        assert not set(each) & set(places)
    assert others_like(places, {3: range(10), 4: range(8)}, draws=5, seed=0) == sets
    assert others_like(places, {3: [1, 2, 5], 4: []}, draws=1, seed=0) == [[(3, 5)]]
