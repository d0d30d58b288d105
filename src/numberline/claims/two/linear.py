"""Does one direction carry the number, though the numbers lie on a curve?"""

from functools import partial

from numberline.claims.claim import Claim, Criterion
from numberline.claims.common import CONTROL, MOST, SLIGHT
from numberline.claims.evidence import Evidence, Quantity, largest


def held(evidence: Evidence) -> Quantity:
    """By how much y1's last token holds more of y1 than any other token does, at the layer where that is largest."""
    rows = evidence.rows("k2.trace", "trace", case="y1", metric="pooled")
    leads = []
    for layer in {row["layer"] for row in rows}:
        here = [row for row in rows if row["layer"] == layer]
        own = next(row for row in here if row["position"] == "y1")
        others = [row for row in here if row is not own]
        leads.append(Quantity.of(own) - largest(map(Quantity.of, others)))
    return largest(leads)


def patch(condition: str, evidence: Evidence, metric: str = "iia") -> Quantity:
    """A patch of k2.number at y1."""
    return evidence.patch("k2.number", metric, condition=condition, case="y1")


def number_share(evidence: Evidence) -> Quantity:
    """What u recovers, as a share of the whole residual at y1 (in the paper u recovers more than that)."""
    return patch("u", evidence, "pooled") / patch("full", evidence, "pooled")


def straight(evidence: Evidence) -> Quantity:
    """The share of the variance at y1's position that is along its first component: 1 on a straight line."""
    (row,) = evidence.rows("k2.number", "variance", position="y1", direction="pc1")
    return Quantity.point(row["share"])


claim = Claim(
    id="linear",
    order=3,
    sentence=(
        "A rank-one direction carries the {noun} causally, beside curved geometry; matched random directions do not."
    ),
    figures=("number-reps", "app-u-manifold", "app-u-vs-pc1"),
    criteria=(
        Criterion(
            "lead of y1's last token over every other token in the trace",
            held,
            "at least",
            SLIGHT,
            "the {noun} is held at its position only if that token has more of its effect than any other",
        ),
        Criterion(
            "IIA of u",
            partial(patch, "u"),
            "at least",
            MOST,
            "one direction carries the {noun} if it changes most answers",
            key="u",
        ),
        Criterion(
            "recovery of u, as a share of the whole residual's",
            number_share,
            "at least",
            0.75,
            "a chord of a curve carries a part of the {noun}; no more than a quarter may be left to the rest",
        ),
        Criterion("IIA of random directions", partial(patch, "random"), "at most", SLIGHT, CONTROL, key="random"),
        Criterion(
            "variance at y1 along its first component",
            straight,
            "at most",
            0.9,
            "{nouns} on a straight line would leave nothing to other components; a tenth is a visible curve",
            key="variance",
        ),
    ),
    holds=(
        "At {number_layer} one direction at y1's last token carries the {noun} (IIA {u}; random directions {random}), "
        "though the {nouns} lie on a curve, of which the first component explains {variance:0%}."
    ),
    fails="The {noun} is not carried by one direction beside a curve at y1's last token.",
    broken_by=("helix",),
    falls_with=("unsolving", "by-value"),
)
