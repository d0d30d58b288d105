"""How are many sweeps of an experiment kept? As two tables: a summary of each condition, and every example's scores.

1. A condition has one list of edits, or several that stand for the same thing (random directions of one rank). Several
   make one row of the summary: the per-example scores are averaged over the draws, `spread` is the standard deviation
   of the score over draws, and the interval is over both the examples and the draws.
2. The scores of each example stand beside, one row for each condition, draw and example: what two conditions do to the
   same examples is compared example by example (claims/scored.py), and a user can ask anything else of them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from numberline.engine.edits import Edit
from numberline.estimates import bootstrap, drawn_mean
from numberline.methods.intervals import drawn_share
from numberline.methods.pairs import Pairs
from numberline.methods.scores import NEAR_TIE, Scores, score

Draws = Sequence[Sequence[Edit]]


@dataclass(eq=False)
class Scoreboard:
    """The rows of a summary, and the columns of a table of per-example scores."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    columns: dict[str, list[Any]] = field(default_factory=dict)

    def tables(self, name: str) -> dict[str, Any]:
        """The summary under a name, and the scores of each example as `name`_scored."""
        return {name: self.rows, f"{name}_scored": self.columns}

    def add(self, scores: Scores, labels: Sequence[Mapping[str, Any]]) -> None:
        """Conditions that were scored, each with its labels."""
        self.rows += scores.rows(labels)
        self._keep(scores, labels)

    def draws(
        self,
        pairs: Pairs,
        conditions: Mapping[str, Draws],
        labels: Mapping[str, Any],
        progress: Callable[[int], object] | None = None,
    ) -> None:
        """Score all conditions in one sweep: three rows (iia, pr, pooled) for each, with the labels given."""
        scores = score(pairs, [edits for draws in conditions.values() for edits in draws], progress)
        first = 0
        for name, draws in conditions.items():
            about = {**labels, "condition": name, "draws": len(draws)}
            self.rows += _rows(scores, slice(first, first + len(draws)), about)
            first += len(draws)
        each = [
            {**labels, "condition": name, "draw": i} for name, draws in conditions.items() for i in range(len(draws))
        ]
        self._keep(scores, each)

    def extend(self, other: "Scoreboard") -> None:
        """The rows and columns of another one, which has the same."""
        self.rows += other.rows
        for name, values in other.columns.items():
            self.columns.setdefault(name, []).extend(values)

    def _keep(self, scores: Scores, labels: Sequence[Mapping[str, Any]]) -> None:
        for name, values in scores.columns(labels).items():
            self.columns.setdefault(name, []).extend(values)


def draw_rows(
    pairs: Pairs,
    conditions: Mapping[str, Draws],
    labels: Mapping[str, Any],
    progress: Callable[[int], object] | None = None,
) -> list[dict[str, Any]]:
    """The summary alone."""
    board = Scoreboard()
    board.draws(pairs, conditions, labels, progress)
    return board.rows


def _rows(scores: Scores, chosen: slice, labels: Mapping[str, Any]) -> list[dict[str, Any]]:
    pairs, hit, recovery = scores.pairs, scores.hit[chosen], scores.recovery[chosen].numpy()
    moved, scale = (scores.pld[chosen] - pairs.corrupted_pld).numpy(), pairs.scale.numpy()
    effect, typical = drawn_mean(moved), drawn_mean(recovery)
    n = len(scale)
    estimates = {
        "iia": (drawn_share(hit), hit.double().mean(1).numpy()),
        "pr": (bootstrap(typical, n), recovery.mean(1)),
        "pooled": (bootstrap(lambda weights: effect(weights) / (weights @ scale), n), moved.mean(1) / scale.mean()),
    }
    caveats = {
        "near_ties": int((scores.margin[chosen] < NEAR_TIE).sum()),
        "nonpositive": int((pairs.scale <= 0).sum()),
    }
    return [
        {
            **labels,
            "spread": float(each.std(ddof=1)) if len(each) > 1 else 0.0,
            "metric": metric,
            **estimate.columns,
            **caveats,
        }
        for metric, (estimate, each) in estimates.items()
    ]
