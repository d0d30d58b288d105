"""A new concept is one declaration: months, in a file of the user's, run to a page that speaks of months.

The model is small and random. It cannot tell which month is later, so that the sites are given by hand; everything
that is said of it must still be said of months.
"""

import html
import json
import re
from pathlib import Path

import pytest
import tokenizer_zoo
import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

import numberline as nl
from numberline.report.registry import FIGURES
from numberline.report.view import RunView
from numberline.runs.run import Run, Settings
from numberline.tasks import Task, concept_of

DECLARED = '''
"""Which of some months is later in the year?"""

import calendar

from numberline import Sentence, Words, ordered

MONTHS = ordered(
    "months",
    tuple(calendar.month_name)[1:],
    pair=Sentence("The later of", ("March", "July")),
    several=Sentence("The latest of", ("May", "June", "April")),
    words=Words("month", larger="later", largest="latest", smaller="earlier"),
)
'''
RUN = ("--only", "behaviour.pairs", "--only", "k2.number", "--only", "k2.three_digit", "--role", "number_layer=1")
NUMBERS = re.compile(
    r"\b(?<![.-])numbers?\b(?!-)(?! of operands)|maxim|\blarge(?:r|st)\b(?! recovery)|\blog y|two-digit"
)
"""What is said of numbers; not the ids of experiments and figures (k2.number, number-reps)."""


def make_model(folder: Path, concept: nl.Concept) -> None:
    """Random weights, and a tokenizer that has a token for every month."""
    words = [concept.spell(value) for value in concept.values]
    prompts = [Task(concept, k).prompt(range(k)) for k in (2, 3)]
    tokenizer = tokenizer_zoo.trained([*prompts, *words, *(f" {word}" for word in words)])
    torch.manual_seed(0)
    shape = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2}
    config = Qwen2Config(vocab_size=len(tokenizer), num_hidden_layers=3, initializer_range=0.3, **shape)
    Qwen2ForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


@pytest.fixture
def run(call, tmp_path) -> tuple[nl.RunFolder, str]:
    """The run, and what the command printed."""
    (tmp_path / "months.py").write_text(DECLARED)
    make_model(tmp_path / "model", concept_of("months.py"))
    code, printed, wrong = call("run", "model", "--task", "months.py", "--size", "quick", "--out", "run", *RUN)
    assert code == 0, wrong
    return nl.open_run(tmp_path / "run"), printed + wrong


def texts(run: nl.RunFolder) -> dict[str, str]:
    """Everything that is said of a run, without the names of figures and experiments."""
    page = re.sub(r"<(script|style).*?</\1>", "", (run.path / "report.html").read_text(), flags=re.S)
    page = re.sub(r'<section id="choices".*?</section>', "", page, flags=re.S)  # it says what the paper does
    said = {"the page": html.unescape(re.sub(r"<[^>]*>", " ", page))}
    said |= {path.name: path.read_text() for path in run.path.glob("figures/*.txt")}
    said |= {path.name: path.read_text() for path in run.path.glob("tables/*.md")}
    claims = json.loads((run.path / "claims.json").read_text())["claims"]
    said |= {claim["id"]: json.dumps({**claim, "figures": []}, ensure_ascii=False) for claim in claims}
    return said


def test_a_declaration_in_one_file_is_run_to_a_page_in_its_own_words(run):
    folder, printed = run
    assert "month pairs" in printed
    assert "Along which direction does the model hold each month?" in printed
    accuracy = folder.table("behaviour.pairs", "accuracy")
    assert [(row["population"], row["n"]) for row in accuracy] == [("month pairs", 132), ("month triples", 250)]
    assert folder.result("k2.trace").n == 64
    components = folder.table("k2.number", "components").where(position="y1", direction="u")
    assert components.array("value").tolist() == list(range(12))

    said = texts(folder)
    assert {"app-trace-k2.txt", "app-u-manifold.txt", "linear"} <= set(said)
    wrong = {name: found.group() for name, text in said.items() if (found := NUMBERS.search(text))}
    assert wrong == {}
    assert "How model compares months" in said["the page"]
    assert "The later of July and January is" in said["the page"]
    assert "A rank-one direction carries the month causally" in said["linear"]

    drawing = FIGURES["app-u-manifold"].make(RunView(folder))
    assert "the least-squares fit p y1 + q" in drawing.caption
    components = drawing.figure.axes[1]
    assert components.get_xlabel() == "$y_1$ (month)"
    assert [label.get_text() for label in components.get_xticklabels()] == ["January", "April", "July", "October"]

    # What makes no sense for months says so.
    assert folder.find("k2.three_digit").missing == "months have no digits, so that there are none of three"
    assert "months have no digits" in said["the page"]
    assert "linear_fits" in folder.result("k2.number").tables
    assert "log_fits" not in folder.result("k2.number").tables


def test_a_changed_declaration_makes_other_results(tmp_path):
    file = tmp_path / "months.py"

    def digests(declared: str) -> dict[str, str]:
        file.write_text(declared)
        return Run(lab, nl.RunFolder(tmp_path / "run"), Settings(task=str(file))).digests()

    lab = nl.load("tiny")
    first = digests(DECLARED)
    assert digests(DECLARED.replace("import calendar", "import calendar  # of the library")) == first
    changed = digests(DECLARED.replace('"The later of"', '"Later, of"'))
    assert not set(changed.values()) & set(first.values())
