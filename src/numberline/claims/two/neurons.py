"""Does a small set of neurons carry the comparison?"""

from functools import partial

from numberline.claims.claim import Claim, Criterion
from numberline.claims.common import MEETS, MOST, SLIGHT
from numberline.claims.evidence import Evidence, NotMeasuredError, Quantity, largest
from numberline.estimates import share_lost, wilson
from numberline.results.cases import CASES


def lost(frozen: str, case: str, evidence: Evidence) -> Quantity:
    """The share of the answers that the plane changes which it no longer changes with a set of neurons frozen."""
    scored = evidence.scored("k2.neurons", "sets", case=case)
    before, after = scored.of(frozen="none").hit[0], scored.of(frozen=frozen).hit
    if wilson((before > 0).tolist()).lo <= 0:
        raise NotMeasuredError(f"there is nothing to lose: the plane changes no answer with {case} perturbed")
    return Quantity.from_estimate(share_lost(before, after))


def lost_at_random(evidence: Evidence) -> Quantity:
    """The same with random sets of that size frozen, the case in which that costs more."""
    return largest(lost("random", case, evidence) for case in CASES)


claim = Claim(
    id="neurons",
    order=7,
    sentence="A small set of neurons carries the comparison; random sets of that size do not.",
    figures=("comparison-mechanism", "app-attribution"),
    criteria=(
        MEETS,
        *(
            Criterion(
                f"share of the plane's IIA lost with the shared set frozen, {case} perturbed",
                partial(lost, "shared", case),
                "at least",
                MOST,
                "a set carries the comparison if more is lost without it than all other neurons keep",
                key=case,
            )
            for case in CASES
        ),
        Criterion(
            "the same with random sets of that size, none of them shared, the case that loses more",
            lost_at_random,
            "at most",
            SLIGHT,
            "a random set that cost a tenth of it would make the shared one unremarkable",
            key="random",
        ),
    ),
    holds=(
        "A small set of neurons carries the comparison: without it {y1} of the plane's IIA is lost with y1 perturbed, "
        "{y2} with y2; with random sets {random}."
    ),
    fails="No small set of neurons carries the comparison.",
    broken_by=("spread",),
    falls_with=("unsolving", "helix", "aligned", "curved-own", "curved-y2"),
    effect="y1",
)
