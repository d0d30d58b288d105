"""Does one head carry y1 to y2's position?"""

from numberline.claims.claim import Claim, Criterion
from numberline.claims.common import MEETS, MOST, SLIGHT, trace
from numberline.claims.evidence import Evidence, NotMeasuredError, Quantity


def head_share(evidence: Evidence) -> Quantity:
    """What the best head recovers with the co-patch, as a share of the whole residual after that layer."""
    rows = evidence.rows("k2.heads", "heads", condition="with v2", metric="pooled")
    best = max(rows, key=lambda row: float(row["mean"]))
    (whole,) = (row for row in trace(evidence, "k2.trace", "y1", "y2") if row["layer"] == best["layer"])
    return Quantity.of(best) / Quantity.of(whole)


def head_lead(evidence: Evidence) -> Quantity:
    """How far the second best head is behind the best, as a share of the best; all the way where there is one head."""
    best, *others = sorted(evidence.rows("k2.heads", "excess"), key=lambda row: -float(row["mean"]))
    if best["lo"] <= 0:
        raise NotMeasuredError(f"no head of the layer after the {evidence.language.noun} layer recovers anything")
    if not others:
        return Quantity.point(1.0)
    share, lo, hi = (float(others[0][name]) for name in ("behind", "behind_lo", "behind_hi"))
    return Quantity(share, lo, hi, int(best["n"]))


claim = Claim(
    id="transport",
    order=4,
    sentence="Few heads (one, in the paper) carry y1 to y2's position.",
    figures=("number-reps", "app-transport"),
    criteria=(
        MEETS,
        Criterion(
            "recovery of the best head, as a share of the whole residual's",
            head_share,
            "at least",
            MOST,
            "one head carries the {noun} if it does more than all others together",
            key="share",
        ),
        Criterion(
            "lead of the best head over the second, as a share of the best",
            head_lead,
            "at least",
            SLIGHT,
            "two heads that share the work alike have none; a tenth is more than their accidents",
        ),
    ),
    holds="{transport_head} carries y1 to y2's position ({share} of what the whole residual there recovers).",
    fails="No single head carries y1 to y2's position.",
    broken_by=("two-transport-heads",),
    falls_with=("unsolving",),
)
