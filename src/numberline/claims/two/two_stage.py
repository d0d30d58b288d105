"""Is the comparison made in two stages, first by local neurons and then by global ones?"""

from functools import partial

from numberline.claims.claim import Claim, Criterion
from numberline.claims.common import MEETS, MOST, SLIGHT
from numberline.claims.evidence import Evidence, NotMeasuredError, Quantity, average


def second_mlp(evidence: Evidence) -> Quantity:
    """What freezing the second most costly MLP costs, both cases together, as a share of the plane's effect."""
    rows = evidence.rows("k2.freeze", "costs")
    costs = [
        average(Quantity.of(row) for row in rows if row["layer"] == layer) for layer in {row["layer"] for row in rows}
    ]
    if len(costs) < 2:
        raise NotMeasuredError("only one layer follows the transport, so that there are no two MLPs to freeze")
    plane = average(map(Quantity.of, evidence.rows("k2.freeze", "freeze", frozen="none", metric="pooled")))
    return sorted(costs, key=lambda cost: -cost.value)[1] / plane


def stage_reach(stage: int, of: str, evidence: Evidence) -> Quantity:
    """The reach of the shared neurons of the first (0) or last (−1) comparator MLP."""
    layers = evidence.role("comparator_mlps", "k2.freeze")
    if len(layers) < 2:
        raise NotMeasuredError(f"only the MLP of layer {layers[0]} compares, so that there are no two stages")
    return evidence.one("k2.fields", "locality", layer=layers[stage], of=of)


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
        ),
        Criterion(
            "share of pairs of {nouns} that a first-stage neuron orders, mean",
            partial(stage_reach, 0, "mean"),
            "at most",
            MOST,
            "a comparison is local if it tells the order of fewer than half of all pairs",
            key="first",
        ),
        Criterion(
            "the same, the second-stage neuron that reaches furthest",
            partial(stage_reach, -1, "best"),
            "at least",
            0.75,
            "a comparison is global if it tells most pairs; a difference that never saturates tells a third",
            key="second",
        ),
    ),
    holds=(
        "It compares in two stages (MLPs {comparator_mlps}): a first-stage neuron orders {first} of all pairs, the "
        "best second-stage neuron {second}."
    ),
    fails="The comparison is not made in two stages, first local and then global.",
    broken_by=("one-stage",),
    falls_with=("unsolving", "spread", "no-flag"),
)
