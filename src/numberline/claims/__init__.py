"""Which of the paper's claims hold on this model? The ledger of a run.

`ledger` is a pure function of stored results; `write_claims` reads a run folder and writes claims.json there:

    {"format": 2, "model": …, "claims": [{id, sentence, figures, verdict, why, effect, measurements: [
        {name, value, lo, hi, n, direction, threshold, reason, verdict, why, not_run, counted, needed}]}]}

Each claim is declared once, in a file of two/ or three/ (claim.py says how); the rule is in verdicts.py.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from numberline.claims.claim import Claim
from numberline.claims.effect import effect
from numberline.claims.evidence import Evidence
from numberline.claims.registry import CLAIMS
from numberline.claims.verdicts import Finding, Measurement, Verdict, decide
from numberline.files import write_whole
from numberline.results.folder import RunFolder
from numberline.results.language import PAPER, Language
from numberline.results.result import Result

FILE, FORMAT = "claims.json", 2

__all__ = [
    "CLAIMS",
    "FILE",
    "Claim",
    "Finding",
    "Measurement",
    "Verdict",
    "effect",
    "ledger",
    "ledger_of",
    "write_claims",
]


def ledger(results: Mapping[str, Result], language: Language = PAPER) -> tuple[Finding, ...]:
    """Every claim, tested on results by id, in the words of what was compared."""
    found = (decide(claim, Evidence(results, language)) for claim in CLAIMS.values())
    return tuple(replace(each, effect=effect(each)) if language == PAPER else each for each in found)


def ledger_of(path: str | Path) -> tuple[Finding, ...]:
    """Every claim, tested on a run folder's valid results."""
    run = RunFolder.open(path)
    return ledger(run.results, run.about.language)


def write_claims(path: str | Path) -> tuple[Finding, ...]:
    """Test every claim on a run folder and write claims.json there."""
    run = RunFolder.open(path)
    findings = ledger(run.results, run.about.language)
    content = {
        "format": FORMAT,
        "model": run.about.model.name,
        "claims": [{**finding.content, "effect": effect(finding)} for finding in findings],
    }
    write_whole(run.path / FILE, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())
    return findings
