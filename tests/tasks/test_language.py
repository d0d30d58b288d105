"""What a run writes down of its concept, for a report that knows no task."""

import pytest
from test_task import LATER

from numberline.results.language import Language
from numberline.runs.language import language_of
from numberline.tasks import MAX, MIN


def test_without_more_it_is_the_papers_question():
    assert language_of(MAX) == Language()


def test_the_minimum_has_its_own_words():
    language = language_of(MIN)
    assert (language.question, language.larger, language.extremes) == (
        "The minimum of 60 and 10 is", "smaller", "minima"
    )  # fmt: skip
    assert language.winner([60, 10, 44]) == 10


def test_months_are_written_as_words_on_a_straight_axis():
    language = language_of(LATER)
    assert language.question == "The later of July and January is"
    assert (language.extent, language.spell(6), language.place(6)) == ("January to December", "July", 6.0)
    assert (language.scaled("y1"), Language().scaled("y1")) == ("y1", "log y1")
    assert language.say("{nouns}: which {noun} is the {largest}?") == "months: which month is the latest?"


@pytest.mark.parametrize("concept", [MAX, MIN, LATER, MAX.with_digits(3)])
def test_a_language_is_stored_and_read_back(concept):
    language = language_of(concept)
    assert Language.model_validate_json(language.model_dump_json()) == language
