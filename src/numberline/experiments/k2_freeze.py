"""Which sub-blocks turn the plane into an answer? Freezing them, and injecting MLPs, at y2's position.

1. The (v1, v2) plane is patched in the pre-MLP residual of the transport layer. Meanwhile one sub-block's output at y2
   is pinned to its value in the unpatched corrupted run: attention and MLP of the three layers from the transport layer
   on, without the transport layer's attention, which lies before the patch. Then the MLPs two by two, and all three.
2. The cost of freezing is the pooled recovery that is lost. The MLPs that cost most are the role `comparator_mlps`.
3. The other way round: no plane patch; only the clean outputs of some MLPs are written into the corrupted run at y2,
   each alone, two by two, and all three.
Both cases; all conditions of a case are one sweep.

Tables
- `freeze`: case, frozen ("none": the plane patch alone; "attention 15", "mlp 14", "mlp 14+15"), kind, layers, metric,
  mean, se, n, lo, hi, near_ties, nonpositive.
- `inject`: case, layers, metric, … `costs`: case, layer, mean, …: pooled recovery lost by freezing that MLP alone.
- `roles`: comparator_mlps.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from numberline.engine.lab import Lab
from numberline.engine.sites import Site, attn, mlp
from numberline.experiments.experiment import Context, Result, experiment
from numberline.experiments.patches import CASES, SPACE, Patch, SharedSpace, freezing, space_of, swapping_all, trial
from numberline.experiments.roles import comparator_mlps, settle
from numberline.methods.intervals import ratio
from numberline.methods.scores import Scores, score

SPAN = 3
"""How many layers from the transport layer on."""


@experiment("k2.freeze", needs=SPACE, feeds=("app-mlp-freeze",))
def freeze(lab: Lab, context: Context) -> Result:
    """Which sub-blocks turn the plane into an answer?"""
    return measure(lab, context, space_of(lab, context))


def measure(lab: Lab, context: Context, space: SharedSpace) -> Result:
    """Freezing and injecting, given the plane."""
    layers = range(space.layer, min(space.layer + SPAN, lab.network.n_layers))
    frozen = [((), "none"), *sub_blocks(layers)]
    mlps = subsets(layers)
    conditions: list[Patch] = [freezing(space.patches["plane"], sites) for sites, _ in frozen]
    conditions += [swapping_all([mlp(layer).at("y2") for layer in chosen]) for chosen in mlps]
    count = context.meter(len(CASES) * len(conditions) * context.sizes.evaluation)
    tables: dict[str, list[dict[str, Any]]] = {"freeze": [], "inject": [], "costs": []}
    for case in CASES:
        examples = trial(lab, context, case)
        scores = score(lab, examples, [patch(examples) for patch in conditions], count)
        labels: list[dict[str, Any]] = [{"case": case, **describe(sites, kind)} for sites, kind in frozen]
        labels += [{"case": case, "layers": list(chosen)} for chosen in mlps]
        rows = scores.rows(labels)
        tables["freeze"] += [row for row in rows if "frozen" in row]
        tables["inject"] += [row for row in rows if "frozen" not in row]
        tables["costs"] += costs(case, scores, [sites for sites, _ in frozen])
    tables["roles"] = settle(lab, context, comparator_mlps(tables["costs"]))
    return Result.of(tables, context.sizes.evaluation)


def sub_blocks(layers: Sequence[int]) -> list[tuple[tuple[Site, ...], str]]:
    """What is frozen: each sub-block alone, then MLPs together."""
    alone = [((attn(layer).at("y2"),), "attention") for layer in layers[1:]]
    several = [(tuple(mlp(layer).at("y2") for layer in chosen), "mlp") for chosen in subsets(layers)]
    return [*alone, *several]


def subsets(layers: Sequence[int]) -> list[tuple[int, ...]]:
    """Each layer alone, two by two, and so on."""
    return [chosen for size in range(1, len(layers) + 1) for chosen in combinations(layers, size)]


def describe(sites: Sequence[Site], kind: str) -> dict[str, Any]:
    """The labels of what is frozen: "mlp 14", "mlp 14+15", "attention 15", "none"."""
    layers = [site.layer for site in sites]
    return {"frozen": f"{kind} {'+'.join(map(str, layers))}".strip(), "kind": kind, "layers": layers}


def costs(case: str, scores: Scores, frozen: Sequence[Sequence[Site]]) -> list[dict[str, Any]]:
    """The pooled recovery that freezing each single MLP costs, paired by example with the patch alone."""
    rows = []
    for number, sites in enumerate(frozen):
        if len(sites) == 1 and sites[0].kind == "mlp":
            lost = ratio(scores.pld[0] - scores.pld[number], scores.trial.scale)
            rows.append({"case": case, "layer": sites[0].layer, **lost.columns})
    return rows
