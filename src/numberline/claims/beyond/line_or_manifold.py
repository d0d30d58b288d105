"""Does the model compute with the line, or with the curve on which the numbers lie? The title of the paper, tested.

The rules, fixed before any model was looked at:

| measured at y1, y1 perturbed | line | manifold | both |
|---|---|---|---|
| IIA of the whole residual | ≥ 0.5 | ≥ 0.5 | ≥ 0.5 |
| recovery of u, as a share of the whole's | ≥ 0.75 | ≤ 0.75 | ≥ 0.25 |
| recovery of everything but u, as a share of the whole's | −0.1 to 0.1 | ≥ 0.25 | ≥ 0.25 |
| the curve's move with u held, as a share of the curve's move | −0.1 to 0.1 | ≥ 0.25 | ≥ 0.25 |
| the move along u, off the curve, as a share of the curve's | 0.75 to 4/3 | | ≥ 0.25 |
| variation that u's number explains, whatever the rest is | ≥ 0.9 | ≤ 0.1 | 0.25 to 0.75 |
| recovery of the number's place on the best straight line | | ≤ 0.5 | |

The first five do not tell a curve from both: of a helix in a plane, every direction is a half, and swapping one
recovers a part. What it recovers depends on where on the curve the rest is, and the sixth line tells. The last one does
not rest on u: where a fit has found a wrong direction, all others look as if there were no line at all.
"""

from functools import partial

from numberline.claims.common import MOST, SLIGHT
from numberline.claims.evidence import Evidence, Quantity
from numberline.claims.question import Answer, Measure, Question
from numberline.claims.scored import part_of

ID = "k2.geometry"
SOME = 0.25
"""A quarter of an effect: clearly more than the tenth below which it is none."""
MATCH = 1 - SOME
"""What leaves less than that."""


def whole(evidence: Evidence) -> Quantity:
    """IIA of the whole residual at y1."""
    return evidence.one(ID, "complement", place="u", case="y1", condition="full", metric="iia")


def share(table: str, part: str, of: str, evidence: Evidence) -> Quantity:
    """What one condition does, as a share of another, example by example."""
    where = {"place": "u"} if table == "complement" else {}
    scored = evidence.scored(ID, table, case="y1", **where)
    return part_of(scored.of(condition=part).effect, scored.of(condition=of).effect)


def straight(evidence: Evidence) -> Quantity:
    """What the clean number's place on the line that fits the numbers' states best does, as a share of its state."""
    scored = evidence.scored(ID, "fits", case="y1", condition="all")
    return part_of(scored.of(fit="line").effect, scored.of(fit="mean").effect)


def alone(evidence: Evidence) -> Quantity:
    """The share of the answer's variation that the number along u explains, whatever the rest is."""
    return evidence.one(ID, "crossed", of="line")


question = Question(
    id="line-or-manifold",
    order=1,
    asked="Does the model compute with the line, or with the curve on which the {nouns} lie?",
    figures=("geometry-complement", "geometry-necessity", "geometry-moves", "geometry-fits"),
    measures=(
        Measure("whole", "IIA of the whole residual at y1", whole, "there must be something to take apart"),
        Measure(
            "line",
            "recovery of u, as a share of the whole residual's",
            partial(share, "complement", "part", "full"),
            "the line suffices if no more than a quarter is left to the rest",
        ),
        Measure(
            "rest",
            "recovery of everything but u, as a share of the whole residual's",
            partial(share, "complement", "rest", "full"),
            "if the line is what is used, the rest does nothing",
        ),
        Measure(
            "held",
            "effect of the move along the curve with u held, as a share of the curve's",
            partial(share, "moves", "held", "curve"),
            "what computes with the line ignores a move that leaves it where it is",
        ),
        Measure(
            "off",
            "effect of the move along u, off the curve, as a share of the curve's",
            partial(share, "moves", "line", "curve"),
            "what computes with the line answers a move along it alike, on the curve and off it",
        ),
        Measure(
            "alone",
            "variation of the answer that the {noun} along u explains, whatever the rest is",
            alone,
            "a line means the same everywhere; a direction of a curve means something else at every {noun}",
        ),
        Measure(
            "straight",
            "recovery of the {noun}'s place on the best straight line, as a share of its state's",
            straight,
            "where a straight line through the states keeps most of the effect, a curve is not what is read",
        ),
    ),
    answers=(
        Answer(
            "line",
            "It computes with the line: the curve on which the {nouns} lie is not used.",
            (
                ("whole", "at least", MOST),
                ("line", "at least", MATCH),
                ("rest", "at least", -SLIGHT),
                ("rest", "at most", SLIGHT),
                ("held", "at least", -SLIGHT),
                ("held", "at most", SLIGHT),
                ("off", "at least", MATCH),
                ("off", "at most", 1 / MATCH),
                ("alone", "at least", 1 - SLIGHT),
            ),
        ),
        Answer(
            "manifold",
            "It computes with the curve: no line carries the {noun}.",
            (
                ("whole", "at least", MOST),
                ("line", "at most", MATCH),
                ("rest", "at least", SOME),
                ("held", "at least", SOME),
                ("alone", "at most", SLIGHT),
                ("straight", "at most", MOST),
            ),
        ),
        Answer(
            "both",
            "It computes with both: the line, and what else tells the {noun}.",
            (
                ("whole", "at least", MOST),
                ("line", "at least", SOME),
                ("rest", "at least", SOME),
                ("held", "at least", SOME),
                ("off", "at least", SOME),
                ("alone", "at least", SOME),
                ("alone", "at most", MATCH),
            ),
        ),
    ),
)
