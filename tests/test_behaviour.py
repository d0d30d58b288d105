"""Whole-number accuracy: intervals, answers, populations; and that the built-in models' cards say what is measured."""

import re
import sys
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer, Qwen2Config, Qwen2ForCausalLM

from numberline import load
from numberline.engine.lab import Lab
from numberline.errors import NumberlineError
from numberline.experiments.common import behaviour
from numberline.experiments.common.behaviour import Population, measure
from numberline.experiments.common.experiment import Context
from numberline.methods import answers
from numberline.methods.intervals import wilson
from numberline.models.catalogue import BUILT_IN, TRAINED
from numberline.models.loaded import wrap
from numberline.models.planted import planted
from numberline.tasks import MAX, MIN, QUICK, Task, all_pairs, cloud, encode, operand_count
from numberline.tasks.answers import answer
from numberline.tasks.held_out import held_out, held_out_sets

FEW = replace(QUICK, pairs=60, three_digit_pairs=40, operand_prompts=10)


def tokenizer():
    return AutoTokenizer.from_pretrained(BUILT_IN / "tiny")


@pytest.fixture(scope="module")
def random_lab() -> Lab:
    torch.manual_seed(52)
    config = Qwen2Config(
        vocab_size=306, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        intermediate_size=48, initializer_range=0.5,
    )  # fmt: skip
    return Lab.of(wrap(Qwen2ForCausalLM(config), tokenizer(), "random"))


@pytest.fixture(scope="module")
def planted_lab() -> Lab:
    return Lab.of(wrap(planted()[0], tokenizer(), "planted"))


@pytest.mark.parametrize(
    ("right", "n", "lo", "hi"),
    # Newcombe (1998), table I: the score method.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_intervals_are_the_published_ones(right, n, lo, hi):
    found = wilson([True] * right + [False] * (n - right))
    assert (found.lo, found.hi) == pytest.approx((lo, hi), abs=5e-5)
    assert (found.mean, found.n) == (right / n, n)
    assert found.se == pytest.approx((right / n * (1 - right / n) / n) ** 0.5)


@given(st.lists(st.booleans(), min_size=1, max_size=50))
def test_wilson_intervals_hold_the_mean_and_mirror(right):
    found, mirrored = wilson(right), wilson([not ok for ok in right])
    assert 0 <= found.lo <= found.mean <= found.hi <= 1
    assert found.hi - found.lo > 0.05
    assert (1 - found.hi, 1 - found.lo) == pytest.approx((mirrored.lo, mirrored.hi))


def test_a_share_of_nothing_is_refused():
    with pytest.raises(NumberlineError, match="no examples"):
        wilson([])


@pytest.mark.parametrize(
    ("text", "number"),
    [("60.", 60), (" 60 and", 60), ("605", 605), ("6", 6), ("is 7, 8", 7), ("", None), ("the", None), ("٣", None)],
)
def test_the_answer_is_the_first_integer(text, number):
    assert MAX.parse(text) == number


@pytest.mark.parametrize("task", [Task(), Task(digits=3), Task(k=3)], ids=["pairs", "three digits", "triples"])
def test_answers_are_what_generate_gives(random_lab, task, monkeypatch):
    rows = cloud(task, 12)
    prompts = encode(tokenizer(), task, rows)
    model = random_lab.network.model
    ids = model.generate(
        prompts.ids, max_new_tokens=task.digits + 1, do_sample=False, pad_token_id=0, eos_token_id=None
    )
    expected = tokenizer().batch_decode(ids[:, prompts.ids.shape[1] :], skip_special_tokens=True)
    assert len(set(expected)) > 1, "a model that always says the same shows nothing"
    assert [said.text for said in answer(random_lab, task, rows)] == expected
    # In small batches: the same, and the whole is never recorded at once.
    monkeypatch.setattr(answers, "BATCH_BYTES", random_lab.cost(prompts[:5]))
    sizes: list[int] = []
    assert [said.text for said in answer(random_lab, task, rows, sizes.append)] == expected
    assert sizes == [5, 5, 2]


def test_the_planted_model_is_right_where_it_must_be(planted_lab):
    seen = []
    result = behaviour.pairs(planted_lab, Context(sizes=FEW, progress=lambda *at: seen.append(at)))
    accuracy = {row["population"]: row for row in result.rows("accuracy")}
    assert {name: row["right"] for name, row in accuracy.items()} == {
        "two-digit pairs": 60,
        "three-digit pairs": 0,  # not planted
        "two-digit triples": 40,
    }
    assert result.n == 140
    assert seen[-1] == (140, 140)
    mistakes = result.rows("mistakes")
    assert len(mistakes) == 40
    assert all(row["said"] != row["right"] == max(row["operands"]) for row in mistakes)


def test_the_model_is_not_right_about_the_other_task(planted_lab):
    """The score follows the task: a model that names the maximum fails at naming the minimum."""
    result = measure(planted_lab, Context(), [Population("min", Task(MIN), all_pairs(Task(MIN), 20))])
    assert result.rows("accuracy")[0]["right"] == 0


def test_operand_counts(planted_lab):
    result = behaviour.operands(planted_lab, Context(sizes=replace(FEW, operand_counts=(2, 3, 20))))
    rows = result.rows("accuracy")
    assert [row["k"] for row in rows] == [2, 3, 20]
    assert [row["n"] for row in rows] == [10, 10, 10]
    assert rows[0]["mean"] == rows[1]["mean"] == 1
    assert rows[2]["mean"] < 0.5
    assert all(row["lo"] <= row["mean"] <= row["hi"] for row in rows)


def test_a_result_without_mistakes_has_an_empty_table(planted_lab):
    result = measure(planted_lab, Context(), [Population("two", Task(), ((60, 10), (10, 60)))])
    assert result.rows("mistakes") == []
    assert "operands" in result.tables["mistakes"].column_names


def test_a_tenth_of_the_pairs_is_held_out_in_both_orders():
    pairs = all_pairs(Task())
    out = dict(zip(pairs, held_out(pairs), strict=True))
    assert sum(out.values()) == 800 == 2 * len(held_out_sets())
    assert all(out[x, y] == out[y, x] for x, y in pairs)


def test_training_leaves_out_the_same_pairs(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parents[1] / "training"), *sys.path])
    import prompts

    pairs = list(permutations(range(10, 100), 2))
    assert [bool(prompts.HELD_OUT[pair]) for pair in pairs] == held_out(tuple(pairs))


@pytest.mark.parametrize("name", TRAINED)
def test_a_built_in_model_solves_the_task(name):
    accuracy = behaviour.pairs(load(name, device="cpu"), Context(sizes=FEW)).rows("accuracy")
    assert [row["population"] for row in accuracy][:2] == ["two-digit pairs", "two-digit pairs, left out of training"]
    assert all(row["mean"] >= 0.95 for row in accuracy)


@pytest.mark.parametrize("name", TRAINED)
def test_the_card_says_what_is_measured(name):
    """The pairs that were left out, all of them, and two of the operand counts: the card's counts are ours."""
    pairs = all_pairs(Task())
    rows = tuple(row for row, out in zip(pairs, held_out(pairs), strict=True) if out)
    populations = [Population("two-digit pairs, left out of training", Task(), rows)]
    populations += [Population(f"{k} operands", *operand_count(k)) for k in (2, 3)]
    found = measure(load(name, device="cpu"), Context(), populations).rows("accuracy")
    card = (BUILT_IN / name / "README.md").read_text()
    for row in found:
        assert f"| {row['population']} | {row['right']} of {row['n']} | {100 * row['mean']:.2f} % |" in card


@pytest.mark.parametrize("name", TRAINED)
def test_the_card_says_that_the_task_is_solved(name):
    """The accuracies that a built-in model must reach, as the card states them."""
    card = (BUILT_IN / name / "README.md").read_text()
    least = {
        "two-digit pairs": 99.9,
        "two-digit pairs, left out of training": 99.5,
        "two-digit triples": 99.5,
        "three-digit pairs": 99.0,
    }
    for population, percent in least.items():
        stated = re.search(rf"^\| {population} \| \d+ of \d+ \| ([\d.]+) % \|", card, re.MULTILINE)
        assert stated is not None, f"the card says nothing about {population}"
        assert float(stated[1]) >= percent, f"{population}: {stated[1]} %"
