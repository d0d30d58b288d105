"""Which experiments are there, and in which order do they run? Needs first.

A new experiment is a function with `@experiment` in a file of this folder, and its name in EXPERIMENTS.
"""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from graphlib import CycleError, TopologicalSorter

from numberline.errors import NumberlineError
from numberline.experiments.common import behaviour
from numberline.experiments.common.experiment import Experiment
from numberline.experiments.three import ablation as k3_ablation
from numberline.experiments.three import directions as k3_directions
from numberline.experiments.three import fields as k3_fields
from numberline.experiments.three import flags as k3_flags
from numberline.experiments.three import flags_beyond as k3_beyond
from numberline.experiments.three import heads as k3_heads
from numberline.experiments.three import neurons as k3_neurons
from numberline.experiments.three import readout as k3_readout
from numberline.experiments.three import trace as k3_trace
from numberline.experiments.two import connectivity as k2_connectivity
from numberline.experiments.two import dose as k2_dose
from numberline.experiments.two import fields as k2_fields
from numberline.experiments.two import flag as k2_flag
from numberline.experiments.two import freeze as k2_freeze
from numberline.experiments.two import heads as k2_heads
from numberline.experiments.two import layers as k2_layers
from numberline.experiments.two import neurons as k2_neurons
from numberline.experiments.two import number as k2_number
from numberline.experiments.two import outcomes
from numberline.experiments.two import probes as k2_probes
from numberline.experiments.two import shared as k2_shared
from numberline.experiments.two import shortcut as k2_shortcut
from numberline.experiments.two import three_digit as k2_three_digit
from numberline.experiments.two import trace as k2_trace
from numberline.experiments.two import transport as k2_transport
from numberline.experiments.two import whole as k2_whole


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
