"""Along which directions does a cloud spread? Principal components of mean-centred, unscaled activations.

One eigendecomposition of the smaller of the two Gram matrices, in double precision; the components come in the order of
the variance that they explain. A component has no sign of its own: `Subspace.signed` gives it one.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

SHOWN = 20
"""How many components are kept unless more are asked for, as in the paper's figure of explained variance."""


@dataclass(frozen=True, eq=False)
class Components:
    """Orthonormal `directions` (d × k), the cloud's mean, and the variance along each and in all."""

    mean: Float[Tensor, " d"]
    directions: Float[Tensor, "d k"]
    variances: Float[Tensor, " k"]
    total: float

    @property
    def shares(self) -> Float[Tensor, " k"]:
        """The share of the cloud's variance that each component explains."""
        return self.variances / self.total

    def project(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n k"]:
        """Coordinates relative to the cloud's mean."""
        return (x.double() - self.mean.double()) @ self.directions.double()

    def share_along(self, x: Float[Tensor, "n d"], direction: Float[Tensor, " d"]) -> float:
        """The share of the cloud's variance along any unit direction."""
        return float((x.double() @ direction.double()).var() / self.total)


def principal_components(x: Float[Tensor, "n d"], k: int = SHOWN) -> Components:
    """The first k principal components of a cloud (fewer, if it spans fewer dimensions)."""
    mean = x.double().mean(0)
    centred = x.double() - mean
    n, d = centred.shape
    values, vectors = torch.linalg.eigh(centred.T @ centred if d <= n else centred @ centred.T)
    order = values.argsort(descending=True)[: min(k, n - 1, d)]
    values = values[order].clamp(min=0)
    kept = values > 1e-12 * values.max() if bool(values.max() > 0) else values > 0
    values, directions = values[kept], vectors[:, order][:, kept]
    if d > n:
        directions = centred.T @ directions / values.sqrt()
    total = float(centred.square().sum()) / (n - 1)
    return Components(mean.float(), directions.float(), (values / (n - 1)).float(), total)
