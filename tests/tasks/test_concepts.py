"""Concepts: found where they are declared, refused with a sentence, and sampled as far as they have values."""

from dataclasses import replace
from pathlib import Path

import pytest

from numberline import Context, Result, experiment, load
from numberline.errors import NumberlineError, TooFewError
from numberline.tasks import (
    MAX,
    MIN,
    PAPER,
    QUICK,
    Sentence,
    Task,
    Words,
    cloud,
    concept_of,
    operand_count,
    ordered,
    pool,
)
from numberline.tasks.limits import within
from numberline.tasks.populations import field_values
from numberline.tasks.registry import built_in, source_of
from numberline.tasks.sizes import MEDIUM

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
DECLARED = """
from numberline import Sentence, Words, ordered

COLOURS = ordered(
    "rainbow",
    ("red", "orange", "yellow", "green", "blue", "violet"),
    pair=Sentence("Further right in the rainbow, of", ("red", "blue")),
    several=Sentence("Furthest right in the rainbow, of", ("red", "blue", "green")),
    words=Words("colour", larger="further right", largest="furthest right", smaller="further left"),
)
"""


def weekdays(**changed):
    given = {
        "pair": Sentence("The later of", ("Tuesday", "Friday")),
        "several": Sentence("The latest of", ("Tuesday", "Friday", "Wednesday")),
        "words": Words("weekday", larger="later", largest="latest", smaller="earlier"),
    }
    return ordered("weekdays", **{"spellings": DAYS, **given, **changed})


def test_built_in_concepts_are_found_where_they_are_declared():
    assert built_in()["max"] is MAX
    assert concept_of("min") is MIN
    assert source_of("max").name == "whole_numbers.py"


def test_a_file_declares_a_concept(tmp_path: Path):
    file = tmp_path / "mine.py"
    file.write_text(DECLARED)
    concept = concept_of(str(file))
    assert (concept.name, source_of(str(file))) == ("rainbow", file)
    asked = Task(concept).question((0, 4))
    assert asked == "Further right in the rainbow, of red and blue is "


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "declares 0 concepts"),
        (DECLARED + "\nfrom numberline import MAX\n", "declares 2 concepts"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("def", "SyntaxError"),
    ],
)
def test_a_file_that_declares_none_is_refused(tmp_path: Path, text: str, reason: str):
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(NumberlineError, match=reason):
        concept_of(str(file))


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: concept_of("median"), "there is no task 'median': choose one that 'numberline concepts' lists"),
        (lambda: concept_of("nowhere.py"), r"nowhere.py is no file"),
        (lambda: weekdays(spellings=("Monday", "Monday", "Friday", "Tuesday")), "'Monday' is not read back as itself"),
        (lambda: weekdays(pair=Sentence("The later of", ("Tuesday", "June"))), "'June', which is no weekday"),
        (lambda: replace(MAX, name="My concept"), "cannot be called 'My concept'"),
        (lambda: Task(weekdays(), digits=3), "weekdays have no digits, so they cannot have 3"),
    ],
)
def test_refusals(make, reason: str):
    with pytest.raises(NumberlineError, match=reason):
        make()


def test_words_follow_from_one_another():
    words = weekdays().words
    assert (words.nouns, words.extreme, words.extremes, words.adjective) == (
        "weekdays", "latest", "latest weekdays", "weekday"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "value"),
    [("Friday.", 4), (" It is Sunday, not Friday", 6), ("Fridays", None), ("", None)],
)
def test_the_answer_is_the_first_value_named(text: str, value: int | None):
    assert weekdays().parse(text) == value


def test_the_longest_word_is_read():
    numbers = ("forty", "forty-one", "forty-two")
    concept = weekdays(
        spellings=numbers, pair=Sentence("Of", numbers[:2]), several=Sentence("Of", numbers)
    )  # fmt: skip
    assert concept.parse("forty-two and forty") == 2


def test_digits_belong_to_whole_numbers():
    assert Task(digits=3) == Task(MAX.with_digits(3))
    assert Task(digits=2) == Task()
    assert Task(digits=3).concept.words.adjective == "three-digit"
    assert Task(weekdays()).digits is None


@pytest.mark.parametrize("sizes", [PAPER, QUICK, MEDIUM])
@pytest.mark.parametrize("concept", [MAX, MIN])
def test_two_digit_numbers_have_as_many_examples_as_are_asked_for(sizes, concept):
    assert within(sizes, concept) == sizes


def test_few_values_make_small_populations():
    concept = weekdays()
    sizes = within(PAPER, concept)
    split = pool(Task(concept), sizes=sizes)
    assert (len(split.evaluation), len(split.fitting), len(split.choosing)) == (25, 8, 2)
    assert not set(split.evaluation) & set(split.fitting)
    assert len(cloud(Task(concept), sizes.number_cloud)) == 42
    assert len(cloud(Task(concept, k=3), sizes.three_cloud)) == 210
    assert sizes.operand_counts == (2, 3, 4, 5)
    assert len(operand_count(2, sizes.operand_prompts, concept)[1]) == 42
    assert (sizes.dose_window, field_values(Task(concept), sizes.field_stride)) == (0, tuple(range(7)))
    with pytest.raises(TooFewError, match="only 21 exist"):
        pool(Task(concept, k=4), sizes=sizes)


def test_the_lesser_value_may_win():
    earlier = weekdays(sign=-1, pair=Sentence("The earlier of", ("Tuesday", "Friday")))
    assert Task(earlier).answer((3, 1)) == 1
    assert Task(earlier).prompt((3, 1)).endswith("The earlier of Tuesday and Friday is Tuesday. The earlier of "
                                                  "Thursday and Tuesday is ")  # fmt: skip
    assert all(a < b < r for a, b, r in pool(Task(earlier), sizes=within(QUICK, earlier)).evaluation)


def test_an_experiment_that_finds_too_few_values_says_so():
    @experiment("demo.few")
    def few(lab, context):
        """Are there many?"""
        return Result.of({}, n=len(pool(Task(context.concept, k=4), sizes=context.sizes).evaluation))

    found = few(load(), Context(within(PAPER, weekdays()), concept=weekdays()))
    assert (
        found.missing == "35 tuples of 5 values more than 0 apart were asked for but only 21 exist: ask for at most 21"
    )
