"""Do the two numbers add up at y2's position, along two directions that have little in common?"""

from functools import partial

from numberline.claims.claim import Claim, Criterion
from numberline.claims.common import MEETS, MOST, SLIGHT
from numberline.claims.evidence import Evidence, Quantity
from numberline.claims.scored import part_of
from numberline.results.cases import CASES

MATCH = 0.75
"""The share of an effect from which on it is matched; four thirds of it is matched too."""
SHORTCUT = 1.5
"""A learned direction that does so many times what everything at its place does is not that number's alone."""


def share(part: str, whole: str, case: str, evidence: Evidence) -> Quantity:
    """The recovery of one patch of k2.shared as a share of another's, example by example."""
    scored = evidence.scored("k2.shared", "patches", examples="evaluation", case=case)
    return part_of(scored.of(condition=part).effect, scored.of(condition=whole).effect)


def angle(of: str, evidence: Evidence) -> Quantity:
    """A row of k2.shared's table of angles."""
    return evidence.one("k2.shared", "angles", of=of)


def both_and_plane(case: str) -> tuple[Criterion, ...]:
    """Both rank-one patches beside the plane, from below and from above, and the plane beside everything there."""
    both = partial(share, "v1_v2", "plane", case)
    return (
        Criterion(
            f"recovery of both rank-one patches, as a share of the plane's, {case} perturbed",
            both,
            "at least",
            MATCH,
            "two patches match the plane if no more than a quarter of its effect is missing",
            key=case,
        ),
        Criterion(
            f"the same, from above, {case} perturbed",
            both,
            "at most",
            1 / MATCH,
            "nor may they do much more than the plane: a third more is another effect",
            key=f"{case}_above",
        ),
        Criterion(
            f"recovery of the plane, as a share of the whole pre-MLP residual's, {case} perturbed",
            partial(share, "plane", "full_mid", case),
            "at least",
            MOST,
            "there must be an effect to be matched: most of what everything at that place does",
            key=f"{case}_plane",
        ),
    )


claim = Claim(
    id="additive",
    order=5,
    sentence="Two rank-one patches match the rank-two plane; v1 and v2 are nearly orthogonal.",
    figures=("shared-rep", "app-shared-posrec"),
    criteria=(
        MEETS,
        *(criterion for case in CASES for criterion in both_and_plane(case)),
        Criterion(
            "|cos(v1, v2)|, over what 95 in 100 random directions of the head's output space stay below",
            partial(angle, "relative"),
            "at most",
            1.0,
            "two directions are nearly orthogonal if they are no more aligned than the space they are from makes them",
            key="relative",
        ),
        Criterion(
            "|cos(u, v2)| − |cos(v1, v2)|",
            partial(angle, "contrast"),
            "at least",
            SLIGHT,
            "carrying y1 from u to v1 takes it away from y2's direction",
            key="contrast",
        ),
        Criterion(
            "recovery of v2 at y2, as a share of the whole residual's, y2 perturbed",
            partial(share, "v2", "full_number_y2", "y2"),
            "at most",
            SHORTCUT,
            "a direction that is learned from the answers and does far more than everything at its place is a "
            "shortcut; v2 is not learned from them, and may do more where the rest of that place works against it: "
            "not counted",
            key="shortcut",
            counted=False,
        ),
    ),
    holds=(
        "There the two {nouns} add up: v1 and v2 as two patches do what their plane does ({y1} and {y2} of its "
        "recovery), and v1 has left y2's direction (|cos| smaller by {contrast} than u's)."
    ),
    fails="The two {nouns} do not add up along v1 and v2 at y2's position.",
    broken_by=("aligned",),
    falls_with=("unsolving", "by-value", "helix", "two-transport-heads", "curved-own", "curved-y2", "no-flag"),
    effect="y1",
)
