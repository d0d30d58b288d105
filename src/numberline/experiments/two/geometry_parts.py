"""What is taken apart in two/geometry.py? The parts that were found, and y1's states as functions of the number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from numberline.engine.edits import Edit, set_coordinates, swap
from numberline.engine.lab import Lab, Read
from numberline.engine.sites import Site, head, resid
from numberline.engine.subspace import Subspace
from numberline.experiments.common.experiment import Context, MissingError
from numberline.experiments.common.roles import require
from numberline.experiments.two.patches import RANDOM_DRAWS, space_of, two_numbers
from numberline.methods import clouds
from numberline.methods.manifold import fitted, matched
from numberline.methods.pairs import pld
from numberline.tasks.layout import answer_tokens, encode
from numberline.tasks.pairs import CounterfactualPairs
from numberline.tasks.populations import cloud, dose_values
from numberline.tasks.scale import scaled


@dataclass(frozen=True, eq=False)
class Part:
    """Directions that were found at a site."""

    site: Site
    space: Subspace

    def removed(self, x: Float[Tensor, "n d"], seed: int) -> dict[str, list[list[Edit]]]:
        """The component set to its mean over a cloud, random ones along which it spreads as much, and everything."""
        average = x.mean(0)
        drawn = {"mean": [self.space], "random": matched(x, self.space, RANDOM_DRAWS, seed)}
        found: dict[str, list[list[Edit]]] = {
            name: [[set_coordinates(self.site, each, each.coordinates(average))] for each in spaces]
            for name, spaces in drawn.items()
        }
        return {**found, "whole": [[swap(self.site, average)]]}


def parts_of(lab: Lab, context: Context) -> dict[str, Part]:
    """u and v2, and as far as this run found them v1, the plane and the flag."""
    number = resid(require(context, "number_layer").layer)
    u, v2 = (context.subspace("k2.number", name) for name in ("u", "v2"))
    parts = {"u": Part(number.at("y1"), u), "v2": Part(number.at("y2"), v2)}
    try:
        role = require(context, "transport_head")
        parts["v1"] = Part(head(role.layer, role.head).at("y2"), context.subspace("k2.transport", "v1"))
        space = space_of(lab, context)
        parts["plane"] = Part(space.site, space.plane)
        (flag,) = context.need("k2.flag").rows("flag")
        parts["flag"] = Part(resid(flag["layer"]).at("y2"), context.subspace("k2.flag", f"flag_{flag['fitted']}"))
    except MissingError:
        pass  # each of these builds on the one before
    return parts


def read_cloud(lab: Lab, context: Context, parts: Mapping[str, Part]) -> dict[str, Float[Tensor, "n d"]]:
    """The states of many clean prompts at the site of each part."""
    task = two_numbers(context)
    prompts = encode(lab.tokenizer, task, cloud(task, context.sizes.number_cloud, context.seed))
    return dict(zip(parts, clouds.read(lab, prompts, [part.site for part in parts.values()]), strict=True))


@dataclass(frozen=True, eq=False)
class States:
    """y1's state by each fit, for every number, and the line through them."""

    part: Part
    values: range
    fits: Mapping[str, Float[Tensor, "values d"]]

    @classmethod
    def of(cls, lab: Lab, context: Context, part: Part) -> "States":
        """From one prompt for each number: what comes later cannot change y1's state."""
        task = two_numbers(context)
        others = dose_values(task)
        rows = [(y, next(x for x in others if task.lead(x) != task.lead(y))) for y in task.values]
        (means,) = clouds.read(lab, encode(lab.tokenizer, task, rows), [part.site])
        numbers = torch.tensor(task.values)
        return cls(part, task.values, fitted(means, numbers, scaled(task.concept, numbers)))

    def at(self, fit: str, numbers: Sequence[int]) -> Float[Tensor, "n d"]:
        """The states of some numbers."""
        return self.fits[fit][[self.values.index(number) for number in numbers]]

    def along(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """What of a difference lies along the line."""
        return x @ self.part.space.basis @ self.part.space.basis.T

    def mixed(self, fit: str, line: Sequence[int], rest: Sequence[int]) -> Float[Tensor, "n d"]:
        """The states whose component along the line is of some numbers, and the rest of others."""
        there = self.at(fit, rest)
        return there + self.along(self.at(fit, line) - there)


def untouched(pairs: CounterfactualPairs) -> CounterfactualPairs:
    """The clean prompts as what is run, scored by their winner's token against the other operand's.

    The scale is their own logit difference: a recovery is what is left of it, IIA the accuracy.
    """
    shown = [(e.a, next(x for x in e.clean if x != e.a)) for e in pairs.examples]
    tokens = answer_tokens(pairs.lab.tokenizer, pairs.task, [value for both in shown for value in both]).reshape(-1, 2)
    own = pld(pairs.lab.run(pairs.clean, [], Read(logits=tokens)).logits)
    return replace(pairs, corrupted=pairs.clean, answers=tokens, clean_pld=own, corrupted_pld=torch.zeros_like(own))
