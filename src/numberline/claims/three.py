"""The three claims about three numbers: what each measures, its threshold, and why that one.

The paper scores three numbers by position recovery, for their IIA is near zero in two cases. So does this: pooled
recoveries, each as a share of what the whole residual at the same place recovers.
"""

from collections.abc import Callable
from functools import partial

from numberline.claims.evidence import Evidence, Quantity, average, largest, smallest
from numberline.claims.measurements import trace
from numberline.claims.two import MOST, SLIGHT
from numberline.claims.verdicts import Declared, Test

DIRECTIONS = {"v1": "y1", "v2": "y2", "v3": "y3"}
"""The directions at y3's position, and the number that each carries."""
POSITIONS = {"y2": ("decides",), "y3": ("y1", "y3")}
"""Where flags are, and the cases in which theirs decides the answer (three/flags.py). At y2 that is y1 > y2 > y3, for
in the paper's three cases y3 wins the corrupted prompt, whatever y2's flag says. For y2 > y3 > y1 it is not y3's."""


def arrives(evidence: Evidence) -> Quantity:
    """The most that restoring y3's position recovers when y1 is what changed, over layers."""
    return largest(map(Quantity.of, trace(evidence, "k3.trace", "y1", "y3")))


MEETS = Test(
    "recovery of y1's change at y3's position, best layer",
    arrives,
    "at least",
    MOST,
    "the numbers meet at y3's position only if most of y1's effect passes through it",
)


def over_directions(
    measure: Callable[[str, str, Evidence], Quantity], worst: Callable[..., Quantity]
) -> Callable[[Evidence], Quantity]:
    """A measurement on each of the three directions, and the worst of them."""
    return lambda evidence: worst([measure(name, case, evidence) for name, case in DIRECTIONS.items()])


def monotone(name: str, _: str, evidence: Evidence) -> Quantity:
    """The rank correlation of the mean component with the number."""
    (row,) = evidence.rows("k3.directions", "monotone", direction=name)
    return Quantity.point(row["correlation"], int(row["values"]))


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


def flag_share(position: str, evidence: Evidence) -> Quantity:
    """The better fit of a flag: its recovery as a share of the whole residual's, in the case in which that is less."""

    def share(name: str, case: str) -> Quantity:
        flag, full = (
            evidence.patch("k3.flags", "pooled", position=position, condition=condition, case=case)
            for condition in (name, "full")
        )
        return flag / full

    tried = {row["condition"] for row in evidence.rows("k3.flags", "patches", position=position)}
    flags = sorted(name for name in tried if name.startswith("flag_"))
    return largest(smallest(share(flag, case) for case in POSITIONS[position]) for flag in flags)


def flag_tells(position: str, evidence: Evidence) -> Quantity:
    """How often a threshold on the flag tells whether the position's number is the largest so far."""
    return largest(map(Quantity.of, evidence.rows("k3.flags", "separation", position=position)))


def readout(condition: str, evidence: Evidence) -> Quantity:
    """A patch at the read-out layer as a share of the full-rank one, the mean over value orders."""
    orders = sorted({row["order"] for row in evidence.rows("k3.readout", "patches")})
    patch, full = (
        average(evidence.one("k3.readout", "patches", condition=name, order=order, metric="pooled") for order in orders)
        for name in (condition, "full")
    )
    return patch / full


def told(evidence: Evidence) -> Quantity:
    """How often the two components at the read-out layer tell the winner."""
    (layer,) = evidence.role("readout_layer_k3", "k3.readout")
    return evidence.one("k3.readout", "pca", layer=layer)


THREE_NUMBERS: tuple[Declared, ...] = (
    Declared(
        "three-linear",
        "Three directions at y3's position are monotone and specific to their numbers.",
        ("three-number-compare", "app-k3-directions", "app-k3-dissociation"),
        (
            MEETS,
            Test(
                "rank correlation of a direction's component with its number, the least of v1, v2, v3",
                over_directions(monotone, smallest),
                "at least",
                0.9,
                "monotone up to accidents of single numbers",
            ),
            Test(
                "recovery of a direction, as a share of the whole residual's, the least of the three",
                over_directions(own_share, smallest),
                "at least",
                MOST,
                "a direction carries its number if it does most of what everything at that place does",
            ),
            Test(
                "effect of a direction when another number changes, as a share of its own, the most of the three",
                over_directions(elsewhere, largest),
                "at most",
                MOST,
                "a direction is a number's own if it does at least twice as much for it as for any other",
            ),
        ),
    ),
    Declared(
        "three-flags",
        'At y2 and at y3 a flag says "the largest so far".',
        ("three-number-compare", "app-k3-l15"),
        (
            MEETS,
            *(
                Test(
                    f"recovery of one direction at {position}, as a share of the whole residual's, the weaker case",
                    partial(flag_share, position),
                    "at least",
                    MOST,
                    "one direction is the flag if it does most of what everything at that place does",
                )
                for position in POSITIONS
            ),
            *(
                Test(
                    f"prompts for which the flag at {position} tells whether {position} is the largest so far",
                    partial(flag_tells, position),
                    "at least",
                    0.9,
                    "half is chance; a binary value is told nearly always",
                )
                for position in POSITIONS
            ),
        ),
    ),
    Declared(
        "three-readout",
        "Two components at the last token hold the position of the maximum.",
        ("three-number-compare", "app-k3-readout-pca", "app-k3-readout-causal"),
        (
            Test(
                "recovery of two components, as a share of the whole residual's",
                partial(readout, "pcs"),
                "at least",
                0.75,
                "the paper finds both the same; a quarter less is not",
            ),
            Test(
                "the same of random planes",
                partial(readout, "random"),
                "at most",
                SLIGHT,
                "a random plane that did a tenth of it would make two components unremarkable",
            ),
            Test(
                "prompts whose winner the two components tell",
                told,
                "at least",
                0.9,
                "a third is chance; a position that is held is told nearly always",
            ),
        ),
    ),
)
