"""Which head carries it? Each head's contribution restored on its own, or together with other edits.

1. The contribution of each head of a layer, at one position, is taken from the clean run. All heads are one sweep.
2. A single head written into a corrupted residual stream may have almost no effect. So each can be restored `together`
   with other edits; these alone are the baseline, and the sweep without them can stand beside.
3. The excess of a head is its pooled recovery minus the baseline's, paired by example; and how far it is behind the
   best head, as a share of the best's excess.
4. Sets of heads (all of the layer, all but one) can be restored at once with the same edits.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numberline.engine.edits import Edit, swap
from numberline.engine.sites import Position, head
from numberline.methods.intervals import Estimate, ratio
from numberline.methods.pairs import Pairs
from numberline.methods.scores import Scores, score

BASELINE, TOGETHER, ALONE = "baseline", "together", "alone"
SEVERAL = -1
"""The head of a condition that has none, or several."""


@dataclass(frozen=True, eq=False)
class HeadSweep:
    """The scores of a layer's heads. The conditions of `scores`: the baseline, the heads with it, the heads alone."""

    scores: Scores
    layer: int
    conditions: tuple[tuple[str, int], ...]
    """Each condition's name and its head (−1: none, or a set)."""

    def labels(self, names: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
        """What each condition is: layer, head, condition, by the names given."""
        return [
            {"layer": self.layer, "head": number, "condition": (names or {}).get(condition, condition)}
            for condition, number in self.conditions
        ]

    def rows(self, names: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
        """Three rows (iia, pr, pooled) for each condition: layer, head, condition, metric, mean, …

        `names` says what the conditions "baseline", "together" and "alone" are to be called.
        """
        return self.scores.rows(self.labels(names))

    @property
    def excess(self) -> list[dict[str, Any]]:
        """What each head adds to the baseline: layer, head, mean, …, behind, behind_lo, behind_hi."""
        chosen = [i for i, (condition, _) in enumerate(self.conditions) if condition == TOGETHER]
        gained = self.scores.pld[chosen] - self.scores.pld[0]
        best = gained[int(gained.mean(1).argmax())]
        return [
            {
                "layer": self.layer,
                "head": number,
                **ratio(gained[number], self.scores.pairs.scale).columns,
                **_behind(ratio(best - gained[number], best)),
            }
            for number in range(len(gained))
        ]


def sweep_heads(
    pairs: Pairs,
    layer: int,
    position: Position,
    together: Sequence[Edit] = (),
    alone: bool = False,
    sets: Mapping[str, Sequence[int]] | None = None,
    progress: Callable[[int], object] | None = None,
) -> HeadSweep:
    """Every head of a layer with the edits `together` (none: each on its own); with `alone`, also without them.

    `sets` are named sets of heads, restored at once with those edits.
    """
    heads = range(pairs.lab.network.n_heads)
    edits = [swap(head(layer, number).at(position), pairs.clean) for number in heads]
    conditions = [list(together), *([*together, edit] for edit in edits), *([edit] for edit in edits if alone)]
    kinds = [
        (BASELINE, SEVERAL),
        *((TOGETHER, number) for number in heads),
        *((ALONE, number) for number in heads if alone),
    ]
    for name, chosen in (sets or {}).items():
        conditions.append([*together, *(edits[number] for number in chosen)])
        kinds.append((name, SEVERAL))
    return HeadSweep(score(pairs, conditions, progress), layer, tuple(kinds))


def _behind(share: Estimate) -> dict[str, float]:
    return {"behind": share.mean, "behind_lo": share.lo, "behind_hi": share.hi}
