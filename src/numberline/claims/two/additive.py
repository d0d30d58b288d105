"""Do the two numbers add up at y2's position, along two directions that have little in common?"""

from functools import partial

from numberline.claims.claim import Claim, Criterion
from numberline.claims.common import MEETS, MOST, SLIGHT, shared
from numberline.claims.evidence import Evidence, NotMeasuredError, Quantity
from numberline.results.cases import CASES


def mismatch(case: str, evidence: Evidence) -> Quantity:
    """How far the IIA of the two rank-one patches is from the plane's."""
    plane, apart = shared("plane", case, evidence), shared("v1_v2", case, evidence)
    if plane.hi < SLIGHT and apart.hi < SLIGHT:
        raise NotMeasuredError(f"there is nothing to match: the plane does not move the answer with {case} perturbed")
    return abs(apart - plane)


def overlap(evidence: Evidence) -> Quantity:
    """|cos(v1, v2)|."""
    (row,) = evidence.rows("k2.shared", "cosines", first="v1", second="v2")
    return Quantity.point(abs(row["cosine"]))


claim = Claim(
    id="additive",
    order=5,
    sentence="Two rank-one patches match the rank-two plane; v1 and v2 are nearly orthogonal.",
    figures=("shared-rep", "app-shared-posrec"),
    criteria=(
        MEETS,
        *(
            Criterion(
                f"difference in IIA between both patches and the plane, {case} perturbed",
                partial(mismatch, case),
                "at most",
                0.25,
                "the paper's pairs differ by 0.14 and 0.06; a quarter of the answers is no match",
                key=case,
            )
            for case in CASES
        ),
        Criterion(
            "|cos(v1, v2)|",
            overlap,
            "at most",
            MOST,
            "at a half, a quarter of one direction's square lies along the other; −0.08 in the paper",
            key="cosine",
        ),
    ),
    holds=(
        "There the two {nouns} add up: v1 and v2 as two patches do what their plane does (IIA differs by {y1} and "
        "{y2}; |cos| {cosine})."
    ),
    fails="The two {nouns} do not add up along v1 and v2 at y2's position.",
    broken_by=("aligned",),
    falls_with=("unsolving", "by-value", "two-transport-heads", "curved-own", "no-flag"),
)
