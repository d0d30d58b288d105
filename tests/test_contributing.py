"""Each recipe of CONTRIBUTING.md touches the files that it names and no others, and works as it is written.

A block with a path is a new file, or the end of one that exists; a block to `try` shows that it works. All of them are
followed, in order, in one copy of the package, as a reader would follow them.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
BLOCK = re.compile(r"^```(python|sh) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COUNTS = {
    "An architecture": 1,
    "A concept": 1,
    "An experiment with its figure": 2,
    "A claim": 1,
    "An edit": 1,
    "A site": 1,
}
"""How many files of the package each recipe may touch; an architecture has one more for its test."""


# Every block in a namespace of its own; what each raised, as JSON.
TRY = """
import json, sys, traceback
found = {}
for name, blocks in json.loads(sys.argv[1]).items():
    found[name] = ""
    for block in blocks:
        try:
            exec(compile(block, name, "exec"), {"__name__": "tried"})
        except BaseException:
            found[name] += traceback.format_exc()
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Recipe:
    """One recipe as it is written."""

    name: str
    touches: tuple[str, ...]
    files: dict[str, str]
    tries: tuple[tuple[str, str], ...]

    @classmethod
    def read(cls, text: str) -> "Recipe":
        name, _, body = text.partition("\n")
        said = re.search(r"^Touches (.+?)\.$", body, re.MULTILINE)
        blocks = BLOCK.findall(body)
        files = {place: content for _, place, content in blocks if place != "try"}
        tries = tuple((language, content) for language, place, content in blocks if place == "try")
        return cls(name, tuple(re.findall(r"`([^`]+)`", said[1])), files, tries)


RECIPES = [Recipe.read(text) for text in TEXT.split("\n### ")[1:]]


def test_the_six_recipes_touch_as_few_files_as_they_should():
    counted = {recipe.name: sum(file.startswith("src/") for file in recipe.touches) for recipe in RECIPES}
    assert counted == COUNTS
    others = {recipe.name: [file for file in recipe.touches if not file.startswith("src/")] for recipe in RECIPES}
    assert {name: files for name, files in others.items() if files} == {
        "An architecture": ["tests/engine/architectures.py"]
    }


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_a_recipe_touches_what_it_says(recipe):
    assert tuple(recipe.files) == recipe.touches
    assert recipe.tries, "nothing shows that it works"
    for file in recipe.touches:
        assert (ROOT / file).parent.is_dir(), f"{file} would stand in a folder that does not exist"


def test_a_recipe_that_touches_more_would_be_seen():
    more = "A thing\n\nTouches `src/a.py`.\n\n```python src/a.py\n```\n\n```python src/b.py\n```\n"
    recipe = Recipe.read(more)
    assert tuple(recipe.files) != recipe.touches


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """The repository as a contributor has it, with all recipes followed."""
    place = tmp_path_factory.mktemp("copy")
    for folder in ("src", "tests/engine"):
        shutil.copytree(ROOT / folder, place / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for recipe in RECIPES:
        for file, content in recipe.files.items():
            with (place / file).open("a") as target:
                target.write(content if target.tell() == 0 else f"\n\n{content}")
    return place


@pytest.fixture(scope="module")
def complaints(copy) -> dict[str, str]:
    """What goes wrong when each recipe's Python is tried; in one process, as loading torch takes the most time."""
    tries = {recipe.name: [text for language, text in recipe.tries if language == "python"] for recipe in RECIPES}
    done = run(copy, "-c", TRY, json.dumps(tries))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def run(copy, *words):
    """Python in the copy's folder, with the copy's package and the helpers of its tests."""
    environment = {**os.environ, "PYTHONPATH": f"{copy / 'src'}:{copy / 'tests/engine'}"}
    return subprocess.run(
        [sys.executable, *words], env=environment, cwd=copy, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", COUNTS)
def test_a_recipe_works(name, complaints):
    assert complaints[name] == ""


def test_the_experiment_is_run_and_its_figure_is_on_the_page(copy):
    (commands,) = [text for recipe in RECIPES for language, text in recipe.tries if language == "sh"]
    for command in commands.splitlines():
        done = run(copy, "-m", *command.split())
        assert done.returncode == 0, done.stderr
    index = json.loads((copy / "run/figures/index.json").read_text())
    assert index["figures"] == {"demo-depth": "tiny: The model has 6 layers. (Quick run: 64 evaluation examples.)"}
    page = (copy / "run/report.html").read_text()
    assert "Beyond the paper" in page
    assert "How deep is the model?" in page


def test_what_is_named_exists():
    for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", TEXT):
        assert (ROOT / link).exists(), link
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^make (\w+)", TEXT, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for script in re.findall(r"`python (\S+)`", TEXT):
        assert (ROOT / script).is_file(), script
