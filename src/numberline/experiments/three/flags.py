"""Does each number's position hold a flag "the largest so far"? One direction at y2's and at y3's position.

1. In the residual leaving the flag layer (of two numbers) a rank-one direction is fitted by DAS on the fitting
   examples: at y3 in each of the three perturbation cases, at y2 in the two in which something changes that y2 can see.
2. Each is evaluated, without refitting, in every case at its position, on evaluation and on fitting examples, beside
   the full-rank patch of that residual and random directions.
3. Signed so that the component is larger where the position's own number is the largest so far; the component over the
   1,500-prompt cloud, and how well its sign tells (`separation`).
4. In none of these cases does y2's flag alone decide the answer, for y3 wins the corrupted prompt. Beyond the paper,
   the case "decides" is the head group y1 > y2 > y3 at y2's position: there it does, and the direction fitted in it is
   the one that the next step uses at y2.
5. Beyond the paper: which operand does the model name when the flags are set by hand? (`flag_patterns.py`)

Tables
- `patches`: position ("y2", "y3"), layer, case ("y1", "y2", "y3", "decides"), condition ("flag_y1", "flag_y2",
  "flag_y3", "flag_decides": by the case it was fitted in; "full", "random"), examples, draws, spread, metric, mean, se,
  n, lo, hi, near_ties, nonpositive.
- `cloud`: y1, y2, y3, and one column for each flag, named flag_POSITION_CASE: flag_y2_y1, flag_y2_y2, flag_y3_y1, ….
- `separation`: position, method ("DAS", or how else it began), fitted (the case), mean … (accuracy of a threshold),
  auc, d_prime.
- `cosines`: first, second (flag_POSITION_CASE), cosine.
- `patterns`, `rules`, `verdict`: in flag_patterns.py.
Tensors: flag_POSITION_CASE (d). Subspaces: k3_flag_POSITION_CASE.
"""

from collections.abc import Mapping

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from numberline.engine.lab import Lab
from numberline.engine.sites import Site, resid
from numberline.engine.subspace import Subspace
from numberline.experiments.common.directions import EXAMPLES, Rows, cosines
from numberline.experiments.common.experiment import Context, Result, experiment
from numberline.experiments.common.roles import require
from numberline.experiments.three.flag_patterns import Flag, levels, pattern_tables
from numberline.experiments.three.space import ordered_pairs, split_of, three_numbers
from numberline.experiments.two.flag import fit_flags, patch_rows
from numberline.experiments.two.flag_cloud import separation, sign_flags
from numberline.methods.clouds import read
from numberline.methods.das import STEPS
from numberline.methods.draws import Scoreboard
from numberline.methods.pairs import Pairs
from numberline.tasks.counterfactuals import CASE_ORDERS, HEAD_GROUPS, Order
from numberline.tasks.layout import encode
from numberline.tasks.populations import cloud
from numberline.tasks.task import Task

DECIDES = "decides"
ORDERS: Mapping[str, Order] = {**CASE_ORDERS, DECIDES: next(iter(HEAD_GROUPS))}
FITTED: Mapping[str, tuple[str, ...]] = {"y2": ("y1", "y2", DECIDES), "y3": ("y1", "y2", "y3")}
"""The cases of each position: those in which something changes that it can see."""
BY_HAND = {"y2": DECIDES, "y3": "y3"}
"""The fit whose direction is set by hand: the one of the case in which that flag alone decides the answer."""


@experiment("k3.flags", needs=("k3.trace", "k2.flag"))
def flags(lab: Lab, context: Context) -> Result:
    """Do y2's and y3's positions hold a flag, and does the model name the latest {noun} whose flag is set?"""
    return measure(lab, context, require(context, "flag_layer").layer)


def measure(lab: Lab, context: Context, layer: int, steps: int = STEPS) -> Result:
    """Fit, evaluate and project the flags of both positions; then set them by hand."""
    task, sizes = three_numbers(context), context.sizes
    count = context.meter(sum(map(len, FITTED.values())) * steps + 1)
    pairs_of: dict[str, dict[str, Pairs]] = {
        split: {case: ordered_pairs(lab, context, order, split, upto=layer) for case, order in ORDERS.items()}
        for split in EXAMPLES
    }
    operands = torch.tensor(cloud(task, sizes.three_cloud, context.seed))
    places = ("y1", *FITTED)
    read_at = [resid(layer).at(position) for position in places]
    prompts = encode(lab.tokenizer, task, operands.tolist())
    states = dict(zip(places, read(lab, prompts, read_at), strict=True))
    found: dict[str, Subspace] = {}
    columns = {f"y{i + 1}": operands[:, i].tolist() for i in range(task.k)}
    board, separations = Scoreboard(), Rows()
    by_hand: dict[str, Flag] = {}
    for position, cases in FITTED.items():
        site, wins = resid(layer).at(position), largest_so_far(task, operands, position)
        fitted = fit_flags(context, {case: pairs_of["fitting"][case] for case in cases}, site, steps, count)
        signed, along = sign_flags(fitted, states[position], wins)
        splits = {split: {case: pairs_of[split][case] for case in cases} for split in EXAMPLES}
        board.extend(patch_rows(lab, context, site, signed, splits, position))
        separations += [
            {"position": position, "method": signed[case].provenance["method"], **separation(case, along[case], wins)}
            for case in cases
        ]
        columns |= {f"flag_{position}_{case}": values.tolist() for case, values in along.items()}
        found |= {f"flag_{position}_{case}": direction for case, direction in signed.items()}
        chosen = BY_HAND[position]
        by_hand[position] = Flag(site, signed[chosen], *levels(along[chosen], wins))
    by_hand["y1"] = borrowed(by_hand["y2"], resid(layer).at("y1"), states["y1"])
    beyond = pattern_tables(lab, task, split_of(context).evaluation, by_hand, context.seed)
    count(1)
    return Result.of(
        {
            **board.tables("patches"),
            "separation": separations,
            "cloud": columns,
            "cosines": cosines(found),
            **beyond,
        },
        sizes.evaluation,
        {name: direction.basis[:, 0] for name, direction in found.items()},
        {f"k3_{name}": direction for name, direction in found.items()},
    )


def largest_so_far(task: Task, operands: Tensor, position: str) -> Bool[Tensor, " n"]:
    """Whether the number at a position is the best of those up to it."""
    seen = task.concept.sign * operands[:, : int(position[1:])]
    return seen[:, -1] == seen.amax(1)


def borrowed(flag: Flag, site: Site, states: Float[Tensor, "n d"]) -> Flag:
    """A flag for y1, which has none of its own, as it is always the largest so far: along another's direction, set
    as it is by nature, unset by as much as the other's levels are apart."""
    natural = float(flag.direction.coordinates(states).mean())
    return Flag(site, flag.direction, natural, natural - (flag.set_level - flag.unset_level))
