"""The list of choices: docs/choices.md is made from it, all that it names exists, and the report shows it."""

import inspect
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from synthetic import make_run, results

from numberline.experiments.registry import EXPERIMENTS
from numberline.report.choices import PAGE, choices, markdown
from numberline.report.draw import Inventory
from numberline.report.page import html
from numberline.report.ranking_by_sign import TOP, shared_neurons
from numberline.report.registry import EXHIBITS, TABLES
from numberline.report.view import RunView
from numberline.results.folder import RunFolder
from numberline.results.subspace import StoredSubspace
from numberline.results.table import Table

ROOT = Path(__file__).parents[2]


def test_the_page_is_made_from_the_list():
    assert (ROOT / PAGE).read_text(encoding="utf-8") == markdown(), "run python scripts/write_pages.py"


def test_no_two_choices_have_one_name():
    ids = [choice.id for choice in choices()]
    assert len(set(ids)) == len(ids)
    assert {"recovery", "ranking", "restarts", "oblique", "v2", "float32"} <= set(ids)


@pytest.mark.parametrize("choice", choices(), ids=lambda choice: choice.id)
def test_what_a_choice_names_exists(choice):
    assert all((ROOT / "src/numberline" / path).is_file() for path in choice.code)
    for shown in choice.shown:
        id, _, table = shown.partition("/")
        if table:
            assert f"`{table}`" in (inspect.getmodule(EXPERIMENTS[id].function).__doc__ or ""), shown
        else:
            assert shown in EXHIBITS
    assert all(text.endswith(".") and "\n" not in text for text in (choice.paper, choice.here, choice.why))


def test_the_report_shows_them(view):
    page = html(view, Inventory())
    assert all(f'id="choice-{choice.id}"' in page for choice in choices())
    assert '<a href="#choices">Choices</a>' in page


def test_a_direction_whose_fit_began_again_is_marked(tmp_path):
    again = StoredSubspace(np.eye(12)[:, :1], {"model": "0", "method": "DAS, from the mean difference"})
    run = RunFolder.open(make_run(tmp_path))
    for id, name in {"k2.transport": "v1", "k3.directions": "k3_u2", "k3.flags": "k3_flag_y3_y1"}.items():
        run.save(id, replace(results()[id], subspaces={name: again}), "0", {}, 0.0)
    rows = TABLES["tab:app-directions"].make(RunView(RunFolder.open(tmp_path))).rows
    marked = [(k, name, position) for k, name, position, _, how, *_ in rows if "mean difference" in how]
    assert marked == [(2, "v1", "y2"), (3, "u2", "y2"), (3, "w2", "y2"), (3, "comparison flag", "y3")]


def test_the_ranking_by_sign_leaves_out_what_freezing_would_raise():
    """Of two neurons of equal size, the one that works against the patch is shared by size and not by sign."""
    many = 2 * TOP
    scores = [-1.0 - number for number in range(TOP)] + [0.0] * (many - TOP)
    scores[0] = 30.0  # against
    order = sorted(range(many), key=lambda number: -abs(scores[number]))
    rows = tuple(
        {"layer": 1, "neuron": number, "y1": score, "y2": score, "rank_y1": order.index(number) + 1,
         "rank_y2": order.index(number) + 1, "shared": order.index(number) < TOP}
        for number, score in enumerate(scores)
    )  # fmt: skip
    found = {each.row["neuron"]: each for each in shared_neurons(Table("scores", rows, tuple(rows[0])))}
    assert found[0].shared_by_size
    assert not found[0].shared_by_sign
    assert found[0].by_sign == {"y1": many, "y2": many}
    assert found[TOP - 1].by_sign == {"y1": 1, "y2": 1}
    assert sum(each.shared_by_sign for each in found.values()) == TOP


def test_the_table_of_both_rankings(view):
    content = TABLES["attribution-by-sign"].make(view)
    assert {row[-1] for row in content.rows} <= {"size", "sign", "size and sign"}
    assert all(len(row) == len(content.data_columns) for row in content.data_rows)
    assert "ranked by sign" in content.caption
