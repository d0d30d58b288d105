"""The interchange interventions of the three-number analysis, and the examples they are tried on.

Quadruples (a, b, c, r) are used when the model solves them, clean and corrupted, in all four value orders (the first
answer token, as in the paper). `k3.trace` finds which those are; every other k3 experiment reads its mask. The cases
y1, y2, y3 are patched at y3's position and, in the second half of the paper's summary, at y2's.

| name | component | where |
|---|---|---|
| full_number_y1, full_number_y2, full_number_y3 | the whole residual leaving the number layer | at y1, y2, y3 |
| u1, u2 | directions of that residual | at y1, at y2 |
| v1, v2 | directions in the contributions of the transport heads of y1 and of y2 | at y3 |
| v3 | the direction v3 of the residual leaving the number layer | at y3 |
| v1_v2_v3 | these three rank-one patches together, each at its own site | at y3 |
| span | span(v1, v2, v3) (Gram–Schmidt, v1 first) in the pre-MLP residual of the transport layer | at y3 |
| full_mid, full_resid | the whole pre-MLP residual, the whole residual leaving the transport layer | at y3 |
| w1, w2 | directions of the residual leaving the number layer; w2 and u2 are the same | at y2 |
| w1_w2 | both of these rank-one patches, one after the other | at y2 |
| span_y2 | span(w1, w2) in the pre-MLP residual of the transport layer | at y2 |
| full_mid_y2, full_resid_y2 | as above | at y2 |
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from jaxtyping import Bool, Float
from torch import Tensor

from numberline.engine.lab import Lab
from numberline.engine.sites import Site, head, mid, resid
from numberline.engine.subspace import Subspace
from numberline.experiments.common.directions import Place
from numberline.experiments.common.experiment import Context, MissingError
from numberline.experiments.common.roles import require
from numberline.experiments.two.patches import Patch, swapping, together
from numberline.tasks.counterfactuals import (
    CASE_ORDERS,
    VALUE_ORDERS,
    Hand,
    Order,
    Split,
    arrange,
    candidates,
    pool,
)
from numberline.tasks.pairs import CounterfactualPairs, record_pairs
from numberline.tasks.solved import solves
from numberline.tasks.task import Task

SPACE_OF_THREE = ("k3.trace", "k3.heads", "k3.directions")
"""The experiments that find the space of three numbers: its examples, its roles and its directions."""
DIRECTIONS = ("u1", "u2", "v1", "v2", "v3", "w1")


@dataclass(frozen=True, eq=False)
class ThreeSpace:
    """Where three numbers meet: the sites, and the unit directions that carry them."""

    number_layer: int
    transport_head_y1: tuple[int, int]
    transport_head_y2: tuple[int, int]
    u1: Float[Tensor, " d"]
    u2: Float[Tensor, " d"]
    v1: Float[Tensor, " d"]
    v2: Float[Tensor, " d"]
    v3: Float[Tensor, " d"]
    w1: Float[Tensor, " d"]

    @property
    def w2(self) -> Float[Tensor, " d"]:
        """The direction of y2 at its own position: u2 by another name."""
        return self.u2

    @property
    def layer(self) -> int:
        """The transport layer, in whose pre-MLP residual the numbers meet."""
        return max(self.transport_head_y1[0], self.transport_head_y2[0])

    @property
    def site(self) -> Site:
        """The pre-MLP residual of the transport layer at y3."""
        return mid(self.layer).at("y3")

    @property
    def site_y2(self) -> Site:
        """The same residual at y2, where the first two numbers meet."""
        return mid(self.layer).at("y2")

    @cached_property
    def span(self) -> Subspace:
        """span(v1, v2, v3) as an orthonormal frame."""
        return Subspace.spanned_by(self.v1, self.v2, self.v3)

    @cached_property
    def span_y2(self) -> Subspace:
        """span(w1, w2) as an orthonormal frame."""
        return Subspace.spanned_by(self.w1, self.w2)

    @property
    def named(self) -> Mapping[str, Float[Tensor, " d"]]:
        """Every direction by its name."""
        return {name: getattr(self, name) for name in (*DIRECTIONS, "w2")}

    @property
    def patches(self) -> Mapping[str, Patch]:
        """Every patch of the table above."""
        number = resid(self.number_layer)
        found = places(self.number_layer, self.transport_head_y1, self.transport_head_y2)
        found["w2"] = found["u2"]
        alone = {name: swapping(place.site, self.named[name].float()[:, None]) for name, place in found.items()}
        return {
            **{f"full_number_{operand}": swapping(number.at(operand)) for operand in CASE_ORDERS},
            **alone,
            "v1_v2_v3": together(alone["v3"], alone["v1"], alone["v2"]),
            "span": swapping(self.site, self.span),
            "full_mid": swapping(self.site),
            "full_resid": swapping(resid(self.layer).at("y3")),
            "w1_w2": together(alone["w1"], alone["w2"]),
            "span_y2": swapping(self.site_y2, self.span_y2),
            "full_mid_y2": swapping(self.site_y2),
            "full_resid_y2": swapping(resid(self.layer).at("y2")),
        }


def places(number_layer: int, carries_y1: tuple[int, int], carries_y2: tuple[int, int]) -> dict[str, Place]:
    """Each direction's number and site. It is looked for in the case that perturbs that number."""
    number = resid(number_layer)
    return {
        "u1": Place("y1", number.at("y1")),
        "u2": Place("y2", number.at("y2")),
        "v1": Place("y1", head(*carries_y1).at("y3")),
        "v2": Place("y2", head(*carries_y2).at("y3")),
        "v3": Place("y3", number.at("y3")),
        "w1": Place("y1", number.at("y2")),
    }


def space_of_three(lab: Lab, context: Context) -> ThreeSpace:
    """The space of three numbers that this run found, or what is missing of it."""
    if lab.network.parallel:
        raise MissingError("attention and MLP run in parallel in this model, so that it has no pre-MLP residual")
    first, second = (require(context, f"transport_head_{operand}") for operand in ("y1", "y2"))
    return ThreeSpace(
        require(context, "number_layer_k3").layer,
        (first.layer, first.head),
        (second.layer, second.head),
        **{name: context.tensor("k3.directions", name).flatten() for name in DIRECTIONS},
    )


def three_numbers(context: Context) -> Task:
    """The three-number task of a run."""
    return Task(context.concept, k=3)


def split_of(context: Context) -> Split:
    """The solved quadruples, dealt to the hands."""
    solved = context.tensor("k3.trace", "solved").bool().tolist()
    return pool(three_numbers(context), context.seed, context.sizes, solved)


def case_pairs(lab: Lab, context: Context, case: str, hand: Hand = "evaluation") -> CounterfactualPairs:
    """The recorded examples of a perturbation case."""
    return ordered_pairs(lab, context, CASE_ORDERS[case], hand)


def ordered_pairs(
    lab: Lab, context: Context, order: Order, hand: Hand = "evaluation", upto: int | None = None
) -> CounterfactualPairs:
    """The recorded examples in any value order, a head group's for instance."""
    split, task = split_of(context), three_numbers(context)
    return record_pairs(lab, task, arrange(task, split.hand(hand), order), upto=upto)


def spelled(order: Order) -> str:
    """A value order in a table, from the largest to the smallest: y1>y3>y2."""
    return ">".join(order)


def solved(
    lab: Lab, context: Context, task: Task, orders: Sequence[Order] = VALUE_ORDERS
) -> Bool[Tensor, " candidates"]:
    """Which candidate tuples are solved, clean and corrupted, in every value order (next token t(a), t(b))."""
    return solves(lab, task, candidates(task, context.seed, context.sizes), orders)
