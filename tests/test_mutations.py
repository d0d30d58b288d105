"""A scorecard that cannot fail proves nothing: each method is broken in one place, and the row that rests on it fails.

Each mutation replaces one function by a wrong one. Rows are computed from planted truth handed to the experiments
(their true directions and roles), so that only the experiment behind the row runs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache

import pytest
import torch

from numberline.engine.subspace import Subspace
from numberline.experiments.common import comparing
from numberline.experiments.common.experiment import Context, Result
from numberline.experiments.two import connectivity as k2_connectivity
from numberline.experiments.two import dose as k2_dose
from numberline.experiments.two import fields as k2_fields
from numberline.experiments.two import heads as k2_heads
from numberline.experiments.two import neurons as k2_neurons
from numberline.experiments.two import trace as k2_trace
from numberline.experiments.two import transport as k2_transport
from numberline.experiments.two.patches import SharedSpace
from numberline.methods import das, freezing, heads, trace
from numberline.results.roles import Role
from numberline.tasks import QUICK
from numberline.verify import cases, neurons, sites_and_directions
from numberline.verify.check import BlindRun, Check

SMALL = replace(
    QUICK,
    evaluation=24,
    fitting=16,
    number_cloud=200,
    shared_cloud=400,
    edge_cloud=200,
    dose_prompts=8,
    field_stride=11,
)
CONTEXT = Context(SMALL)


@cache
def lab_and_truth():
    return cases.build(cases.Case())


@cache
def given() -> Mapping[str, Result]:
    """What earlier experiments would have found: the planted roles and directions."""
    lab, truth = lab_and_truth()
    about = {"model": lab.loaded.fingerprint}
    two = truth.directions[2]

    def result(roles: Mapping[str, tuple[int, ...]], **directions: torch.Tensor) -> Result:
        found = [Role(name, value, 1.0, 1.0, 0.0, True, why="planted") for name, value in roles.items()]
        spaces = {name: Subspace(direction[:, None], about) for name, direction in directions.items()}
        return Result.of({}, 1, directions, spaces, found)

    planted_roles = sites_and_directions.planted_roles(truth)

    def some(*names: str) -> dict[str, tuple[int, ...]]:
        return {name: planted_roles[name] for name in names}

    return {
        "k2.trace": result(some("number_layer", "readout_layer")),
        "k2.number": result({}, u=two["u"], v2=two["v2"]),
        "k2.heads": result(some("transport_head")),
        "k2.transport": result({}, v1=two["v1"]),
        "k2.freeze": result(some("comparator_mlps")),
    }


@cache
def space() -> SharedSpace:
    truth = lab_and_truth()[1]
    two = truth.directions[2]
    return SharedSpace(truth.number_layer, truth.transport_heads["y1"][0], two["u"], two["v1"], two["v2"])


def live() -> list[tuple[int, int]]:
    truth = lab_and_truth()[1]
    return [place for place, field in truth.fields.items() if float(field.std()) > 1e-2 and place not in silent(truth)]


def silent(truth) -> set[tuple[int, int]]:
    return set(truth.decoys.neurons)


def of_trace() -> list[Check]:
    lab, truth = lab_and_truth()
    return [
        c
        for c in sites_and_directions.roles(BlindRun({"k2.trace": k2_trace.trace(lab, CONTEXT)}, truth))
        if "_layer" in c.name
    ][:1]


def of_heads() -> list[Check]:
    lab, truth = lab_and_truth()
    return sites_and_directions.heads(
        BlindRun({"k2.heads": k2_heads.heads(lab, replace(CONTEXT, needs=given()))}, truth)
    )[:1]


def of_directions() -> list[Check]:
    lab, truth = lab_and_truth()
    context = Context(replace(SMALL, fitting=96), needs=given())
    found = BlindRun({"k2.transport": k2_transport.transport(lab, context)}, truth)
    return [check for check in sites_and_directions.directions(found, lab) if check.name == "v1 (k = 2), cosine"]


def of_neurons() -> list[Check]:
    lab, truth = lab_and_truth()
    return neurons.neurons(
        BlindRun({"k2.neurons": k2_neurons.measure(lab, CONTEXT, space(), truth.comparator_mlps)}, truth)
    )


def of_fields() -> list[Check]:
    lab, truth = lab_and_truth()
    return neurons.fields(
        BlindRun({"k2.fields": k2_fields.measure(lab, CONTEXT, space(), {"shared": live()})}, truth), lab
    )


def of_connectivity() -> list[Check]:
    lab, truth = lab_and_truth()
    found = BlindRun({"k2.connectivity": k2_connectivity.measure(lab, CONTEXT, live())}, truth)
    return [*neurons.weights(found), *neurons.edges(found, lab, CONTEXT)]


def of_dose() -> list[Check]:
    lab, truth = lab_and_truth()
    return neurons.dose(BlindRun({"k2.dose": k2_dose.measure(lab, CONTEXT, space())}, truth))


ROWS: dict[str, Callable[[], list[Check]]] = {
    "trace": of_trace,
    "heads": of_heads,
    "directions": of_directions,
    "neurons": of_neurons,
    "fields": of_fields,
    "connectivity": of_connectivity,
    "dose": of_dose,
}


@dataclass(frozen=True)
class Mutation:
    """One line that is wrong: where, and what stands there instead."""

    what: str
    row: str
    owner: object
    name: str
    wrong: Callable[[Callable], Callable]


def next_head(right: Callable) -> Callable:
    return lambda layer, number: right(layer, (number + 1) % 8)


def next_layer(right: Callable) -> Callable:
    return lambda layer, *rest: right(min(layer + 1, 7), *rest)


MUTATIONS = (
    Mutation("the trace restores one layer later", "trace", trace, "resid", next_layer),
    Mutation("DAS climbs the loss", "directions", das, "pld", lambda right: lambda logits: -right(logits)),
    Mutation("a head's slice is the next head's", "heads", heads, "head", next_head),
    Mutation("heads are patched one layer later", "heads", heads, "head", next_layer),
    Mutation(
        "attribution ranks the least important first",
        "neurons",
        comparing,
        "ranking",
        lambda right: lambda found, layers: right(found, layers)[::-1],
    ),
    Mutation("neurons are pinned one place off", "neurons", freezing, "pin",
        lambda right: lambda values, at, position: right(values, [(a, i ^ 1) for a, i in at], position)),
    Mutation(
        "fields have y1 and y2 exchanged",
        "fields",
        k2_fields,
        "operand_fields",
        lambda right: lambda *given: replace(right(*given), values=right(*given).values.transpose(1, 2)),
    ),
    Mutation(
        "virtual weights read the up-projection's neighbour",
        "connectivity",
        k2_connectivity,
        "virtual_weights",
        lambda right: lambda lab, sources, targets: right(lab, sources, targets[1:] + targets[:1]),
    ),
    Mutation(
        "edges are not divided by the spread",
        "connectivity",
        k2_connectivity,
        "spreads",
        lambda right: lambda values, at: torch.ones(len(at)),
    ),
    Mutation(
        "doses set the two coordinates the wrong way round",
        "dose",
        k2_dose,
        "coordinates_of",
        lambda right: lambda *given: right(*given).flip(1),
    ),
)  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_the_rows_are_green_when_nothing_is_broken(row):
    assert [check for check in ROWS[row]() if not check.passed] == []


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.what)
def test_a_mutation_is_caught(mutation, monkeypatch):
    right = getattr(mutation.owner, mutation.name)
    monkeypatch.setattr(mutation.owner, mutation.name, mutation.wrong(right))
    try:
        checks = ROWS[mutation.row]()
    except (IndexError, ValueError):
        return  # the mistake did not even run
    assert any(not check.passed for check in checks)
