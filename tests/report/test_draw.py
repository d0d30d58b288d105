"""Figures from stored results: every label, none blank, the same bytes again, words in place of what is missing."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from synthetic import make_run, results

from numberline.errors import NumberlineError
from numberline.experiments.registry import EXPERIMENTS
from numberline.report import draw
from numberline.report.draw import draw_run, fed_by, file_name, listed_in, render
from numberline.report.registry import FIGURES, TABLES
from numberline.report.view import RunView
from numberline.results.folder import RunFolder
from numberline.results.formatting import estimate
from numberline.results.result import Result

PAPERS = [
    "number-reps",
    "shared-rep",
    "comparison-mechanism",
    "app-behaviour",
    "app-patch-outcomes",
    "app-trace-k2",
    "app-probes-k2",
    "app-u-manifold",
    "app-u-vs-pc1",
    "app-u-layers",
    "app-three-digit",
    "app-v2-shortcut",
    "app-transport",
    "app-shared-probes",
    "app-shared-posrec",
    "app-mlp-freeze",
    "app-attribution",
    "app-rf-shared",
    "app-rf-exclusive",
    "app-connectivity",
    "app-l15-direction",
    "app-whole-directions",
    "app-whole-shared",
    "app-whole-l15",
    "alg-flowchart",
    "fig1toy",
    "three-number-compare",
    "app-trace-k3",
    "app-k3-summary",
    "app-k3-directions",
    "app-k3-manifolds",
    "app-k3-dissociation",
    "app-k3-heads",
    "app-k3-neurons",
    "app-k3-l15",
    "app-k3-readout-pca",
    "app-k3-readout-causal",
    "app-ablation",
]
PAPERS_TABLES = [
    "app-patch-examples",
    "app-whole-iia",
    "app-whole-examples-a",
    "app-whole-examples-b",
    "app:setup-hparams",
    "tab:app-directions",
]


def test_every_label_is_registered():
    assert set(PAPERS) <= set(FIGURES)
    assert set(PAPERS_TABLES) <= set(TABLES)
    assert all(spec.heading and spec.heading != spec.label for spec in FIGURES.values())


def test_figures_read_experiments_that_exist():
    read = {id for spec in (*FIGURES.values(), *TABLES.values()) for id in spec.needs}
    assert read <= set(EXPERIMENTS)


@pytest.mark.parametrize("label", FIGURES)
def test_no_figure_is_blank(label, drawings):
    drawing, pixels = drawings[label]
    inked = (pixels[..., :3] < 250).any(-1)
    assert 0.01 < inked.mean() < 0.9
    # Something in every third of the width: no panel fell away.
    assert all(part.any() for part in np.array_split(inked, 3, axis=1))
    assert [text.get_text() for text in drawing.figure.texts][-1] == "quick run: 64 evaluation examples"


@pytest.mark.parametrize("label", FIGURES)
def test_captions_say_what_and_on_what(label, drawings):
    caption = drawings[label][0].caption
    assert "a_model & <b>more</b> {x}" in caption
    assert caption.endswith("(Quick run: 64 evaluation examples.)")
    assert "nan" not in caption
    assert "not measured" not in caption.lower()
    assert not re.search(r"[$\\]", caption), "a caption is plain words"


@pytest.mark.parametrize("label", FIGURES)
def test_panels_are_lettered_in_order(label, drawings):
    figure, caption = drawings[label][0].figure, drawings[label][0].caption
    titles = [axes.get_title("left") for axes in figure.axes]
    titles += [axes.get_title("left") for part in figure.subfigs for axes in part.axes]
    letters = re.findall(r"\\mathbf\{\((\w)\)\}", " ".join(dict.fromkeys(titles)))
    assert letters == sorted(letters)
    assert all(f"({letter})" in caption for letter in letters)


def test_captions_have_the_numbers_of_the_tables(drawings):
    made = results()
    patches = [row for row in made["k2.number"].rows("patches") if row["metric"] == "iia" and row["condition"] == "u"]
    assert estimate(patches[0]) in drawings["app-u-vs-pc1"][0].caption
    assert estimate(patches[0]) in drawings["number-reps"][0].caption
    for row in made["behaviour.operands"].rows("accuracy"):
        assert f"k = {row['k']}: {estimate(row)}" in drawings["app-behaviour"][0].caption
    flags = [row for row in made["k2.flag"].rows("patches") if row["metric"] == "iia"]
    assert all(estimate(row) in drawings["app-l15-direction"][0].caption for row in flags if row["condition"] == "full")


def test_the_roles_are_written_into_the_diagrams(drawings):
    for label in ("fig1toy", "alg-flowchart"):
        figure = drawings[label][0].figure
        text = " ".join(text.get_text() for axes in figure.axes for text in axes.texts)
        assert "layer 1" in text
        assert "L2.H1" in text
        assert "layer 4" in text


def test_files_and_that_they_are_the_same_again(made_up):
    made = draw_run(str(made_up), ("app-behaviour", "app:*"))
    assert list(made.figures) == ["app-behaviour"]
    assert list(made.tables) == ["app:setup-hparams"]
    names = [f"figures/{label}.{kind}" for label in made.figures for kind in ("png", "svg", "pdf", "txt")]
    names += [f"tables/{file_name('app:setup-hparams')}.{kind}" for kind in ("csv", "md", "tex")]
    before = {name: (made_up / name).read_bytes() for name in names}
    assert before["figures/app-behaviour.png"].startswith(b"\x89PNG")
    assert before["figures/app-behaviour.pdf"].startswith(b"%PDF")
    assert b"<svg" in before["figures/app-behaviour.svg"]
    assert before["figures/app-behaviour.txt"].decode().strip() == made.figures["app-behaviour"]
    draw_run(made_up, ("app-behaviour", "app:*"))
    assert {name: (made_up / name).read_bytes() for name in names} == before
    assert listed_in(made_up).figures.keys() >= made.figures.keys()


def test_what_was_not_run_is_listed_and_old_files_go(tmp_path):
    path = make_run(tmp_path / "run")
    draw_run(path, ("app-whole-l15",))
    assert (path / "figures/app-whole-l15.png").exists()
    about = json.loads((path / "run.json").read_text())
    del about["experiments"]["k2.whole"]
    (path / "run.json").write_text(json.dumps(about))
    made = draw_run(path, ("app-whole-l15", "app-whole-iia"))
    assert "k2.whole was not run" in made.skipped["app-whole-l15"]
    assert not (path / "figures/app-whole-l15.png").exists()
    assert listed_in(path).skipped.keys() == {"app-whole-l15", "app-whole-iia"}
    assert fed_by(path, ["behaviour.operands"])[:2] == ["fig1toy", "alg-flowchart"], "what was never drawn is drawn too"


def test_a_role_that_was_not_found_is_said_in_words(tmp_path):
    made = results()
    path = make_run(tmp_path / "run", without=("k2.transport", "k2.heads"))
    drawing = render(FIGURES["number-reps"], RunView(RunFolder.open(path)))
    assert "(d) Not measured: k2.transport was not run" in drawing.caption
    assert "(c) Component along v2" in drawing.caption
    diagram = render(FIGURES["fig1toy"], RunView(RunFolder.open(path)))
    assert "the transport head was not looked for in this run" in diagram.caption
    assert made["k2.trace"].roles[0].found


def test_a_result_that_could_not_be_measured_gives_its_reason(tmp_path):
    path = make_run(tmp_path / "run", without=("k2.whole",))
    RunFolder(path).save("k2.whole", Result.of({}, 0, missing="no flag"), "0", {}, 0.0)
    about = json.loads((path / "run.json").read_text())
    about["experiments"]["k2.whole"] = {"digest": "0", "n": 0, "seconds": 0.0}
    (path / "run.json").write_text(json.dumps(about))
    made = draw_run(path, ("app-whole-l15",))
    assert made.skipped == {"app-whole-l15": "k2.whole could not be measured on this model: no flag"}


def test_a_column_that_is_not_there_is_named_and_a_mistake_in_the_code_is_not_hidden(tmp_path, monkeypatch):
    path = make_run(tmp_path / "run", without=("behaviour.operands",))
    accuracy = results()["behaviour.operands"].tables["accuracy"].drop_columns(["k"])
    RunFolder(path).save("behaviour.operands", Result.of({"accuracy": accuracy}, 1), "0", {}, 0.0)
    about = json.loads((path / "run.json").read_text())
    about["experiments"]["behaviour.operands"] = {"digest": "0", "n": 1, "seconds": 0.0}
    (path / "run.json").write_text(json.dumps(about))
    said = draw_run(path, ("app-behaviour",)).skipped["app-behaviour"]
    assert said.startswith("behaviour.operands/accuracy has no column 'k', only population, ")

    def mistaken(_: RunView):
        return {}["k"]

    monkeypatch.setitem(draw.FIGURES, "app-behaviour", replace(FIGURES["app-behaviour"], make=mistaken))
    with pytest.raises(KeyError, match="k"):
        draw_run(path, ("app-behaviour",))


def test_a_result_of_another_configuration_is_not_drawn(tmp_path):
    path = make_run(tmp_path / "run")
    about = json.loads((path / "run.json").read_text())
    about["experiments"]["k2.trace"]["digest"] = "another"
    (path / "run.json").write_text(json.dumps(about))
    assert "k2.trace was not run" in draw_run(path, ("app-trace-k2",)).skipped["app-trace-k2"]


def test_refusals(tmp_path, made_up):
    with pytest.raises(NumberlineError, match="holds no run"):
        draw_run(tmp_path)
    with pytest.raises(NumberlineError, match="no figure or table is called 'nosuch'"):
        draw_run(made_up, ("nosuch",))


def test_a_paper_sized_run_has_no_note(tmp_path):
    path = make_run(tmp_path / "run", size="paper")
    drawing = render(FIGURES["app-behaviour"], RunView(RunFolder.open(path)))
    assert drawing.figure.texts == []
    assert "uick run" not in drawing.caption


def test_the_report_needs_no_model_and_no_torch(made_up):
    code = (
        "import sys\nfrom pathlib import Path\nfrom numberline.report.draw import draw_run\n"
        "made = draw_run(Path(sys.argv[1]), ('app-behaviour', 'tab:*'))\nassert len(made.figures) == 1, made\n"
        "assert not {'torch', 'transformers', 'matplotlib.pyplot'} & set(sys.modules)"
    )
    process = subprocess.run(
        [sys.executable, "-c", code, str(made_up)], capture_output=True, text=True, timeout=120, check=False
    )
    assert process.returncode == 0, process.stderr
    assert process.stderr == ""


def test_a_real_result_is_drawn(tmp_path):
    """Accuracy on a few prompts of the tiny model, stored by a run and drawn from its folder."""
    from dataclasses import replace

    from numberline import load
    from numberline.runs import run as runs
    from numberline.runs.settings import SIZES
    from numberline.verify.processes import SilentWatcher

    few = replace(SIZES["quick"], operand_prompts=4, operand_counts=(2, 3))
    folder = RunFolder(tmp_path / "run")
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(SIZES, "quick", few)
        runs.Run(load("tiny"), folder, runs.Settings(size="quick")).execute(["behaviour.operands"], SilentWatcher())
    made = draw_run(folder.path, ("app-behaviour",))
    row = folder.load("behaviour.operands").rows("accuracy")[0]
    assert f"k = 2: {estimate(row)}" in made.figures["app-behaviour"]
    assert Path(folder.path / "figures/app-behaviour.svg").stat().st_size > 1000


WHOLE = ("app-whole-*", "tab:*", "app:*")


def test_several_processes_draw_the_same(made_up, tmp_path):
    path = make_run(tmp_path / "run", model="a_model & <b>more</b> {x}")
    alone, shared = draw_run(made_up, WHOLE), draw_run(path, WHOLE, processes=2)
    assert (shared.figures, shared.tables, shared.skipped) == (alone.figures, alone.tables, alone.skipped)
    assert list(shared.figures) == list(alone.figures)
    for label in shared.figures:
        name = f"figures/{label}.svg"
        assert (path / name).read_bytes() == (made_up / name).read_bytes()


def test_where_no_process_can_be_started_one_draws_all(made_up, monkeypatch, caplog):
    asked = []

    def refuse(processes, _):
        asked.append(processes)
        raise OSError("no more processes")

    monkeypatch.setattr(draw, "ProcessPoolExecutor", refuse)
    with caplog.at_level("WARNING", logger=draw.__name__):
        made = draw_run(made_up, WHOLE, processes=2)
    assert asked == [2], "a process draws four labels or more: fewer than eight are never shared"
    assert (len(made.figures), len(made.tables)) == (3, 5)
    assert "no more processes" in caplog.text
