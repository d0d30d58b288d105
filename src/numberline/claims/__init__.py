"""Which of the paper's twelve claims hold on this model? The ledger of a run.

`ledger` is a pure function of stored results; `write_claims` reads a run folder and writes claims.json there:

    {"format": 1, "model": …, "claims": [{id, sentence, figures, verdict, why, measurements: [
        {name, value, lo, hi, n, direction, threshold, reason, verdict, why}]}]}

The rule is in verdicts.py, the claims are declared in two.py and three.py, thresholds and reasons with them.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from numberline.claims.evidence import Stored
from numberline.claims.three import THREE_NUMBERS
from numberline.claims.two import TWO_NUMBERS
from numberline.claims.verdicts import Claim, Declared, Measurement, Verdict, decide
from numberline.errors import NumberlineError
from numberline.files import write_whole
from numberline.results.folder import RunFolder

CLAIMS, FORMAT = "claims.json", 1
DECLARED: tuple[Declared, ...] = (*TWO_NUMBERS, *THREE_NUMBERS)

__all__ = ["CLAIMS", "DECLARED", "Claim", "Measurement", "Verdict", "ledger", "ledger_of", "write_claims"]


def ledger(results: Mapping[str, Stored]) -> tuple[Claim, ...]:
    """Every claim, tested on results by id."""
    return tuple(decide(declared, results) for declared in DECLARED)


def ledger_of(path: Path) -> tuple[Claim, ...]:
    """Every claim, tested on a run folder's valid results."""
    folder = RunFolder(path)
    if folder.about() is None:
        raise NumberlineError(f"{path} holds no run (no run.json): give a folder that numberline run has made")
    return ledger(folder.valid_tables())


def write_claims(path: Path) -> tuple[Claim, ...]:
    """Test every claim on a run folder and write claims.json there."""
    claims = ledger_of(path)
    model = (RunFolder(path).about() or {}).get("model", {}).get("name")
    content = {"format": FORMAT, "model": model, "claims": [claim.content for claim in claims]}
    write_whole(path / CLAIMS, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())
    return claims
