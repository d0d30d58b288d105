"""Did the run find how things are compared? Neurons, receptive fields, virtual weights, causal edges, dose-response.

Fields, weights and edges are compared with what the circuit's own description predicts (`models/planted/truth.py`), not
with the model's weights: RMSNorm and the rotation lie between. With noise, fields and edges are compared with what the
model itself does (`plain.py`): noise has moved its neurons.
"""

import torch

from numberline.engine.lab import Lab
from numberline.experiments.common.comparing import TOP
from numberline.experiments.common.experiment import Context
from numberline.experiments.two.patches import two_numbers
from numberline.models.planted import number
from numberline.models.planted.truth import Place
from numberline.results.cases import CASES
from numberline.tasks.counterfactuals import clean_operands, corrupted_operands, perturb, pool
from numberline.tasks.populations import cloud
from numberline.verify import plain
from numberline.verify.check import CORRELATION, BlindRun, Check, absent, at_least, at_most, correlation

KEPT, REMOVED = 0.5, 0.1
"""Shares of the effect: most is left (of 384 neurons a random draw of twenty meets one or two that matter), or none."""


def neurons(blind: BlindRun) -> list[Check]:
    """Attribution ranks the planted neurons first; freezing tells them from others."""
    checks = []
    planted = {*blind.truth.first_stage, *blind.truth.second_stage}
    for case in CASES:
        rows = blind.rows("k2.neurons", "scores")
        top = [(row["layer"], row["neuron"]) for row in rows if row[f"rank_{case}"] <= TOP]
        share = len(planted.intersection(top)) / len(top) if top else None
        checks.append(at_least("neurons", f"top {TOP} in case {case}", share, 1.0, "share that is planted"))
        scores = {
            frozen: [row["mean"] for row in blind.rows("k2.neurons", "sets", case=case, frozen=frozen, metric="pooled")]
            for frozen in ("none", "shared", "random")
        }
        if not all(scores.values()):
            checks.append(absent("neurons", f"freezing in case {case}", "the shared set carries the effect"))
            continue
        (whole,), (left,) = scores["none"], scores["shared"]
        checks.append(at_most("neurons", f"shared frozen, case {case}", left / whole, REMOVED, "share that is left"))
        random = sum(scores["random"]) / len(scores["random"]) / whole
        checks.append(at_least("neurons", f"random frozen, case {case}", random, KEPT, "share that is left"))
    return checks


def fields(blind: BlindRun, lab: Lab) -> list[Check]:
    """The receptive field of every reported neuron."""
    rows = blind.rows("k2.fields", "fields", group="shared")
    if not rows:
        return [absent("fields", "shared neurons", f"correlation ≥ {CORRELATION}")]
    places, axis = [(row["layer"], row["neuron"]) for row in rows], blind.tensor("k2.fields", "axis").long()
    for place in places:
        if place not in blind.truth.fields:
            return [Check("fields", f"neuron {place}", "not planted", "a planted neuron", False, 0.0)]
    grid = axis - number.VALUES.start
    planted = torch.stack([blind.truth.fields[place][grid][:, grid] for place in places])
    if blind.truth.noise:
        planted = plain.fields(lab, places, axis.tolist())
    measured = blind.tensor("k2.fields", "fields")[: len(places)]
    worst = min(correlation(one, other) for one, other in zip(measured, planted, strict=True))
    return [at_least("fields", f"the worst of {len(rows)}", worst, CORRELATION, "correlation")]


def weights(blind: BlindRun) -> list[Check]:
    """The virtual weights among the reported neurons."""
    if not blind.has("k2.connectivity"):
        return [absent("weights", "all pairs", f"correlation ≥ {CORRELATION}")]
    sources, targets = (_places(blind.tensor("k2.connectivity", name)) for name in ("sources", "targets"))
    planted = blind.truth.virtual_weights(sources, targets)
    name, measured = f"{len(sources)} × {len(targets)} pairs", blind.tensor("k2.connectivity", "weights")
    return [at_least("weights", name, correlation(measured, planted), CORRELATION, "correlation")]


def edges(blind: BlindRun, lab: Lab, context: Context) -> list[Check]:
    """The causal edges among the reported neurons, as the circuit predicts them for the same examples."""
    if not blind.has("k2.connectivity"):
        return [absent("edges", "all pairs", f"correlation ≥ {CORRELATION}")]
    sources, targets = (_places(blind.tensor("k2.connectivity", name)) for name in ("sources", "targets"))
    task = two_numbers(context)
    seen = cloud(task, context.sizes.edge_cloud, context.seed)
    checks = []
    for case, measured in zip(CASES, blind.tensor("k2.connectivity", "edges"), strict=True):
        examples = perturb(task, pool(task, context.seed, context.sizes).evaluation, case)
        pairs = clean_operands(examples), corrupted_operands(examples)
        planted = blind.truth.causal_edges(sources, targets, *pairs, seen)
        if blind.truth.noise:
            planted = plain.edges(lab, sources, targets, *pairs, seen)
        value = correlation(measured, planted)
        checks.append(at_least("edges", f"case {case}", value, CORRELATION, "correlation"))
    return checks


def dose(blind: BlindRun) -> list[Check]:
    """Coordinates on the plane are the magnitudes, and the answer changes where they are equal.

    In every cell most answers name the operand that the cell's magnitudes make the larger: then the boundary on the
    plane is the planted one, as finely as the grid shows it. Single answers beside it depend on what a learned
    direction leaves of the prompt's own numbers. A cell is wrong when its whole interval is beyond one half.
    """
    if not blind.has("k2.dose"):
        return [absent("dose", "boundary", "answers as the magnitudes say")]
    level = blind.truth.magnitude
    grid, located = (blind.tensor("k2.dose", name) for name in ("grid", "coordinates"))
    magnitudes = blind.truth.magnitudes[grid.long() - number.VALUES.start]
    wrong = [
        not row["n"] or (row["hi"] < 0.5 if level(row["y1"]) > level(row["y2"]) else row["lo"] > 0.5)
        for row in blind.rows("k2.dose", "response", masked=False)
    ]
    title, share = "cells on the wrong side of the boundary", sum(wrong) / len(wrong)
    near = [correlation(located[:, i], magnitudes) for i in (0, 1)]
    return [
        Check("dose", title, f"{sum(wrong)} of {len(wrong)}", "none", not any(wrong), share, less_is_better=True),
        at_least("dose", "coordinates", min(near), CORRELATION, "correlation with the magnitudes"),
    ]


def _places(rows: torch.Tensor) -> list[Place]:
    return [(int(layer), int(neuron)) for layer, neuron in rows.tolist()]
