"""The paper's own numbers, through the ledger: no claim fails, and the table of docs/claims.md is what comes out."""

from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest

from numberline.claims.calibration import PAGE, calibration, page, quantity
from numberline.claims.paper_values import PaperMeasurement, paper_values
from numberline.claims.registry import CLAIMS
from numberline.report.registry import FIGURES

ROOT = Path(__file__).parents[2]


def test_no_claim_of_the_paper_fails_on_the_papers_numbers():
    for claim, found in groupby(calibration(), key=lambda each: each.claim.id):
        judged = {each.criterion.key: each.verdict for each in found if each.criterion.counted}
        assert "fails" not in judged.values(), (claim, judged)


def test_a_threshold_that_the_paper_misses_would_be_seen():
    flag = next(each for each in calibration() if (each.claim.id, each.criterion.key) == ("flag", "iia"))
    assert flag.verdict == "holds"
    assert flag.distance == pytest.approx(0.155)
    strict = replace(flag, criterion=replace(flag.criterion, threshold=0.75))
    assert strict.verdict == "fails"
    assert strict.distance == pytest.approx(-0.095)


def test_what_the_paper_states_is_of_criteria_that_there_are():
    known = {(claim.id, criterion.key) for claim in CLAIMS.values() for criterion in claim.criteria}
    for each in paper_values().measured:
        assert (each.claim, each.key) in known or (each.claim == "*" and each.key in {key for _, key in known})
        assert each.same or (each.n and 1 <= len(each.shares) <= 2)
    assert set(paper_values().drawn) <= {".".join(pair) for pair in known}
    assert set(paper_values().drawn.values()) <= set(FIGURES)


def test_keys_are_unique_in_a_claim():
    for claim in CLAIMS.values():
        keys = [criterion.key for criterion in claim.criteria]
        assert all(keys), claim.id
        assert len(set(keys)) == len(keys), claim.id


def test_the_sampling_error_is_that_of_the_papers_n():
    share = quantity(PaperMeasurement("a", "b", "", (0.94,), 400))
    assert (share.lo, share.hi) == pytest.approx((0.9123, 0.9594), abs=1e-3)
    ratio = quantity(PaperMeasurement("a", "b", "", (0.675, 0.81), 400))
    assert ratio.value == pytest.approx(0.8333, abs=1e-3)
    assert 0.75 < ratio.lo < 0.8 < 0.87 < ratio.hi < 0.92
    fewer = quantity(PaperMeasurement("a", "b", "", (0.675, 0.81), 100))
    assert fewer.hi - fewer.lo > 1.9 * (ratio.hi - ratio.lo)


def test_the_page_has_the_table_that_comes_out():
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    assert page(text) == text, "run python scripts/write_pages.py"
