"""How is a subspace kept? Its orthonormal basis, with its provenance in the file's header; read without torch.

The engine's `Subspace` computes with one; this one is what a file holds. Each is made from the other, or from anything
that has a `basis` and a `provenance`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import safetensors.numpy
from jaxtyping import Float
from numpy import ndarray
from safetensors import SafetensorError, safe_open

from numberline.errors import NumberlineError
from numberline.files import write_whole
from numberline.results.arrays import as_array


@runtime_checkable
class Based(Protocol):
    """Anything with a basis (d × k) and the words that say where it comes from."""

    @property
    def basis(self) -> Any:
        """Orthonormal columns."""

    @property
    def provenance(self) -> Mapping[str, str]:
        """Model fingerprint, site, method, data, seed."""


@dataclass(frozen=True, eq=False)
class StoredSubspace:
    """A basis and where it comes from."""

    basis: Float[ndarray, "d k"]
    provenance: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, found: Based) -> "StoredSubspace":
        """The same basis as a numpy array."""
        return found if isinstance(found, cls) else cls(as_array(found.basis), dict(found.provenance))

    @property
    def rank(self) -> int:
        """The number of directions."""
        return int(self.basis.shape[1])

    def save(self, path: str | Path) -> None:
        """Write the basis with its provenance in the header; whole or not at all."""
        write_whole(Path(path), self.content)

    @property
    def content(self) -> bytes:
        """What a file of it holds."""
        header = {"provenance": json.dumps(dict(self.provenance))}
        return safetensors.numpy.save({"basis": as_array(self.basis)}, header)

    @classmethod
    def load(cls, path: str | Path, model: str) -> "StoredSubspace":
        """Read a subspace that was found in the model with this fingerprint."""
        try:
            with safe_open(path, "np") as file:
                provenance = json.loads((file.metadata() or {})["provenance"])
                basis = file.get_tensor("basis")
        except (OSError, SafetensorError, KeyError, ValueError) as error:
            raise NumberlineError(f"{path} is not a subspace ({error}): find it again") from error
        if provenance.get("model") != model:
            raise NumberlineError(
                f"{path} was found in the model {provenance.get('model')}, not in this one ({model}): fit it again here"
            )
        return cls(basis, provenance)
