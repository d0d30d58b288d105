"""The package is built in layers: a module imports its own layer or lower ones, and only declared dependencies."""

import ast
import importlib.metadata
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src/numberline"
BELOW_ALL = ("errors", "files")
LAYERS = ("tasks", "models", "engine", "methods", "experiments", "runs", "report", "verify", "cli")
ABOVE_ALL = ("__init__", "__main__")
MOST_LINES = 600


def sources(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def imports(text: str) -> Iterator[str]:
    """Every module that a source names in an import, at any depth, with what it takes from it."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are written in full"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def layer(module: str) -> int:
    """The level of numberline.LAYER.…: errors at the bottom, the public face at the top."""
    name = module.split(".")[1] if "." in module else "__init__"
    if name in BELOW_ALL:
        return -1
    if name in LAYERS:
        return LAYERS.index(name)
    # What is not a layer is a name of the public face: `from numberline import __version__`.
    return len(LAYERS) if name != "__version__" else -1


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(("numberline", *parts))


def upward(module: str, text: str) -> list[str]:
    """The imports that go to a higher layer."""
    own = (found for found in imports(text) if found.split(".")[0] == "numberline")
    return [found for found in own if layer(found) > layer(module)]


@pytest.mark.parametrize("path", sources("src/numberline"), ids=name_of)
def test_imports_go_down(path):
    assert upward(name_of(path), path.read_text()) == []


def test_every_part_of_the_package_has_a_layer():
    parts = {path.stem for path in PACKAGE.iterdir() if path.is_dir() or path.suffix == ".py"} - {"__pycache__"}
    assert parts <= {*BELOW_ALL, *LAYERS, *ABOVE_ALL}


def test_an_upward_import_would_be_seen():
    assert upward("numberline.tasks.task", "def f():\n    from numberline.engine.lab import Lab") != []
    assert upward("numberline.engine.lab", "import numberline.methods") != []
    assert upward("numberline.engine.lab", "from numberline import load") != []
    assert upward("numberline.engine.lab", "from numberline.tasks import Task\nimport numberline.errors") == []


@cache
def declared(*extras: str) -> set[str]:
    """The distributions that pyproject.toml names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = list(project["dependencies"])
    for extra in extras:
        lines += project["optional-dependencies"][extra]
    return {normal(re.split(r"[<>=!~\[; ]", line)[0]) for line in lines}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def undeclared(text: str, allowed: set[str], local: set[str]) -> set[str]:
    """Imported modules that are neither standard, nor ours, nor of an allowed distribution."""
    found = {name.split(".")[0] for name in imports(text)} - set(sys.stdlib_module_names) - local
    return {name for name in found if not {normal(owner) for owner in owners().get(name, ())} & allowed}


@cache
def owners() -> Mapping[str, list[str]]:
    """Which distributions hold each importable module."""
    return importlib.metadata.packages_distributions()


def test_the_package_imports_only_what_it_declares():
    missing = {path: undeclared(path.read_text(), declared(), {"numberline"}) for path in sources("src/numberline")}
    assert {path: names for path, names in missing.items() if names} == {}


def test_the_tests_import_only_what_they_declare():
    files = sources("tests")
    local = {"numberline", *(path.stem for path in files)}
    # A test that compares with the training scripts puts their folder on the path.
    local |= {path.stem for path in sources("training")}
    missing = {path: undeclared(path.read_text(), declared("test", "dev"), local) for path in files}
    assert {path: names for path, names in missing.items() if names} == {}


def test_an_undeclared_import_would_be_seen():
    assert undeclared("import pluggy", declared(), set()) == {"pluggy"}
    assert undeclared("import shared.tools", declared(), set()) == {"shared"}
    assert undeclared("import torch, json", declared(), set()) == set()


@pytest.mark.parametrize("path", sources("src/numberline"), ids=name_of)
def test_nothing_outside_the_repository_is_named(path):
    assert not re.search(r"\.\./shared|/work/|/root/|/home/", path.read_text())


def test_files_are_short():
    lengths = {path: len(path.read_text().splitlines()) for path in sources("src", "tests", "training", "benchmarks")}
    assert {path: n for path, n in lengths.items() if n > MOST_LINES} == {}


def test_every_declared_dependency_is_pinned():
    pinned = {
        normal(line.split("==")[0]) for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line
    }
    build = {"hatchling", "editables"}
    assert declared("test", "dev") | build <= pinned


def test_every_skipped_test_is_listed():
    listed = (ROOT / "tests/README.md").read_text().split("## Skipped tests")[1]
    pattern = r"pytest\.(skip|importorskip|xfail)\(|mark\.(skip|skipif|xfail)\b"
    skipping = {path.name for path in sources("tests") if re.search(pattern, path.read_text())} - {Path(__file__).name}
    assert {name for name in skipping if name not in listed} == set()
