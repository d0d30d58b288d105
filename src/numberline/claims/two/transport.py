"""Does one head carry y1 to y2's position?"""

import numpy as np

from numberline.claims.claim import Claim, Criterion
from numberline.claims.common import MEETS, MOST
from numberline.claims.evidence import Evidence, NotMeasuredError, Quantity
from numberline.claims.scored import part_of
from numberline.estimates import Values

BASELINE, ALL, OTHERS = "v2", "all with v2", "others with v2"


def excess(evidence: Evidence, condition: str, head: int = -1) -> Values:
    """What heads add to the co-patch, example by example."""
    scored = evidence.scored("k2.heads", "heads")
    added: Values = scored.of(condition=condition, head=head).effect - scored.of(condition=BASELINE).effect
    return added


def of_head(evidence: Evidence) -> Values:
    """What the transport head adds, which other examples chose."""
    layer, head = evidence.role("transport_head", "k2.heads")
    if layer not in evidence.rows("k2.heads", "excess").unique("layer"):
        raise NotMeasuredError(f"the heads of layer {layer} were not tried: it is not the layer after the number layer")
    return excess(evidence, "with v2", head)


def head_share(evidence: Evidence) -> Quantity:
    """What the transport head adds, as a share of what all heads of its layer add together."""
    return part_of(of_head(evidence), excess(evidence, ALL))


def others_share(evidence: Evidence) -> Quantity:
    """What all other heads of its layer add together, as a share of what it adds."""
    return part_of(excess(evidence, OTHERS), of_head(evidence))


def others_sum(evidence: Evidence) -> Quantity:
    """What the other heads of its layer add one by one, summed, as a share of what it adds."""
    _, head = evidence.role("transport_head", "k2.heads")
    others = [row["head"] for row in evidence.rows("k2.heads", "excess") if row["head"] != head]
    if not others:
        return Quantity.point(0.0)
    total = np.sum([excess(evidence, "with v2", other) for other in others], 0)
    return part_of(total, of_head(evidence))


claim = Claim(
    id="transport",
    order=4,
    sentence="One head carries y1 to y2's position.",
    figures=("number-reps", "app-transport"),
    criteria=(
        MEETS,
        Criterion(
            "what the transport head adds to the co-patch, as a share of what all heads of its layer add together",
            head_share,
            "at least",
            MOST,
            "one head carries the {noun} if it does most of what the whole layer's attention does",
            key="share",
        ),
        Criterion(
            "what all other heads of that layer add together, as a share of what it adds",
            others_share,
            "at most",
            1.0,
            "one head carries the {noun} if it does more than all others together",
            key="others",
        ),
        Criterion(
            "what the other heads add one by one, summed, as a share of what it adds",
            others_sum,
            "at most",
            1.0,
            "the same where effects saturate: several heads that could each do it alone do little more together",
            key="sum",
        ),
    ),
    holds=(
        "{transport_head} carries y1 to y2's position ({share} of what all heads of its layer add; all others together "
        "add {others} of what it does)."
    ),
    fails="No single head carries y1 to y2's position.",
    broken_by=("two-transport-heads",),
    falls_with=("unsolving",),
    effect="share",
)
