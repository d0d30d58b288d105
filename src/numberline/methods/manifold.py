"""On what do the numbers lie, and which of it is used? States fitted from the number alone, and what tells them apart.

1. `fitted`: each value's state as a function of the number: a line (one direction, on the concept's scale), a cubic
   polynomial, a helix (the number, and its phase in periods of 2, 5, 10 and 100: the form known from addition), a
   smooth curve (smoothing splines in the leading components, `curvature.py`), and the mean state itself.
2. `matched`: random directions along which a cloud spreads as much as along a given one, at right angles to it: what
   taking away so much variance does, whatever it holds.
3. `crossed`: a state takes its component along the line from one number and the rest from another. How much of the
   answer's variation does the line's number explain whatever the rest is (`line`), the rest's number whatever the line
   is (`rest`), and only both together (`together`)? Variance components, from tables of two numbers by two that are
   drawn at random: a few fixed numbers would do worse, for their phases on a helix happen to go with their sizes.
   What reads a line has `line` 1. What adds up two readings has `line` and `rest`: a third each where the sum is
   compared hard. What multiplies coordinates of a curve, as a helix must be read, has hardly any `line`: there a
   direction means something else at every number.
"""

import math
from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from numberline.engine.subspace import Subspace
from numberline.estimates import Estimate, Statistic, bootstrap
from numberline.methods.curvature import smoothed
from numberline.methods.pca import principal_components

PERIODS = (2, 5, 10, 100)
DEGREE = 3
MIXTURES = 201
"""Between a direction of little and one of much variance, so many are tried."""
SHARES = ("line", "rest", "together")


def fitted(
    means: Float[Tensor, "values d"], values: Int[Tensor, " values"], scale: Float[Tensor, " values"]
) -> dict[str, Float[Tensor, "values d"]]:
    """The state of every value by each fit, in order: line, polynomial, helix, curve, mean."""
    y = (scale - scale.mean()) / scale.std()
    one, number = torch.ones_like(y), values.double()
    turns = [wave(2 * math.pi * number / period) for period in PERIODS for wave in (torch.cos, torch.sin)]
    designs = {
        "line": [one, y],
        "polynomial": [y**power for power in range(DEGREE + 1)],
        "helix": [one, (number - number.mean()) / number.std(), *turns],
    }
    found = {name: _least_squares(torch.stack(columns, 1), means) for name, columns in designs.items()}
    return {**found, "curve": _curve(means, number), "mean": means.float()}


def _least_squares(design: Float[Tensor, "values k"], means: Float[Tensor, "values d"]) -> Float[Tensor, "values d"]:
    """The nearest states that are linear in the columns; columns that say nothing new are allowed."""
    weights: Tensor = torch.linalg.pinv(design) @ means.double()
    return (design @ weights).float()


def _curve(means: Float[Tensor, "values d"], number: Float[Tensor, " values"]) -> Float[Tensor, "values d"]:
    known = principal_components(means)
    smooth = smoothed(number.numpy(), known.project(means).numpy(), number.numpy())
    return (known.mean.double() + torch.from_numpy(smooth) @ known.directions.double().T).float()


def matched(x: Float[Tensor, "n d"], space: Subspace, draws: int, seed: int) -> list[Subspace]:
    """Random subspaces at right angles to one, with as much of a cloud's variance along each of their directions."""
    generator = torch.Generator().manual_seed(seed + 2)
    centred = x.double() - x.double().mean(0)
    return [_matched(centred, space, generator) for _ in range(draws)]


def _matched(centred: Float[Tensor, "n d"], space: Subspace, generator: torch.Generator) -> Subspace:
    n, d = centred.shape
    taken = space.basis.double()
    for direction in space.basis.double().T:
        wanted = (centred @ direction).var()
        # A mixture of examples, stretched as the cloud is, lies where that is wide; any direction, where it is narrow.
        wide = centred.T @ (centred @ (torch.randn(n, generator=generator).double() @ centred))
        ends = torch.stack([torch.randn(d, generator=generator).double(), wide], 1)
        ends = torch.nn.functional.normalize(ends - taken @ (taken.T @ ends), dim=0)
        share = torch.linspace(0, 1, MIXTURES).double()
        tried = torch.nn.functional.normalize(ends @ torch.stack([1 - share, share]), dim=0)
        best = ((centred @ tried).var(0) - wanted).abs().argmin()
        taken = torch.cat([taken, tried[:, best, None]], 1)
    drawn = taken[:, space.rank :]
    return Subspace(torch.linalg.qr(drawn)[0].float(), {"method": "random, of the same variance"})


def crossed(answers: Float[Tensor, "draws 2 2 n"]) -> Mapping[str, Estimate]:
    """The share of the answer's variation that each explains, of (line, rest); the interval is over examples."""
    x = answers.double().numpy()
    line = (x[:, 0] - x[:, 1]).sum(1) / 2
    rest = (x[:, :, 0] - x[:, :, 1]).sum(1) / 2
    both = (x[:, 0, 0] - x[:, 0, 1] - x[:, 1, 0] + x[:, 1, 1]) / 2
    # What comes of both together is in every difference; what comes of one of them twice in its own.
    squares = np.stack([np.square(each).mean(0) for each in (line, rest, both)])
    parts = np.stack([(squares[0] - squares[2]) / 2, (squares[1] - squares[2]) / 2, squares[2]])

    def share(part: int) -> Statistic:
        return lambda weights: (weights @ parts[part]) / (weights @ parts.sum(0))

    return {name: bootstrap(share(i), x.shape[-1]) for i, name in enumerate(SHARES)}
