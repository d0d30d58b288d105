"""What is the result of a run, in one paragraph? Generated plain English with the numbers of the ledger.

1. How many of the paper's claims hold, fail, are undecided, were not tested.
2. What holds, told as the paper's algorithm runs: each holding claim is one sentence with this run's roles and numbers.
3. What fails, by the claims' ids with the measurement that decides; what is undecided or not tested, and why.

`ledger_rows` is the same ledger as a table: a row for each claim, with its measurements, their intervals, thresholds.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from numberline.claims import Claim, Measurement, Verdict
from numberline.report.formatting import number, percent
from numberline.report.view import RunView, join

Say = Callable[[RunView, "Numbers"], str]
SYMBOLS: Mapping[Verdict, str] = {"holds": "✓", "fails": "✗", "undecided": "~", "not tested": "–"}


class Numbers:
    """The numbers of a claim by the beginning of a measurement's name."""

    def __init__(self, claim: Claim) -> None:
        self.claim = claim

    def __getitem__(self, start: str) -> Measurement:
        return next(each for each in self.claim.measurements if each.name.startswith(start))

    def __call__(self, start: str) -> str:
        """A value with its interval."""
        return estimate(self[start])


def estimate(measurement: Measurement) -> str:
    """0.94 [0.91, 0.96]; a dash where it was not measured."""
    if measurement.lo is None or measurement.lo == measurement.hi:
        return number(measurement.value)
    return f"{number(measurement.value)} [{number(measurement.lo)}, {number(measurement.hi)}]"


HOLDS: Mapping[str, Say] = {
    "solves": lambda view, n: (
        f"{view.model} names the right number for {_percent(n['accuracy on two-digit pairs'])} of pairs and "
        f"{_percent(n['accuracy on two-digit triples'])} of triples."
    ),
    "position": lambda _, n: (
        "A patch moves the answer's position, not its value "
        f"({n('answers at the new')} of the answers that it changes)."
    ),
    "linear": lambda view, n: (
        f"At {view.number_layer} one direction at y1's last token carries the number (IIA {n('IIA of u')}; random "
        f"directions {n('IIA of random')}), though the numbers lie on a curve, of which the first component explains "
        f"{_percent(n['variance at y1'], 0)}."
    ),
    "transport": lambda view, n: (
        f"{view.transport_head} carries y1 to y2's position ({n('recovery of the best head')} of what the whole "
        "residual there recovers)."
    ),
    "additive": lambda _, n: (
        f"There the two numbers add up: v1 and v2 as two patches do what their plane does (IIA differs by "
        f"{n('difference in IIA between both patches and the plane, y1')} and "
        f"{n('difference in IIA between both patches and the plane, y2')}; |cos| {n('|cos')})."
    ),
    "plane": lambda _, n: (
        f"The comparison is linear on that plane (accuracy {n('accuracy of a linear')}), and setting its coordinates "
        f"sets the answer ({n('answers that name')})."
    ),
    "neurons": lambda _, n: (
        "A small set of neurons carries the comparison: beyond random sets, "
        f"{n(_CARRIES + 'y1')} of the plane's effect with y1 perturbed, {n(_CARRIES + 'y2')} with y2."
    ),
    "two-stage": lambda view, n: (
        f"It compares in two stages (MLPs {view.spelled('comparator_mlps')}): a first-stage neuron orders "
        f"{n('share of pairs')} of all pairs, the best second-stage neuron {n('the same')}."
    ),
    "flag": lambda view, n: (
        f"Once compared, one direction at y2's position holds the answer's position ({view.flag_layer}; IIA "
        f"{n('IIA of one direction')} in the weaker case)."
    ),
    "three-linear": lambda _, n: (
        "With three numbers, three directions at y3's position carry them (at least "
        f"{n('recovery of a direction')} of the whole residual's recovery, at most {n('effect of a direction')} of it "
        "for another number)."
    ),
    "three-flags": lambda _, n: (
        "Flags at y2 and y3 say “the largest so far” "
        f"({n('recovery of one direction at y2')} and {n('recovery of one direction at y3')} of the whole residual's "
        "recovery)."
    ),
    "three-readout": lambda _, n: (
        "At the last token two components hold the position of the maximum "
        f"({n('recovery of two components')} of the whole residual's recovery; the winner told in "
        f"{_percent(n['prompts whose winner'])} of prompts)."
    ),
}
"""The sentence of each claim that holds."""

OTHERS: Mapping[Verdict, str] = {
    "fails": "What the paper says and this model does not do",
    "undecided": "Undecided, because the interval holds the threshold",
    "not tested": "Not tested",
}
"""How the sentence of the other claims begins."""

_CARRIES = "share of the plane's effect that the shared set carries beyond random sets, "


def verdict(claims: Sequence[Claim], view: RunView) -> str:
    """The paragraph."""
    parts = [counted(claims, view)]
    parts += [HOLDS[claim.id](view, Numbers(claim)) for claim in claims if claim.verdict == "holds"]
    for wanted, start in OTHERS.items():
        listed = grouped(claims, wanted)
        parts += [f"{start}: {listed}."] if listed else []
    return " ".join(parts)


def grouped(claims: Sequence[Claim], wanted: Verdict) -> str:
    """The claims of one verdict, those with the same reason together: A and B (reason); C (reason)."""
    found: dict[str, list[str]] = {}
    for claim in claims:
        if claim.verdict == wanted:
            found.setdefault(claim.why if wanted == "not tested" else decisive(claim), []).append(claim.id)
    return "; ".join(f"{join(ids)} ({why})" for why, ids in found.items())


def counted(claims: Sequence[Claim], view: RunView) -> str:
    """How many claims hold: one line."""
    counts = Counter(claim.verdict for claim in claims)
    verbs: Mapping[Verdict, str] = {"fails": "fail", "undecided": "are undecided", "not tested": "were not tested"}
    rest = [f"{counts[name]} {verb}" for name, verb in verbs.items() if counts[name]]
    said = f"Of the paper's {len(claims)} claims {counts['holds']} hold on {view.model}"
    return f"{said}{', ' if rest else ''}{join(rest) if rest else ''}."


def decisive(claim: Claim) -> str:
    """The first measurement that made the verdict, in words."""
    return next(each.words for each in claim.measurements if each.verdict == claim.verdict)


def ledger_rows(claims: Sequence[Claim]) -> list[dict[str, Any]]:
    """The ledger for a table: each claim with its symbol and figures, and each measurement spelled."""
    return [
        {
            "id": claim.id,
            "sentence": claim.sentence,
            "verdict": claim.verdict,
            "symbol": SYMBOLS[claim.verdict],
            "figures": claim.figures,
            "why": claim.why,
            "measurements": [
                {
                    "name": each.name,
                    "value": estimate(each),
                    "n": each.n,
                    "threshold": f"{'≥' if each.direction == 'at least' else '≤'} {number(each.threshold)}",
                    "reason": each.reason,
                    "verdict": each.verdict,
                    "symbol": SYMBOLS[each.verdict],
                    "why": each.why,
                }
                for each in claim.measurements
            ],
        }
        for claim in claims
    ]


def _percent(measurement: Measurement, digits: int = 1) -> str:
    return "–" if measurement.value is None else percent(measurement.value, digits)
