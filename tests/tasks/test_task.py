"""The prompts, character for character, and what a declaration of a new question needs."""

import calendar
from dataclasses import replace

import pytest
import tokenizer_zoo

from numberline.errors import NumberlineError
from numberline.tasks import (
    MAX,
    MIN,
    Concept,
    Sentence,
    Sizes,
    Task,
    Words,
    answer_tokens,
    encode,
    from_csv,
    ordered,
    perturb,
    pool,
    ranked_tuples,
    to_csv,
)

MONTHS = list(calendar.month_name)[1:]
LATER = ordered(
    "months",
    MONTHS,
    pair=Sentence("The later of", ("March", "July")),
    several=Sentence("The latest of", ("May", "June", "April")),
    words=Words("month", larger="later", largest="latest", smaller="earlier"),
)

PROMPTS = {
    (MAX, 2, 2): (
        (60, 10),
        "Answer in the following format with a single answer. The maximum of 12 and 4 is 12. "
        "The maximum of 60 and 10 is ",
    ),
    (MAX, 2, 3): (
        (601, 100),
        "Answer in the following format with a single answer. The maximum of 12 and 4 is 12. "
        "The maximum of 601 and 100 is ",
    ),
    (MAX, 3, 2): (
        (60, 10, 44),
        "Answer in the following format with a single answer. The maximum of 12, 437 and 5 is 437. "
        "The maximum of 60, 10 and 44 is ",
    ),
    (MAX, 5, 2): (
        (60, 10, 44, 91, 23),
        "Answer in the following format with a single answer. The maximum of 12, 437 and 5 is 437. "
        "The maximum of 60, 10, 44, 91 and 23 is ",
    ),
    (MIN, 2, 2): (
        (60, 10),
        "Answer in the following format with a single answer. The minimum of 12 and 4 is 4. "
        "The minimum of 60 and 10 is ",
    ),
    (MIN, 3, 2): (
        (60, 10, 44),
        "Answer in the following format with a single answer. The minimum of 12, 437 and 5 is 5. "
        "The minimum of 60, 10 and 44 is ",
    ),
}


@pytest.mark.parametrize(("kind", "k", "digits"), PROMPTS, ids=lambda part: getattr(part, "name", str(part)))
def test_prompt_character_for_character(kind: Concept, k: int, digits: int) -> None:
    values, text = PROMPTS[kind, k, digits]
    task = Task(kind, k, digits)
    assert task.prompt(values) == text
    question = task.question(values)
    assert text.endswith(question)
    assert [question[start:end] for start, end in task.spans(values)] == [str(value) for value in values]


def test_two_operands_in_the_list_format() -> None:
    text = Task(k=2, listed=True).prompt((60, 10))
    assert text.endswith(" The maximum of 12, 437 and 5 is 437. The maximum of 60 and 10 is ")


def test_winner() -> None:
    assert Task().answer((60, 10)) == 60
    assert Task(MIN).answer((60, 10)) == 10
    assert Task(MIN, k=3).answer((60, 10, 44)) == 10


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: Task(k=1), "at least two operands, not k=1"),
        (lambda: Task(digits=0), "at least one digit, not 0"),
        (lambda: Task().prompt((1, 2, 3)), "k=2 operands but 3 were given"),
    ],
)
def test_refusals(make, reason: str) -> None:
    with pytest.raises(NumberlineError, match=reason):
        make()


def test_another_question_is_a_declaration() -> None:
    """Which month is later: sampled, encoded, answered, written and read back with no code of its own."""
    task = Task(LATER)
    assert task.prompt((0, 4)).endswith("The later of March and July is July. The later of January and May is ")
    three = Task(LATER, k=3).prompt((0, 4, 2))
    assert three.endswith("The latest of May, June and April is June. The latest of January, May and March is ")
    examples = perturb(task, pool(task, sizes=Sizes(evaluation=50, fitting=16)).evaluation, "y1")
    assert len(set(examples)) == 50
    assert all(task.answer(example.clean) == example.clean[0] for example in examples)
    assert from_csv(task, to_csv(task, examples)) == examples
    words = tokenizer_zoo.words(MONTHS + task.prompt((0, 0)).split())
    prompts = encode(words, task, [example.clean for example in examples])
    for row, example in zip(prompts.ids, examples, strict=True):
        assert words.decode([row[prompts.positions["y1"]]]) == MONTHS[example.a]
    assert words.convert_ids_to_tokens(answer_tokens(words, task, [3, 4])) == ["April", "May"]


def test_a_declaration_whose_gap_is_too_small_is_refused() -> None:
    close = replace(MAX, name="close", gap=3)
    with pytest.raises(NumberlineError, match="gap 3, but values that start alike are up to 9 apart"):
        ranked_tuples(Task(close), 5)
