"""Intervals: how often they hold the truth, where the plain ones do not; and that none is without width."""

import numpy as np
import pyarrow as pa
import pytest

from numberline.claims.scored import Scored, part_of
from numberline.errors import NumberlineError
from numberline.estimates import bootstrap, clustered_share, drawn_mean, drawn_share, ratio, share_lost, wilson
from numberline.results.table import NotMeasuredError

WORLDS = 300


def covered(interval, truth: float, draw) -> float:
    """How often an interval holds the truth, over many worlds."""
    found = [interval(*draw(np.random.default_rng(seed))) for seed in range(WORLDS)]
    return float(np.mean([each.lo <= truth <= each.hi for each in found]))


def test_answers_of_one_prompt_are_not_independent():
    """Each of 40 prompts has a leaning of its own, and 30 answers."""

    def draw(generator):
        leaning = np.where(generator.random(40) < 0.7, 0.95, 0.45)
        return generator.binomial(30, leaning), np.full(40, 30)

    truth = 0.7 * 0.95 + 0.3 * 0.45
    assert covered(lambda right, total: clustered_share(right.tolist(), total.tolist()), truth, draw) >= 0.93
    heap = covered(lambda right, total: wilson((np.arange(total.sum()) < right.sum()).tolist()), truth, draw)
    assert heap < 0.7


def test_a_control_varies_over_its_draws_too():
    """Random directions: one in five does something, to half of the examples."""

    def draw(generator):
        works = generator.random(20) < 0.2
        return (((generator.random((20, 60)) < 0.5) & works[:, None]),)

    assert covered(drawn_share, 0.1, draw) >= 0.93
    # With the examples of all draws in one heap, the draws seem to be all that there are.
    assert covered(lambda hits: wilson(hits.flatten().tolist()), 0.1, draw) < 0.7


def test_a_share_of_all_or_of_none_still_has_a_width():
    none = drawn_share(np.zeros((5, 64), bool))
    assert (none.mean, none.lo) == (0.0, 0.0)
    assert none.hi == pytest.approx(wilson([False] * 64).hi)
    all_clusters = clustered_share([9] * 16, [9] * 16)
    assert all_clusters.lo == pytest.approx(wilson([True] * 16).lo)
    with pytest.raises(NumberlineError, match="no examples"):
        clustered_share([0], [0])


def test_what_is_lost_between_two_shares_of_the_same_examples():
    before = np.array([True] * 50 + [False] * 14)
    gone = share_lost(before, np.zeros((1, 64), bool))
    assert gone.mean == 1.0
    assert 0.9 < gone.lo < 1.0
    kept = share_lost(before, before[None])
    assert kept.mean == 0.0
    assert -0.1 < kept.lo < 0 < kept.hi < 0.1
    half = before.copy()
    half[:25] = False
    assert share_lost(before, half[None]).mean == pytest.approx(0.5)
    # Beyond a control that costs a fifth, half becomes three tenths.
    control = before.copy()
    control[40:50] = False
    beyond = share_lost(before, half[None], np.stack([control, control]))
    assert beyond.mean == pytest.approx(0.3)
    assert beyond.lo < 0.3 < beyond.hi


def test_losses_are_covered():
    def draw(generator):
        before = generator.random(64) < 0.8
        return before, (before & (generator.random(64) < 0.4))[None]

    assert covered(share_lost, 0.6, draw) >= 0.93


def test_pairing_examples_decides_what_two_intervals_cannot():
    """Two patches that vary together: their ratio is sure, though each of them is not."""
    generator = np.random.default_rng(0)
    whole = generator.gamma(1.0, 1.0, 64)
    part = 0.6 * whole + 0.02 * generator.standard_normal(64)
    paired = ratio(part, whole)
    assert paired.lo > 0.58
    assert paired.hi < 0.62
    apart = [bootstrap(drawn_mean(each[None]), 64) for each in (part, whole)]
    worst = apart[0].lo / apart[1].hi, apart[0].hi / apart[1].lo
    assert worst[0] < 0.5 < 0.7 < worst[1]
    assert part_of(part, whole).lo == paired.lo
    with pytest.raises(NotMeasuredError, match="nothing to take a share of"):
        part_of(part, whole - whole.mean())


def test_per_example_scores_are_read_by_condition_and_in_order():
    table = pa.table(
        {
            "condition": ["u", "u", "full", "full", "random", "random", "random", "random"],
            "draw": [0, 0, 0, 0, 1, 1, 0, 0],
            "example": [1, 0, 0, 1, 0, 1, 0, 1],
            "pld": [3.0, 1.0, 2.0, 4.0, 0.5, 0.6, 0.1, 0.2],
            "clean": [5.0, 4.0, 4.0, 5.0, 4.0, 5.0, 4.0, 5.0],
            "corrupted": [-1.0, 0.0, 0.0, -1.0, 0.0, -1.0, 0.0, -1.0],
            "hit": [True, False, True, True, False, False, False, True],
        }
    )
    scored = Scored("k2.number/patches_scored", table)
    assert scored.of(condition="u").effect.tolist() == [[1.0, 4.0]]
    assert scored.of(condition="u").scale.tolist() == [4.0, 6.0]
    assert scored.of(condition="random").effect.tolist() == [[0.1, 1.2], [0.5, 1.6]]
    assert scored.of(condition="random").hit.tolist() == [[0.0, 1.0], [0.0, 0.0]]
    assert float(scored.of(condition="u").recovery(np.full((1, 2), 0.5))[0]) == pytest.approx(0.5)
    with pytest.raises(NotMeasuredError, match="is not one condition"):
        scored.of(draw=0)
    with pytest.raises(NotMeasuredError, match="has no row with condition=nope"):
        scored.of(condition="nope")
    with pytest.raises(NotMeasuredError, match="has no column 'layer'"):
        scored.of(layer=1)
