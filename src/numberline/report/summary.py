"""What is the result of a run, in one paragraph? Generated plain English with the numbers of the ledger.

1. How many of the paper's claims hold, fail, are undecided, were not tested.
2. What holds, told as the paper's algorithm runs: each holding claim's own sentence, with this run's roles and numbers.
3. What fails, by the claims' ids with the measurement that decides; what is undecided or not tested, and why.

`ledger_rows` is the same ledger as a table: a row for each claim, with its measurements, their intervals, thresholds.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from numberline.claims import Finding, Measurement, Verdict
from numberline.report.view import RunView, join
from numberline.results.formatting import count, number

SYMBOLS: Mapping[Verdict, str] = {"holds": "✓", "fails": "✗", "undecided": "~", "not tested": "–"}


OTHERS: Mapping[Verdict, str] = {
    "fails": "What the paper says and this model does not do",
    "undecided": "Undecided, because the interval holds the threshold",
    "not tested": "Not tested",
}
"""How the sentence of the other claims begins."""


def verdict(findings: Sequence[Finding], view: RunView) -> str:
    """The paragraph."""
    return " ".join([counted(findings, view), *told(findings, view)])


def told(findings: Sequence[Finding], view: RunView) -> list[str]:
    """Its sentences after the first: what holds, what fails, what is undecided or was not tested."""
    parts = [finding.told(words_of(view)) for finding in findings if finding.verdict == "holds"]
    for wanted, start in OTHERS.items():
        listed = grouped(findings, wanted)
        parts += [f"{start}: {listed}."] if listed else []
    return parts


def words_of(view: RunView) -> dict[str, str]:
    """What the sentence of a claim may name beside its measurements."""
    return {
        "model": view.model,
        "number_layer": view.number_layer,
        "transport_head": view.transport_head,
        "comparator_mlps": view.spelled("comparator_mlps"),
        "flag_layer": view.flag_layer,
    }


def grouped(findings: Sequence[Finding], wanted: Verdict) -> str:
    """The claims of one verdict, those with the same reason together: A and B (reason); C (reason)."""
    found: dict[str, list[str]] = {}
    for finding in findings:
        if finding.verdict == wanted:
            found.setdefault(finding.why if wanted == "not tested" else decisive(finding), []).append(finding.id)
    return "; ".join(f"{join(ids)} ({why})" for why, ids in found.items())


def counted(findings: Sequence[Finding], view: RunView) -> str:
    """How many claims hold: one line."""
    counts = Counter(finding.verdict for finding in findings)
    verbs: Mapping[Verdict, str] = {"fails": "fail", "undecided": "are undecided", "not tested": "were not tested"}
    rest = [f"{counts[name]} {verb}" for name, verb in verbs.items() if counts[name]]
    said = f"Of the paper's {len(findings)} claims {counts['holds']} hold on {view.model}"
    return f"{said}{', ' if rest else ''}{join(rest) if rest else ''}."


def decisive(finding: Finding) -> str:
    """The first measurement that made the verdict, in words."""
    return next(each.words for each in finding.measurements if each.verdict == finding.verdict and each.counted)


def ledger_rows(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """The ledger for a table: each claim with its symbol and figures, and each measurement spelled."""
    return [
        {
            "id": finding.id,
            "sentence": finding.claim.sentence,
            "instead": finding.claim.fails if finding.verdict == "fails" else "",
            "effect": finding.effect,
            "verdict": finding.verdict,
            "symbol": SYMBOLS[finding.verdict],
            "figures": finding.claim.figures,
            "why": finding.why,
            "measurements": [
                {
                    "name": each.name if each.counted else f"{each.name} (beside, not counted)",
                    "value": str(each),
                    "needed": f"about {count(each.needed)} would decide it" if each.needed else "",
                    "n": each.n,
                    "threshold": threshold(each),
                    "reason": each.reason,
                    "verdict": each.verdict,
                    "symbol": SYMBOLS[each.verdict],
                    "why": each.why,
                }
                for each in finding.measurements
            ],
        }
        for finding in findings
    ]


def threshold(measurement: Measurement) -> str:
    """What is asked of a measurement: ≥ 0.50."""
    return f"{'≥' if measurement.direction == 'at least' else '≤'} {number(measurement.threshold)}"
