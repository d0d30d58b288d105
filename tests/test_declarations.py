"""Declared once: a new experiment with its figure is two new files, a new claim one; what is declared is complete."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import numberline
from numberline.discovery import by_name, declared
from numberline.errors import NumberlineError
from numberline.experiments.registry import EXPERIMENTS
from numberline.report.exhibit import Section
from numberline.report.figure import FigureSpec
from numberline.report.registry import EXHIBITS, FIGURES, SECTIONS

EXPERIMENT = '''
"""How many layers are there?"""

from numberline.engine.lab import Lab
from numberline.experiments.common.experiment import Context, Result, experiment


@experiment("demo.layers")
def layers(lab: Lab, context: Context) -> Result:
    """How many layers are there?"""
    return Result.of({"layers": [{"layers": lab.network.n_layers}]}, n=1)
'''
FIGURE = '''
"""The number of layers."""

from numberline.report import style
from numberline.report.exhibit import Section
from numberline.report.figure import Drawing, caption, figure
from numberline.report.view import RunView


@figure("demo-layers", section=Section.BEYOND, order=1, needs=("demo.layers",), question="How deep is the model?")
def layers(view: RunView) -> Drawing:
    """The depth of the model."""
    (row,) = view.run.result("demo.layers").table("layers")
    page = style.page(2, 2)
    page.subplots().bar(["layers"], [row["layers"]])
    return Drawing(page, caption(view, f"The model has {row['layers']} layers"))
'''

CLAIM = '''
"""Is the model deep?"""

from numberline.claims.claim import Claim, Criterion
from numberline.claims.evidence import Evidence, Quantity


def layers(evidence: Evidence) -> Quantity:
    """The number of layers."""
    (row,) = evidence.rows("demo.layers", "layers")
    return Quantity.point(row["layers"])


claim = Claim(
    id="deep",
    order=100,
    sentence="The model is deep.",
    figures=("demo-layers",),
    criteria=(Criterion("layers", layers, "at least", 4, "three are few", key="layers"),),
    holds="{model} is deep ({layers} layers).",
    fails="The model is not deep.",
    broken_by=(),
)
'''
TEST_CLAIM = """
import sys
sys.path.insert(0, sys.argv[1])
import numberline as nl
from numberline.claims import ledger
for layers in (6, 3):
    found = ledger({"demo.layers": nl.Result.of({"layers": [{"layers": layers}]}, n=1)})[-1]
    print(found.id, found.verdict, found.told({"model": "tiny"}))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """The package as another person has it, with a folder of its own to add files to."""
    place = tmp_path_factory.mktemp("copy") / "numberline"
    shutil.copytree(Path(numberline.__file__).parent, place, ignore=shutil.ignore_patterns("__pycache__"))
    return place


def command(copy: Path, *words: str) -> str:
    """What a command of the copied package prints."""
    code = f"import sys; sys.path.insert(0, {str(copy.parent)!r}); from numberline.cli import main; main()"
    process = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, cwd=copy.parent, check=False, timeout=240
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_a_new_experiment_with_its_figure_is_two_new_files(copy):
    (copy / "experiments/two/demo.py").write_text(EXPERIMENT)
    (copy / "report/figures/demo.py").write_text(FIGURE)
    said = command(copy, "run", "tiny", "--only", "demo.layers", "--size", "quick", "--out", "run")
    assert "1 figures and 0 tables" in said
    index = json.loads((copy.parent / "run/figures/index.json").read_text())
    assert index["figures"] == {"demo-layers": "tiny: The model has 6 layers. (Quick run: 64 evaluation examples.)"}
    page = (copy.parent / "run/report.html").read_text()
    assert "Beyond the paper" in page
    assert "How deep is the model?" in page


def test_a_new_claim_is_one_new_file(copy):
    (copy / "claims/two/deep.py").write_text(CLAIM)
    words = [sys.executable, "-c", TEST_CLAIM, str(copy.parent)]
    said = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120).stdout
    assert said == "deep holds tiny is deep (6.00 layers).\ndeep fails tiny is deep (3.00 layers).\n"


def test_everything_declared_is_found_once():
    found = declared(FigureSpec, "numberline.report.figures", "numberline.report.figures")
    assert {spec.label for spec in found} == set(FIGURES)
    assert len(found) == len(FIGURES)
    with pytest.raises(NumberlineError, match="FigureSpec 'number-reps' is declared twice"):
        by_name([*found, FIGURES["number-reps"]], lambda spec: spec.label)


def test_every_figure_and_table_says_what_it_answers_and_where_it_stands():
    for spec in EXHIBITS.values():
        assert spec.question.endswith("?")
        assert "number" not in spec.question, "a question is asked of any concept"
        assert spec.needs
        assert set(spec.needs) <= set(EXPERIMENTS)
    places = [spec.place for spec in EXHIBITS.values()]
    assert len(places) == len(set(places)), "two stand at the same place of a section"
    assert [title for title, labels in SECTIONS.items() if not labels] == [Section.BEYOND]
    assert list(SECTIONS["Behaviour"]) == ["app-behaviour", "app-patch-outcomes", "app-patch-examples"]
