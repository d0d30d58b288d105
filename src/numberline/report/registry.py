"""Which figures and tables are there? Every label of the paper, in the paper's order.

A new figure is a function with `@figure` in a file of `figures/`, and its name in FIGURES.
"""

from collections.abc import Mapping
from typing import TypeVar

from numberline.errors import NumberlineError
from numberline.report import direction_table, paper_tables
from numberline.report.figure import FigureSpec
from numberline.report.figures import (
    behaviour,
    diagram,
    fields,
    flag,
    layers,
    mechanism,
    neurons,
    number,
    shared_plane,
    three_directions,
    three_flags,
    three_neurons,
    three_numbers,
    three_readout,
    trace_and_probes,
    transport,
    whole,
)
from numberline.report.tables import TableSpec

Spec = TypeVar("Spec", FigureSpec, TableSpec)


def figures(*specs: FigureSpec) -> dict[str, FigureSpec]:
    """Figures by label."""
    return _by_label(specs)


def tables(*specs: TableSpec) -> dict[str, TableSpec]:
    """Tables by label."""
    return _by_label(specs)


def _by_label(specs: tuple[Spec, ...]) -> dict[str, Spec]:
    found = {spec.label: spec for spec in specs}
    if len(found) < len(specs):
        raise NumberlineError("two figures or tables have the same label: rename one")
    return found


FIGURES: Mapping[str, FigureSpec] = figures(
    diagram.overview,
    number.number_reps,
    shared_plane.shared_rep,
    mechanism.comparison_mechanism,
    three_numbers.three_number_compare,
    behaviour.operand_counts,
    behaviour.patch_outcomes,
    trace_and_probes.trace,
    diagram.flowchart,
    trace_and_probes.probes,
    trace_and_probes.trace_three,
    number.u_manifold,
    number.u_against_pc1,
    layers.u_layers,
    layers.three_digit,
    layers.shortcut,
    transport.transport,
    shared_plane.shared_probes,
    shared_plane.shared_posrec,
    neurons.mlp_freeze,
    neurons.attribution,
    fields.shared_fields,
    fields.exclusive_fields,
    neurons.connectivity,
    flag.flag_direction,
    three_numbers.summary,
    three_directions.components,
    three_directions.manifolds,
    three_directions.dissociation,
    three_directions.heads,
    three_neurons.three_neurons,
    three_flags.flags_across,
    three_flags.flag_patterns,
    three_flags.flags_beyond,
    three_readout.readout_pca,
    three_readout.readout_causal,
    three_neurons.ablation,
    whole.whole_directions,
    whole.whole_shared,
    whole.whole_flag,
)

TABLES: Mapping[str, TableSpec] = tables(
    paper_tables.hyperparameters,
    direction_table.directions,
    paper_tables.patch_examples,
    paper_tables.whole_iia,
    paper_tables.whole_examples_a,
    paper_tables.whole_examples_b,
)

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "The algorithm": ("fig1toy", "alg-flowchart"),
    "Two numbers": ("number-reps", "shared-rep", "comparison-mechanism"),
    "Three numbers": ("three-number-compare",),
    "Behaviour": ("app-behaviour", "app-patch-outcomes", "app-patch-examples"),
    "Where the computation happens": ("app-trace-k2", "app-probes-k2", "app-trace-k3"),
    "Individual numbers": (
        "app-u-manifold",
        "app-u-vs-pc1",
        "app-u-layers",
        "app-three-digit",
        "app-v2-shortcut",
        "app-transport",
    ),
    "The shared representation": ("app-shared-probes", "app-shared-posrec"),
    "The comparator neurons": (
        "app-mlp-freeze",
        "app-attribution",
        "app-rf-shared",
        "app-rf-exclusive",
        "app-connectivity",
        "app-l15-direction",
    ),
    "Three numbers in detail": (
        "app-k3-summary",
        "app-k3-directions",
        "app-k3-manifolds",
        "app-k3-dissociation",
        "app-k3-heads",
        "app-k3-neurons",
        "app-k3-l15",
        "flag-patterns",
        "flags-beyond",
        "app-k3-readout-pca",
        "app-k3-readout-causal",
        "app-ablation",
    ),
    "The whole generated number": (
        "app-whole-directions",
        "app-whole-shared",
        "app-whole-l15",
        "app-whole-iia",
        "app-whole-examples-a",
        "app-whole-examples-b",
    ),
    "Setup": ("app:setup-hparams", "tab:app-directions"),
}
"""The sections of the page, in the paper's order."""
