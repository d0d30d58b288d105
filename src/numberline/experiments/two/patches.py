"""The interchange interventions of the two-number analysis, as the paper names them.

A patch is a function from recorded pairs to the edits that take a component from its clean runs:

| name | component | where |
|---|---|---|
| full_number_y1, full_number_y2 | the whole residual leaving the number layer | at y1, at y2 |
| u | the direction u of that residual | at y1 |
| v2 | the direction v2 of that residual | at y2 |
| v1 | the direction v1 in the transport head's contribution | at y2 |
| v1_mid | the same direction in the pre-MLP residual of the transport layer | at y2 |
| v1_v2 | both of the above rank-one patches, each at its own site | at y2 |
| plane | the rank-two plane (Gram–Schmidt, v1 first) in the pre-MLP residual | at y2 |
| full_mid, full_resid | the whole pre-MLP residual, the whole residual leaving the transport layer | at y2 |
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from numberline.engine.edits import Edit, swap
from numberline.engine.lab import Lab
from numberline.engine.sites import Site, head, mid, resid
from numberline.engine.subspace import Subspace
from numberline.experiments.common import examples
from numberline.experiments.common.experiment import Context, MissingError
from numberline.experiments.common.roles import require
from numberline.methods.pairs import Pairs
from numberline.tasks.counterfactuals import Hand
from numberline.tasks.pairs import CounterfactualPairs
from numberline.tasks.task import Task

Patch = Callable[[Pairs], list[Edit]]
SPACE = ("k2.trace", "k2.number", "k2.heads", "k2.transport")
"""The experiments that find the shared space: its roles and its directions."""
DIRECTIONS = (("k2.number", "u"), ("k2.transport", "v1"), ("k2.number", "v2"))
"""Which result holds which direction."""
RANDOM_DRAWS = 5
"""Random subspaces of matched rank beside a learned one."""


@dataclass(frozen=True, eq=False)
class SharedSpace:
    """Where the two numbers meet: the sites, and the unit directions that carry them."""

    number_layer: int
    transport_head: tuple[int, int]
    u: Float[Tensor, " d"]
    v1: Float[Tensor, " d"]
    v2: Float[Tensor, " d"]

    @property
    def layer(self) -> int:
        """The transport layer, in whose pre-MLP residual the numbers meet."""
        return self.transport_head[0]

    @property
    def site(self) -> Site:
        """The pre-MLP residual of the transport layer at y2."""
        return mid(self.layer).at("y2")

    @cached_property
    def plane(self) -> Subspace:
        """span(v1, v2) as an orthonormal frame (v1, v2⊥)."""
        return Subspace.spanned_by(self.v1, self.v2)

    @property
    def directions(self) -> Float[Tensor, "d 2"]:
        """v1 and v2 as columns; unlike the plane's basis, not orthogonal to each other."""
        return torch.stack([self.v1, self.v2], 1).float()

    def coefficients(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n 2"]:
        """(c1, c2) of each activation's component in the plane, v1·c1 + v2·c2: its coordinates in the frame (v1, v2).

        Where v1 and v2 are orthogonal, they are the projections on v1 and v2. Where they are not, a projection on v1
        also holds a part of what lies along v2; the coefficients undo the sum x = v1 f1(y1) + v2 f2(y2).
        """
        inverse: Tensor = torch.linalg.pinv(self.directions)
        return x.float() @ inverse.T

    @property
    def patches(self) -> Mapping[str, Patch]:
        """Every patch of the table above."""
        number, carried = resid(self.number_layer), head(*self.transport_head).at("y2")
        u, v1, v2 = (direction.float()[:, None] for direction in (self.u, self.v1, self.v2))
        return {
            "full_number_y1": swapping(number.at("y1")),
            "u": swapping(number.at("y1"), u),
            "full_number_y2": swapping(number.at("y2")),
            "v2": swapping(number.at("y2"), v2),
            "v1": swapping(carried, v1),
            "v1_mid": swapping(self.site, v1),
            "v1_v2": together(swapping(number.at("y2"), v2), swapping(carried, v1)),
            "plane": swapping(self.site, self.plane),
            "full_mid": swapping(self.site),
            "full_resid": swapping(resid(self.layer).at("y2")),
        }


def swapping(site: Site, along: Subspace | Float[Tensor, "d k"] | None = None) -> Patch:
    """The patch that takes one component at one site from the clean run."""
    return lambda pairs: [swap(site, pairs.clean, along)]


def together(*patches: Patch) -> Patch:
    """Several patches at once; two at the same site are made one after the other."""
    return lambda pairs: [edit for patch in patches for edit in patch(pairs)]


def swapping_all(sites: Sequence[Site]) -> Patch:
    """The patch that takes several whole activations from the clean run."""
    return lambda pairs: [swap(site, pairs.clean) for site in sites]


def two_numbers(context: Context) -> Task:
    """The two-number task of a run."""
    return Task(context.concept)


def case_pairs(lab: Lab, context: Context, case: str, hand: Hand = "evaluation") -> CounterfactualPairs:
    """The recorded examples of a perturbation case, with two numbers."""
    return examples.case_pairs(lab, context, two_numbers(context), case, hand)


def space_of(lab: Lab, context: Context) -> SharedSpace:
    """The shared space that this run found, or what is missing of it."""
    if lab.network.parallel:
        raise MissingError("attention and MLP run in parallel in this model, so that it has no pre-MLP residual")
    number, transport = require(context, "number_layer"), require(context, "transport_head")
    directions = {name: context.tensor(id, name).flatten() for id, name in DIRECTIONS}
    return SharedSpace(number.layer, (transport.layer, transport.head), **directions)
