"""A subspace of activations: an orthonormal basis with its provenance.

The basis is d × k in fp32 whatever the model's dtype. Provenance (model fingerprint, site, method, data, seed) travels
with it into the file that keeps it (`numberline.results.subspace`).
"""

from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from numberline.errors import NumberlineError


@dataclass(frozen=True, eq=False)
class Subspace:
    """Orthonormal columns `basis` (d × k) and where they come from."""

    basis: Float[Tensor, "d k"]
    provenance: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        gram = self.basis.detach().double().T @ self.basis.detach().double()
        error = float((gram - torch.eye(gram.shape[0], dtype=torch.float64, device=gram.device)).abs().max())
        if error > 1e-4:
            raise NumberlineError(
                f"a subspace needs orthonormal columns, but these are off by {error:.2g}: "
                "use Subspace.spanned_by(*vectors)"
            )

    @classmethod
    def of(cls, kept: Any) -> "Subspace":
        """One that a result or a file holds (anything with a basis and a provenance), to compute with."""
        return cls(torch.tensor(kept.basis), dict(kept.provenance))

    @classmethod
    def spanned_by(cls, *vectors: Float[Tensor, " d"], **provenance: str) -> "Subspace":
        """Gram–Schmidt in the order given: the first vector keeps its direction and every vector its sign."""
        matrix = torch.stack([vector.double() for vector in vectors], dim=1)
        basis, triangle = torch.linalg.qr(matrix)
        diagonal = triangle.diagonal()
        if bool((diagonal.abs() < 1e-9 * matrix.norm(dim=0)).any()):
            raise NumberlineError("these vectors do not span a subspace of their number: one lies in the others' span")
        return cls((basis * diagonal.sign()).float(), provenance)

    @property
    def rank(self) -> int:
        """The number of directions."""
        return self.basis.shape[1]

    def coordinates(self, x: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch k"]:
        """The components of activations along the basis."""
        return x.to(self.basis.dtype) @ self.basis.to(x.device)

    def signed(self, x: Float[Tensor, "n d"], value: Float[Tensor, " n"]) -> "Subspace":
        """The same directions, each signed so that its component rises with the value."""
        components = self.coordinates(x).double()
        centred = value.double().to(components.device) - value.double().mean()
        sign = torch.where(components.T @ centred < 0, -1.0, 1.0).to(self.basis)
        return Subspace(self.basis * sign, self.provenance)
