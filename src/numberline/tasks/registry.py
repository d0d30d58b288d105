"""Which concepts are there? Those declared in the modules of tasks/concepts/, and those in a file of the user's.

A task is named by its concept (`--task min`), or by the file that declares one: data (`--task mine.toml`, read by
`tasks/declaration.py`), or a program (`--task mine.py`).
"""

import importlib.util
from functools import cache
from pathlib import Path
from types import ModuleType

from numberline.discovery import by_name, held, modules
from numberline.errors import NumberlineError
from numberline.tasks.concept import Concept
from numberline.tasks.declaration import read_concept

PACKAGE = "numberline.tasks.concepts"


@cache
def built_in() -> dict[str, Concept]:
    """Every concept of this package by name."""
    return by_name([concept for module in modules(PACKAGE) for concept in held(Concept, module)], lambda it: it.name)


def concept_of(task: str) -> Concept:
    """The concept that a user names."""
    if task in built_in():
        return built_in()[task]
    return _declared_in(Path(task))


def source_of(task: str) -> Path:
    """The file that declares the concept that a user names."""
    if task not in built_in():
        return Path(task)
    (source,) = (module.__file__ for module in modules(PACKAGE) if built_in()[task] in held(Concept, module))
    return Path(str(source))


def _declared_in(path: Path) -> Concept:
    """The one concept of a user's file."""
    if path.suffix == ".toml":
        return read_concept(path)
    if path.suffix != ".py":
        raise NumberlineError(
            f"there is no task {str(path)!r}: choose one that 'numberline concepts' lists, or give a TOML or Python "
            "file that declares one"
        )
    found = held(Concept, _executed(path))
    if len(found) != 1:
        raise NumberlineError(f"{path} declares {len(found)} concepts where a task has one: declare exactly one")
    return found[0]


def _executed(path: Path) -> ModuleType:
    """A Python file, run as a module."""
    if not path.is_file():
        raise NumberlineError(f"{path} is no file: give a Python file that declares a concept")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except NumberlineError:
        raise
    except Exception as error:
        raise NumberlineError(f"{path} cannot be read ({type(error).__name__}: {error}): correct it") from error
    return module
