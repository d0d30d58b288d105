"""Which experiments are there, and in which order do they run? All that are declared, needs first.

A new experiment is a function with `@experiment` in a file of `common/`, `two/` or `three/`: nothing else names it.
"""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from graphlib import CycleError, TopologicalSorter

from numberline.discovery import by_name, declared
from numberline.errors import NumberlineError, nearest
from numberline.experiments.common.experiment import Experiment


def index(*experiments: Experiment) -> dict[str, Experiment]:
    """Experiments by id."""
    return by_name(experiments, lambda experiment: experiment.id)


FOLDERS = tuple(f"numberline.experiments.{name}" for name in ("common", "two", "three"))
EXPERIMENTS: Mapping[str, Experiment] = index(*declared(Experiment, *FOLDERS))


def select(
    patterns: Sequence[str] = ("*",), experiments: Mapping[str, Experiment] = EXPERIMENTS
) -> tuple[Experiment, ...]:
    """The experiments whose ids match a pattern ("k2.*"), and all that they need, in an order that respects needs."""
    wanted: list[str] = []
    for pattern in patterns:
        matches = [id for id in experiments if fnmatchcase(id, pattern)]
        if not matches:
            raise NumberlineError(f"no experiment is called {pattern!r}: {nearest(pattern, experiments)}")
        wanted += matches
    graph: dict[str, tuple[str, ...]] = {}
    while wanted:
        id = wanted.pop(0)
        if id not in experiments:
            raise NumberlineError(f"the experiment {id!r} is needed by another but does not exist: add it")
        if id not in graph:
            graph[id] = experiments[id].needs
            wanted += graph[id]
    try:
        return tuple(experiments[id] for id in TopologicalSorter(graph).static_order())
    except CycleError as error:
        raise NumberlineError(f"experiments need each other in a circle: {' → '.join(error.args[1])}") from error
