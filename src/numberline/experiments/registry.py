"""Which experiments are there, and in which order do they run? Needs first.

A new experiment is a function with `@experiment` in a file of this folder, and its name in EXPERIMENTS.
"""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from graphlib import CycleError, TopologicalSorter

from numberline.errors import NumberlineError
from numberline.experiments import (
    behaviour,
    k2_connectivity,
    k2_dose,
    k2_fields,
    k2_flag,
    k2_freeze,
    k2_heads,
    k2_layers,
    k2_neurons,
    k2_number,
    k2_probes,
    k2_shared,
    k2_shortcut,
    k2_three_digit,
    k2_trace,
    k2_transport,
    k2_whole,
    k3_ablation,
    k3_beyond,
    k3_directions,
    k3_fields,
    k3_flags,
    k3_heads,
    k3_neurons,
    k3_readout,
    k3_trace,
    outcomes,
)
from numberline.experiments.experiment import Experiment


def index(*experiments: Experiment) -> dict[str, Experiment]:
    """Experiments by id."""
    found = {experiment.id: experiment for experiment in experiments}
    if len(found) < len(experiments):
        raise NumberlineError("two experiments have the same id: rename one")
    return found


EXPERIMENTS: Mapping[str, Experiment] = index(
    behaviour.operands,
    behaviour.pairs,
    k2_trace.trace,
    k2_number.number,
    k2_heads.heads,
    k2_transport.transport,
    k2_layers.layers,
    k2_three_digit.three_digit,
    k2_shortcut.shortcut,
    k2_probes.probes,
    k2_shared.shared,
    k2_dose.dose,
    k2_freeze.freeze,
    k2_neurons.neurons,
    k2_fields.fields,
    k2_connectivity.connectivity,
    k2_flag.flag,
    k2_whole.whole,
    k3_trace.trace,
    k3_heads.heads,
    k3_directions.directions,
    k3_neurons.neurons,
    k3_fields.fields,
    k3_flags.flags,
    k3_beyond.flags_beyond,
    k3_readout.readout,
    k3_ablation.ablation,
    outcomes.outcomes,
)


def select(
    patterns: Sequence[str] = ("*",), experiments: Mapping[str, Experiment] = EXPERIMENTS
) -> tuple[Experiment, ...]:
    """The experiments whose ids match a pattern ("k2.*"), and all that they need, in an order that respects needs."""
    wanted: list[str] = []
    for pattern in patterns:
        matches = [id for id in experiments if fnmatchcase(id, pattern)]
        if not matches:
            raise NumberlineError(f"no experiment is called {pattern!r}: choose from {', '.join(experiments)}")
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
