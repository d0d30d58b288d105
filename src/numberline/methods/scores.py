"""What did an intervention do? Position recovery and interchange intervention accuracy, per example.

1. An intervention runs on the corrupted prompts of some pairs; PLD is read with each pair's two answer tokens.
2. Position recovery, per example: (PLD_patched − PLD_corrupted) / (PLD_clean − PLD_corrupted), then averaged.
3. IIA, per example: is t(r) the most likely next token over the whole vocabulary?
4. The ratio of 2 is fragile where a denominator is near zero or negative. Beside it stands the *pooled* recovery, mean
   numerator over mean denominator; roles and claims use that one. Non-positive denominators are counted.

A near-tie is an argmax whose margin over the runner-up is below NEAR_TIE logits: rounding might turn it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jaxtyping import Bool, Float
from torch import Tensor

from numberline.engine.edits import Edit
from numberline.engine.lab import Read
from numberline.methods.intervals import Estimate, mean, ratio, share
from numberline.methods.pairs import Pairs, pld

NEAR_TIE = 1e-2


@dataclass(frozen=True, eq=False)
class Scores:
    """Per-example scores of some conditions on the same pairs."""

    pld: Float[Tensor, "conditions n"]
    hit: Bool[Tensor, "conditions n"]
    margin: Float[Tensor, "conditions n"]
    pairs: Pairs

    @property
    def recovery(self) -> Float[Tensor, "conditions n"]:
        """Position recovery of each example."""
        return (self.pld - self.pairs.corrupted_pld) / self.pairs.scale

    def some(self, conditions: slice) -> "Scores":
        """Some of the conditions."""
        return Scores(self.pld[conditions], self.hit[conditions], self.margin[conditions], self.pairs)

    def iia(self, condition: int = 0) -> Estimate:
        """Interchange intervention accuracy of a condition."""
        return share(self.hit[condition])

    def pr(self, condition: int = 0) -> Estimate:
        """Position recovery of a condition: the mean of the per-example ratios."""
        return mean(self.recovery[condition])

    def pooled(self, condition: int = 0) -> Estimate:
        """Pooled recovery of a condition: mean numerator over mean denominator."""
        return ratio(self.pld[condition] - self.pairs.corrupted_pld, self.pairs.scale)

    def rows(self, labels: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Three rows per condition (metric: iia, pr, pooled), with its labels, and what to beware of."""
        found: list[dict[str, Any]] = []
        for number, label in enumerate(labels):
            caveats = {
                "near_ties": int((self.margin[number] < NEAR_TIE).sum()),
                "nonpositive": int((self.pairs.scale <= 0).sum()),
            }
            for metric in ("iia", "pr", "pooled"):
                found.append({**label, "metric": metric, **getattr(self, metric)(number).columns, **caveats})
        return found

    def columns(self, labels: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
        """One row per condition and example, as columns: its labels, example, pld, clean, corrupted (PLDs), hit."""
        count, n = self.pld.shape
        found: dict[str, list[Any]] = {
            name: [value for label in labels for value in [label[name]] * n] for name in labels[0]
        }
        found["example"] = list(range(n)) * count
        found["pld"] = self.pld.flatten().tolist()
        found["clean"] = self.pairs.clean_pld.tolist() * count
        found["corrupted"] = self.pairs.corrupted_pld.tolist() * count
        found["hit"] = self.hit.flatten().tolist()
        return found


def score(
    pairs: Pairs, conditions: Sequence[Sequence[Edit]], progress: Callable[[int], object] | None = None
) -> Scores:
    """Run conditions on the corrupted prompts of pairs and score each example."""
    read = Read(logits=pairs.answers, argmax=True)
    found = pairs.lab.sweep(pairs.corrupted, conditions, read, progress=progress)
    assert found.argmax is not None
    assert found.margin is not None
    hit = found.argmax.cpu() == pairs.answers[:, 0]
    return Scores(pld(found.logits), hit, found.margin.double().cpu(), pairs)
