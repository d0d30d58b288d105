"""What did an intervention do? Position recovery and interchange intervention accuracy, per example.

1. A Trial is a batch of counterfactuals, recorded: the clean runs, the corrupted runs, and the two answer tokens
   t(r), t(b) of each. PLD = logit[t(r)] − logit[t(b)] at the last token, with the same tokens in every run.
2. An intervention runs on the corrupted prompt, with the clean run as its source.
3. Position recovery, per example: (PLD_patched − PLD_corrupted) / (PLD_clean − PLD_corrupted), then averaged.
4. IIA, per example: is t(r) the most likely next token over the whole vocabulary?
5. The ratio of 3 is fragile where a denominator is near zero or negative. Beside it stands the *pooled* recovery, mean
   numerator over mean denominator; roles and claims use that one. Non-positive denominators are counted.

A near-tie is an argmax whose margin over the runner-up is below NEAR_TIE logits: rounding might turn it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jaxtyping import Bool, Float, Int
from torch import Tensor

from numberline.engine.edits import Edit
from numberline.engine.lab import Lab, Read
from numberline.engine.recording import Keep, Recording
from numberline.methods.intervals import Estimate, mean, ratio
from numberline.tasks.counterfactuals import Counterfactual, answer_ids, clean_operands, corrupted_operands
from numberline.tasks.layout import encode
from numberline.tasks.task import Task

NEAR_TIE = 1e-2


@dataclass(frozen=True, eq=False)
class Trial:
    """Recorded counterfactuals. `tokens` holds (t(r), t(b)) of each."""

    task: Task
    examples: tuple[Counterfactual, ...]
    clean: Recording
    corrupted: Recording
    tokens: Int[Tensor, "n 2"]
    clean_pld: Float[Tensor, " n"]
    corrupted_pld: Float[Tensor, " n"]

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def scale(self) -> Float[Tensor, " n"]:
        """The denominator of position recovery: the clean-minus-corrupted PLD of each example."""
        return self.clean_pld - self.corrupted_pld

    def part(self, rows: slice) -> "Trial":
        """Some of the examples, sharing the recordings' memory."""
        return replace(
            self,
            examples=self.examples[rows],
            clean=self.clean.part(rows),
            corrupted=self.corrupted.part(rows),
            tokens=self.tokens[rows],
            clean_pld=self.clean_pld[rows],
            corrupted_pld=self.corrupted_pld[rows],
        )


def record_trial(lab: Lab, task: Task, examples: Sequence[Counterfactual], keep: Sequence[Keep] = ()) -> Trial:
    """Record both sides of counterfactuals."""
    tokenizer = lab.tokenizer
    tokens = answer_ids(tokenizer, task, examples)
    clean = lab.record(encode(tokenizer, task, clean_operands(examples)), keep)
    corrupted = lab.record(encode(tokenizer, task, corrupted_operands(examples)), keep, prefix_of=clean)
    plds = [pld(lab.run(recording, [], Read(logits=tokens)).logits) for recording in (clean, corrupted)]
    return Trial(task, tuple(examples), clean, corrupted, tokens, plds[0], plds[1])


def pld(logits: Float[Tensor, "*n 2"] | None) -> Float[Tensor, "*n"]:
    """logit[t(r)] − logit[t(b)], on the CPU in double precision unless a gradient flows."""
    assert logits is not None
    difference = logits[..., 0] - logits[..., 1]
    return difference if difference.requires_grad else difference.double().cpu()


@dataclass(frozen=True, eq=False)
class Scores:
    """Per-example scores of some conditions on one trial."""

    pld: Float[Tensor, "conditions n"]
    hit: Bool[Tensor, "conditions n"]
    margin: Float[Tensor, "conditions n"]
    trial: Trial

    @property
    def recovery(self) -> Float[Tensor, "conditions n"]:
        """Position recovery of each example."""
        return (self.pld - self.trial.corrupted_pld) / self.trial.scale

    def iia(self, condition: int = 0) -> Estimate:
        """Interchange intervention accuracy of a condition."""
        return mean(self.hit[condition].double())

    def pr(self, condition: int = 0) -> Estimate:
        """Position recovery of a condition: the mean of the per-example ratios."""
        return mean(self.recovery[condition])

    def pooled(self, condition: int = 0) -> Estimate:
        """Pooled recovery of a condition: mean numerator over mean denominator."""
        return ratio(self.pld[condition] - self.trial.corrupted_pld, self.trial.scale)

    def rows(self, labels: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Three rows per condition (metric: iia, pr, pooled), with its labels, and what to beware of."""
        found: list[dict[str, Any]] = []
        for number, label in enumerate(labels):
            caveats = {
                "near_ties": int((self.margin[number] < NEAR_TIE).sum()),
                "nonpositive": int((self.trial.scale <= 0).sum()),
            }
            for metric in ("iia", "pr", "pooled"):
                found.append({**label, "metric": metric, **getattr(self, metric)(number).columns, **caveats})
        return found


def score(
    lab: Lab,
    trial: Trial,
    conditions: Sequence[Sequence[Edit]],
    progress: Callable[[int], object] | None = None,
) -> Scores:
    """Run conditions on the corrupted prompts of a trial and score each example."""
    read = Read(logits=trial.tokens, argmax=True)
    found = lab.sweep(trial.corrupted, conditions, read, progress=progress)
    assert found.argmax is not None
    assert found.margin is not None
    hit = found.argmax.cpu() == trial.tokens[:, 0]
    return Scores(pld(found.logits), hit, found.margin.double().cpu(), trial)
