"""Is the comparison made in two stages, first by local neurons and then by global ones?"""

from functools import partial

from numberline.claims.claim import Claim, Criterion
from numberline.claims.common import MEETS, MOST, SLIGHT
from numberline.claims.evidence import Evidence, NotMeasuredError, Quantity, smallest
from numberline.claims.scored import mean_of, part_of
from numberline.results.cases import CASES


def second_mlp(evidence: Evidence) -> Quantity:
    """What freezing the second most costly MLP costs, both cases together, as a share of the plane's effect.

    Which MLP that is, other examples chose.
    """
    tried = evidence.rows("k2.freeze", "costs_choosing")
    layers = sorted(tried.unique("layer"), key=lambda layer: -sum(row["mean"] for row in tried.where(layer=layer)))
    if len(layers) < 2:
        raise NotMeasuredError("only one layer follows the transport, so that there are no two MLPs to freeze")
    scored = evidence.scored("k2.freeze", "freeze")
    plane = [scored.of(case=case, frozen="none") for case in CASES]
    frozen = [scored.of(case=case, frozen=f"mlp {layers[1]}") for case in CASES]
    whole, left = (mean_of([each.recovery for each in some]) for some in (plane, frozen))
    return part_of(lambda weights: whole(weights) - left(weights), whole, len(plane[0].scale))


def stage(number: int, of: str, evidence: Evidence) -> Quantity:
    """What the fields of the shared neurons of the first (0) or last (−1) comparator MLP show."""
    layers = evidence.role("comparator_mlps", "k2.freeze")
    if len(layers) < 2:
        raise NotMeasuredError(f"only the MLP of layer {layers[0]} compares, so that there are no two stages")
    return evidence.one("k2.fields", "judged", layer=layers[number], of=of)


def driven(evidence: Evidence) -> Quantity:
    """The shared neurons' part of the mean |edge| of shared and of matched random pairs, the weaker case."""
    return smallest(evidence.one("k2.connectivity", "driving", case=case, of="share") for case in CASES)


claim = Claim(
    id="two-stage",
    order=8,
    sentence="First-stage neurons are local, second-stage neurons are global comparators.",
    figures=("comparison-mechanism", "app-rf-shared", "app-connectivity"),
    criteria=(
        MEETS,
        Criterion(
            "share of the plane's effect lost with the second most costly MLP frozen",
            second_mlp,
            "at least",
            SLIGHT,
            "a stage that can be left out at no cost is no stage",
            key="second_mlp",
        ),
        Criterion(
            "first stage: share of pairs outside its interval on which a neuron is silent, the median of those that "
            "compare",
            partial(stage, 0, "locality"),
            "at least",
            MOST,
            "a comparison is local if it is made inside an interval of {nouns} and nearly silent outside; a difference "
            "that never saturates is loud everywhere",
            key="local",
        ),
        Criterion(
            "first stage: share of the range that the intervals of the local neurons cover",
            partial(stage, 0, "coverage"),
            "at least",
            0.75,
            "local comparisons make a global one only if together they tile the range",
            key="tiling",
        ),
        Criterion(
            "second stage: share of pairs that the furthest-reaching neuron orders, on pairs that did not choose it",
            partial(stage, -1, "furthest"),
            "at least",
            0.75,
            "a comparison is global if it tells most pairs; a difference that never saturates tells a third",
            key="global",
        ),
        Criterion(
            "part of the first-stage neurons' mean effect on second-stage ones, of that and of matched random pairs'",
            driven,
            "at least",
            MOST,
            "the first stage drives the second if it does more to it than random neurons of these layers do",
            key="driven",
        ),
    ),
    holds=(
        "It compares in two stages (MLPs {comparator_mlps}): first-stage neurons are local ({local}) and tile {tiling} "
        "of the range, the best second-stage neuron orders {global} of all pairs."
    ),
    fails="The comparison is not made in two stages, first local and then global.",
    broken_by=("one-stage",),
    falls_with=("unsolving", "spread", "no-flag"),
    effect="second_mlp",
)
