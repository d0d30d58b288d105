"""Does one direction carry the number, though the numbers lie on a curve?"""

from functools import partial

from numberline.claims.claim import Claim, Criterion
from numberline.claims.common import CONTROL, MOST, SLIGHT
from numberline.claims.evidence import Evidence, Quantity, smallest
from numberline.claims.scored import measured, most_of, part_of

MONOTONE = {"u": ("k2.number", "y1"), "v1": ("k2.transport", "y2"), "v2": ("k2.number", "y2")}
"""The directions, the result that holds each, and its position."""


def held(evidence: Evidence) -> Quantity:
    """By how much y1's last token holds more of y1 than any other token does, example by example; at the layer where
    that is largest on the examples that choose."""
    tried = evidence.rows("k2.trace", "trace_choosing", case="y1", metric="pooled")

    def lead(layer: int) -> float:
        here = tried.where(layer=layer)
        return float(here.one(position="y1")["mean"] - max(row["mean"] for row in here if row["position"] != "y1"))

    best = max(tried.unique("layer"), key=lead)
    scored = evidence.scored("k2.trace", "trace", case="y1", layer=best)
    tokens = {row["token"]: row["position"] for row in tried.where(layer=best)}
    found = {token: scored.of(token=token) for token in tokens}
    own = next(found.pop(token) for token, position in tokens.items() if position == "y1")
    others = most_of([each.recovery for each in found.values()])
    return measured(lambda weights: own.recovery(weights) - others(weights), len(own.scale))


def patch(condition: str, evidence: Evidence) -> Quantity:
    """IIA of a patch of k2.number at y1."""
    return evidence.patch("k2.number", "iia", condition=condition, case="y1")


def number_share(evidence: Evidence) -> Quantity:
    """What u recovers, as a share of the whole residual at y1 (in the paper u recovers more than that)."""
    scored = evidence.scored("k2.number", "patches", examples="evaluation", case="y1")
    return part_of(scored.of(condition="u").effect, scored.of(condition="full").effect)


def curved(evidence: Evidence) -> Quantity:
    """What a curve in number order explains of values left out, beyond the best line."""
    return evidence.one("k2.number", "curvature", position="y1", of="gain")


def monotone(evidence: Evidence) -> Quantity:
    """The rank correlation of the components along u, v1 and v2 with the number, the least of the three."""
    return smallest(
        evidence.one(id, "monotone", position=position, direction=name) for name, (id, position) in MONOTONE.items()
    )


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
            key="lead",
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
            key="share",
        ),
        Criterion("IIA of random directions", partial(patch, "random"), "at most", SLIGHT, CONTROL, key="random"),
        Criterion(
            "held-out variance of the {nouns}' means that a curve explains beyond the best line",
            curved,
            "at least",
            0.05,
            "a line with jitter has none, for what is left out cannot be foretold; a twentieth is a visible curve",
            key="curve",
        ),
        Criterion(
            "rank correlation of the components along u, v1 and v2 with the {noun}, the least",
            monotone,
            "at least",
            0.9,
            "monotone up to accidents of single {nouns}",
            key="monotone",
        ),
    ),
    holds=(
        "At {number_layer} one direction at y1's last token carries the {noun} (IIA {u}; random directions {random}), "
        "though the {nouns} lie on a curve, which explains {curve} of their variance beyond the best line."
    ),
    fails="The {noun} is not carried by one direction beside a curve at y1's last token.",
    broken_by=("helix",),
    falls_with=("unsolving", "by-value"),
    effect="u",
)
