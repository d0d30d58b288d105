"""Does the model need its comparator neurons? Accuracy with the shared neurons set to zero.

1. For 2, 3, 4, 5, 10 and 20 operands, 200 prompts each in the list format (those of behaviour.operands), the answer is
   decoded greedily for one token more than the operands have digits.
2. Conditions: the intact model; the shared neurons of two numbers zeroed at every token, those that are generated
   included; zeroed only at the last token of the final operand; and two random sets of as many other neurons of the
   same MLPs zeroed at every token, pooled.
3. Right is an answer whose leading characters are the true maximum, as in the paper; beside it, the stricter rule of
   behaviour.operands, that its first integer is the maximum.

Tables
- `accuracy`: k, condition ("intact", "every token", "last token", "random"), neurons (how many are zeroed), draws,
  metric ("leading", "integer"), right, mean, se, n, lo, hi (Wilson).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from numberline.engine.edits import Edit, zero
from numberline.engine.lab import Lab
from numberline.engine.sites import EVERYWHERE, neurons
from numberline.experiments.common.comparing import DRAWS, random_sets
from numberline.experiments.common.experiment import Context, MissingError, Result, experiment
from numberline.experiments.two.neurons import shared_places
from numberline.methods.answers import continuations
from numberline.methods.attribution import Place
from numberline.methods.intervals import wilson
from numberline.tasks.answers import Answer, read_answers
from numberline.tasks.layout import encode
from numberline.tasks.populations import operand_count
from numberline.tasks.sampling import Row
from numberline.tasks.task import Task

METRICS = ("leading", "integer")


@experiment("k3.ablation", needs=("k2.neurons",))
def ablation(lab: Lab, context: Context) -> Result:
    """Does the model need its comparator neurons, for any number of operands?"""
    found = context.need("k2.neurons")
    return measure(lab, context, shared_places(found), found.tensor("layers").tolist())


def measure(lab: Lab, context: Context, shared: Sequence[Place], layers: Sequence[int]) -> Result:
    """Accuracy with the shared neurons zeroed, and with random ones of the same layers."""
    if not shared:
        raise MissingError("there are no shared neurons to ablate: no neuron is in the top 20 of both cases")
    sizes = context.sizes
    count = context.meter(len(sizes.operand_counts) * sizes.operand_prompts)
    randoms = random_sets(lab, layers, shared, context.seed, DRAWS)
    rows: list[dict[str, Any]] = []
    for k in sizes.operand_counts:
        task, operands = operand_count(k, sizes.operand_prompts, context.concept, seed=context.seed)
        conditions: dict[str, list[list[Edit]]] = {
            "intact": [[]],
            "every token": [zeroed(shared, EVERYWHERE)],
            "last token": [zeroed(shared, task.operands[-1])],
            "random": [zeroed(places, EVERYWHERE) for places in randoms],
        }
        said = answers(lab, task, operands, conditions)
        for condition, draws in said.items():
            zeroes = 0 if condition == "intact" else len(shared)
            label = {"k": k, "condition": condition, "neurons": zeroes, "draws": len(draws)}
            rows += [{**label, **row} for row in accuracy(task, operands, draws)]
        count(len(operands))
    return Result.of({"accuracy": rows}, sizes.operand_prompts)


def zeroed(places: Sequence[Place], position: str) -> list[Edit]:
    """Set neurons to zero, one edit per layer."""
    layers = sorted({layer for layer, _ in places})
    ids = {layer: [neuron for there, neuron in places if there == layer] for layer in layers}
    return [zero(neurons(layer, ids[layer]).at(position)) for layer in layers]


def answers(
    lab: Lab, task: Task, operands: Sequence[Row], conditions: Mapping[str, Sequence[Sequence[Edit]]]
) -> dict[str, list[tuple[Answer, ...]]]:
    """What the model says under each draw of each condition."""
    prompts, flat = encode(lab.tokenizer, task, operands), [edits for draws in conditions.values() for edits in draws]
    said = continuations(lab, prompts, task.concept.answer_tokens, flat)
    each = iter(said)
    return {name: [read_answers(task, next(each)) for _ in draws] for name, draws in conditions.items()}


def accuracy(task: Task, operands: Sequence[Row], draws: Sequence[Sequence[Answer]]) -> list[dict[str, Any]]:
    """The share of right answers by either rule, all draws of a condition pooled."""
    rows = []
    for metric in METRICS:
        right = [
            is_right(answer, task, row, metric) for said in draws for answer, row in zip(said, operands, strict=True)
        ]
        rows.append({"metric": metric, "right": sum(right), **wilson(right).columns})
    return rows


def is_right(answer: Answer, task: Task, operands: Sequence[int], metric: str) -> bool:
    """Whether the answer's leading characters are the winner's, or its first integer is the winner."""
    winner = task.answer(operands)
    if metric == "integer":
        return answer.value == winner
    return answer.text.lstrip().startswith(task.spell(winner))
