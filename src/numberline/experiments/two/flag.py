"""Is the answer's position one direction? The comparison flag at y2's position.

1. At the residual leaving each candidate layer, from the transport layer on and before the read-out layer (four at
   most, and the layer that a user chose), a rank-one direction is fitted by DAS at y2 on the fitting examples of each
   case.
2. The layer is chosen on examples of the hand `choosing`, in both cases, and on the first half of the 3,000-prompt
   cloud: the first one at which both directions hold the winner rather than a number, and one works in both cases, is
   the role `flag_layer` (role_rules.py, rule 4). So is chosen which of the two fits there is the flag: one direction.
3. Each is evaluated in both cases, on evaluation and on fitting examples, beside the full-rank patch of that residual
   and random directions. Signed so that the component is larger where y2 wins ("the largest so far"); the component
   over the cloud, and, on its second half, how well its sign tells the winner (a threshold half-way between the two
   means) and what the winner explains of it.
4. ρ_j: how much of each write direction of that layer's MLP lies along the flag, for all its neurons; the shared
   neurons are marked, with the share of the layer that they exceed.
5. The plane patch with and without the shared neurons frozen stands beside the flag (main-text figure, panel e).

Tables
- `layers`: layer, fitted (the case), case (of the evaluation), metric, mean, se, n, lo, hi, near_ties, nonpositive;
  `layers_choosing`: the same, of the examples that choose.
- `winner`: layer, fitted, examples ("choosing", "evaluation": the halves of the cloud), of ("outcome", "values",
  "gain"), mean, se, n, lo, hi: the share of the component that the winner and both numbers explain
  (methods/outcome.py).
- `flag`: layer, fitted, why: the one direction that is the flag, or comes nearest to one.
- `patches`: layer, case, condition ("flag_y1", "flag_y2": by the case it was fitted in; "full", "random"), examples,
  draws, spread, metric, … as in two/number.py.
- `cloud`: y1, y2, flag_y1, flag_y2. `separation`: fitted, mean … (accuracy of the threshold, on the second half of the
  cloud), auc, d_prime.
- `alignment`: layer, neuron, shared, fitted, rho, quantile; all neurons of the layer.
- `frozen`: case, condition ("plane", "plane, shared frozen", "flag"), metric, …
- `cosines`: cosine of the two flags.
Where no layer has the role, `layers`, `winner`, `flag`, `patches` and `separation` are all there is.
Roles: flag_layer.
Tensors: flag_y1, flag_y2 (d); alignment (cases × neurons). Subspaces: flag_y1, flag_y2.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from numberline.engine.lab import Lab
from numberline.engine.sites import Site, resid
from numberline.experiments.common.experiment import Context, MissingError, Result, experiment
from numberline.experiments.common.role_rules import flag_fit, flag_layer
from numberline.experiments.common.roles import not_found, require, settle
from numberline.experiments.two.flag_cloud import Flags, Seen
from numberline.experiments.two.neurons import shared_places
from numberline.experiments.two.patches import (
    RANDOM_DRAWS,
    SPACE,
    SharedSpace,
    case_pairs,
    space_of,
    swapping,
)
from numberline.methods.attribution import Place, activations, pin
from numberline.methods.connectivity import alignment
from numberline.methods.das import STEPS, fit_with_restart, random_subspaces
from numberline.methods.draws import Scoreboard
from numberline.methods.pairs import Pairs
from numberline.methods.scores import score
from numberline.results.cases import CASES
from numberline.results.roles import Role
from numberline.tasks.counterfactuals import Hand

CANDIDATES = 4
"""How many layers from the transport layer on may hold the flag."""


@experiment("k2.flag", needs=(*SPACE, "k2.freeze", "k2.neurons"))
def flag(lab: Lab, context: Context) -> Result:
    """Does one direction at y2's position hold the answer's position?"""
    space = space_of(lab, context)
    shared = shared_places(context.need("k2.neurons"))
    return measure(lab, context, space, shared, candidate_layers(lab, context, space))


def candidate_layers(lab: Lab, context: Context, space: SharedSpace) -> range:
    """From the transport layer to the last one that the read-out can still read."""
    try:
        end = require(context, "readout_layer").layer
    except MissingError:
        end = lab.network.n_layers
    return range(space.layer, max(min(space.layer + CANDIDATES, end), space.layer + 1))


def measure(
    lab: Lab,
    context: Context,
    space: SharedSpace,
    shared: Sequence[Place],
    layers: Sequence[int],
    steps: int = STEPS,
) -> Result:
    """Fit at every candidate layer, choose one, evaluate."""
    fixed = settle(lab, context, Role("flag_layer", (), 0.0, 0.0, 0.0, found=False))
    layers = sorted({*layers, *(role.layer for role in fixed if role.found)})
    count = context.meter(len(layers) * len(CASES) * steps)
    fitting, choosing, evaluation = (
        {case: case_pairs(lab, context, case, hand) for case in CASES} for hand in ("fitting", "choosing", "evaluation")
    )
    fitted = {layer: fit_flags(context, fitting, resid(layer).at("y2"), steps, count) for layer in layers}
    seen = Seen.of(lab, context, layers)
    tried, winner = layer_rows(choosing, fitted), seen.winner_rows(fitted)
    evidence = (
        [row for row in tried if row["metric"] == "iia"],
        [row for row in winner if (row["of"], row["examples"]) == ("gain", "choosing")],
    )
    (role,) = settle(lab, context, replace(flag_layer(*evidence), chosen_on="choosing"))
    chosen = flag_fit(*evidence, role)
    layer = int(chosen["layer"])
    flags, projections = seen.project(layer, fitted[layer])
    tables = {
        "layers": layer_rows(evaluation, fitted),
        "layers_choosing": tried,
        "winner": winner,
        "flag": [chosen],
        **patch_rows(lab, context, resid(layer).at("y2"), flags, {"evaluation": evaluation, "fitting": fitting}).tables(
            "patches"
        ),
        **projections,
    }
    if not role.found:
        return Result.of(tables, context.sizes.evaluation, roles=[role], missing=not_found(role))
    aligned = torch.stack([alignment(lab, layer, flags[case].basis) for case in CASES])
    tables |= {
        "alignment": alignment_rows(layer, aligned, shared),
        "frozen": frozen_rows(evaluation, space, layer, flags, shared),
        "cosines": [{"cosine": float((flags["y1"].basis * flags["y2"].basis).sum())}],
    }
    tensors = {f"flag_{case}": flags[case].basis[:, 0] for case in CASES} | {"alignment": aligned}
    subspaces = {f"flag_{case}": flags[case] for case in CASES}
    return Result.of(tables, context.sizes.evaluation, tensors, subspaces, [role])


def fit_flags(
    context: Context, pairs_of: Mapping[str, Pairs], site: Site, steps: int, progress: Callable[[int], None]
) -> Flags:
    """One direction at a site, fitted in each case; all cases in one batch. Provenance says which began again."""
    fits = fit_with_restart(
        list(pairs_of.values()), site, context.seed, steps, progress, patience=context.sizes.patience
    )
    return {case: fit.subspace for case, fit in zip(pairs_of, fits, strict=True)}


def layer_rows(pairs_of: Mapping[str, Pairs], fitted: Mapping[int, Flags]) -> list[dict[str, Any]]:
    """Every candidate layer's directions, evaluated in both cases."""
    rows = []
    for case, examples in pairs_of.items():
        places = [(layer, of) for layer, flags in fitted.items() for of in flags]
        patches = [swapping(resid(layer).at("y2"), fitted[layer][of]) for layer, of in places]
        labels = [{"layer": layer, "fitted": of, "case": case} for layer, of in places]
        rows += score(examples, [patch(examples) for patch in patches]).rows(labels)
    return rows


def patch_rows(
    lab: Lab,
    context: Context,
    site: Site,
    flags: Flags,
    splits: Mapping[Hand, Mapping[str, Pairs]],
    position: str = "y2",
) -> Scoreboard:
    """The flags in every case, the full-rank patch, and random directions."""
    drawn = random_subspaces(lab.network.d_model, 1, RANDOM_DRAWS, context.seed)
    patches = {f"flag_{of}": [swapping(site, flag)] for of, flag in flags.items()}
    patches |= {"full": [swapping(site)], "random": [swapping(site, direction) for direction in drawn]}
    board = Scoreboard()
    for split, pairs_of in splits.items():
        for case, examples in pairs_of.items():
            conditions = {name: [patch(examples) for patch in draws] for name, draws in patches.items()}
            about = {"position": position, "case": case, "examples": split, "layer": site.layer}
            board.draws(examples, conditions, about)
    return board


def alignment_rows(
    layer: int, aligned: Float[Tensor, "cases neurons"], shared: Sequence[Place]
) -> list[dict[str, Any]]:
    """Every neuron's ρ with each flag, and the share of the layer that lies below it."""
    marked, rows = set(shared), []
    for case, values in zip(CASES, aligned, strict=True):
        quantiles = values.argsort().argsort().double() / max(len(values) - 1, 1)
        for neuron, (rho, quantile) in enumerate(zip(values.tolist(), quantiles.tolist(), strict=True)):
            place = {"layer": layer, "neuron": neuron, "shared": (layer, neuron) in marked}
            rows.append({**place, "fitted": case, "rho": rho, "quantile": quantile})
    return rows


def frozen_rows(
    pairs_of: Mapping[str, Pairs],
    space: SharedSpace,
    layer: int,
    flags: Flags,
    shared: Sequence[Place],
) -> list[dict[str, Any]]:
    """The plane patch, the same with the shared neurons frozen, and the flag fitted in that case."""
    rows = []
    for case, examples in pairs_of.items():
        corrupted = activations(examples.corrupted, sorted({place[0] for place in shared}), "y2")
        plane = space.patches["plane"](examples)
        conditions = [
            plane,
            [*plane, *pin(corrupted, shared, "y2")],
            swapping(resid(layer).at("y2"), flags[case])(examples),
        ]
        names = ("plane", "plane, shared frozen", "flag")
        rows += score(examples, conditions).rows([{"case": case, "condition": name} for name in names])
    return rows
