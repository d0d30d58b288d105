"""Does the model solve the task, and up to how many operands? Whole-number accuracy under greedy decoding.

1. The model continues each prompt greedily by one token more than the operands have digits; the answer is the first
   integer of that text. It is right when it equals the true maximum.
2. `behaviour.pairs`: all 8,010 ordered two-digit pairs, 4,000 three-digit pairs drawn with replacement and as many
   two-digit triples; for the built-in trained models also the pairs that were left out of their training.
3. `behaviour.operands`: 2, 3, 4, 5, 10 and 20 distinct two-digit operands, 200 prompts each, all in the list format.

Tables: `accuracy`, one row per population with its Wilson interval; `mistakes`, every wrong answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from numberline.engine.lab import Lab
from numberline.experiments.common.experiment import Context, Result, experiment
from numberline.methods.intervals import wilson
from numberline.models.catalogue import TRAINED
from numberline.tasks.answers import Answer, answer
from numberline.tasks.held_out import held_out
from numberline.tasks.populations import all_pairs, drawn_pairs, operand_count
from numberline.tasks.sampling import Rows
from numberline.tasks.task import Task

MISTAKES = pa.schema(
    {
        "population": pa.string(),
        "operands": pa.list_(pa.int64()),
        "right": pa.int64(),
        "said": pa.int64(),
        "text": pa.string(),
    }
)


@dataclass(frozen=True)
class Population:
    """Prompts whose accuracy is one row of the table."""

    name: str
    task: Task
    operands: Rows


@experiment("behaviour.pairs")
def pairs(lab: Lab, context: Context) -> Result:
    """How often does the model name the winner of two {nouns}, and of three?"""
    concept, sizes, seed = context.concept, context.sizes, context.seed
    two = Task(concept)
    populations = [_population("pairs", two, all_pairs(two, sizes.pairs, seed))]
    if concept.digits is not None:
        longer = Task(concept, digits=3)
        populations.append(_population("pairs", longer, drawn_pairs(longer, sizes.three_digit_pairs, seed)))
    populations.append(_population("triples", *operand_count(3, sizes.three_digit_pairs, concept, seed)))
    return measure(lab, context, populations, with_held_out=lab.loaded.name in TRAINED)


def _population(what: str, task: Task, operands: Rows) -> Population:
    return Population(f"{task.concept.words.adjective} {what}", task, operands)


@experiment("behaviour.operands")
def operands(lab: Lab, context: Context) -> Result:
    """How does accuracy fall with the number of operands?"""
    populations = []
    for k in context.sizes.operand_counts:
        task, rows = operand_count(k, context.sizes.operand_prompts, context.concept, context.seed)
        populations.append(Population(f"{k} operands", task, rows))
    return measure(lab, context, populations)


def measure(lab: Lab, context: Context, populations: Sequence[Population], with_held_out: bool = False) -> Result:
    """Accuracy on each population, and every mistake."""
    total = sum(len(population.operands) for population in populations)
    count = context.meter(total)
    accuracy: list[dict[str, Any]] = []
    mistakes: list[dict[str, Any]] = []
    for population in populations:
        task, rows = population.task, population.operands
        answers = answer(lab, task, rows, count)
        right = [said.value == task.answer(row) for said, row in zip(answers, rows, strict=True)]
        accuracy.append(_row(population.name, task, right))
        if with_held_out and (task.k, task.digits) == (2, 2):
            unseen = [ok for ok, out in zip(right, held_out(rows), strict=True) if out]
            accuracy.append(_row(f"{population.name}, left out of training", task, unseen))
        wrong = [i for i, ok in enumerate(right) if not ok]
        mistakes += [_mistake(population, rows[i], answers[i]) for i in wrong]
    return Result.of({"accuracy": accuracy, "mistakes": pa.Table.from_pylist(mistakes, MISTAKES)}, n=total)


def _row(name: str, task: Task, right: Sequence[bool]) -> dict[str, Any]:
    """One row of the table of accuracies."""
    return {"population": name, "k": task.k, "digits": task.digits, "right": sum(right), **wilson(right).columns}


def _mistake(population: Population, row: Sequence[int], said: Answer) -> dict[str, Any]:
    right = population.task.answer(row)
    return {
        "population": population.name,
        "operands": list(row),
        "right": right,
        "said": said.value,
        "text": said.text,
    }
