"""Is there a flag at y2 and at y3 that says "the largest so far"?"""

from functools import partial

from numberline.claims.claim import Claim, Criterion
from numberline.claims.common import MEETS_AT_Y3, MOST
from numberline.claims.evidence import Evidence, Quantity, largest, smallest

POSITIONS = {"y2": ("decides",), "y3": ("y1", "y3")}
"""Where flags are, and the cases in which theirs decides the answer (three/flags.py). At y2 that is y1 > y2 > y3, for
in the paper's three cases y3 wins the corrupted prompt, whatever y2's flag says. For y2 > y3 > y1 it is not y3's."""


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


claim = Claim(
    id="three-flags",
    order=11,
    sentence='At y2 and at y3 a flag says "the {largest} so far".',
    figures=("three-number-compare", "app-k3-l15"),
    criteria=(
        MEETS_AT_Y3,
        *(
            Criterion(
                f"recovery of one direction at {position}, as a share of the whole residual's, the weaker case",
                partial(flag_share, position),
                "at least",
                MOST,
                "one direction is the flag if it does most of what everything at that place does",
                key=position,
            )
            for position in POSITIONS
        ),
        *(
            Criterion(
                f"prompts for which the flag at {position} tells whether {position} is the {{largest}} so far",
                partial(flag_tells, position),
                "at least",
                0.9,
                "half is chance; a binary value is told nearly always",
            )
            for position in POSITIONS
        ),
    ),
    holds="Flags at y2 and y3 say “the {largest} so far” ({y2} and {y3} of the whole residual's recovery).",
    fails="No flag at y2 and at y3 says “the {largest} so far”.",
    broken_by=("phased-y3",),
    falls_with=("unsolving", "by-value", "no-flag"),
)
