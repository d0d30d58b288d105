"""Is the comparison linear on the plane of the two numbers, and does moving on it move the answer?"""

from functools import partial

from numberline.claims.claim import Claim, Criterion
from numberline.claims.common import CONTROL, MEETS, MOST, SLIGHT, shared
from numberline.claims.evidence import Evidence, Quantity, largest, smallest
from numberline.results.cases import CASES


def worst(condition: str, evidence: Evidence) -> Quantity:
    """A patch of k2.shared in the case in which it does less."""
    return smallest(shared(condition, case, evidence) for case in CASES)


def most(condition: str, evidence: Evidence) -> Quantity:
    """A control of k2.shared in the case in which it does more."""
    return largest(shared(condition, case, evidence) for case in CASES)


claim = Claim(
    id="plane",
    order=6,
    sentence="The comparison is linear on the plane, and moving on it moves the answer.",
    figures=("shared-rep", "app-shared-probes"),
    criteria=(
        MEETS,
        Criterion(
            "accuracy of a linear classifier of y1 > y2 on the plane",
            lambda evidence: evidence.one("k2.shared", "separability"),
            "at least",
            0.9,
            "half is chance; nine in ten leaves near-ties undecided",
            key="accuracy",
        ),
        Criterion(
            "IIA of the plane, the weaker case",
            partial(worst, "plane"),
            "at least",
            MOST,
            "the plane holds both {nouns} if moving either changes most answers",
            key="iia",
        ),
        Criterion("IIA of random planes", partial(most, "random_plane"), "at most", SLIGHT, CONTROL, key="random"),
        Criterion(
            "answers that name the winner of the coordinates set",
            lambda evidence: evidence.one("k2.dose", "boundary"),
            "at least",
            0.75,
            "half-way between chance and always",
            key="named",
        ),
    ),
    holds=(
        "The comparison is linear on that plane (accuracy {accuracy}), and setting its coordinates sets the answer "
        "({named})."
    ),
    fails="The answer does not follow from a plane of the two {nouns} at y2's position.",
    broken_by=("curved-own",),
    falls_with=("unsolving", "by-value", "helix", "aligned", "curved-y2"),
    effect="iia",
)
