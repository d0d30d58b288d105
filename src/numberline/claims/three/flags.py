"""Is there a flag at y2 and at y3 that says "the largest so far"?

1. A flag at y3 depends on y1, and it decides the answer where y1 is what changed: that change must do something at y3's
   position (the trace, which every model has). Of y2's position nothing of the kind follows: where y3's flag is set, a
   model that names the latest operand whose flag is set does not ask y2's.
2. One direction at each position: of the fits there, the one whose weaker case is the best on the fitting examples. It
   is judged on evaluation examples, in the paper's cases, against the whole residual at the same place. What that does
   may have either sign (y2's flag, restored where y1 is what changed, moves the answer away); a flag does the same. A
   case in which everything at that place does less than a tenth, on the fitting examples, says nothing of a flag.
3. In none of the paper's cases does y2's flag decide the answer, for y3 wins the corrupted prompt. The case
   y1 > y2 > y3, in which it does, is our own (experiments: "decides"); it stands beside and is not counted.
"""

from collections.abc import Sequence
from functools import partial

from numberline.claims.claim import Claim, Criterion
from numberline.claims.common import MOST, SLIGHT, arrives
from numberline.claims.evidence import Evidence, NotMeasuredError, Quantity, Row, smallest
from numberline.claims.scored import part_of

POSITIONS = {"y2": ("y1", "y2"), "y3": ("y1", "y2", "y3")}
"""Where flags are, and the paper's cases there."""
DECIDES = ("decides",)


def fitted(position: str, cases: Sequence[str], evidence: Evidence) -> tuple[str, list[str]]:
    """The fit that is the flag, and the cases that say something of it; chosen on fitting examples."""
    rows = evidence.rows("k3.flags", "patches", position=position, examples="fitting", metric="pooled")

    def recovery(condition: str, case: str) -> float:
        return float(rows.one(condition=condition, case=case)["mean"])

    telling = [case for case in cases if abs(recovery("full", case)) >= SLIGHT]
    if not telling:
        raise NotMeasuredError(f"in none of these cases does anything at {position}'s position move the answer")
    flags = [f"flag_{case}" for case in cases]
    return max(flags, key=lambda flag: min(recovery(flag, case) / recovery("full", case) for case in telling)), telling


def flag_share(position: str, cases: Sequence[str], evidence: Evidence) -> Quantity:
    """What one direction does, as a share of the whole residual there, in the weaker case."""
    flag, telling = fitted(position, cases, evidence)
    scored = evidence.scored("k3.flags", "patches", examples="evaluation", position=position)

    def share(case: str) -> Quantity:
        part, whole = (scored.of(condition=name, case=case).effect for name in (flag, "full"))
        sign = 1.0 if whole.mean() > 0 else -1.0
        return part_of(sign * part, sign * whole)

    return smallest(share(case) for case in telling)


def flag_tells(position: str, evidence: Evidence) -> Quantity:
    """How often a threshold on that direction tells whether the position's number is the largest so far."""
    flag, _ = fitted(position, POSITIONS[position], evidence)
    row: Row = evidence.rows("k3.flags", "separation", position=position, fitted=flag.removeprefix("flag_")).one()
    return Quantity.of(row)


claim = Claim(
    id="three-flags",
    order=11,
    sentence='At y2 and at y3 a flag says "the {largest} so far".',
    figures=("three-number-compare", "app-k3-l15"),
    criteria=(
        Criterion(
            "effect of restoring y3's position, y1 perturbed; layer chosen on other examples",
            partial(arrives, "k3.trace", "y3", ("y1",)),
            "at least",
            SLIGHT,
            "whether y3 is the {largest} so far depends on y1, and decides the answer: y1's change must be seen there",
            key="arrives",
        ),
        *(
            Criterion(
                f"effect of one direction at {position}, as a share of the whole residual's, the weakest of the "
                "paper's cases",
                partial(flag_share, position, cases),
                "at least",
                MOST,
                "one direction is the flag if it does most of what everything at that place does",
                key=position,
            )
            for position, cases in POSITIONS.items()
        ),
        Criterion(
            "the same at y2 in the case y1 > y2 > y3, in which its flag decides",
            partial(flag_share, "y2", DECIDES),
            "at least",
            MOST,
            "as above; not a case of the paper, and not counted",
            key="decides",
            counted=False,
        ),
        *(
            Criterion(
                f"prompts for which the flag at {position} tells whether {position} is the {{largest}} so far",
                partial(flag_tells, position),
                "at least",
                0.9,
                "half is chance; a binary value is told nearly always",
                key=f"tells_{position}",
            )
            for position in POSITIONS
        ),
    ),
    holds="Flags at y2 and y3 say “the {largest} so far” ({y2} and {y3} of the whole residual's effect).",
    fails="No one direction at y2 and at y3 says “the {largest} so far”.",
    broken_by=("phased-y3",),
    falls_with=("unsolving", "by-value", "no-flag"),
    effect="y3",
)
