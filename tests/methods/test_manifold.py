"""Line or manifold, on made-up states: fits, directions of the same variance, and what explains crossed answers."""

import math

import pytest
import torch

from numberline.engine.subspace import Subspace
from numberline.methods.manifold import crossed, fitted, matched

NUMBERS = torch.arange(10, 100)


def test_each_fit_finds_its_own_form_and_no_more():
    y, angle = NUMBERS.double(), 2 * math.pi * NUMBERS.double() / 10
    states = {
        "line": torch.stack([y.log(), -2 * y.log()], 1),
        "polynomial": torch.stack([y.log(), y.log() ** 3], 1),
        "helix": torch.stack([y, 9 * angle.cos(), 9 * angle.sin()], 1),
    }
    order = list(states)
    for name, columns in states.items():
        means = torch.nn.functional.pad(columns, (0, 4 - columns.shape[1]))
        found = fitted(means, NUMBERS, y.log())
        assert list(found) == ["line", "polynomial", "helix", "curve", "mean"]
        total = (means - means.mean(0)).square().sum()
        left = {fit: float((x - means).square().sum() / total) for fit, x in found.items()}
        assert left[name] < 1e-6
        assert left["curve"] < 0.02
        assert left["mean"] < 1e-9
        for simpler in order[: order.index(name)]:
            assert left[simpler] > 1e-3


def test_random_directions_have_the_variance_and_are_at_right_angles():
    generator = torch.Generator().manual_seed(5)
    sizes = torch.linspace(4, 0.1, 30)
    x = torch.randn(500, 30, generator=generator) * sizes
    space = Subspace(torch.eye(30)[:, 8:10])
    for drawn in matched(x, space, 3, seed=1):
        assert drawn.rank == 2
        assert float((drawn.basis.T @ space.basis).abs().max()) < 1e-5
        variance = (x @ drawn.basis).var(0) / (x @ space.basis).var(0)
        assert float((variance - 1).abs().max()) < 0.1
    first, second, _ = matched(x, space, 3, seed=1)
    assert float((first.basis - second.basis).abs().max()) > 0.1


@pytest.mark.parametrize(
    ("answer", "line", "rest"),
    [
        (lambda t, s: t, 1.0, 0.0),
        (lambda t, s: s, 0.0, 1.0),
        (lambda t, s: t + s, 0.5, 0.5),
        (lambda t, s: torch.sign(t + s), 1 / 3, 1 / 3),
        (lambda t, s: t * s, 0.0, 0.0),
    ],
)
def test_crossed_answers_tell_a_line_from_a_sum_and_from_a_product(answer, line, rest):
    generator = torch.Generator().manual_seed(2)
    t, s = (2 * torch.rand(8, 2, 400, generator=generator, dtype=torch.float64) - 1 for _ in range(2))
    crossing = torch.broadcast_tensors(t[:, :, None], s[:, None])
    found = crossed(answer(*crossing) + torch.arange(400.0))  # every example has a level of its own
    assert found["line"].mean == pytest.approx(line, abs=0.04)
    assert found["rest"].mean == pytest.approx(rest, abs=0.04)
    assert sum(each.mean for each in found.values()) == pytest.approx(1.0)
    assert found["line"].lo <= found["line"].mean <= found["line"].hi
