"""What is declared is found once and is complete; that new declarations are found is shown by test_contributing.py."""

import re

import pytest

from numberline.claims import CLAIMS
from numberline.discovery import by_name, declared
from numberline.errors import NumberlineError
from numberline.experiments.registry import EXPERIMENTS
from numberline.report.exhibit import Section
from numberline.report.figure import FigureSpec
from numberline.report.registry import EXHIBITS, FIGURES, SECTIONS
from numberline.results.language import PAPER


def test_everything_declared_is_found_once():
    found = declared(FigureSpec, "numberline.report.figures", "numberline.report.figures")
    assert {spec.label for spec in found} == set(FIGURES)
    assert len(found) == len(FIGURES)
    with pytest.raises(NumberlineError, match="FigureSpec 'number-reps' is declared twice"):
        by_name([*found, FIGURES["number-reps"]], lambda spec: spec.label)


def test_every_figure_and_table_says_what_it_answers_and_where_it_stands():
    for spec in EXHIBITS.values():
        assert spec.question.endswith("?")
        assert "number" not in spec.question, "a question is asked of any concept"
        assert spec.needs
        assert set(spec.needs) <= set(EXPERIMENTS)
    places = [spec.place for spec in EXHIBITS.values()]
    assert len(places) == len(set(places)), "two stand at the same place of a section"
    assert [title for title, labels in SECTIONS.items() if not labels] == [Section.BEYOND]
    assert list(SECTIONS["Behaviour"]) == [
        "app-behaviour",
        "app-patch-outcomes",
        "app-patch-examples",
        "accuracy-pairs",
    ]


def test_every_declared_text_can_be_said_in_a_runs_words():
    texts = [text for spec in EXHIBITS.values() for text in (spec.heading, spec.question)]
    texts += [*SECTIONS, *(experiment.question for experiment in EXPERIMENTS.values())]
    for claim in CLAIMS.values():
        texts += [claim.sentence, claim.fails, *(text for each in claim.criteria for text in (each.name, each.reason))]
        assert not {each.key for each in claim.criteria} & set(PAPER.words), "a claim's key hides a word"
    said = {text: PAPER.say(text) for text in texts}
    assert [text for text, spoken in said.items() if set("{}") & set(spoken)] == []
    months = PAPER.model_copy(update={"noun": "month", "nouns": "months", "part": "token", "adjective": "month"})
    numbers = re.compile(r"\bnumbers?\b(?! of operands)")
    assert [text for text in texts if numbers.search(months.say(text))] == []
