"""What is local? Synthetic fields, the planted stages, and what the old rule (a reach below a half) let pass."""

import pytest
import torch

from numberline.errors import NumberlineError
from numberline.methods.fields import reach
from numberline.methods.locality import LOCAL, Comparison, compare, comparing, coverage, furthest, locality
from numberline.models.planted import number, planted

AXES = {"paper": tuple(range(11, 100, 4)), "quick": tuple(range(11, 100, 8))}
AXIS = AXES["paper"]
BANDS = {"low": (11, 35), "middle": (36, 67), "high": (68, 99)}


def coordinates(axis, scale="plain"):
    values = torch.tensor(axis).double()
    values = values.log() if scale == "log" else values
    return (values - values[0]) / (values[-1] - values[0])


def difference(axis, scale="plain"):
    """y2 − y1, over the range."""
    y = coordinates(axis, scale)
    return y[None] - y[:, None]


def inside(axis, band):
    first, last = BANDS[band]
    values = torch.tensor(axis)
    return ((values >= first) & (values <= last)).double()


def both(axis, band):
    return inside(axis, band)[None] * inside(axis, band)[:, None]


@pytest.mark.parametrize("axis", AXES.values(), ids=AXES)
@pytest.mark.parametrize("scale", ["plain", "log"])
def test_what_is_global_or_never_saturates_is_not_local(axis, scale):
    lead = difference(axis, scale)
    for field in (
        lead.sign(),
        lead,
        -lead,
        lead.clamp(min=0),
        (lead + 0.3).clamp(min=0),
        lead.clamp(-0.1, 0.1),
        lead**3,
    ):
        found = compare(field, axis)
        assert found.compares
        assert not found.local
        # Adding what both orders have in common changes nothing.
        assert compare(field + 3.0, axis).locality == pytest.approx(found.locality)
    assert compare(lead.sign(), axis).locality == 0.0
    assert compare(lead, axis).locality < 0.2
    # A corner: far pairs only. Inside no interval does it order the pairs.
    assert not compare((lead - 0.5).clamp(min=0), axis).local


@pytest.mark.parametrize("axis", AXES.values(), ids=AXES)
def test_what_does_not_compare(axis):
    y = coordinates(axis)
    lead = difference(axis)
    ranges = inside(axis, "middle")[None].expand(len(axis), -1)
    for field in (torch.full_like(lead, 7.0), y[None] + y[:, None], lead.abs(), ranges, ranges.T, y[None] + 0 * lead):
        assert comparing(field) < 0.01
        assert not compare(field, axis).compares
    assert comparing(lead.sign()) > 0.5
    assert comparing(lead) == pytest.approx(0.5)


@pytest.mark.parametrize("axis", AXES.values(), ids=AXES)
@pytest.mark.parametrize("scale", ["plain", "log"])
@pytest.mark.parametrize("band", BANDS)
def test_a_comparison_in_a_band_is_local_to_it(axis, scale, band):
    lead = difference(axis, scale)
    within = inside(axis, band)
    members = [value for value, there in zip(axis, within, strict=True) if there]
    for field in (lead.sign() * both(axis, band), -lead * both(axis, band)):
        found = compare(field, axis)
        assert (found.compares, found.locality) == (True, 1.0)
        assert found.interval[0] >= members[0]
        assert found.interval[1] <= members[-1]
    # While one number is in the band, whatever the other is: a strip. Its far pairs are the loudest.
    for field in (
        (lead + 0.01).clamp(min=0) * within,
        (lead > 0) * within,
        (lead + 0.01).clamp(min=0) * within[:, None],
    ):
        found = compare(field, axis)
        assert (found.compares, found.locality) == (True, 1.0)
        assert set(range(*found.interval)) & set(members)


def test_a_soft_and_noisy_band_is_local_and_noise_is_not():
    generator = torch.Generator().manual_seed(0)
    y, lead = coordinates(AXIS), difference(AXIS)
    noise = torch.randn(len(AXIS), len(AXIS), generator=generator).double()
    soft = torch.tanh(5 * lead) * torch.exp(-((y[None] - 0.5) ** 2 + (y[:, None] - 0.5) ** 2) / 0.04)
    found = compare(soft + 0.003 * noise, AXIS)
    assert found.locality > 0.95
    assert found.interval[0] <= 47
    assert found.interval[1] >= 63
    assert comparing(noise) == pytest.approx(0.5, abs=0.1)
    assert compare(noise, AXIS).locality < 0.25
    near = lead.sign() * (lead.abs() < 0.2)
    assert compare(near, AXIS).locality == pytest.approx(0.7, abs=0.05)


def test_a_stage_tiles_the_range_or_does_not():
    lead = difference(AXIS)
    bands = [compare(lead.sign() * both(AXIS, band), AXIS) for band in BANDS]
    tiles, hole = coverage(bands, AXIS), coverage([bands[0], bands[2]], AXIS)
    assert tiles.lo >= 0.75
    assert tiles.lo < tiles.mean < tiles.hi <= 1.0
    assert hole.hi < 0.75
    assert coverage([], AXIS).hi == coverage([compare(lead, AXIS)], AXIS).hi == 0.0
    assert coverage([bands[0]] * 3, AXIS) == coverage([bands[0]], AXIS)


def test_the_median_is_over_those_that_compare_and_has_an_interval():
    lead = difference(AXIS)
    local, broad, offset = (compare(field, AXIS) for field in (lead * both(AXIS, "low"), lead, torch.ones_like(lead)))
    near = compare(lead.sign() * (lead.abs() < 0.2), AXIS)
    values = len(AXIS)
    found = locality([local, offset, offset, local], values)
    assert found.mean == 1.0
    assert LOCAL < found.lo < 1.0
    assert locality([local, broad, broad], values).hi < LOCAL
    assert locality([offset], values).hi == 0.0
    spread = locality([near], values)
    assert spread.mean == pytest.approx(near.locality)
    assert spread.lo < spread.mean < spread.hi < 1.0


def test_the_furthest_neuron_is_judged_on_other_pairs():
    lead = difference(AXIS)
    fields = torch.stack([lead, lead.sign(), lead.sign() * both(AXIS, "middle")])
    best, found = furthest(fields)
    assert (best, found.mean) == (1, 1.0)
    assert 0.75 < found.lo < 1.0
    assert furthest(fields[:1])[1].mean == pytest.approx(reach(lead).mean, abs=0.1)
    assert furthest(torch.zeros(2, len(AXIS), len(AXIS)))[1].hi < 0.3
    # What is loud only on the pairs that choose does not reach the others.
    told = torch.zeros(len(AXIS), len(AXIS))
    told[::2] = lead.sign().float()[::2]
    assert furthest(told[None].triu())[1].mean == 0.0


def test_planted_stages_are_local_and_global():
    truth = planted()[1]
    first, second = (
        torch.stack([truth.fields[place] for place in places if float(truth.fields[place].std()) > 1e-6])
        for places in (truth.first_stage, truth.second_stage)
    )
    for axis in AXES.values():
        rows = torch.tensor(axis) - number.VALUES.start
        found = [compare(field[rows][:, rows], axis) for field in first]
        live = [each for each in found if each.compares]
        assert live
        assert locality(found, len(axis)).lo >= LOCAL
        assert coverage(found, axis).lo >= 0.75
        assert furthest(second[:, rows][:, :, rows])[1].lo >= 0.75
        other = [compare(field[rows][:, rows], axis) for field in second]
        assert locality(other, len(axis)).hi < LOCAL


def test_the_old_rule_passed_a_first_stage_that_is_not_local():
    """Hinges of y2 − y1 at several places: two stages of which the first compares everywhere."""
    for axis in AXES.values():
        for scale in ("plain", "log"):
            lead = difference(axis, scale)
            hinges = [(lead - corner).clamp(min=0) for corner in (-0.1, -0.05, 0.0, 0.05)]
            assert max(reach(field).mean for field in hinges) < 0.5  # the old rule: local
            found = [compare(field, axis) for field in hinges]
            assert locality(found, len(axis)).hi < LOCAL
            assert coverage(found, axis).hi < 0.75


def test_a_short_axis_is_refused():
    with pytest.raises(NumberlineError, match="an axis of 3 values"):
        compare(torch.eye(3), (1, 2, 3))
    assert isinstance(compare(torch.eye(4), (1, 2, 3, 4)), Comparison)
