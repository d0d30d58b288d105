"""Every constraint the paper puts on a counterfactual, for `max` and `min`, and for more operands than it uses."""

from itertools import pairwise

import pytest
import tokenizer_zoo
from hypothesis import given, settings
from hypothesis import strategies as st

from numberline.errors import NumberlineError
from numberline.tasks import (
    CASE_ORDERS,
    HEAD_GROUPS,
    MAX,
    MIN,
    PAPER,
    QUICK,
    VALUE_ORDERS,
    Counterfactual,
    Sizes,
    Task,
    answer_ids,
    arrange,
    candidates,
    cases,
    clean_operands,
    corrupted_operands,
    counterfactual,
    deal,
    deal_examples,
    digest,
    perturb,
    pool,
    ranked_tuples,
)

TASKS = st.sampled_from([Task(kind, k, digits) for kind in (MAX, MIN) for k in (2, 3, 4, 5) for digits in (2, 3)])
SEEDS = st.integers(0, 2**32 - 1)


def leading_digits(values) -> list[str]:
    return [str(value)[0] for value in values]


@settings(max_examples=30, deadline=None)
@given(TASKS, SEEDS)
def test_tuples_keep_the_papers_gaps(task: Task, seed: int) -> None:
    rows = ranked_tuples(task, 50, seed)
    assert len(set(rows)) == 50
    for row in rows:
        assert len(row) == task.k + 1
        assert all(task.concept.sign * (better - worse) > task.gap for better, worse in pairwise(row))
        assert all(10 ** (task.digits - 1) <= value < 10**task.digits for value in row)
        assert len(set(leading_digits(row))) == task.k + 1


@settings(max_examples=10, deadline=None)
@given(SEEDS)
def test_triples_are_those_of_the_paper(seed: int) -> None:
    g = 10
    assert all(a > b + g > r + 2 * g for a, b, r in ranked_tuples(Task(), 100, seed))
    assert all(a < b - g < r - 2 * g for a, b, r in ranked_tuples(Task(MIN), 100, seed))


@settings(max_examples=30, deadline=None)
@given(TASKS, SEEDS, st.randoms(use_true_random=False))
def test_arrangement(task: Task, seed: int, random) -> None:
    """The clean prompt has the value order; the corrupted one differs at the winner only, and the runner-up wins it."""
    order = random.sample(task.operands, task.k)
    rows = ranked_tuples(task, 5, seed)
    for row, example in zip(rows, arrange(task, rows, order), strict=True):
        clean = dict(zip(task.operands, example.clean, strict=True))
        corrupted = dict(zip(task.operands, example.corrupted, strict=True))
        assert [clean[name] for name in order] == list(row[:-1])
        assert {name for name in clean if clean[name] != corrupted[name]} == {order[0]} == {example.case}
        assert (example.a, example.b, example.r) == (row[0], row[1], row[-1])
        assert task.answer(example.clean) == example.a == clean[order[0]]
        assert task.answer(example.corrupted) == example.b == corrupted[order[1]]
        assert corrupted[order[0]] == example.r
        assert sorted(example.values) == sorted(row)


def test_both_arrangements_hold_the_same_triples() -> None:
    rows = pool(Task()).evaluation
    first, second = perturb(Task(), rows, "y1"), perturb(Task(), rows, "y2")
    assert clean_operands(second) == tuple(row[::-1] for row in clean_operands(first))
    assert corrupted_operands(second) == tuple(row[::-1] for row in corrupted_operands(first))
    assert all(example.clean[0] > example.clean[1] for example in first)
    assert all(example.clean[0] < example.clean[1] for example in second)


def test_cases_and_head_groups_of_the_paper() -> None:
    assert cases(2) == {"y1": ("y1", "y2"), "y2": ("y2", "y1")}
    assert CASE_ORDERS == {"y1": ("y1", "y3", "y2"), "y2": ("y2", "y3", "y1"), "y3": ("y3", "y2", "y1")}
    assert HEAD_GROUPS == {
        ("y1", "y2", "y3"): "y2",
        ("y1", "y3", "y2"): "y3",
        ("y2", "y3", "y1"): "y3",
    }
    assert all(position == order[1] for order, position in HEAD_GROUPS.items())
    assert len(VALUE_ORDERS) == 4
    assert set(VALUE_ORDERS) == {*HEAD_GROUPS, *CASE_ORDERS.values()}
    assert cases(4)["y2"] == ("y2", "y4", "y3", "y1")


def test_an_example_of_the_paper() -> None:
    (example,) = arrange(Task(), [(99, 61, 12)], ("y2", "y1"))
    assert example == Counterfactual((61, 99), (61, 12), "y2", a=99, b=61, r=12)
    (example,) = perturb(Task(k=3), [(90, 70, 50, 20)], "y2")
    assert example == Counterfactual((50, 90, 70), (50, 20, 70), "y2", a=90, b=70, r=20)


def test_r_is_the_operand_at_the_clean_winners_position() -> None:
    """Also where the corruption raises a loser: a patch then makes the model name the operand that did not change."""
    example = counterfactual(Task(), (10, 50), (60, 50))
    assert (example.case, example.a, example.b, example.r) == ("y1", 50, 60, 50)


@pytest.mark.parametrize("kind", [MAX, MIN], ids=lambda kind: kind.name)
@pytest.mark.parametrize(("k", "digits"), [(2, 2), (2, 3), (3, 2), (4, 2), (5, 2)])
def test_pool(kind, k: int, digits: int) -> None:
    task = Task(kind, k, digits)
    full, quick = pool(task), pool(task, sizes=QUICK)
    assert (len(full.evaluation), len(full.fitting)) == (400, 128)
    assert (len(quick.evaluation), len(quick.fitting)) == (64, 32)
    assert (len(full.choosing), len(quick.choosing)) == (128, 32)
    assert len({*full.evaluation, *full.fitting, *full.choosing}) == 528 + 128
    assert not {*quick.choosing} & {*quick.evaluation, *quick.fitting}
    assert quick.evaluation == full.evaluation[:64]
    assert quick.fitting == full.fitting[:32]
    assert pool(task) == full
    assert pool(task, seed=53) != full


def test_pool_is_the_first_528_candidates_that_are_solved() -> None:
    task = Task(k=3)
    drawn = candidates(task)
    assert len(set(drawn)) == len(drawn) == 1400
    solved = [i % 3 != 0 for i in range(1400)]
    split = pool(task, solved=solved)
    kept = [row for row, keep in zip(drawn, solved, strict=True) if keep]
    assert {*split.evaluation, *split.fitting} == set(kept[:528])
    assert pool(task, solved=[True] * 1400) == pool(task)
    quick = pool(task, sizes=QUICK, solved=solved[: QUICK.candidates])
    assert quick.evaluation == split.evaluation[:64]
    assert quick.fitting == split.fitting[:32]


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 500), st.integers(1, 200), st.integers(1, 500), st.integers(1, 200))
def test_smaller_splits_are_prefixes_of_larger_ones(e1: int, f1: int, e2: int, f2: int) -> None:
    rows = [(i,) for i in range(1100)]
    first, second = deal(rows, Sizes(evaluation=e1, fitting=f1)), deal(rows, Sizes(evaluation=e2, fitting=f2))
    assert (len(first.evaluation), len(first.fitting)) == (e1, f1)
    assert first.evaluation[:e2] == second.evaluation[:e1]
    assert first.fitting[:f2] == second.fitting[:f1]
    assert not {*first.evaluation} & {*second.fitting}


def test_a_users_examples_are_dealt_in_the_proportions_of_the_sizes() -> None:
    examples = perturb(Task(), pool(Task()).evaluation[:82], "y1")
    dealt = deal_examples(examples, QUICK)
    assert {hand: len(found) for hand, found in dealt.items()} == {"evaluation": 41, "fitting": 21, "choosing": 20}
    assert len({example for found in dealt.values() for example in found}) == 82
    many = deal_examples(perturb(Task(), pool(Task()).evaluation, "y1"), QUICK)
    assert {hand: len(found) for hand, found in many.items()} == {"evaluation": 64, "fitting": 32, "choosing": 32}


def test_min_uses_the_same_numbers_as_max() -> None:
    assert [set(row) for row in ranked_tuples(Task(MIN), 30)] == [set(row) for row in ranked_tuples(Task(), 30)]


def test_every_tuple_is_found_when_all_are_asked_for() -> None:
    rows = ranked_tuples(Task(digits=1), 35)
    brute = {(a, b, r) for a in range(1, 10) for b in range(1, 10) for r in range(1, 10) if a > b + 1 > r + 2}
    assert set(rows) == brute


# Pinned: these are the examples that every published number is computed on.
DIGESTS = {
    ("max", 2, 2): ("6ee1849624b84a74", "919d603b417f9ef0"),
    ("max", 2, 3): ("738c30b5ae0803c7", "eb80469694719231"),
    ("max", 3, 2): ("3ecff13a1bfcd75c", "d437e2925714d13f"),
    ("max", 4, 2): ("bf1590029224f098", "535dcc21ad6b0d73"),
    ("max", 5, 2): ("5280f385b11bc727", "de4b7dc626b2dc0b"),
    ("min", 2, 2): ("7e4b3d9e285ef111", "c97066f1eec8e4db"),
    ("min", 3, 2): ("b1067ecf52fc8907", "886f30f29fa9f376"),
}


@pytest.mark.parametrize(("kind", "k", "digits"), DIGESTS)
def test_digests(kind: str, k: int, digits: int) -> None:
    split = pool(Task({"max": MAX, "min": MIN}[kind], k, digits))
    assert (digest(split.evaluation), digest(split.fitting)) == DIGESTS[kind, k, digits]


def test_answer_ids() -> None:
    examples = perturb(Task(), pool(Task()).evaluation, "y1")
    digits = tokenizer_zoo.builtin()
    ids = answer_ids(digits, Task(), examples)
    assert ids.shape == (400, 2)
    spelled = [digits.convert_ids_to_tokens(row) for row in ids]
    assert spelled == [leading_digits((example.r, example.b)) for example in examples]
    whole = tokenizer_zoo.gpt2()
    spelled = [whole.convert_ids_to_tokens(row) for row in answer_ids(whole, Task(), examples)]
    assert spelled == [[str(example.r), str(example.b)] for example in examples]


def test_answer_ids_refuse_answers_that_begin_alike() -> None:
    alike = Counterfactual((65, 51), (12, 51), "y1", 65, 51, 12)
    clash = Counterfactual((90, 61), (60, 61), "y1", 90, 61, 60)
    with pytest.raises(NumberlineError, match="example 2 holds 61 and 60"):
        answer_ids(tokenizer_zoo.builtin(), Task(), [alike, clash])


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: counterfactual(Task(), (60, 10, 5), (3, 10)), "clean has 3 operands, but the task has k=2"),
        (lambda: counterfactual(Task(), (60, 10), (3, 10)), "corrupted holds 3, but operands go from 10 to 99"),
        (lambda: counterfactual(Task(), (60, 10), (60, 10)), "0 operands differ"),
        (lambda: counterfactual(Task(), (60, 10), (31, 45)), "2 operands differ"),
        (lambda: counterfactual(Task(), (60, 10), (19, 10)), "10 and 19 share the leading '1'"),
        (lambda: counterfactual(Task(), (60, 20), (30, 20)), "y1 wins both in clean"),
        (lambda: counterfactual(Task(MIN), (60, 20), (30, 20)), "y2 wins both in clean"),
        (lambda: arrange(Task(), [(60, 40, 10)], ("y1", "y1")), "y1 > y1 is no order of y1, y2"),
        (lambda: perturb(Task(), [(60, 40, 10)], "y3"), "there is no case 'y3' with k=2 operands"),
        (lambda: pool(Task(digits=1)), "only 35 exist"),
        (lambda: pool(Task(k=9)), "only 0 exist"),
        (lambda: pool(Task(k=3), solved=[True]), "the mask has 1 entries for 1400 candidates"),
        (lambda: pool(Task(k=3), solved=[False] * 1400), "take 656 tuples, but there are 0"),
        (lambda: pool(Task(), seed=-1), "a seed is a whole number from 0"),
    ],
)
def test_refusals(make, reason: str) -> None:
    with pytest.raises(NumberlineError, match=reason):
        make()


def test_sizes_of_the_paper() -> None:
    assert (PAPER.evaluation, PAPER.fitting, PAPER.candidates) == (400, 128, 1400)
    assert (PAPER.number_cloud, PAPER.shared_cloud, PAPER.three_cloud) == (2000, 3000, 1500)
    assert (PAPER.operand_counts, PAPER.operand_prompts) == ((2, 3, 4, 5, 10, 20), 200)
