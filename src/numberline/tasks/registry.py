"""Which concepts are there? Those declared in the modules of tasks/concepts/, and those in a file of the user's.

A task is named by its concept (`--task min`), or by the Python file that declares one (`--task mine.py`).
"""

import importlib.util
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from numberline.errors import NumberlineError
from numberline.tasks import concepts
from numberline.tasks.concept import Concept


@cache
def built_in() -> dict[str, tuple[Concept, Path]]:
    """Every concept of this package by name, with the file that declares it."""
    found: dict[str, tuple[Concept, Path]] = {}
    for module in iter_modules(concepts.__path__, f"{concepts.__name__}."):
        own = import_module(module.name)
        for concept in _declared(vars(own)):
            if concept.name in found:
                raise NumberlineError(f"two concepts are called {concept.name!r}: rename one")
            found[concept.name] = concept, Path(str(own.__file__))
    return found


def find(task: str) -> tuple[Concept, Path]:
    """The concept that a user names, and the file that declares it."""
    if task in built_in():
        return built_in()[task]
    path = Path(task)
    if path.suffix != ".py":
        raise NumberlineError(
            f"there is no task {task!r}: choose from {', '.join(built_in())}, or give a Python file that declares one"
        )
    declared = _declared(_executed(path))
    if len(declared) != 1:
        raise NumberlineError(f"{path} declares {len(declared)} concepts where a task has one: declare exactly one")
    return declared[0], path


def concept_of(task: str) -> Concept:
    """The concept that a user names."""
    return find(task)[0]


def _executed(path: Path) -> dict[str, object]:
    """The names that a Python file defines."""
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
    return vars(module)


def _declared(names: dict[str, object]) -> list[Concept]:
    """The concepts among some names, each once."""
    return list({id(value): value for value in names.values() if isinstance(value, Concept)}.values())
