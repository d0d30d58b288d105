"""Is there a flag at every position, with four and five {nouns} too? Beyond the paper, which stops at three.

1. For k = 3, 4, 5 operands: candidate tuples of k + 1 values, a quarter more than are needed, kept when the model
   solves them in every value order used here. A model that solves too few of them is not asked further.
2. At the position of each operand yt after the first, the value order is yt > y(t−1) > … > y1 > y(t+1) > … > yk, and
   yt is what changes. Then yt is the largest so far or not, no later number is in either prompt, and the runner-up
   comes before yt: the flag at yt alone decides.
3. In the residual leaving the flag layer at yt: a rank-one direction fitted there by DAS; the flag of three numbers
   (k3.flags, at y3, fitted with y3 perturbed) without refitting; the full residual; random directions. On evaluation
   and on fitting examples.
4. Over a cloud of clean prompts, how well the component tells whether yt is the largest so far.
5. There is a flag at a position when the fitted direction recovers a tenth or more, beyond its own error and beyond the
   random directions, and its component tells nine prompts in ten. It decides when it turns more than half of the
   answers.

Tables
- `solved`: k, solved, candidates, used (whether enough are solved), why.
- `patches`: k, position, case, layer, condition ("flag", "flag_k3", "full", "random"), examples, draws, spread, metric,
  mean, …
- `separation`: k, position, fitted ("flag", "flag_k3"), mean … (accuracy of a threshold), auc, d_prime.
- `cosines`: k, position, cosine (of the fitted direction with the flag of three numbers).
- `verdict`: k, position, found, decides, recovery, tells, why.
Subspaces: flag_kK_POSITION.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from numberline.engine.lab import Lab
from numberline.engine.sites import resid
from numberline.engine.subspace import Subspace
from numberline.errors import NumberlineError
from numberline.experiments.common.directions import Rows
from numberline.experiments.common.experiment import Context, MissingError, Result, experiment
from numberline.experiments.common.role_rules import LEAST
from numberline.experiments.common.roles import require
from numberline.experiments.three.flags import largest_so_far
from numberline.experiments.three.space import solved
from numberline.experiments.two.flag import fit_flags, patch_rows
from numberline.experiments.two.flag_cloud import separation, sign_flags
from numberline.methods.clouds import read
from numberline.methods.das import STEPS
from numberline.tasks.counterfactuals import Hand, Order, Split, arrange, needed, pool
from numberline.tasks.layout import encode
from numberline.tasks.pairs import record_pairs
from numberline.tasks.populations import cloud
from numberline.tasks.task import Task

COUNTS = (3, 4, 5)
FITTING = 32
"""At most so many fitting examples: a quarter of the paper's, for there are nine fits."""
TELLS = 0.9
HALF = 0.5


@experiment("k3.flags_beyond", needs=("k2.flag", "k3.flags"))
def flags_beyond(lab: Lab, context: Context) -> Result:
    """Is there a flag at every position, with four and five {nouns} too?"""
    three = context.subspace("k3.flags", "k3_flag_y3_y3")
    return measure(lab, context, require(context, "flag_layer").layer, three)


def decisive(k: int) -> dict[str, Order]:
    """For each operand after the first, the value order in which its flag alone decides."""
    names = [f"y{i}" for i in range(1, k + 1)]
    return {names[t]: (*reversed(names[: t + 1]), *names[t + 1 :]) for t in range(1, k)}


def measure(
    lab: Lab, context: Context, layer: int, three: Subspace, counts: Sequence[int] = COUNTS, steps: int = STEPS
) -> Result:
    """Look for the flags of every count of operands that the model solves."""
    count = context.meter(sum(k - 1 for k in counts) * steps)
    tables: dict[str, Rows] = {name: [] for name in ("solved", "patches", "separation", "cosines", "verdict")}
    found: dict[str, Subspace] = {}
    for k in counts:
        task = Task(context.concept, k=k)
        split, row = population(lab, context, task)
        tables["solved"].append(row)
        if split is None:
            count((k - 1) * steps)
            continue
        operands = torch.tensor(cloud(task, context.sizes.three_cloud, context.seed))
        sites = {position: resid(layer).at(position) for position in decisive(k)}
        states = read(lab, encode(lab.tokenizer, task, operands.tolist()), list(sites.values()))
        for (position, order), x in zip(decisive(k).items(), states, strict=True):
            hands: dict[Hand, tuple[tuple[int, ...], ...]] = {
                "evaluation": split.evaluation,
                "fitting": split.fitting[:FITTING],
            }
            pairs_of = {
                name: record_pairs(lab, task, arrange(task, hand, order), upto=layer) for name, hand in hands.items()
            }
            flags = {
                "flag": fit_flags(context, {position: pairs_of["fitting"]}, sites[position], steps, count)[position],
                "flag_k3": three,
            }
            wins = largest_so_far(task, operands, position)
            signed, along = sign_flags(flags, x, wins)
            where = {"k": k, "position": position}
            splits = {name: {position: pairs} for name, pairs in pairs_of.items()}
            patched = named_rows(patch_rows(lab, context, sites[position], signed, splits, position).rows)
            told = [separation(name, values, wins) for name, values in along.items()]
            tables["patches"] += [{**where, **row} for row in patched]
            tables["separation"] += [{**where, **row} for row in told]
            cosine = float((signed["flag"].basis * signed["flag_k3"].basis).sum())
            tables["cosines"].append({**where, "cosine": cosine})
            tables["verdict"].append({**where, **verdict(patched, told[0])})
            found[f"flag_k{k}_{position}"] = signed["flag"]
    if not found:
        raise MissingError(f"the model solves too few prompts of {', '.join(map(str, counts))} operands")
    return Result.of(tables, context.sizes.evaluation, subspaces=found)


def population(lab: Lab, context: Context, task: Task) -> tuple[Split | None, dict[str, Any]]:
    """The solved tuples, dealt to evaluation and fitting, if there are enough."""
    sizes = replace(context.sizes, candidates=needed(context.sizes) * 5 // 4)
    orders = list(decisive(task.k).values())
    mask = solved(lab, replace(context, sizes=sizes), task, orders).tolist()
    row = {"k": task.k, "solved": sum(mask), "candidates": len(mask)}
    try:
        return pool(task, context.seed, sizes, mask), {**row, "used": True, "why": ""}
    except NumberlineError as few:
        return None, {**row, "used": False, "why": str(few)}


def named_rows(rows: Rows) -> Rows:
    """Conditions by their own names: patch_rows calls a flag "flag_" and the case it was fitted in."""
    return [{**row, "condition": row["condition"].removeprefix("flag_")} for row in rows]


def verdict(patches: Sequence[Mapping[str, Any]], told: Mapping[str, Any]) -> dict[str, Any]:
    """Whether one direction at a position is a flag."""
    scores = {(row["condition"], row["metric"]): row for row in patches if row["examples"] == "evaluation"}
    flag, random, turned = (scores[name] for name in (("flag", "pooled"), ("random", "pooled"), ("flag", "iia")))
    moves = flag["mean"] >= LEAST and flag["lo"] > max(0.0, random["hi"])
    tells = told["lo"] >= TELLS
    why = (
        f"one direction recovers {flag['mean']:.2f} (random {random['mean']:.2f}), turns {turned['mean']:.2f} of the "
        f"answers and tells {told['mean']:.2f} of the prompts"
    )
    found = {"found": bool(moves and tells), "decides": bool(moves and tells and turned["lo"] > HALF)}
    return {**found, "recovery": flag["mean"], "tells": told["mean"], "why": why}
