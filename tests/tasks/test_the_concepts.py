"""Every concept of the package: prompts, samples, what answers are read as, and which tokenizers can be used."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import tokenizer_zoo

from numberline import load
from numberline.errors import NumberlineError
from numberline.tasks import MAX, QUICK, Task, answer_ids, concept_of, encode, field_grid, perturb, pool
from numberline.tasks.ability import ability
from numberline.tasks.answers import read_answers
from numberline.tasks.limits import within
from numberline.tasks.populations import all_pairs, cloud, drawn_pairs
from numberline.tasks.registry import built_in
from numberline.tasks.usable import usable

PAGE = (Path(__file__).parents[2] / "docs/concepts.md").read_text()
LISTED = dict(re.findall(r"^\| `([\w-]+)` \| (.+?)… \| .+ \| \d+ \| \d+ \|$", PAGE, re.MULTILINE))
PROMPTS = {
    "max-1": ((3, 7), "The maximum of 12 and 4 is 12. The maximum of 3 and 7 is "),
    "min-4": ((1234, 5678), "The minimum of 12 and 4 is 4. The minimum of 1234 and 5678 is "),
    "number-words": ((19, 0), "thirty-four is eighty-one. The larger of forty-two and twenty-one is "),
    "negative": ((-60, -10), "The maximum of -12 and -4 is -4. The maximum of -60 and -10 is -"),
    "decimals": ((314, 271), "The maximum of 2.31 and 0.75 is 2.31. The maximum of 3.14 and 2.71 is "),
    "decimals-unequal": ((911, 990), "The maximum of 9.4 and 9.25 is 9.4. The maximum of 9.11 and 9.9 is 9."),
    "years": ((1984, 1931), "The later of 1952 and 1914 is 1952. The later of 1984 and 1931 is 19"),
    "years-earlier": ((1984, 1931), "The earlier of 1952 and 1914 is 1914. The earlier of 1984 and 1931 is 19"),
    "times": ((195, 460), "The later of 5:45 and 2:30 is 5:45. The later of 3:15 and 7:40 is "),
    "dates": ((42, 0), "The later of July 14 and March 25 is July 14. The later of March 14 and January 10 is "),
    "months-earlier": ((0, 6), "The earlier of March and July is March. The earlier of January and July is "),
    "letters": ((0, 25), "The later letter of D and K is K. The later letter of A and Z is "),
    "planets": ((3, 5), "Venus and Saturn is Saturn. Further from the sun, of Mars and Saturn is "),
    "animals": ((2, 8), "The larger animal of wolf and mouse is wolf. The larger animal of mouse and horse is "),
}  # fmt: skip
SAID = [
    ("negative", "10.", -10),
    ("years", "84.", 1984),
    ("decimals-unequal", "9. The", 990),
    ("decimals-unequal", "11", 911),
    ("times", "7:40.", 460),
    ("dates", "March 14.", 42),
    ("dates", "March 3", None),
    ("number-words", "forty-two.", 19),
    ("letters", "Z.", 25),
]


def test_the_page_lists_every_concept_with_its_question():
    assert set(LISTED) == set(built_in())
    assert LISTED["years"] == "The later of 1960 and 1910 is 19"


@pytest.mark.parametrize("name", PROMPTS)
def test_prompts_character_for_character(name):
    values, ends = PROMPTS[name]
    assert Task(concept_of(name)).prompt(values).endswith(f" {ends}")


@pytest.mark.parametrize(("name", "text", "value"), SAID)
def test_an_answer_goes_on_after_what_the_prompt_shows(name, text, value):
    (answer,) = read_answers(Task(concept_of(name)), [text])
    assert answer.value == value
    assert answer.text == concept_of(name).shown + text


@pytest.mark.parametrize("name", built_in())
def test_every_concept_has_samples(name):
    concept = concept_of(name)
    sizes = within(QUICK, concept)
    for k in (2, 3):
        task = Task(concept, k)
        rows = pool(task, sizes=replace(sizes, evaluation=25, fitting=8, choosing=0, candidates=33))
        assert len(rows.evaluation) == 25
        for example in perturb(task, rows.evaluation, f"y{k}"):
            assert task.answer(example.clean) == example.a != example.b == task.answer(example.corrupted)
            assert len({task.lead(value) for value in example.values}) == len(example.values)
    assert len(cloud(Task(concept), min(sizes.number_cloud, 40))) == min(sizes.number_cloud, 40)
    assert len(field_grid(Task(concept), sizes.field_stride)) <= 25**2


@pytest.mark.parametrize("name", ["max-4", "negative", "decimals", "years", "times", "letters"])
@pytest.mark.parametrize("k", [2, 3])
def test_operands_stand_where_they_are_said_to(name, k):
    task, tokenizer = Task(concept_of(name), k), tokenizer_zoo.builtin()
    rows = [tuple(task.values[(7 * i + 5 * j) % len(task.values)] for j in range(k)) for i in range(6)]
    prompts = encode(tokenizer, task, rows)
    for ids, row in zip(prompts.ids.tolist(), rows, strict=True):
        for operand, value in zip(task.operands, row, strict=True):
            first, last = prompts.positions[f"{operand}.first"], prompts.positions[operand]
            assert tokenizer.decode(ids[first : last + 1]).strip() == task.spell(value)


def test_what_is_patched_is_read_after_what_is_shown():
    task, tokenizer = Task(concept_of("years")), tokenizer_zoo.builtin()
    examples = perturb(task, pool(task, sizes=within(QUICK, task.concept)).evaluation[:4], "y1")
    ids = answer_ids(tokenizer, task, examples)
    first = [[str(value)[2] for value in (example.r, example.b)] for example in examples]
    assert [[tokenizer.decode([token]) for token in row] for row in ids.tolist()] == first


def test_a_model_is_asked_about_another_concept():
    found = ability(load("tiny"), concept_of("negative"), n=8)
    assert found.accuracy is not None
    assert found.accuracy.n == 8


@pytest.mark.parametrize(
    ("name", "tokenizer", "said"),
    [
        ("years", "builtin", "usable: 57 tokens a prompt, 4 tokens an operand, 9 first tokens of answers"),
        ("decimals-unequal", "llama3", "usable: "),
        ("decimals-unequal", "builtin", "not usable with this tokenizer, because the tokenizer splits decimals"),
        ("months", "builtin", "not usable with this tokenizer, because the tokenizer splits months unevenly"),
    ],
)  # fmt: skip
def test_a_tokenizer_can_be_used_or_it_is_said_why_not(name, tokenizer, said):
    assert str(usable(getattr(tokenizer_zoo, tokenizer)(), concept_of(name))).startswith(said)


def test_many_pairs_are_drawn_without_listing_them_all():
    task = Task(concept_of("max-4"))
    pairs = all_pairs(task, 500)
    assert len(set(pairs)) == 500 == len([pair for pair in pairs if pair[0] != pair[1]])
    assert pairs[:50] == all_pairs(task, 50)
    assert {value for pair in pairs for value in pair} <= set(task.values)
    assert all_pairs(Task(), 5) == tuple(all_pairs(Task(), 9)[:5])
    assert len(drawn_pairs(task, 7)) == 7


def test_what_is_shown_must_be_what_every_value_begins_with():
    with pytest.raises(NumberlineError, match="'20' does not begin with '1'"):
        replace(MAX, shown="1", values=range(10, 30))


def test_the_command_lists_them_all(call):
    code, out, err = call("concepts")
    assert (code, err) == (0, "")
    assert {line.split()[0] for line in out.splitlines()} == set(built_in())
    code, out, err = call("concepts", "tiny")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    (years,) = (i for i, line in enumerate(lines) if line.startswith("years "))
    assert lines[years + 1].strip().startswith("usable: 57 tokens a prompt")
    (months,) = (i for i, line in enumerate(lines) if line.startswith("months "))
    assert lines[months + 1].strip().startswith("not usable with this tokenizer, because")
