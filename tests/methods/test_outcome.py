"""A component that follows the winner, and one that follows the numbers, though its sign tells the winner as well."""

import pytest
import torch

from numberline.methods.outcome import follows


def made(n: int = 600) -> tuple[torch.Tensor, torch.Tensor]:
    values = torch.rand(n, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return values, values[:, 1] > values[:, 0]


def test_zero_is_half_way_from_a_step_to_a_difference():
    values, wins = made(4000)
    step, difference = wins.double(), values[:, 1] - values[:, 0]
    found = [follows(component, wins, values)["gain"] for component in (step, difference)]
    assert [each.mean for each in found] == pytest.approx([1 / 3, -1 / 3], abs=0.03)
    assert found[0].lo > 0.25
    assert found[1].hi < -0.25
    # What saturates late is a difference, what saturates early a step; so it is whatever goes with it.
    late, early = (follows(torch.tanh(sharp * difference), wins, values)["gain"].mean for sharp in (2, 12))
    assert late < -0.1 < 0.1 < early


def test_shares_and_intervals_are_least_squares():
    values, wins = made()
    noise = torch.randn(600, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    component = 2 * values[:, 0] ** 3 - values[:, 1] + 0.3 * noise
    found = follows(component + 50, wins, values)
    x = torch.cat([torch.ones(600, 1), *(values**degree for degree in (1, 2, 3))], 1).double()
    left = component - x @ torch.linalg.lstsq(x, component[:, None]).solution[:, 0]
    assert found["values"].mean == pytest.approx(1 - float(left.var() / component.var()), abs=1e-9)
    assert found["values"].lo < found["values"].mean < found["values"].hi
    means = torch.where(wins, component[wins].mean(), component[~wins].mean())
    explained = 1 - float((component - means).var() / component.var())
    assert found["outcome"].mean == pytest.approx(explained, abs=1e-9)
    assert found["gain"].mean == pytest.approx(explained - found["values"].mean, abs=1e-12)


def test_two_values_are_enough():
    values = torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]] * 5)
    found = follows(torch.arange(20.0), values[:, 1] > values[:, 0], values)
    assert found["gain"].mean == pytest.approx(0.0, abs=1e-9)  # who wins is a function of either value
