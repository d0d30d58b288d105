"""What do several claims share? Two thresholds, what the causal trace says, the patches of the plane.

IIA is the share of evaluation examples in which a patch makes the model name the operand at the clean winner's place.
Recoveries are pooled.
"""

from functools import partial

from numberline.claims.claim import Criterion
from numberline.claims.evidence import Evidence, Quantity, Row, largest

MOST = 0.5
"""A half, of the answers or of the effect: more than everything else together."""
SLIGHT = 0.1
"""A tenth, below which an effect is none (experiments/common/role_rules.py: LEAST)."""
CONTROL = "a random direction that changed one answer in ten would make a learned one unremarkable"


def trace(evidence: Evidence, id: str, case: str, position: str, metric: str = "pooled") -> list[Row]:
    """A position's rows of a causal trace, by layer."""
    return sorted(
        evidence.rows(id, "trace", case=case, position=position, metric=metric), key=lambda row: int(row["layer"])
    )


def arrives(id: str, position: str, evidence: Evidence) -> Quantity:
    """The most that restoring a position recovers when y1 is what changed, over layers."""
    return largest(map(Quantity.of, trace(evidence, id, "y1", position)))


MEETS = Criterion(
    "recovery of y1's change at y2's position, best layer",
    partial(arrives, "k2.trace", "y2"),
    "at least",
    MOST,
    "both {nouns} meet at y2's position only if most of y1's effect passes through it",
)
"""What every claim about y2's position rests on, and what the causal trace of any model tells."""
MEETS_AT_Y3 = Criterion(
    "recovery of y1's change at y3's position, best layer",
    partial(arrives, "k3.trace", "y3"),
    "at least",
    MOST,
    "the {nouns} meet at y3's position only if most of y1's effect passes through it",
)
"""The same with three operands."""


def shared(condition: str, case: str, evidence: Evidence, metric: str = "iia") -> Quantity:
    """A patch of k2.shared."""
    return evidence.patch("k2.shared", metric, condition=condition, case=case)
