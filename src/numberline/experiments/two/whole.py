"""Does a patch make the model say the whole number r, or only its first digit? IIA on the generated number.

1. Every patch of the main text (`patches.py`; the flag of k2.flag that was fitted with y1 perturbed) runs on the
   evaluation examples, in the cases in which the paper evaluates it, and the answer is decoded greedily for one token
   more than the operands have digits. All patches of a case are one batch.
2. First digit: the first generated token is t(r). Whole number: the first integer of the answer is r.
3. Five examples per patch, to include correct answers and mistakes: three right ones and two wrong ones where there are
   as many, mistakes other than b first, the two cases in turn.

Tables
- `whole`: condition (a name of patches.py, or "flag"), case, metric ("first", "whole"), mean, se, n, lo, hi.
- `examples`: condition, case, clean, corrupted, r, said, text, right.
"""

from collections.abc import Sequence
from itertools import chain, zip_longest
from typing import Any

import pyarrow as pa
import torch

from numberline.engine.lab import Lab
from numberline.engine.sites import resid
from numberline.experiments.common.experiment import Context, Result, experiment
from numberline.experiments.common.roles import require
from numberline.experiments.two.patches import SPACE, Patch, SharedSpace, case_pairs, space_of, swapping
from numberline.methods.answers import decoded
from numberline.methods.intervals import mean
from numberline.results.cases import CASES
from numberline.tasks.answers import Answer, read_answers
from numberline.tasks.counterfactuals import Counterfactual
from numberline.tasks.pairs import CounterfactualPairs

BOTH = ("v1", "full_number_y2", "v2", "v1_v2", "plane", "full_resid", "flag")
PATCHES = {"y1": ("full_number_y1", "u", "v1_mid", *BOTH), "y2": BOTH}
"""The patches of each case; the paper's table has dashes for the others."""
RIGHT, WRONG = 3, 2
"""Examples of each kind, where there are as many."""
EXAMPLES = pa.schema(
    {
        "condition": pa.string(),
        "case": pa.string(),
        "clean": pa.list_(pa.int64()),
        "corrupted": pa.list_(pa.int64()),
        "r": pa.int64(),
        "said": pa.int64(),
        "text": pa.string(),
        "right": pa.bool_(),
    }
)


@experiment("k2.whole", needs=(*SPACE, "k2.flag"))
def whole(lab: Lab, context: Context) -> Result:
    """Does a patch make the model say the whole {noun}, or only its first {part}?"""
    space, found = space_of(lab, context), context.needs["k2.flag"]
    flag = None
    if found.missing is None:
        site = resid(require(context, "flag_layer").layer).at("y2")
        flag = swapping(site, context.subspace("k2.flag", "flag_y1"))
    return measure(lab, context, space, flag)


def measure(lab: Lab, context: Context, space: SharedSpace, flag: Patch | None) -> Result:
    """Decode under every patch; without a flag, its row is left out."""
    patches = dict(space.patches) | ({"flag": flag} if flag is not None else {})
    count = context.meter(len(CASES) * context.sizes.evaluation)
    rows: list[dict[str, Any]] = []
    said: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for case in CASES:
        names = [name for name in PATCHES[case] if name in patches]
        examples = case_pairs(lab, context, case)
        task = examples.task
        said_by = lab.decode(
            examples.corrupted, [patches[name](examples) for name in names], task.concept.answer_tokens
        )
        for name, tokens in zip(names, said_by, strict=True):
            answers = read_answers(task, decoded(lab.tokenizer, tokens))
            first = (tokens[:, 0] == examples.answers[:, 0]).double()
            exact = torch.tensor([answer.value == e.r for answer, e in zip(answers, examples.examples, strict=True)])
            for metric, hits in (("first", first), ("whole", exact.double())):
                rows.append({"condition": name, "case": case, "metric": metric, **mean(hits).columns})
            said.setdefault(name, {})[case] = told(examples, answers)
        count(len(examples))
    order = [name for name in chain(PATCHES["y1"], PATCHES["y2"]) if name in said]
    chosen = [{"condition": name, **row} for name in dict.fromkeys(order) for row in choose(said[name])]
    return Result.of({"whole": rows, "examples": pa.Table.from_pylist(chosen, EXAMPLES)}, context.sizes.evaluation)


def told(pairs: CounterfactualPairs, answers: Sequence[Answer]) -> list[dict[str, Any]]:
    """Each example with what the model said."""
    return [describe(example, answer) for example, answer in zip(pairs.examples, answers, strict=True)]


def describe(example: Counterfactual, answer: Answer) -> dict[str, Any]:
    """A row of an examples table."""
    return {
        "case": example.case,
        "clean": list(example.clean),
        "corrupted": list(example.corrupted),
        "r": example.r,
        "said": answer.value,
        "text": answer.text,
        "right": answer.value == example.r,
        "b": example.b,
    }


def choose(said: dict[str, list[dict[str, Any]]], right: int = RIGHT, wrong: int = WRONG) -> list[dict[str, Any]]:
    """Right answers and mistakes, the cases in turn; where one kind is short, more of the other."""
    mixed = [row for turn in zip_longest(*said.values()) for row in turn if row is not None]
    hits = [row for row in mixed if row["right"]]
    misses = sorted((row for row in mixed if not row["right"]), key=lambda row: bool(row["said"] == row["b"]))
    few = max(right + wrong - len(misses), right)
    kept = hits[:few]
    kept += misses[: right + wrong - len(kept)]
    return [{name: value for name, value in row.items() if name != "b"} for row in kept]
