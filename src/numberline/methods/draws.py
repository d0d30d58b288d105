"""What does a control do that has several draws? Its examples' scores averaged over the draws, and the spread.

A condition has one list of edits, or several that stand for the same thing (random directions of one rank). Several
make one row: the per-example scores are averaged over the draws first, so that the interval is over examples, and
`spread` is the standard deviation of the score over draws.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from numberline.engine.edits import Edit
from numberline.methods.intervals import mean, ratio
from numberline.methods.pairs import Pairs
from numberline.methods.scores import NEAR_TIE, Scores, score

Draws = Sequence[Sequence[Edit]]


def draw_rows(
    pairs: Pairs,
    conditions: Mapping[str, Draws],
    labels: Mapping[str, Any],
    progress: Callable[[int], object] | None = None,
) -> list[dict[str, Any]]:
    """Score all conditions in one sweep: three rows (iia, pr, pooled) for each, with the labels given."""
    flat = [edits for draws in conditions.values() for edits in draws]
    scores = score(pairs, flat, progress)
    rows: list[dict[str, Any]] = []
    first = 0
    for name, draws in conditions.items():
        chosen = slice(first, first + len(draws))
        rows += _rows(scores, chosen, {**labels, "condition": name, "draws": len(draws)})
        first += len(draws)
    return rows


def _rows(scores: Scores, chosen: slice, labels: Mapping[str, Any]) -> list[dict[str, Any]]:
    pairs, hit, recovery = scores.pairs, scores.hit[chosen].double(), scores.recovery[chosen]
    moved = scores.pld[chosen] - pairs.corrupted_pld
    estimates = {
        "iia": (mean(hit.mean(0)), hit.mean(1)),
        "pr": (mean(recovery.mean(0)), recovery.mean(1)),
        "pooled": (ratio(moved.mean(0), pairs.scale), moved.mean(1) / pairs.scale.mean()),
    }
    caveats = {
        "near_ties": int((scores.margin[chosen] < NEAR_TIE).sum()),
        "nonpositive": int((pairs.scale <= 0).sum()),
    }
    return [
        {
            **labels,
            "spread": float(each.std()) if len(each) > 1 else 0.0,
            "metric": metric,
            **estimate.columns,
            **caveats,
        }
        for metric, (estimate, each) in estimates.items()
    ]
