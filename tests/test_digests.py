"""A result's digest follows the code that its experiment uses: no more, no less, with a file or without."""

import json
import linecache
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import numberline
from numberline.experiments.common.experiment import Experiment
from numberline.runs import used_code
from numberline.runs.digests import of_inputs

# Every experiment's digest, in a copy of the package, before and after a line is added to some of its modules.
TOUCH = """
import json, sys
from pathlib import Path
import numberline
from numberline.experiments.registry import EXPERIMENTS
from numberline.runs.digests import of_inputs
def digests():
    return {id: of_inputs(experiment, {}, {}) for id, experiment in EXPERIMENTS.items()}
before, changed, root = digests(), {}, Path(numberline.__file__).parent
for pattern in sys.argv[1:]:
    files = {file: file.read_text() for file in root.glob(pattern)}
    assert files, pattern
    for file, text in files.items():
        file.write_text(text + "\\nTOUCHED = 1\\n")
    changed[pattern] = [id for id, digest in digests().items() if digest != before[id]]
    for file, text in files.items():
        file.write_text(text)
print(json.dumps({"all": list(before), **changed}))
"""


def test_what_no_experiment_uses_can_be_edited(tmp_path):
    shutil.copytree(Path(numberline.__file__).parent, tmp_path / "numberline")
    patterns = ("models/planted/*.py", "models/loading.py", "engine/wave.py", "experiments/two/fields.py", "cli/*.py")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    printed = subprocess.run(
        [sys.executable, "-c", TOUCH, *patterns], env=environment, capture_output=True, text=True, check=True
    )
    changed = json.loads(printed.stdout)
    assert changed["models/planted/*.py"] == changed["models/loading.py"] == changed["cli/*.py"] == []
    assert changed["engine/wave.py"] == changed["all"]
    assert {"k2.fields"} <= set(changed["experiments/two/fields.py"]) < set(changed["all"])


def of_file(path, text):
    """The pieces that the functions in a file use."""
    path.write_text(text)
    return dict(used_code.of_files([path]))


def test_the_digest_follows_the_code_and_not_its_words(tmp_path):
    begins = "from numberline.estimates import wilson\n"
    plain = of_file(tmp_path / "mine.py", f"{begins}def f():\n    return 1\n")
    assert of_file(tmp_path / "mine.py", f"{begins}\n# why\ndef f():\n    'doc'\n    return (1)\n") == plain
    assert of_file(tmp_path / "mine.py", f"{begins}def f():\n    return 12\n") != plain
    assert set(plain) == {"mine.py", "estimates.py", "errors.py", "seed.py"}


def test_names_of_the_public_face_and_files_beside_are_followed(tmp_path):
    (tmp_path / "helper.py").write_text("import numberline as nl\n\n\ndef f():\n    return nl.swap\n")
    found = of_file(tmp_path / "mine.py", "from helper import f\nfrom numberline import Site\nimport json\n")
    assert {"mine.py", "helper.py", "engine/sites.py", "engine/edits.py", "engine/recording.py"} <= set(found)
    assert "json/__init__.py" not in found


def test_a_file_is_parsed_once(tmp_path):
    first = of_file(tmp_path / "mine.py", "from numberline.engine.lab import Lab\n")
    misses = used_code.parsed.cache_info().misses
    assert dict(used_code.of_files([tmp_path / "mine.py"])) == first
    assert used_code.parsed.cache_info().misses == misses


NOTEBOOK = """
import numberline as nl
import numpy as np
from numberline.estimates import wilson
WHERE, TABLE = 3, np.arange(4.0)
class Helper:
    def twice(self, x):
        return 2 * x
def helper(x):
    return Helper().twice(x) + 1
def asked(lab, context):
    'What is asked?'
    inner = lambda x: helper(x) + WHERE  # a comment
    return inner(1), nl.swap, wilson, TABLE, np.sum, len
"""


@pytest.fixture(params=["with source", "without source"])
def cell(request):
    """Runs text as a notebook cell: a file that does not exist, whose lines a notebook remembers."""

    def run(text):
        name = f"<cell {abs(hash(text))}>"
        if request.param == "with source":
            linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        space = {"__name__": "notebook"}
        exec(compile(text, name, "exec"), space)
        return of_inputs(Experiment("demo.asked", space["asked"]), {}, {}), used_code.used_by(space["asked"])

    return run


def test_an_experiment_in_a_notebook_has_a_digest(cell):
    digest, used = cell(NOTEBOOK)
    assert cell(NOTEBOOK)[0] == digest
    names = {name for name, _ in used}
    assert {"notebook.asked", "notebook.helper", "notebook.Helper.twice", "notebook.WHERE", "notebook.TABLE"} <= names
    assert {"estimates.py", "engine/edits.py"} <= names
    assert not any("numpy" in name for name in names)


@pytest.mark.parametrize(
    ("before", "after"),
    [("+ WHERE", "- WHERE"), ("WHERE, TABLE = 3", "WHERE, TABLE = 4"), ("np.arange(4.0)", "np.ones(4)"),
     ("+ 1", "+ 2"), ("2 * x", "3 * x")],
)  # fmt: skip
def test_the_digest_changes_with_what_the_notebook_changes(cell, before, after):
    assert before in NOTEBOOK
    assert cell(NOTEBOOK.replace(before, after))[0] != cell(NOTEBOOK)[0]


def test_words_in_a_notebook_do_not_count(cell):
    changed = NOTEBOOK.replace("# a comment", "# another").replace("What is asked?", "What is asked now?")
    assert cell(changed)[0] == cell(NOTEBOOK)[0]


def test_the_engine_counts_in_a_notebook_too(monkeypatch, cell):
    before = cell(NOTEBOOK)[0]
    parsed = used_code.parsed

    def touched(file, stamp):
        module = parsed(file, stamp)
        return used_code.Module("other", module.imports) if file.name == "wave.py" else module

    monkeypatch.setattr(used_code, "parsed", touched)
    assert cell(NOTEBOOK)[0] != before


def test_arrays_count_by_their_bytes():
    large = np.zeros(10_000)
    assert used_code._text(large) != used_code._text(np.where(np.arange(10_000) == 5_000, 1.0, large))
