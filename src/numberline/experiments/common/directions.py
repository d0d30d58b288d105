"""What every search for a number's direction shares: the cloud beside it, patches along directions.

- `Cloud`: activations of many clean prompts at one site, their principal components (signed so that they rise with the
  number), and the tables that describe a direction in them.
- `along`: swaps at one site, in full or along directions; several draws of a control count as one condition.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import pad

from numberline.engine.edits import swap
from numberline.engine.lab import Lab
from numberline.engine.sites import Site
from numberline.engine.subspace import Subspace
from numberline.errors import NumberlineError
from numberline.methods import clouds, curvature
from numberline.methods.draws import Draws
from numberline.methods.pairs import Pairs
from numberline.methods.pca import SHOWN, Components, principal_components
from numberline.tasks.concept import Concept
from numberline.tasks.counterfactuals import Hand
from numberline.tasks.sampling import Row
from numberline.tasks.scale import scaled

Rows = list[dict[str, Any]]
EXAMPLES: tuple[Hand, ...] = ("evaluation", "fitting")


@dataclass(frozen=True)
class Place:
    """An operand and the site where it is looked for."""

    operand: str
    site: Site


@dataclass(frozen=True, eq=False)
class Cloud:
    """Activations of many clean prompts at one site, with the number they should carry and their components."""

    name: str
    x: Float[Tensor, "n d"]
    operands: Int[Tensor, "n k"]
    numbers: Int[Tensor, " n"]
    pca: Components
    provenance: Mapping[str, str]

    @classmethod
    def of(cls, lab: Lab, place: Place, x: Float[Tensor, "n d"], rows: Sequence[Row], position: str = "") -> "Cloud":
        """A cloud of prompts with these operands, read at a place; components are signed to rise with its operand."""
        operands = torch.tensor(rows)
        numbers = operands[:, int(place.operand[1:]) - 1]
        found = principal_components(x)
        signed = Subspace(found.directions).signed(x, numbers.double()).basis
        about = {"model": lab.loaded.fingerprint, "site": str(place.site), "data": f"{len(rows)} clean prompts"}
        pca = Components(found.mean, signed, found.variances, found.total)
        return cls(position or place.operand, x, operands, numbers, pca, about)

    def component(self, i: int) -> Subspace:
        """The i-th principal component, counted from one."""
        if i > self.pca.directions.shape[1]:
            raise NumberlineError(
                f"the states at {self.provenance['site']} differ along {self.pca.directions.shape[1]} directions only: "
                f"they have no principal component {i}"
            )
        return Subspace(self.pca.directions[:, i - 1 : i], {**self.provenance, "method": f"PCA, component {i}"})

    def components(self, k: int) -> dict[str, Subspace]:
        """The first k principal components by name, pc1 …; fewer where the cloud spans fewer dimensions."""
        return {f"pc{i}": self.component(i) for i in range(1, min(k, self.pca.directions.shape[1]) + 1)}

    def signed(self, subspace: Subspace) -> Subspace:
        """A learned direction, signed so that its component rises with the number."""
        return Subspace(subspace.basis.cpu(), subspace.provenance).signed(self.x, self.numbers.double())

    def along(self, direction: Subspace) -> Float[Tensor, " n"]:
        """The components along a direction, relative to the cloud's mean."""
        return ((self.x - self.pca.mean).double() @ direction.basis.double())[:, 0]

    def by_value(self, directions: Mapping[str, Subspace], width: int = 1) -> Rows:
        """The mean component for each value of the number, for each direction."""
        return [
            {"position": self.name, "direction": name, **row}
            for name, direction in directions.items()
            for row in clouds.by_value(self.along(direction), self.numbers, width)
        ]

    def fits(self, concept: Concept, directions: Mapping[str, Subspace]) -> Rows:
        """The fit p·log y + q for each direction; p·y + q where the concept's scale is linear."""
        x = scaled(concept, self.numbers)
        return [
            {"position": self.name, "direction": name, **clouds.line_fit(self.along(direction), x)}
            for name, direction in directions.items()
        ]

    def variance(self, directions: Mapping[str, Subspace]) -> Rows:
        """The share of variance along each principal component, and along other directions."""
        shares = self.pca.shares.tolist()
        rows = [(f"pc{i}", share, sum(shares[:i])) for i, share in enumerate(shares, start=1)]
        rows += [(name, self.pca.share_along(self.x, space.basis[:, 0]), None) for name, space in directions.items()]
        return [
            {"position": self.name, "direction": name, "share": share, "cumulative": cumulative}
            for name, share, cumulative in rows
        ]

    def curvature(self, width: int = 1) -> Rows:
        """What a curve in number order explains beyond a line; nothing where there are too few values to tell."""
        values, which = clouds.groups(self.numbers, width)
        if len(values) < curvature.LEAST:
            return []
        found = curvature.curvature(clouds.group_means(self.x, which), values)
        return [{"position": self.name, "of": name, **estimate.columns} for name, estimate in found.items()]

    def tensors(self, learned: Subspace, k: int, width: int = 1) -> dict[str, Tensor]:
        """What figures draw: components, per-value means relative to the mean, coordinates on `learned`, pc1 … pck.

        Along components that the cloud does not have, all coordinates are zero, so that a picture of it stays flat.
        """
        values, which = clouds.groups(self.numbers, width)
        coordinates = [self.along(direction) for direction in (learned, *self.components(k).values())]
        pcs = self.pca.directions
        return {
            f"pcs_{self.name}": pad(pcs, (0, SHOWN - pcs.shape[1])),
            f"mean_{self.name}": self.pca.mean,
            f"values_{self.name}": values,
            f"means_{self.name}": clouds.group_means(self.x - self.pca.mean, which).float(),
            f"projections_{self.name}": pad(torch.stack(coordinates, 1), (0, 1 + k - len(coordinates))).float(),
        }


def monotone(components: Rows) -> Rows:
    """How nearly each direction's per-value means rise with the number: their rank correlation with it."""
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for row in components:
        found.setdefault((row["position"], row["direction"]), []).append((row["value"], row["mean"]))
    return [
        {
            "position": position,
            "direction": name,
            **clouds.monotone(*torch.tensor(pairs, dtype=torch.float64).unbind(1)).columns,
        }
        for (position, name), pairs in found.items()
    ]


def along(pairs: Pairs, site: Site, directions: Mapping[str, Subspace | Sequence[Subspace] | None]) -> dict[str, Draws]:
    """Swaps at one site: in full (None), along a subspace, or along several that are draws of one control."""
    listed = {
        name: [space] if space is None or isinstance(space, Subspace) else space for name, space in directions.items()
    }
    return {name: [[swap(site, pairs.clean, space)] for space in spaces] for name, spaces in listed.items()}


def cosines(directions: Mapping[str, Subspace]) -> Rows:
    """The cosine of every two directions."""
    names = list(directions)
    return [
        {"first": a, "second": b, "cosine": float(directions[a].basis[:, 0] @ directions[b].basis[:, 0])}
        for i, a in enumerate(names)
        for b in names[i + 1 :]
    ]
