"""Which of the paper's claims hold on this model? The ledger of a run.

`ledger` is a pure function of stored results; `write_claims` reads a run folder and writes claims.json there:

    {"format": 2, "model": …, "claims": [{id, sentence, figures, verdict, why, effect, measurements: [
        {name, value, lo, hi, n, direction, threshold, reason, verdict, why, not_run, counted, needed}]}],
     "questions": [{id, question, figures, verdict, sentence, why, answers: [{answer, measurements: […]}]}]}

Each claim is declared once, in a file of two/ or three/ (claim.py says how); the rule is in verdicts.py. Questions that
go beyond the paper have answers of their own (question.py), and stand in beyond/.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from numberline.claims.claim import Claim
from numberline.claims.effect import effect
from numberline.claims.evidence import Evidence
from numberline.claims.question import Found, answered
from numberline.claims.registry import CLAIMS, QUESTIONS
from numberline.claims.verdicts import Finding, Measurement, Verdict, decide
from numberline.files import write_whole
from numberline.results.folder import RunFolder
from numberline.results.language import PAPER, Language
from numberline.results.result import Result

FILE, FORMAT = "claims.json", 2

__all__ = [
    "CLAIMS",
    "FILE",
    "QUESTIONS",
    "Claim",
    "Finding",
    "Found",
    "Measurement",
    "Verdict",
    "effect",
    "ledger",
    "ledger_of",
    "questions",
    "questions_of",
    "write_claims",
]


def ledger(results: Mapping[str, Result], language: Language = PAPER) -> tuple[Finding, ...]:
    """Every claim, tested on results by id, in the words of what was compared."""
    found = (decide(claim, Evidence(results, language)) for claim in CLAIMS.values())
    return tuple(replace(each, effect=effect(each)) if language == PAPER else each for each in found)


def questions(results: Mapping[str, Result], language: Language = PAPER) -> tuple[Found, ...]:
    """Every question beyond the paper, put to results by id."""
    return tuple(answered(question, Evidence(results, language)) for question in QUESTIONS.values())


def ledger_of(path: str | Path) -> tuple[Finding, ...]:
    """Every claim, tested on a run folder's valid results."""
    run = RunFolder.open(path)
    return ledger(run.results, run.about.language)


def questions_of(path: str | Path) -> tuple[Found, ...]:
    """Every question beyond the paper, put to a run folder's valid results."""
    run = RunFolder.open(path)
    return questions(run.results, run.about.language)


def write_claims(path: str | Path) -> tuple[Finding, ...]:
    """Test every claim on a run folder and write claims.json there."""
    run = RunFolder.open(path)
    findings = ledger(run.results, run.about.language)
    content = {
        "format": FORMAT,
        "model": run.about.model.name,
        "claims": [finding.content for finding in findings],
        "questions": [found.content for found in questions(run.results, run.about.language)],
    }
    write_whole(run.path / FILE, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())
    return findings
