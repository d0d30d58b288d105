"""The paper's numbers: complete, each with its section."""

from numberline.claims.paper_comparison import MEASURES, WHOLE
from numberline.claims.paper_values import paper_values
from numberline.experiments.registry import EXPERIMENTS
from numberline.report.registry import EXHIBITS


def test_the_table_of_the_whole_number():
    rows = {row.patch: row for row in paper_values().whole}
    assert len(rows) == 10
    assert rows["u"].scores == {"y1": (0.94, 0.94)}
    assert rows["full_resid"].scores["y2"] == (0.985, 0.115)
    assert sum(len(row.scores) for row in rows.values()) == 17


def test_every_value_says_where_it_comes_from():
    values = paper_values().values
    assert all(value.section.startswith("app:") for value in values)
    assert len({value.name for value in values}) == len(values) >= 16


def test_the_numbers_that_a_run_is_set_beside():
    found = {value.name: value.value for value in paper_values().values}
    assert found["cos(v1, v2)"] == (-0.08,)
    assert found["share of v1's norm inside the transport head's output space"] == (0.81,)
    assert (36, 29, 33) in found.values()


def test_every_number_has_a_name_and_is_measured():
    values = paper_values().values
    assert sorted(value.key for value in values) == sorted(MEASURES)
    for value in values:
        assert len(value.names) == len(value.value)
        assert value.id in EXPERIMENTS


def test_every_number_stands_beside_one_figure_or_table():
    placed = [key for spec in EXHIBITS.values() for key in spec.paper]
    assert sorted(placed) == sorted([*MEASURES, WHOLE])
