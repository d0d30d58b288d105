"""Are three numbers held at y3's position along directions that rise with them, each number on its own?"""

from collections.abc import Callable

from numberline.claims.claim import Claim, Criterion
from numberline.claims.common import MEETS_AT_Y3, MOST
from numberline.claims.evidence import Evidence, Quantity, largest, smallest

DIRECTIONS = {"v1": "y1", "v2": "y2", "v3": "y3"}
"""The directions at y3's position, and the number that each carries."""


def over_directions(
    measure: Callable[[str, str, Evidence], Quantity], worst: Callable[..., Quantity]
) -> Callable[[Evidence], Quantity]:
    """A measurement on each of the three directions, and the worst of them."""
    return lambda evidence: worst([measure(name, case, evidence) for name, case in DIRECTIONS.items()])


def monotone(name: str, _: str, evidence: Evidence) -> Quantity:
    """The rank correlation of the mean component with the number."""
    return evidence.one("k3.directions", "monotone", direction=name)


def recovery(condition: str, case: str, evidence: Evidence) -> Quantity:
    """The pooled recovery of a patch of k3.directions."""
    return evidence.patch("k3.directions", "pooled", condition=condition, case=case)


def own_share(name: str, case: str, evidence: Evidence) -> Quantity:
    """What a direction recovers when its number changes, as a share of the whole residual there."""
    return recovery(name, case, evidence) / recovery("full_mid", case, evidence)


def elsewhere(name: str, case: str, evidence: Evidence) -> Quantity:
    """What a direction does when another number changes, as a share of what it does for its own."""
    others = [abs(recovery(name, other, evidence)) for other in DIRECTIONS.values() if other != case]
    return largest(others) / recovery(name, case, evidence)


claim = Claim(
    id="three-linear",
    order=10,
    sentence="Three directions at y3's position are monotone and specific to their {nouns}.",
    figures=("three-number-compare", "app-k3-directions", "app-k3-dissociation"),
    criteria=(
        MEETS_AT_Y3,
        Criterion(
            "rank correlation of a direction's component with its {noun}, the least of v1, v2, v3",
            over_directions(monotone, smallest),
            "at least",
            0.9,
            "monotone up to accidents of single {nouns}",
        ),
        Criterion(
            "recovery of a direction, as a share of the whole residual's, the least of the three",
            over_directions(own_share, smallest),
            "at least",
            MOST,
            "a direction carries its {noun} if it does most of what everything at that place does",
            key="own",
        ),
        Criterion(
            "effect of a direction when another {noun} changes, as a share of its own, the most of the three",
            over_directions(elsewhere, largest),
            "at most",
            MOST,
            "a direction is a {noun}'s own if it does at least twice as much for it as for any other",
            key="elsewhere",
        ),
    ),
    holds=(
        "With three {nouns}, three directions at y3's position carry them (at least {own} of the whole residual's "
        "recovery, at most {elsewhere} of it for another {noun})."
    ),
    fails="The three {nouns} are not held along directions of their own at y3's position.",
    broken_by=("curved-y2",),
    falls_with=("unsolving", "helix", "two-transport-heads", "curved-own"),
)
