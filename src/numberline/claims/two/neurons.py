"""Does a small set of neurons carry the comparison?"""

from functools import partial

from numberline.claims.claim import Claim, Criterion
from numberline.claims.common import MEETS, MOST
from numberline.claims.evidence import Evidence, Quantity, average
from numberline.results.cases import CASES


def carried(case: str, evidence: Evidence) -> Quantity:
    """What freezing the shared neurons costs beyond freezing as many random ones, as a share of the plane's effect."""

    def recovery(frozen: str) -> Quantity:
        rows = evidence.rows("k2.neurons", "sets", case=case, frozen=frozen, metric="pooled")
        return average(map(Quantity.of, rows))

    return (recovery("random") - recovery("shared")) / recovery("none")


claim = Claim(
    id="neurons",
    order=7,
    sentence="A small set of neurons carries the comparison; random sets of that size do not.",
    figures=("comparison-mechanism", "app-attribution"),
    criteria=(
        MEETS,
        *(
            Criterion(
                f"share of the plane's effect that the shared set carries beyond random sets, {case} perturbed",
                partial(carried, case),
                "at least",
                MOST,
                "a set carries the comparison if more is lost without it than all other neurons keep",
                key=case,
            )
            for case in CASES
        ),
    ),
    holds=(
        "A small set of neurons carries the comparison: beyond random sets, {y1} of the plane's effect with y1 "
        "perturbed, {y2} with y2."
    ),
    fails="No small set of neurons carries the comparison.",
    broken_by=("spread",),
    falls_with=("unsolving", "helix", "aligned", "curved-own", "curved-y2"),
)
