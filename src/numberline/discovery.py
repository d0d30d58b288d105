"""What is declared? Experiments, figures, tables, plots, claims, concepts are found where they stand: no list has them.

Every module of some packages is imported, and what it holds of a kind is collected: packages in the order given, their
modules by name, and in a module as it is written. What a module imports from another counts once.
"""

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import TypeVar

from numberline.errors import NumberlineError

Kind = TypeVar("Kind")


def declared(kind: type[Kind], *packages: str) -> list[Kind]:
    """Everything of a kind that the modules of some packages hold."""
    found = {id(value): value for module in modules(*packages) for value in held(kind, module)}
    return list(found.values())


def modules(*packages: str) -> Iterator[ModuleType]:
    """Every module of some packages."""
    for package in packages:
        names = sorted(f"{package}.{found.name}" for found in iter_modules(import_module(package).__path__))
        yield from map(import_module, names)


def held(kind: type[Kind], module: ModuleType) -> list[Kind]:
    """Everything of a kind that a module holds, each once."""
    return list({id(value): value for value in vars(module).values() if isinstance(value, kind)}.values())


def by_name(things: Iterable[Kind], name: Callable[[Kind], str]) -> dict[str, Kind]:
    """Declarations by their name, which each has for itself."""
    found: dict[str, Kind] = {}
    for thing in things:
        if name(thing) in found:
            raise NumberlineError(f"{type(thing).__name__} {name(thing)!r} is declared twice: rename one")
        found[name(thing)] = thing
    return found
