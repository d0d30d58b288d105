"""What is declared? Experiments, figures, tables, plots and claims are found where they stand, and no list names them.

Every module of some packages is imported, and what it holds of a kind is collected: packages in the order given, their
modules by name, and in a module as it is written. What a module imports from another counts once.
"""

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import TypeVar

from numberline.errors import NumberlineError

Kind = TypeVar("Kind")


def declared(kind: type[Kind], *packages: str) -> list[Kind]:
    """Everything of a kind that the modules of some packages hold."""
    found: dict[int, Kind] = {}
    for module in _modules(packages):
        found |= {id(value): value for value in vars(import_module(module)).values() if isinstance(value, kind)}
    return list(found.values())


def by_name(things: Iterable[Kind], name: Callable[[Kind], str]) -> dict[str, Kind]:
    """Declarations by their name, which each has for itself."""
    found: dict[str, Kind] = {}
    for thing in things:
        if name(thing) in found:
            raise NumberlineError(f"{type(thing).__name__} {name(thing)!r} is declared twice: rename one")
        found[name(thing)] = thing
    return found


def _modules(packages: Iterable[str]) -> Iterator[str]:
    for package in packages:
        yield from sorted(f"{package}.{found.name}" for found in iter_modules(import_module(package).__path__))
