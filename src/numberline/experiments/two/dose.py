"""Does moving on the plane move the answer? The dose-response sweep.

1. In a cloud of clean prompts the two coordinates of the frame (v1, v2) are read in the pre-MLP residual of the
   transport layer at y2: the coefficients c1, c2 of the component v1·c1 + v2·c2 in the plane. The coordinate of a
   chosen number is the mean over prompts that hold it, within ±2: of c1 by y1, of c2 by y2. (In the paper v1 and v2 are
   nearly orthogonal, and coefficients are projections. Where they are not, projections would mix the two numbers.)
2. Both coordinates are set, leaving the rest of the residual as it is, on a 9 × 9 grid with one value per leading digit
   (15, 25, …, 95).
3. The same 64 prompts of the cloud serve every cell; all cells are conditions of one sweep. (The paper does not say
   which prompts; as the cloud holds each pair in both orders, half of them have y1 > y2.)
4. Of the argmax answers that name either operand of the prompt, the fraction that names the first. The diagonal, where
   both coordinates are of one number, is masked.

Tables
- `response`: y1, y2 (of the cell), masked, neither (answers that name no operand), mean, se, n, lo, hi (Wilson; empty
  where no answer names an operand).
- `boundary`: how often, off the diagonal, the winner of the cell's values is the operand named; the interval is over
  prompts, for all cells of a prompt answer alike.
Tensors: fraction (y1 × y2), NaN where masked; coordinates (grid × 2: c1, c2); grid.
"""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from numberline.engine.edits import set_coordinates
from numberline.engine.lab import Lab, Read
from numberline.estimates import clustered_share
from numberline.experiments.common.experiment import Context, MissingError, Result, experiment
from numberline.experiments.two.patches import SPACE, SharedSpace, space_of, two_numbers
from numberline.methods.clouds import read
from numberline.methods.intervals import wilson
from numberline.tasks.layout import answer_tokens, encode
from numberline.tasks.populations import cloud, dose_values


@experiment("k2.dose", needs=SPACE)
def dose(lab: Lab, context: Context) -> Result:
    """Does moving on the plane of the two {nouns} move the answer?"""
    return measure(lab, context, space_of(lab, context))


def measure(lab: Lab, context: Context, space: SharedSpace) -> Result:
    """The sweep, given the plane."""
    task, sizes = two_numbers(context), context.sizes
    operands = cloud(task, sizes.shared_cloud, context.seed)
    grid = dose_values(task)
    cells = [(first, second) for first in range(len(grid)) for second in range(len(grid))]
    prompts = encode(lab.loaded.tokenizer, task, operands)
    chosen = prompts[: sizes.dose_prompts]
    count = context.meter(len(cells) * len(chosen))

    (states,) = read(lab, prompts, [space.site])
    located = coordinates_of(space, states, torch.tensor(operands), torch.tensor(grid), sizes.dose_window)
    into_plane = space.plane.basis.T @ space.directions
    conditions = [
        [set_coordinates(space.site, space.plane, into_plane @ torch.stack([located[first, 0], located[second, 1]]))]
        for first, second in cells
    ]
    found = lab.sweep(lab.record(chosen), conditions, Read(argmax=True), progress=count)
    assert found.argmax is not None
    flat = [value for row in operands[: len(chosen)] for value in row]
    tokens = answer_tokens(lab.loaded.tokenizer, task, flat).reshape(-1, 2)
    named = found.argmax.cpu()[:, :, None] == tokens
    if not bool(named[[first != second for first, second in cells]].any()):
        raise MissingError("under no setting of the coordinates does the model name either operand of the prompt")
    rows = [_row(grid[i], grid[j], named[number]) for number, (i, j) in enumerate(cells)]
    fraction = torch.tensor([row["mean"] if row["mean"] is not None else torch.nan for row in rows])
    fraction = fraction.reshape(len(grid), -1).masked_fill(torch.eye(len(grid), dtype=torch.bool), torch.nan)
    return Result.of(
        {"response": rows, "boundary": [_boundary(cells, grid, named, task.concept.sign)]},
        n=len(chosen),
        tensors={"fraction": fraction, "coordinates": located, "grid": torch.tensor(grid)},
    )


def coordinates_of(
    space: SharedSpace,
    states: Float[Tensor, "n d"],
    numbers: Int[Tensor, "n 2"],
    grid: Int[Tensor, " grid"],
    window: int,
) -> Float[Tensor, "grid 2"]:
    """The mean coefficient of v1 over prompts whose y1 is within the window of each value, and of v2 by y2."""
    coordinates = space.coefficients(states)
    distance = (numbers[:, :, None] - grid).abs()
    near = (distance <= window).float()
    # A small cloud may hold no prompt near a value: the window then widens to the nearest ones.
    near = torch.where(near.sum(0) > 0, near, (distance == distance.amin(0)).float())
    return (torch.einsum("nkg,nk->gk", near, coordinates) / near.sum(0).T).float()


def _row(first: int, second: int, named: Tensor) -> dict[str, Any]:
    """One cell: how many answers name the first operand, among those that name either."""
    either = named.any(1)
    empty = {"mean": None, "se": None, "n": 0, "lo": None, "hi": None}
    estimate = wilson(named[either, 0].tolist()).columns if bool(either.any()) else empty
    return {"y1": first, "y2": second, "masked": first == second, "neither": int((~either).sum()), **estimate}


def _boundary(
    cells: Sequence[tuple[int, int]], grid: Sequence[int], named: Bool[Tensor, "cells prompts 2"], sign: int
) -> dict[str, Any]:
    """How often, over all unmasked cells and their answers, the winner of the cell's values is the one named.

    The answers of one prompt go together: the interval is over prompts.
    """
    off = [number for number, (i, j) in enumerate(cells) if i != j]
    first_wins = torch.tensor([sign * (grid[i] - grid[j]) > 0 for i, j in cells])[off]
    either, first = named[off].any(2), named[off][:, :, 0]
    right = either & (first == first_wins[:, None])
    found = clustered_share(right.sum(0).tolist(), either.sum(0).tolist())
    return {"metric": "answers as the cell predicts", **found.columns}
