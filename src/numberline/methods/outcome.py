"""Does a component follow the outcome, or the values that it comes from?

A threshold on a component may tell the winner though the component does not hold it: a difference of two numbers has
the winner's sign. So two explanations of the component are set side by side, over many prompts:

1. `outcome`: one level where the number wins, another one where it does not.
2. `values`: a cubic of each value, added up. It rises and falls with the numbers, and does not compare them.
3. `gain`: the share of variance that the first explains, less the share that the second does.

With values that are uniform and independent, a step at their equality has a gain of 1/3 and their difference one of
−1/3: zero is half-way from a flag to a difference that never saturates. Intervals are bootstrapped over prompts.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from numberline.methods.intervals import Estimate, from_resamples, resamples

DEGREE = 3


def follows(
    component: Float[Tensor, " n"], outcome: Bool[Tensor, " n"], values: Float[Tensor, "n k"]
) -> dict[str, Estimate]:
    """The shares of a component's variance that the outcome and the values explain, and the gain of the first."""
    scaled = (values.double() - values.double().mean(0)) / values.double().std(0)
    powers = [scaled**degree for degree in range(1, DEGREE + 1)]
    n = len(component)
    weights = torch.cat([torch.full((1, n), 1 / n, dtype=torch.float64), resamples(n)])
    shares = {
        name: _explained(component, columns, weights)
        for name, columns in (("outcome", outcome.double()[:, None]), ("values", torch.cat(powers, 1)))
    }
    shares["gain"] = shares["outcome"] - shares["values"]
    return {name: from_resamples(float(drawn[0]), drawn[1:], n) for name, drawn in shares.items()}


def _explained(
    component: Float[Tensor, " n"], columns: Float[Tensor, "n p"], weights: Float[Tensor, "samples n"]
) -> Float[Tensor, " samples"]:
    """The share of variance that least squares on the columns and a constant explains, for each weighting."""
    y = component.double() - component.double().mean()
    x = torch.cat([torch.ones(len(y), 1, dtype=torch.float64), columns], 1)
    gram = (weights @ (x[:, :, None] * x[:, None, :]).flatten(1)).unflatten(1, (x.shape[1], -1))
    moments = weights @ (x * y[:, None])
    fitted = torch.einsum("sp,spq,sq->s", moments, torch.linalg.pinv(gram, hermitian=True), moments)
    squares = weights @ y.square()
    total = squares - (weights @ y).square()
    return 1 - (squares - fitted) / total
