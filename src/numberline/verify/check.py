"""What is one line of the scorecard? What was found, what was planted, and whether they agree.

A check compares a run's results, which were made without the truth, with the truth. Its `measure` is a number where
there is one (a cosine, a correlation, a share), so that it can be drawn against the noise.

What a check tolerates is its own sampling error, by one rule, the ledger's: a share of n examples is missed when its
whole 95 % interval is on the wrong side of the bar, a cell of the dose-response when its is on the wrong side of one
half, a claim when it fails (not when it is undecided). Cosines and correlations are asked as they are.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from numberline.estimates import wilson_of
from numberline.models.planted import Truth
from numberline.results.result import Result
from numberline.results.table import Row

ROWS: Mapping[str, str] = {
    "behaviour": "the planted model solves the task; with noise, at least 0.95 of it",
    "roles": "every site is the planted one",
    "directions": "cosine with the planted direction at least 0.95, held-out IIA at least 0.99",
    "PCA": "as above where the line has most variance; where a decoy has more, PC1 is reported as not causal",
    "decoys": "probe R² above 0.99, IIA below 0.02, never reported as used",
    "heads": "true-positive rate 1, false-positive rate 0",
    "neurons": "the planted neurons are the top ones; freezing them removes the effect, freezing random ones does not",
    "fields": "correlation with the planted receptive fields (with noise: the model's own) at least 0.99",
    "weights": "correlation with the planted virtual weights at least 0.99",
    "edges": "correlation with the planted causal edges (with noise: the model's own) at least 0.99",
    "dose": "the boundary on the plane is the planted one",
    "claims": "every claim holds, or is undecided; none fails",
    "broken": "the claim that a variant breaks fails, and nothing else but what depends on it",
}
"""Every row of the scorecard, and when it is recovered."""

COSINE, IIA, CORRELATION, R2, UNUSED = 0.95, 0.99, 0.99, 0.99, 0.02
"""The bars of the table above."""


@dataclass(frozen=True)
class Check:
    """One line of the scorecard."""

    row: str
    name: str
    found: str
    wanted: str
    passed: bool
    measure: float | None = None
    less_is_better: bool = False
    """Of the measure: whether a smaller one is nearer to what was planted."""

    @property
    def content(self) -> dict[str, Any]:
        """As the scorecard's file holds it."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class BlindRun:
    """What a run found, by the experiment's id, and what was planted."""

    results: Mapping[str, Result]
    truth: Truth
    left_out: frozenset[str] = frozenset()

    def has(self, id: str) -> bool:
        """Whether an experiment was done, and could be done."""
        return id in self.results and self.results[id].missing is None

    def tensor(self, id: str, name: str) -> Tensor:
        """A tensor of a result that is there."""
        return torch.tensor(self.results[id].tensor(name))

    def rows(self, id: str, table: str, **wanted: Any) -> list[Row]:
        """The rows of a table that have these values; none where the experiment is missing."""
        if not self.has(id) or table not in self.results[id].tables:
            return []
        found = self.results[id].table(table)
        return list(found.where(**wanted)) if len(found) else []

    def patch(self, id: str, metric: str, **wanted: Any) -> Mapping[str, Any] | None:
        """The row of one patch on the evaluation examples."""
        rows = self.rows(id, "patches", metric=metric, examples="evaluation", **wanted)
        return rows[0] if rows else None


def absent(row: str, name: str, wanted: str) -> Check:
    """What was not measured is missed."""
    return Check(row, name, "not measured", wanted, False)


def cosine(found: Tensor, planted: Tensor) -> float:
    """The absolute cosine of two directions."""
    a, b = found.flatten().double(), planted.flatten().double()
    return float((a @ b).abs() / (a.norm() * b.norm()))


def correlation(found: Tensor, planted: Tensor) -> float:
    """Pearson's, over everything that is a number in both."""
    a, b = found.flatten().double(), planted.flatten().double()
    kept = a.isfinite() & b.isfinite()
    return float(torch.corrcoef(torch.stack([a[kept], b[kept]]))[0, 1]) if int(kept.sum()) > 1 else 0.0


def at_least(row: str, name: str, value: float | None, bar: float, what: str) -> Check:
    """A value that has to reach a bar."""
    wanted = f"{what} ≥ {bar:g}"
    if value is None:
        return absent(row, name, wanted)
    return Check(row, name, f"{value:.3f}", wanted, value >= bar, value)


def share_at_least(row: str, name: str, counted: Mapping[str, Any] | None, bar: float, what: str) -> Check:
    """A share of n examples (a row's `mean` and `n`), missed when its whole 95 % interval is below the bar."""
    wanted = f"{what} ≥ {bar:g}"
    if counted is None:
        return absent(row, name, wanted)
    right, n = round(counted["mean"] * counted["n"]), int(counted["n"])
    return Check(row, name, f"{right} of {n}", wanted, wilson_of(right / n, n, n).hi >= bar, right / n)


def share_below(row: str, name: str, counted: Mapping[str, Any], bar: float, what: str) -> Check:
    """A share of n examples, missed when its whole 95 % interval is above the bar."""
    right, n = round(counted["mean"] * counted["n"]), int(counted["n"])
    passed = wilson_of(right / n, n, n).lo < bar
    return Check(row, name, f"{right} of {n}", f"{what} < {bar:g}", passed, right / n, less_is_better=True)


def at_most(row: str, name: str, value: float | None, bar: float, what: str) -> Check:
    """A value that must stay below a bar."""
    wanted = f"{what} < {bar:g}"
    if value is None:
        return absent(row, name, wanted)
    return Check(row, name, f"{value:.3f}", wanted, value < bar, value, less_is_better=True)


def missed(checks: Iterable[Check]) -> list[Check]:
    """The checks that failed."""
    return [check for check in checks if not check.passed]
