"""Clouds, behaviour populations and grids: the paper's constraints, and the same rows everywhere."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numberline.errors import NumberlineError
from numberline.tasks import (
    MAX,
    MIN,
    PAPER,
    QUICK,
    Task,
    all_pairs,
    candidates,
    cloud,
    digest,
    dose_values,
    drawn_pairs,
    field_grid,
    field_values,
    operand_count,
)

SEEDS = st.integers(0, 2**32 - 1)
KINDS = st.sampled_from([MAX, MIN])


@settings(max_examples=25, deadline=None)
@given(KINDS, st.integers(2, 6), st.integers(2, 3), SEEDS)
def test_clouds_have_distinct_rows_and_leading_digits(kind, k: int, digits: int, seed: int) -> None:
    task = Task(kind, k, digits)
    rows = cloud(task, 60, seed)
    assert len(set(rows)) == len(rows) == 60
    assert all(len({str(value)[0] for value in row}) == len(row) == k for row in rows)
    assert all(value in task.values for row in rows for value in row)


@settings(max_examples=10, deadline=None)
@given(KINDS, SEEDS)
def test_two_operand_clouds_hold_each_pair_in_both_orders(kind, seed: int) -> None:
    rows = cloud(Task(kind), 2000, seed)
    assert set(rows) == {(y, x) for x, y in rows}
    assert len({frozenset(row) for row in rows}) == 1000
    assert rows[1::2] == tuple((y, x) for x, y in rows[::2])
    assert 400 < sum(x > y for x, y in rows[::2]) < 600  # neither order comes first as a rule


def test_clouds_are_nested_and_as_large_as_the_papers() -> None:
    large = cloud(Task(), PAPER.shared_cloud)
    assert len(large) == 3000
    assert cloud(Task(), PAPER.number_cloud) == large[:2000]
    three = cloud(Task(k=3), PAPER.three_cloud)
    assert len(three) == 1500
    assert cloud(Task(k=3), QUICK.three_cloud) == three[: QUICK.three_cloud]
    assert len(cloud(Task(digits=3), 2000)) == 2000


def test_a_cloud_can_hold_every_pair_there_is() -> None:
    pairs = {pair for pair in all_pairs(Task()) if str(pair[0])[0] != str(pair[1])[0]}
    assert set(cloud(Task(), 7200)) == pairs


def test_all_pairs() -> None:
    pairs = all_pairs(Task())
    assert len(set(pairs)) == len(pairs) == PAPER.pairs == 8010
    assert all(x != y and x in range(10, 100) and y in range(10, 100) for x, y in pairs)
    some = all_pairs(Task(), 100)
    assert len(set(some)) == 100
    assert set(some) <= set(pairs)
    assert all_pairs(Task(), 500)[:100] == some
    assert all_pairs(Task(), 9000) == pairs


def test_drawn_pairs() -> None:
    pairs = drawn_pairs(Task(digits=3))
    assert len(pairs) == 4000
    assert all(x != y and x in range(100, 1000) and y in range(100, 1000) for x, y in pairs)
    assert drawn_pairs(Task(digits=3), 250) == pairs[:250]
    # With replacement: from 6 ordered pairs, 600 draws repeat, miss none, and favour none.
    few = drawn_pairs(Task(replace(MAX, name="few", values=range(1, 4))), 600)
    assert {pair: 70 < few.count(pair) < 130 for pair in set(few)} == dict.fromkeys(
        [(1, 2), (1, 3), (2, 1), (2, 3), (3, 1), (3, 2)], True
    )


@pytest.mark.parametrize("k", PAPER.operand_counts)
def test_operand_counts(k: int) -> None:
    task, rows = operand_count(k)
    assert len(set(rows)) == len(rows) == 200
    assert all(len(set(row)) == len(row) == k and set(row) <= set(range(10, 100)) for row in rows)
    assert "The maximum of 12, 437 and 5 is 437." in task.prompt(rows[0])
    assert operand_count(k, 20) == (task, rows[:20])
    least, same = operand_count(k, concept=MIN)
    assert same == rows
    assert "The minimum of 12, 437 and 5 is 5." in least.prompt(rows[0])


def test_dose_values_are_one_per_leading_digit() -> None:
    assert dose_values(Task()) == (15, 25, 35, 45, 55, 65, 75, 85, 95)
    assert dose_values(Task(digits=3)) == (150, 250, 350, 450, 550, 650, 750, 850, 950)


def test_field_grids() -> None:
    axis = field_values(Task())
    assert axis == tuple(range(11, 100, 4))
    assert len(axis) == 23
    assert field_grid(Task()) == tuple((x, y) for x in axis for y in axis)
    assert len(set(field_grid(Task(k=3)))) == 23**3 == 12_167
    assert field_grid(Task(k=3), fixed={"y3": 55}) == tuple((x, y, 55) for x in axis for y in axis)
    coarse = field_values(Task(), QUICK.field_stride)
    assert set(coarse) < set(axis)
    assert (coarse[0], coarse[-1]) == (11, 99)


def test_quick_sizes_are_nowhere_larger() -> None:
    for name, quick in vars(QUICK).items():
        full = getattr(PAPER, name)
        assert quick >= full if name in ("field_stride", "patience") else quick <= full


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: cloud(Task(), 7), "each pair in both orders, so 7 prompts cannot be"),
        (lambda: cloud(Task(), 7202), "3601 sets of 2 operands .* only 3600 exist"),
        (lambda: cloud(Task(k=3), 504_001), "only 504000 exist"),
        (lambda: cloud(Task(k=10), 1), "only 0 exist"),
        (lambda: operand_count(91, 1), "only 0 exist"),
        (lambda: all_pairs(Task(k=3)), "this one has k=3"),
        (lambda: drawn_pairs(Task(k=3)), "this one has k=3"),
        (lambda: field_grid(Task(), fixed={"y3": 55}), "'y3' is no operand of the task: fix one of y1, y2"),
    ],
)
def test_refusals(make, reason: str) -> None:
    with pytest.raises(NumberlineError, match=reason):
        make()


# Pinned: same seed, same rows, on every machine and version.
DIGESTS = {
    "candidates, three operands": (lambda: candidates(Task(k=3)), "70c1d7bba8a27e08"),
    "cloud, two operands": (lambda: cloud(Task(), PAPER.shared_cloud), "4cab7d53b15ee31f"),
    "cloud, three digits": (lambda: cloud(Task(digits=3), PAPER.number_cloud), "947e91387cbbedf5"),
    "cloud, three operands": (lambda: cloud(Task(k=3), PAPER.three_cloud), "df7d9838723ce6b4"),
    "all pairs": (lambda: all_pairs(Task()), "f930b5a469352ee5"),
    "some pairs": (lambda: all_pairs(Task(), QUICK.pairs), "58c1aca2d9591469"),
    "three-digit pairs": (lambda: drawn_pairs(Task(digits=3)), "80b08f843fb1f65b"),
    "2 operands": (lambda: operand_count(2)[1], "47d11272032ed2d1"),
    "3 operands": (lambda: operand_count(3)[1], "4f801e076e5d5edf"),
    "4 operands": (lambda: operand_count(4)[1], "c50090545172dbe1"),
    "5 operands": (lambda: operand_count(5)[1], "44d1cbaaf58cb46c"),
    "10 operands": (lambda: operand_count(10)[1], "2b89ee02e091eaa9"),
    "20 operands": (lambda: operand_count(20)[1], "e6f86804fd215f35"),
    "field grid": (lambda: field_grid(Task(k=3)), "df92d1bff913a172"),
}


@pytest.mark.parametrize("name", DIGESTS)
def test_digests(name: str) -> None:
    make, expected = DIGESTS[name]
    assert digest(make()) == expected
