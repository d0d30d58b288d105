"""What do several claims share? Two thresholds, what the causal trace says, the patches of the plane.

IIA is the share of evaluation examples in which a patch makes the model name the operand at the clean winner's place.
Recoveries are pooled. What is chosen among many (a layer, a head, a cell of the trace) is chosen on the examples that
choose, and measured on evaluation examples: no claim takes the best of many on the examples that judge it.
"""

from functools import partial

from numberline.claims.claim import Criterion
from numberline.claims.evidence import Evidence, Quantity, smallest

MOST = 0.5
"""A half, of the answers or of the effect: more than everything else together."""
SLIGHT = 0.1
"""A tenth, below which an effect is none (experiments/common/role_rules.py: LEAST)."""
CONTROL = "a random direction that changed one answer in ten would make a learned one unremarkable"


def arrives(id: str, position: str, cases: tuple[str, ...], evidence: Evidence) -> Quantity:
    """What restoring a position does, at the layer where it does most on the examples that choose; the least case."""
    return smallest(abs(arrives_in(case, id, position, evidence)) for case in cases)


def arrives_in(case: str, id: str, position: str, evidence: Evidence) -> Quantity:
    """The same in one case, with its sign."""
    where = {"case": case, "position": position, "metric": "pooled"}
    best = max(evidence.rows(id, "trace_choosing", **where), key=lambda row: abs(row["mean"]))
    return evidence.one(id, "trace", layer=best["layer"], **where)


MEETS = Criterion(
    "recovery of y1's change at y2's position, at the layer where other examples have most",
    partial(arrives, "k2.trace", "y2", ("y1",)),
    "at least",
    MOST,
    "both {nouns} meet at y2's position only if most of y1's effect passes through it",
    key="meets",
)
"""What every claim about y2's position rests on, and what the causal trace of any model tells."""


def shared(condition: str, case: str, evidence: Evidence, metric: str = "iia") -> Quantity:
    """A patch of k2.shared."""
    return evidence.patch("k2.shared", metric, condition=condition, case=case)
