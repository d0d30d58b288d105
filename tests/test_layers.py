"""The package is built in layers: a module imports its own layer or lower ones, and only declared dependencies."""

import ast
import importlib.metadata
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src/numberline"
ROOMS: Mapping[str, frozenset[str]] = {
    "models": frozenset(),
    "engine": frozenset({"models"}),
    "methods": frozenset({"engine", "models"}),
    "tasks": frozenset({"engine", "models", "methods"}),
    "results": frozenset(),
    "experiments": frozenset({"results", "tasks", "methods", "engine", "models"}),
    "runs": frozenset({"experiments", "results", "tasks", "engine", "models"}),
    "claims": frozenset({"results"}),
    "report": frozenset({"claims", "results"}),
    "verify": frozenset({"claims", "runs", "experiments", "results", "tasks", "methods", "engine", "models"}),
    "cli": frozenset({"verify", "report", "claims", "runs", "experiments", "results", "tasks", "engine", "models"}),
}
"""Each room, and the other rooms that it may import."""
FOR_ALL = frozenset(
    {"discovery", "errors", "estimates", "files", "hyperparameters", "seed", "templates", "__version__"}
)
ABOVE_ALL = ("__init__", "__main__", "library")
MOST_LINES: Mapping[str, int] = {"src": 300, "tests": 400, "training": 400, "benchmarks": 400, "scripts": 400}


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


def room(module: str) -> str:
    """The room of numberline.ROOM.…, or the name of a module beside the rooms."""
    return module.split(".")[1] if "." in module else "__init__"


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(("numberline", *parts))


def forbidden(module: str, text: str) -> list[str]:
    """The imports from rooms that this module's room may not know."""
    own = [found for found in imports(text) if found.split(".")[0] == "numberline"]
    if room(module) in ABOVE_ALL:
        return []
    allowed = ROOMS.get(room(module), frozenset()) | FOR_ALL | {room(module)}
    return [found for found in own if room(found) not in allowed]


@pytest.mark.parametrize("path", sources("src/numberline"), ids=name_of)
def test_a_room_imports_what_its_line_allows(path):
    assert forbidden(name_of(path), path.read_text()) == []


def test_every_part_of_the_package_is_a_room():
    parts = {path.stem for path in PACKAGE.iterdir() if path.is_dir() or path.suffix == ".py"} - {"__pycache__"}
    assert parts <= {*FOR_ALL, *ROOMS, *ABOVE_ALL}


def test_a_forbidden_import_would_be_seen():
    assert forbidden("numberline.tasks.task", "def f():\n    from numberline.experiments.registry import select") != []
    assert forbidden("numberline.engine.lab", "import numberline.methods") != []
    assert forbidden("numberline.engine.lab", "from numberline import load") != []
    assert forbidden("numberline.engine.lab", "import numberline.models.families\nimport numberline.errors") == []


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


def lengths(folder: str) -> dict[str, int]:
    """The number of lines of each file."""
    return {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in sources(folder)}


@pytest.mark.parametrize("folder", MOST_LINES)
def test_files_are_short(folder):
    assert {file for file, lines in lengths(folder).items() if lines > MOST_LINES[folder]} == set()


def test_most_files_are_very_short():
    assert median(lengths("src").values()) < 150


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
