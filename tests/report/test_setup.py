"""A run beside the paper: its roles, its settings, what was left out, and how often it is right."""

from synthetic import make_run

from numberline.report.compare import placed, roles_beside, side_by_side
from numberline.report.registry import TABLES
from numberline.results.paper_roles import LAYERS, SITES


def test_the_papers_roles_stand_beside_a_runs(tmp_path):
    section = roles_beside(make_run(tmp_path / "run"))
    rows = {row[0]: row[1:] for row in section.rows}
    assert rows["number layer"] == ("0.48 (13)", "0.20 (1)", "this run")
    assert rows["comparator MLPs"][0] == "0.52, 0.56 (14 and 15)"
    assert rows["read-out head"][0] == "0.74 (L20.H27)"
    assert len(rows) >= len(SITES)
    without = roles_beside(make_run(tmp_path / "other", without=("k2.trace",)))
    missing = {row[0]: row[1:] for row in without.rows}["number layer"]
    assert missing == ("0.48 (13)", "the number layer was not looked for in this run", "–")


def test_several_runs_have_the_papers_roles_too(tmp_path):
    paths = [make_run(tmp_path / name, model=name) for name in ("one", "two")]
    roles = next(section for section in side_by_side(paths) if section.title == "Roles")
    assert roles.columns[1] == f"paper, {LAYERS} layers"
    assert {row[0]: row[1:] for row in roles.rows}["number layer"] == ("0.48 (13)", "0.20 (1)", "0.20 (1)")


def test_a_model_of_one_layer_has_no_depth():
    assert placed("number_layer", (0,), 1) == "– (0)"


def test_the_table_of_settings_is_the_papers_and_more(view):
    content = TABLES["app:setup-hparams"].make(view)
    values = {row[1]: row[2:] for row in content.data_rows}
    assert values["Adam steps, learning rate"][0].endswith(", 0.05")
    assert values["ridge penalties (leave-one-out)"] == ["13 log-spaced values from 0.01 to 10,000"] * 2
    assert values["held-out share"] == ["0.2", "0.2"]
    assert values["quadruples drawn / solved in all orders / dropped"] == ["264 / 250 / 14", "1,400 / 1,341 / 59"]
    assert values["clean minus corrupted PLD not above zero, two numbers"][0] == "1 of 64 (y1), 1 of 64 (y2)"
    assert "clean minus corrupted PLD not above zero, three digits" in values
    papers = [paper for _, paper in values.values() if paper != "–"]
    assert len(papers) >= 15, "every row of the paper's table has its value"


def test_accuracy_with_three_digits_is_shown(view):
    rows = {row[0]: row[1:] for row in TABLES["accuracy-pairs"].make(view).rows}
    assert rows["three-digit pairs"] == ["9", "64", "0.900 [0.860, 0.940]"]
