"""Changes to a run.

    swap(site, source)              x becomes the source's value: the interchange intervention
    swap(site, source, along=P)     x + PPᵀ(source − x): only the component in a subspace is exchanged
    freeze(site)                    pinned to its value in the recording that the run starts from
    zero(site, along=P)             set to zero (or its component removed)
    set_coordinates(site, P, c)     the components along the frame P become c
    add(site, v)                    v is added
    transform(site, function)       x becomes function(x), whatever the function

A source is a Recording (read at the same site, or at `source_site`), or a tensor of values, one per example or one for
all. Arithmetic is in fp32 (fp64 in an fp64 model) whatever the model's dtype. At a head, x is the head's contribution
z_h W_O: the change of the contribution is added to the output projection's result, so a direction is read from the
head and written along itself to the residual stream, whether or not it lies in the head's output space.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from numberline.engine.recording import Recording
from numberline.engine.sites import Site
from numberline.engine.subspace import Subspace
from numberline.errors import NumberlineError

Values = Float[Tensor, "..."]
Function = Callable[[Tensor], Tensor]
"""From an activation [examples, tokens, d] to one of the same shape."""


@dataclass(frozen=True, eq=False)
class Edit:
    """One change at one site. Made by the functions below; see the module's docstring for what each does."""

    site: Site
    action: Literal["replace", "coordinates", "add", "transform"]
    source: Recording | Values | None = None
    source_site: Site | None = None
    along: Subspace | Float[Tensor, "*examples d k"] | None = None
    function: Function | None = None

    def basis(self, examples: slice) -> Float[Tensor, "*examples d k"] | None:
        """The basis of the subspace, if the edit is along one: the same for all examples, or one for each."""
        basis = self.along.basis if isinstance(self.along, Subspace) else self.along
        return basis if basis is None or basis.dim() == 2 else basis[examples]

    def apply(
        self, x: Float[Tensor, "rows tokens d"], target: Float[Tensor, "..."] | None, examples: slice
    ) -> Float[Tensor, "rows tokens d"]:
        """The edited activation of some examples, computed in fp32 or better and returned in that precision."""
        precise, basis = torch.promote_types(x.dtype, torch.float32), self.basis(examples)
        x = x.to(precise)
        if self.function is not None:
            return self._by_function(x)
        assert target is not None, "every edit but a function has something to go towards"
        target = target.to(x.device, precise)
        if self.action == "add":
            return x + target
        if basis is None:
            return target.expand_as(x)
        basis = basis.to(x.device, precise)
        wanted = target if self.action == "coordinates" else target.expand_as(x) @ basis
        return x + (wanted - x @ basis) @ basis.mT

    def _by_function(self, x: Float[Tensor, "rows tokens d"]) -> Float[Tensor, "rows tokens d"]:
        assert self.function is not None
        new = self.function(x)
        if not isinstance(new, Tensor) or new.shape != x.shape:
            given = f"the shape {tuple(new.shape)}" if isinstance(new, Tensor) else type(new).__name__
            raise NumberlineError(
                f"{self.site}: the function was given an activation of the shape {tuple(x.shape)} and returned "
                f"{given}: return one of the same shape"
            )
        return new.to(x)


def swap(
    site: Site,
    source: Recording | Values,
    along: Subspace | Float[Tensor, "*examples d k"] | None = None,
    source_site: Site | None = None,
) -> Edit:
    """Exchange the activation, or its component in a subspace (one for all examples, or one each), for the source's."""
    return Edit(site, "replace", source, source_site, along)


def freeze(site: Site) -> Edit:
    """Pin the activation to its value in the un-edited run."""
    return Edit(site, "replace", None)


def zero(site: Site, along: Subspace | None = None) -> Edit:
    """Set the activation, or its component in a subspace, to zero."""
    return Edit(site, "replace", torch.zeros(()), along=along)


def set_coordinates(
    site: Site, frame: Subspace | Float[Tensor, "d k"], coordinates: Float[Tensor, "*examples k"]
) -> Edit:
    """Set the components along an orthonormal frame, leaving the rest as it is."""
    return Edit(site, "coordinates", coordinates, along=frame)


def add(site: Site, vector: Values) -> Edit:
    """Add a vector: one for all examples, or one per example."""
    return Edit(site, "add", vector)


def transform(site: Site, function: Function) -> Edit:
    """Replace the activation [examples, tokens, d] by a function of it, of the same shape; autograd sees through it.

    The function is called on some of the examples at a time, so that it must treat each on its own; it sees all tokens
    of the site together, in ascending order (when decoding, a generated token alone), in fp32 or better.
    """
    return Edit(site, "transform", function=function)
