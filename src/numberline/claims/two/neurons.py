"""Does a small set of neurons carry the comparison?"""

from functools import partial

from numberline.claims.claim import Claim, Criterion
from numberline.claims.common import MEETS, MOST, SLIGHT
from numberline.claims.evidence import Evidence, NotMeasuredError, Quantity, largest
from numberline.estimates import share_lost, wilson
from numberline.results.cases import CASES


def lost(frozen: str, case: str, evidence: Evidence, beyond: str | None = None) -> Quantity:
    """The share of the answers that the plane changes which it no longer changes with a set of neurons frozen, in all
    or beyond those that it no longer changes with other sets frozen."""
    scored = evidence.scored("k2.neurons", "sets", case=case)
    before, after = scored.of(frozen="none").hit[0], scored.of(frozen=frozen).hit
    if wilson((before > 0).tolist()).lo <= 0:
        raise NotMeasuredError(f"there is nothing to lose: the plane changes no answer with {case} perturbed")
    instead = None if beyond is None else scored.of(frozen=beyond).hit
    return Quantity.from_estimate(share_lost(before, after, instead))


def lost_at_random(evidence: Evidence) -> Quantity:
    """What random sets of that size lose, the case in which that is more."""
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
                f"share of the plane's IIA lost with the shared set frozen beyond random sets of that size, {case} "
                "perturbed",
                partial(lost, "shared", case, beyond="random"),
                "at least",
                MOST,
                "a set carries the comparison if more is lost without it than all other neurons keep, and than as many "
                "others carry",
                key=case,
            )
            for case in CASES
        ),
        Criterion(
            "share lost with the random sets, none of them shared, the case that loses more",
            lost_at_random,
            "at most",
            SLIGHT,
            "random sets cost nothing where few neurons of many compare; of a few hundred, several may: not counted",
            key="random",
            counted=False,
        ),
    ),
    holds=(
        "A small set of neurons carries the comparison: without it {y1} of the plane's IIA is lost with y1 perturbed, "
        "{y2} with y2, beyond what random sets cost ({random})."
    ),
    fails="No small set of neurons carries the comparison.",
    broken_by=("spread",),
    falls_with=("unsolving", "by-value", "helix", "aligned", "curved-own", "curved-y2"),
    effect="y1",
)
