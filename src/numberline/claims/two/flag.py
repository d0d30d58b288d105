"""Does one direction hold the answer's position, once the numbers are compared?"""

from numberline.claims.claim import Claim, Criterion
from numberline.claims.common import CONTROL, MEETS, MOST, SLIGHT
from numberline.claims.evidence import Evidence, Quantity, Row, largest, smallest
from numberline.results.cases import CASES


def the_flag(evidence: Evidence) -> Row:
    """The one direction that is judged: its layer, and the case that it was fitted in."""
    return evidence.rows("k2.flag", "flag").one()


def flag_in_both(evidence: Evidence) -> Quantity:
    """IIA of that direction in the case in which it does less."""
    condition = f"flag_{the_flag(evidence)['fitted']}"
    return smallest(evidence.patch("k2.flag", "iia", condition=condition, case=case) for case in CASES)


def flag_tells(evidence: Evidence) -> Quantity:
    """How often a threshold on its component tells the winner of a clean prompt."""
    return evidence.one("k2.flag", "separation", fitted=the_flag(evidence)["fitted"])


def flag_follows(evidence: Evidence) -> Quantity:
    """What the winner explains of a component beyond what both numbers do: of the two fits the one where it is less."""
    layer = the_flag(evidence)["layer"]
    return smallest(
        evidence.one("k2.flag", "winner", layer=layer, fitted=case, examples="evaluation", of="gain") for case in CASES
    )


def random_flag(evidence: Evidence) -> Quantity:
    """IIA of random directions at that layer, the case in which they do more."""
    return largest(evidence.patch("k2.flag", "iia", condition="random", case=case) for case in CASES)


claim = Claim(
    id="flag",
    order=9,
    sentence="One direction holds the answer's position.",
    figures=("comparison-mechanism", "app-l15-direction"),
    criteria=(
        MEETS,
        Criterion(
            "IIA of one direction, the weaker case",
            flag_in_both,
            "at least",
            MOST,
            "a flag is one variable: the same direction must change most answers in both cases; 0.66 in the paper",
            key="iia",
        ),
        Criterion(
            "prompts whose winner the flag's component tells",
            flag_tells,
            "at least",
            0.9,
            "half is chance; a binary value is told nearly always",
            key="tells",
        ),
        Criterion(
            "what the winner explains of the direction beyond both {nouns}, the lesser of its two fits",
            flag_follows,
            "at least",
            0.0,
            "zero is half-way from a step to a difference that never saturates, whose sign tells the winner as well; "
            "a flag is found whichever {noun} changes",
            key="follows",
        ),
        Criterion("IIA of random directions", random_flag, "at most", SLIGHT, CONTROL, key="random"),
    ),
    holds=(
        "Once compared, one direction at y2's position holds the answer's position ({flag_layer}; IIA {iia} in the "
        "weaker case)."
    ),
    fails="No single direction at y2's position holds the answer's position.",
    broken_by=("no-flag",),
    falls_with=("unsolving", "by-value"),
    effect="iia",
)
