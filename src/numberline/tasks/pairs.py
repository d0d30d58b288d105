"""Pairs from counterfactuals: the task's prompts of both sides, and the answer tokens t(r), t(b) of each."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from numberline.engine.lab import Lab
from numberline.engine.recording import Keep
from numberline.methods.pairs import Pairs, record
from numberline.tasks.counterfactuals import Counterfactual, answer_ids, clean_operands, corrupted_operands
from numberline.tasks.layout import encode
from numberline.tasks.task import Task


@dataclass(frozen=True, eq=False)
class CounterfactualPairs(Pairs):
    """Pairs that know the task and the counterfactuals that they are recordings of."""

    task: Task
    examples: tuple[Counterfactual, ...]

    def part(self, rows: slice) -> "CounterfactualPairs":
        """Some of the examples, sharing the recordings' memory."""
        return replace(super().part(rows), examples=self.examples[rows])


def record_pairs(
    lab: Lab, task: Task, examples: Sequence[Counterfactual], keep: Sequence[Keep] = (), upto: int | None = None
) -> CounterfactualPairs:
    """Record both sides of counterfactuals; `upto`: the last layer at which the clean side is a source."""
    clean, corrupted = (
        encode(lab.tokenizer, task, operands) for operands in (clean_operands(examples), corrupted_operands(examples))
    )
    tokens = answer_ids(lab.tokenizer, task, examples)
    pairs = record(lab, clean, corrupted, tokens, f"{examples[0].case} perturbed", keep, upto)
    known = {each.name: getattr(pairs, each.name) for each in fields(pairs)}
    return CounterfactualPairs(**known, task=task, examples=tuple(examples))
