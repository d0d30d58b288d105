"""Which operand does the model name when its flags are set by hand?

The paper leaves a hypothesis open: the model may check the flags in decreasing t and take the first that is set. Here
it is put to the test.

1. A flag is a direction at a number's position with two levels: the mean component over clean prompts in which that
   number is the largest so far (set), and is not (unset).
2. On evaluation triples, dealt to the six value orders in turn, the components at y2 and y3 are set to each of the four
   patterns of levels; y1 is left as it is. Then the same with y1's component set or unset: all eight patterns.
3. Which operand is named: the most likely next token is the first of y1, y2, y3, or none of these.
4. As a control the same prompts with the state moved as far along random directions, which should change nothing.
5. Three rules predict each answer: the latest number whose flag is set (the hypothesis), the earliest one after y1
   whose flag is set, and the largest number whatever the flags. Where no flag after y1 is set, the first two say y1;
   where not even y1's is, they say nothing.
6. The verdict: the hypothesis holds when in every pattern for which it predicts something, more than half of the
   answers (the lower end of the interval) are what it predicts; it fails when that is so in fewer than half of them.

Tables
- `patterns`: direction ("flag", "random", "none": unedited), y1, y2, y3 ("set", "unset", "as is"), predicted (by the
  hypothesis; "" where nothing), winner ("all", or the true winner's position), named ("y1", "y2", "y3", "other"), mean,
  se, n, lo, hi (Wilson): the share of answers that name it. Draws of a control are pooled.
- `rules`: rule ("latest", "earliest", "largest"), mean, se, n, lo, hi: the share of all answers, over the patterns for
  which the hypothesis predicts something, that the rule predicts.
- `verdict`: verdict ("holds", "in part", "fails"), right, patterns (how many), why.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from numberline.engine.edits import Edit, add, set_coordinates
from numberline.engine.lab import Lab, Read
from numberline.engine.recording import Recording
from numberline.engine.sites import Site
from numberline.engine.subspace import Subspace
from numberline.estimates import clustered_share
from numberline.experiments.common.directions import Rows
from numberline.methods.das import random_subspaces
from numberline.methods.intervals import drawn_share
from numberline.tasks.layout import answer_tokens, encode
from numberline.tasks.sampling import Row
from numberline.tasks.task import Task

SET, UNSET, AS_IS = "set", "unset", "as is"
DRAWS = 2
HALF = 0.5
RULES = ("latest", "earliest", "largest")

Pattern = Mapping[str, str]
"""What each operand's flag is made: set, unset, or left as it is."""


@dataclass(frozen=True, eq=False)
class Flag:
    """A direction at a site, and its component where the number is the largest so far and where it is not."""

    site: Site
    direction: Subspace
    set_level: float
    unset_level: float

    def level(self, setting: str) -> float:
        """The component that makes the flag set or unset."""
        return self.set_level if setting == SET else self.unset_level

    def edit(self, setting: str) -> Edit:
        """Set the component to a level."""
        return set_coordinates(self.site, self.direction, torch.tensor([self.level(setting)]))

    def moved(self, setting: str, recording: Recording, along: Subspace) -> Edit:
        """As large a move, along another direction."""
        now = self.direction.coordinates(recording.value(self.site)[:, 0].float().cpu())
        return add(self.site, (self.level(setting) - now) @ along.basis.T)


def levels(along: Float[Tensor, " n"], wins: Bool[Tensor, " n"]) -> tuple[float, float]:
    """The mean component where the number is the largest so far, and where it is not."""
    return float(along[wins].mean()), float(along[~wins].mean())


def patterns(operands: Sequence[str]) -> list[dict[str, str]]:
    """All settings of the flags after the first, with the first as it is, then set, then unset."""
    first, *others = operands
    return [
        {first: setting, **dict(zip(others, rest, strict=True))}
        for setting in (AS_IS, SET, UNSET)
        for rest in product((SET, UNSET), repeat=len(others))
    ]


def predicted(pattern: Pattern, rule: str = "latest", winner: str = "") -> str:
    """The operand that a rule says will be named; "" where it says nothing."""
    first, *others = pattern
    if rule == "largest":
        return winner
    lit = [operand for operand in others if pattern[operand] == SET]
    if lit:
        return lit[-1] if rule == "latest" else lit[0]
    return "" if pattern[first] == UNSET else first


def pattern_tables(
    lab: Lab, task: Task, tuples: Sequence[Row], flags: Mapping[str, Flag], seed: int
) -> dict[str, Rows]:
    """Set every pattern on every prompt, and say which operand is named."""
    operands = dealt(task, tuples)
    recording = lab.record(encode(lab.tokenizer, task, operands))
    randoms = [
        dict(zip(task.operands, random_subspaces(lab.network.d_model, 1, task.k, seed + draw), strict=True))
        for draw in range(DRAWS)
    ]
    made: list[tuple[str, dict[str, str], list[Edit]]] = [("none", dict.fromkeys(task.operands, AS_IS), [])]
    for pattern in patterns(task.operands):
        changed = {operand: setting for operand, setting in pattern.items() if setting != AS_IS}
        made.append(("flag", pattern, [flags[operand].edit(setting) for operand, setting in changed.items()]))
        for along in randoms:
            moved = [flags[name].moved(setting, recording, along[name]) for name, setting in changed.items()]
            made.append(("random", pattern, moved))
    argmax = lab.sweep(recording, [edits for _, _, edits in made], Read(argmax=True)).argmax
    assert argmax is not None
    named = named_operands(lab, task, operands, argmax.cpu())
    winners = torch.tensor([row.index(task.answer(row)) for row in operands])
    rows = pattern_rows(task, [(direction, pattern) for direction, pattern, _ in made], named, winners)
    return {
        "patterns": rows,
        "rules": rule_rows(task, [(direction, pattern) for direction, pattern, _ in made], named, winners),
        "verdict": [verdict(rows)],
    }


def dealt(task: Task, tuples: Sequence[Row]) -> list[Row]:
    """The best values of each tuple, one for each operand, in the possible value orders in turn."""
    orders = list(permutations(range(task.k)))
    return [tuple(row[place] for place in orders[i % len(orders)]) for i, row in enumerate(tuples)]


def named_operands(
    lab: Lab, task: Task, operands: Sequence[Row], argmax: Int[Tensor, "conditions n"]
) -> Int[Tensor, "conditions n"]:
    """Which operand the most likely next token begins, counted from 0; k where it begins none."""
    flat = answer_tokens(lab.tokenizer, task, [value for row in operands for value in row])
    hit = argmax[:, :, None] == flat.reshape(len(operands), task.k)
    return torch.where(hit.any(-1), hit.long().argmax(-1), task.k)


def pattern_rows(
    task: Task,
    labels: Sequence[tuple[str, Pattern]],
    named: Int[Tensor, "conditions n"],
    winners: Int[Tensor, " n"],
) -> Rows:
    """How often each operand is named, over all prompts and by their true winner."""
    rows: Rows = []
    pooled: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for number, (direction, pattern) in enumerate(labels):
        pooled.setdefault((direction, tuple(pattern.values())), []).append(number)
    names = [*task.operands, "other"]
    for (direction, settings), numbers in pooled.items():
        pattern = dict(zip(task.operands, settings, strict=True))
        label = {"direction": direction, **pattern, "predicted": predicted(pattern) if direction == "flag" else ""}
        for winner in ("all", *task.operands):
            chosen = winners >= 0 if winner == "all" else winners == task.operands.index(winner)
            said = named[numbers][:, chosen]
            if said.numel():
                rows += [
                    {**label, "winner": winner, "named": name, **drawn_share(said == place).columns}
                    for place, name in enumerate(names)
                ]
    return rows


def rule_rows(
    task: Task,
    labels: Sequence[tuple[str, Pattern]],
    named: Int[Tensor, "conditions n"],
    winners: Int[Tensor, " n"],
) -> Rows:
    """How many answers, under flags set by hand, each rule predicts; the answers of one prompt go together."""
    hits = {rule: [0] * len(winners) for rule in RULES}
    patterns = 0
    for number, (direction, pattern) in enumerate(labels):
        if direction != "flag" or not predicted(pattern):
            continue
        patterns += 1
        for prompt, (said, winner) in enumerate(zip(named[number].tolist(), winners.tolist(), strict=True)):
            for rule in RULES:
                says = predicted(pattern, rule, task.operands[winner])
                hits[rule][prompt] += said < task.k and task.operands[said] == says
    total = [patterns] * len(winners)
    return [{"rule": rule, **clustered_share(found, total).columns} for rule, found in hits.items()]


def verdict(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Whether the model names the latest operand whose flag is set."""
    asked = [
        row
        for row in rows
        if row["direction"] == "flag" and row["winner"] == "all" and row["predicted"] == row["named"] != ""
    ]
    right = [row for row in asked if row["lo"] > HALF]
    wrong = [row for row in asked if row not in right]
    share = len(right) / len(asked)
    said = "holds" if not wrong else "in part" if share >= HALF else "fails"
    listed = "; ".join(f"{describe(row)}: {row['named']} is named {row['mean']:.2f}" for row in wrong)
    why = f"in {len(right)} of {len(asked)} patterns most answers name the latest operand whose flag is set"
    return {
        "verdict": said,
        "right": len(right),
        "patterns": len(asked),
        "why": why + (f"; not {listed}" if wrong else ""),
    }


def describe(row: Mapping[str, Any]) -> str:
    """A pattern in words: y1 as is, y2 set, y3 unset."""
    return ", ".join(f"{name} {row[name]}" for name in sorted(row) if name[0] == "y" and name[1:].isdigit())
