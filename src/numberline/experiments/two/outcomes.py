"""What does a patched model say? The position of the answer moves, not its value.

1. Three interventions on the evaluation examples: none and the full residual leaving the number layer at y2 (both with
   y2 perturbed), and u at y1 (y1 perturbed). The answer is decoded greedily, its first integer is taken.
2. It is one of: r, the corrupted operand at the clean winner's position; b, the corrupted answer; a, the clean answer;
   mixed, the leading digit of r followed by the last digit of a; other. In this order: an answer equal to r is r.
3. Examples of the two patches: two of u, four of the full residual, so that mistakes are among them.

Tables
- `outcomes`: intervention ("none", "full_number_y2", "u"), case, said ("r", "b", "a", "mixed", "other"), mean, se, n,
  lo, hi (Wilson).
- `examples`: condition, case, clean, corrupted, r, said, text, right (as in two/whole.py).
"""

from typing import Any

import pyarrow as pa
from jaxtyping import Float
from torch import Tensor

from numberline.engine.edits import Edit
from numberline.engine.lab import Lab
from numberline.engine.sites import resid
from numberline.experiments.common.experiment import Context, Result, experiment
from numberline.experiments.common.roles import require
from numberline.experiments.two.patches import case_pairs, swapping
from numberline.experiments.two.whole import EXAMPLES, choose, told
from numberline.methods.answers import decoded
from numberline.methods.intervals import wilson
from numberline.tasks.answers import read_answers
from numberline.tasks.counterfactuals import Counterfactual
from numberline.tasks.task import Task

KINDS = ("r", "b", "a", "mixed", "other")
SHOWN = {"u": (1, 1), "full_number_y2": (2, 2)}
"""How many right answers and mistakes of each patch are shown."""


@experiment("behaviour.outcomes", needs=("k2.trace", "k2.number"))
def outcomes(lab: Lab, context: Context) -> Result:
    """Does a patch move the answer's position, or its value?"""
    layer = require(context, "number_layer").layer
    return measure(lab, context, layer, context.tensor("k2.number", "u").flatten())


def measure(lab: Lab, context: Context, number_layer: int, u: Float[Tensor, " d"]) -> Result:
    """Decode under each intervention and sort what was said."""
    number = resid(number_layer)
    patches = {
        "y2": {"none": lambda _: list[Edit](), "full_number_y2": swapping(number.at("y2"))},
        "y1": {"u": swapping(number.at("y1"), u[:, None])},
    }
    count = context.meter(len(patches) * context.sizes.evaluation)
    rows: list[dict[str, Any]] = []
    shown: list[dict[str, Any]] = []
    for case, named in patches.items():
        examples = case_pairs(lab, context, case)
        task = examples.task
        conditions = [patch(examples) for patch in named.values()]
        said_by = lab.decode(examples.corrupted, conditions, task.concept.answer_tokens)
        for name, tokens in zip(named, said_by, strict=True):
            answers = read_answers(task, decoded(lab.tokenizer, tokens))
            kinds = [sort(task, e, answer.value) for e, answer in zip(examples.examples, answers, strict=True)]
            for kind in KINDS:
                share = wilson([found == kind for found in kinds]).columns
                rows.append({"intervention": name, "case": case, "said": kind, **share})
            if name in SHOWN:
                shown += [{"condition": name, **row} for row in choose({case: told(examples, answers)}, *SHOWN[name])]
        count(len(examples))
    return Result.of({"outcomes": rows, "examples": pa.Table.from_pylist(shown, EXAMPLES)}, context.sizes.evaluation)


def sort(task: Task, example: Counterfactual, said: int | None) -> str:
    """Which of the kinds an answer is."""
    for kind, value in (("r", example.r), ("b", example.b), ("a", example.a)):
        if said == value:
            return kind
    mixed = task.concept.mixed
    if said is None or mixed is None:
        return "other"
    return "mixed" if task.spell(said) == mixed(task.spell(example.r), task.spell(example.a)) else "other"
