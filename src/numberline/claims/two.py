"""The nine claims about two numbers: what each measures, its threshold, and why that one.

Two thresholds recur: `MOST`, a half (of the answers, of the effect: more than everything else together), and `SLIGHT`,
a tenth, below which an effect is none.
"""

from functools import partial

from numberline.claims.measurements import (
    CASES,
    accuracy,
    arrives,
    carried,
    flag_in_both,
    flag_tells,
    head_lead,
    head_share,
    held,
    mismatch,
    most,
    named_somewhere,
    number_share,
    overlap,
    random_flag,
    said,
    second_mlp,
    stage_reach,
    straight,
    worst,
)
from numberline.claims.verdicts import Declared, Test

MOST, SLIGHT = 0.5, 0.1

MEETS = Test(
    "recovery of y1's change at y2's position, best layer",
    arrives,
    "at least",
    MOST,
    "both numbers meet at y2's position only if most of y1's effect passes through it",
)
"""What every claim about y2's position rests on, and what the causal trace of any model tells."""

CONTROL = "a random direction that changed one answer in ten would make a learned one unremarkable"

TWO_NUMBERS: tuple[Declared, ...] = (
    Declared(
        "solves",
        "The model solves the task.",
        ("app-behaviour",),
        tuple(
            Test(
                f"accuracy on {population}",
                partial(accuracy, population),
                "at least",
                0.9,
                "what is scored as a changed answer must not be a mistake: fewer than one in ten",
            )
            for population in ("two-digit pairs", "two-digit triples")
        ),
    ),
    Declared(
        "position",
        "Patching moves the answer's position, not its value.",
        ("app-patch-outcomes", "app-patch-examples"),
        (
            Test(
                "IIA of the best full-rank patch anywhere",
                named_somewhere,
                "at least",
                MOST,
                "some state must decide the position for it to be moved: most answers then name the other operand",
            ),
            Test(
                "answers at the new position, of those at it or with the old value, u patched",
                partial(said, "u", ("r",), ("a",)),
                "at least",
                0.9,
                "a model that moves values would say the clean value a; one in ten is left for accidents",
            ),
            Test(
                "the same, full residual at y2 patched",
                partial(said, "full_number_y2", ("r", "mixed"), ("a",)),
                "at least",
                0.9,
                "as above; r's first digit followed by a's last is the new position with a digit overwritten",
            ),
        ),
    ),
    Declared(
        "linear",
        "A rank-one direction carries the number causally, beside curved geometry; matched random directions do not.",
        ("number-reps", "app-u-manifold", "app-u-vs-pc1"),
        (
            Test(
                "lead of y1's last token over every other token in the trace",
                held,
                "at least",
                SLIGHT,
                "the number is held at its position only if that token has more of its effect than any other",
            ),
            Test(
                "IIA of u",
                lambda evidence: evidence.patch("k2.number", "iia", condition="u", case="y1"),
                "at least",
                MOST,
                "one direction carries the number if it changes most answers",
            ),
            Test(
                "recovery of u, as a share of the whole residual's",
                number_share,
                "at least",
                0.75,
                "a chord of a curve carries a part of the number; no more than a quarter may be left to the rest",
            ),
            Test(
                "IIA of random directions",
                lambda evidence: evidence.patch("k2.number", "iia", condition="random", case="y1"),
                "at most",
                SLIGHT,
                CONTROL,
            ),
            Test(
                "variance at y1 along its first component",
                straight,
                "at most",
                0.9,
                "numbers on a straight line would leave nothing to other components; a tenth is a visible curve",
            ),
        ),
    ),
    Declared(
        "transport",
        "Few heads (one, in the paper) carry y1 to y2's position.",
        ("number-reps", "app-transport"),
        (
            MEETS,
            Test(
                "recovery of the best head, as a share of the whole residual's",
                head_share,
                "at least",
                MOST,
                "one head carries the number if it does more than all others together",
            ),
            Test(
                "lead of the best head over the second, as a share of the best",
                head_lead,
                "at least",
                SLIGHT,
                "two heads that share the work alike have none; a tenth is more than their accidents",
            ),
        ),
    ),
    Declared(
        "additive",
        "Two rank-one patches match the rank-two plane; v1 and v2 are nearly orthogonal.",
        ("shared-rep", "app-shared-posrec"),
        (
            MEETS,
            *(
                Test(
                    f"difference in IIA between both patches and the plane, {case} perturbed",
                    partial(mismatch, case),
                    "at most",
                    0.25,
                    "the paper's pairs differ by 0.14 and 0.06; a quarter of the answers is no match",
                )
                for case in CASES
            ),
            Test(
                "|cos(v1, v2)|",
                overlap,
                "at most",
                MOST,
                "at a half, a quarter of one direction's square lies along the other; −0.08 in the paper",
            ),
        ),
    ),
    Declared(
        "plane",
        "The comparison is linear on the plane, and moving on it moves the answer.",
        ("shared-rep", "app-shared-probes"),
        (
            MEETS,
            Test(
                "accuracy of a linear classifier of y1 > y2 on the plane",
                lambda evidence: evidence.one("k2.shared", "separability"),
                "at least",
                0.9,
                "half is chance; nine in ten leaves near-ties undecided",
            ),
            Test(
                "IIA of the plane, the weaker case",
                partial(worst, "plane"),
                "at least",
                MOST,
                "the plane holds both numbers if moving either changes most answers; 0.81 and 0.95 in the paper",
            ),
            Test(
                "IIA of random planes",
                partial(most, "random_plane"),
                "at most",
                SLIGHT,
                CONTROL,
            ),
            Test(
                "answers that name the winner of the coordinates set",
                lambda evidence: evidence.one("k2.dose", "boundary"),
                "at least",
                0.75,
                "half-way between chance and always",
            ),
        ),
    ),
    Declared(
        "neurons",
        "A small set of neurons carries the comparison; random sets of that size do not.",
        ("comparison-mechanism", "app-attribution"),
        (
            MEETS,
            *(
                Test(
                    f"share of the plane's effect that the shared set carries beyond random sets, {case} perturbed",
                    partial(carried, case),
                    "at least",
                    MOST,
                    "a set carries the comparison if more is lost without it than all other neurons keep",
                )
                for case in CASES
            ),
        ),
    ),
    Declared(
        "two-stage",
        "First-stage neurons are local, second-stage neurons are global comparators.",
        ("comparison-mechanism", "app-rf-shared", "app-connectivity"),
        (
            MEETS,
            Test(
                "share of the plane's effect lost with the second most costly MLP frozen",
                second_mlp,
                "at least",
                SLIGHT,
                "a stage that can be left out at no cost is no stage",
            ),
            Test(
                "share of pairs of numbers that a first-stage neuron orders, mean",
                partial(stage_reach, 0, "mean"),
                "at most",
                MOST,
                "a comparison is local if it tells the order of fewer than half of all pairs",
            ),
            Test(
                "the same, the second-stage neuron that reaches furthest",
                partial(stage_reach, -1, "best"),
                "at least",
                0.75,
                "a comparison is global if it tells most pairs; a difference that never saturates tells a third",
            ),
        ),
    ),
    Declared(
        "flag",
        "One direction holds the answer's position.",
        ("comparison-mechanism", "app-l15-direction"),
        (
            MEETS,
            Test(
                "IIA of one direction after the last comparator MLP, the weaker case",
                flag_in_both,
                "at least",
                MOST,
                "a flag is one variable: the same direction must change most answers in both cases; 0.66 in the paper",
            ),
            Test(
                "prompts whose winner the flag's component tells",
                flag_tells,
                "at least",
                0.9,
                "half is chance; a binary value is told nearly always",
            ),
            Test("IIA of random directions", random_flag, "at most", SLIGHT, CONTROL),
        ),
    ),
)
