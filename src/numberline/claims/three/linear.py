"""Are three numbers held at y3's position along directions that rise with them, each number on its own?

A direction at y3's position can carry a number only if something there does: restoring that position must do at least a
tenth of it when y1, and when y3, is what changed. Every model has a trace, so that one that does it another way fails.
"""

from collections.abc import Callable
from functools import partial

from numberline.claims.claim import Claim, Criterion
from numberline.claims.common import MOST, SLIGHT, arrives
from numberline.claims.evidence import Evidence, Quantity, largest, smallest
from numberline.claims.scored import Examples, absolute, most_of, part_of

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


def patched(condition: str, case: str, evidence: Evidence) -> Examples:
    """What a patch of k3.directions does to each example."""
    scored = evidence.scored("k3.directions", "patches", examples="evaluation")
    return scored.of(condition=condition, case=case)


def own_share(name: str, case: str, evidence: Evidence) -> Quantity:
    """What a direction recovers when its number changes, as a share of the whole residual there."""
    return part_of(patched(name, case, evidence).effect, patched("full_mid", case, evidence).effect)


def elsewhere(name: str, case: str, evidence: Evidence) -> Quantity:
    """What a direction does when another number changes, as a share of what it does for its own."""
    own = patched(name, case, evidence)
    others = [patched(name, other, evidence).recovery for other in DIRECTIONS.values() if other != case]
    return part_of(most_of([absolute(other) for other in others]), own.recovery, len(own.scale))


claim = Claim(
    id="three-linear",
    order=10,
    sentence="Three directions at y3's position are monotone and specific to their {nouns}.",
    figures=("three-number-compare", "app-k3-directions", "app-k3-dissociation"),
    criteria=(
        Criterion(
            "effect of restoring y3's position, y1 or y3 perturbed, the lesser; layers chosen on other examples",
            partial(arrives, "k3.trace", "y3", ("y1", "y3")),
            "at least",
            SLIGHT,
            "a direction at that place can carry a {noun} only if everything there does",
            key="arrives",
        ),
        Criterion(
            "rank correlation of a direction's component with its {noun}, the least of v1, v2, v3",
            over_directions(monotone, smallest),
            "at least",
            0.9,
            "monotone up to accidents of single {nouns}",
            key="monotone",
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
    effect="own",
)
