"""Which of the paper's claims hold on this model? The ledger of a run.

`ledger` is a pure function of stored results; `write_claims` reads a run folder and writes claims.json there:

    {"format": 1, "model": …, "claims": [{id, sentence, figures, verdict, why, measurements: [
        {name, value, lo, hi, n, direction, threshold, reason, verdict, why}]}]}

Each claim is declared once, in a file of two/ or three/ (claim.py says how); the rule is in verdicts.py.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from numberline.claims.claim import Claim
from numberline.claims.evidence import Stored
from numberline.claims.registry import CLAIMS
from numberline.claims.verdicts import Finding, Measurement, Verdict, decide
from numberline.errors import NumberlineError
from numberline.files import write_whole
from numberline.results.folder import RunFolder

FILE, FORMAT = "claims.json", 1

__all__ = ["CLAIMS", "FILE", "Claim", "Finding", "Measurement", "Verdict", "ledger", "ledger_of", "write_claims"]


def ledger(results: Mapping[str, Stored]) -> tuple[Finding, ...]:
    """Every claim, tested on results by id."""
    return tuple(decide(claim, results) for claim in CLAIMS.values())


def ledger_of(path: Path) -> tuple[Finding, ...]:
    """Every claim, tested on a run folder's valid results."""
    folder = RunFolder(path)
    if folder.about() is None:
        raise NumberlineError(f"{path} holds no run (no run.json): give a folder that numberline run has made")
    return ledger(folder.valid_tables())


def write_claims(path: Path) -> tuple[Finding, ...]:
    """Test every claim on a run folder and write claims.json there."""
    findings = ledger_of(path)
    model = (RunFolder(path).about() or {}).get("model", {}).get("name")
    content = {"format": FORMAT, "model": model, "claims": [finding.content for finding in findings]}
    write_whole(path / FILE, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())
    return findings
