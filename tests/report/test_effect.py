"""The size of an effect beside the paper's: words by ratio, and nothing where there is nothing to compare."""

from dataclasses import replace

import pytest
from claims_tables import changed, good, to, when

from numberline.claims import effect, ledger
from numberline.results.language import PAPER


def of(results, id: str) -> str:
    return next(each for each in ledger(results) if each.id == id).effect


@pytest.mark.parametrize(
    ("iia", "words"),
    [
        (0.94, "as in the paper (0.94 against 0.94)"),
        (0.78, "as in the paper (0.78 against 0.94)"),
        (0.42, "as in the paper, weaker (0.42 against 0.94)"),
        (0.03, "absent (0.03 against 0.94)"),
    ],
)
def test_the_effect_of_u_beside_the_papers(iia, words):
    assert of(changed(good(), [("k2.number", "patches", when(to(iia), "iia", condition="u"))]), "linear") == words


def test_what_is_not_measured_or_not_stated_has_no_size():
    assert of({}, "linear") == ""
    assert of(good(), "transport") == ""


def test_what_the_paper_did_not_compare_is_not_set_beside_it():
    days = PAPER.model_copy(update={"noun": "day", "nouns": "days"})
    assert {each.effect for each in ledger(good(), days)} == {""}


def test_stronger_and_opposite():
    linear = next(each for each in ledger(good()) if each.id == "linear")
    keys = [criterion.key for criterion in linear.claim.criteria]

    def with_u(value: float):
        parts = list(linear.measurements)
        parts[keys.index("u")] = replace(parts[keys.index("u")], value=value)
        return replace(linear, measurements=tuple(parts))

    assert effect(with_u(1.4)).startswith("stronger than in the paper")
    assert effect(with_u(-0.5)).startswith("opposite to the paper")
