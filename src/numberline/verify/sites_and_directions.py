"""Did the run find where things are? Roles, directions, principal components, decoys, heads.

Each function takes what a run found and what was planted, and returns lines of the scorecard. Decoys are also swapped
here, with the same engine and metric as everything else: a run has no reason to try them.
"""

from collections.abc import Mapping

import torch

from numberline.engine.edits import swap
from numberline.engine.lab import Lab
from numberline.engine.sites import resid
from numberline.engine.subspace import Subspace
from numberline.experiments.common.experiment import Context
from numberline.experiments.common.role_rules import LEAST
from numberline.experiments.common.roles import spell
from numberline.experiments.two.patches import case_pairs
from numberline.methods.probes import r2, ridge
from numberline.methods.scores import score
from numberline.models.planted import Truth
from numberline.results.cases import CASES
from numberline.verify.check import (
    COSINE,
    IIA,
    R2,
    UNUSED,
    BlindRun,
    Check,
    absent,
    at_least,
    at_most,
    cosine,
    share_at_least,
    share_below,
)

DIRECTIONS: tuple[tuple[str, str, int, str, Mapping[str, str]], ...] = (
    ("k2.number", "u", 2, "u", {"condition": "u", "case": "y1"}),
    ("k2.transport", "v1", 2, "v1", {"condition": "v1", "case": "y1"}),
    ("k2.flag", "flag_y1", 2, "flag", {"condition": "flag_y1", "case": "y1"}),
    ("k2.flag", "flag_y2", 2, "flag", {"condition": "flag_y2", "case": "y2"}),
    ("k3.directions", "u1", 3, "u1", {"condition": "u1", "case": "y1"}),
    ("k3.directions", "u2", 3, "u2", {"condition": "u2", "case": "y2"}),
    ("k3.directions", "v1", 3, "v1", {"condition": "v1", "case": "y1"}),
    ("k3.directions", "v2", 3, "v2", {"condition": "v2", "case": "y2"}),
    ("k3.flags", "flag_y2_y2", 3, "flag_y2", {"condition": "flag_y2", "case": "y2", "position": "y2"}),
    ("k3.flags", "flag_y3_y3", 3, "flag_y3", {"condition": "flag_y3", "case": "y3", "position": "y3"}),
)
"""Learned directions: the experiment, the tensor, the operands, the planted direction, its patch."""
COMPONENTS = (("k2.number", "v2", 2, "v2", "y2"), ("k3.directions", "v3", 3, "v3", "y3"))
"""Directions taken from principal components, where these move the answer."""
INSIDE = 0.01
"""What a head writes more weakly than this, relative to its strongest direction, is noise."""
LITTLE = 0.1
"""A direction whose square lies by less than this along decoys does not use them."""


def planted_roles(truth: Truth) -> dict[str, tuple[int, ...]]:
    """The planted value of every role."""
    flag = () if truth.flag_layer is None else (truth.flag_layer,)
    first, second = (truth.transport_heads[name] for name in ("y1", "y2"))
    return {
        "number_layer": (truth.number_layer,),
        "transport_head": first[0],
        "comparator_mlps": truth.comparator_mlps,
        "flag_layer": flag,
        "readout_layer": (truth.readout_layer,),
        "number_layer_k3": (truth.number_layer,),
        "transport_head_y1": first[0],
        "transport_head_y2": second[0],
        "readout_layer_k3": (truth.readout_layer,),
        "readout_head": truth.readout_head,
    }


def roles(blind: BlindRun) -> list[Check]:
    """Every role that a run found beside the planted one."""
    known = {role.name: role for result in blind.results.values() for role in result.roles}
    checks = []
    for name, planted in planted_roles(blind.truth).items():
        value = known[name].value if name in known and known[name].found else ()
        checks.append(Check("roles", name, spell(value) or "not found", spell(planted), value == planted))
    return checks


def directions(blind: BlindRun, lab: Lab) -> list[Check]:
    """Learned directions: how near to the planted ones, and how well they do on held-out examples.

    A direction learned in a head's output is compared inside the space that the head can write to. Outside it the
    clean and the corrupted output are equal: what a direction has there only writes, and the fit is free to use all
    that the comparison reads (with three operands, the other number's axis serves as well).
    """
    checks = []
    for id, tensor, k, name, patch in DIRECTIONS:
        if id in blind.left_out:
            continue
        title = f"{tensor} (k = {k})"
        if not blind.has(id) or name not in blind.truth.directions[k]:
            checks.append(absent("directions", title, f"cosine ≥ {COSINE}"))
            continue
        learned = blind.tensor(id, tensor)
        if name in ("v1", "v2"):
            (head,) = blind.truth.transport_heads[f"y{name[1]}"]
            learned = inside(learned, lab, head)
        near = cosine(learned, blind.truth.directions[k][name])
        checks.append(at_least("directions", f"{title}, cosine", near, COSINE, "cosine"))
        if k == 2:
            checks.append(
                share_at_least("directions", f"{title}, IIA", blind.patch(id, "iia", **patch), IIA, "held-out IIA")
            )
        else:
            checks.append(three_number_patch(blind, id, title, patch))
    return checks


def inside(direction: torch.Tensor, lab: Lab, head: tuple[int, int]) -> torch.Tensor:
    """The part of a direction that a head can write."""
    width = lab.network.head_dim
    rows = lab.network.blocks[head[0]].out_matrix[head[1] * width : (head[1] + 1) * width].detach().cpu().double()
    _, sizes, basis = torch.linalg.svd(rows, full_matrices=False)
    basis = basis[sizes > INSIDE * sizes[0]]
    written: torch.Tensor = basis.T @ (basis @ direction.flatten().double())
    return written


def three_number_patch(blind: BlindRun, id: str, title: str, patch: Mapping[str, str]) -> Check:
    """With three operands a patch at one place need not change the answer; it must do what the whole residual does."""
    full = {"condition": full_condition(patch), **{key: value for key, value in patch.items() if key != "condition"}}
    mine, whole = (blind.patch(id, "pooled", **wanted) for wanted in (patch, full))
    share = None if mine is None or whole is None else float(mine["mean"] / whole["mean"])
    return at_least("directions", f"{title}, recovery", share, 0.9, "share of the whole residual's")


def full_condition(patch: Mapping[str, str]) -> str:
    """The full-rank patch beside a direction's."""
    if "position" in patch:
        return "full"
    return f"full_number_{patch['case']}" if patch["condition"].startswith("u") else "full_mid"


def components(blind: BlindRun) -> list[Check]:
    """v2 and v3: the first principal component where that is the line, else a report that it is not causal."""
    checks = []
    for id, tensor, k, name, position in COMPONENTS:
        if id in blind.left_out:
            continue
        title = f"{tensor} (k = {k})"
        if not blind.has(id):
            checks.append(absent("PCA", title, f"cosine ≥ {COSINE}"))
            continue
        pc1 = blind.tensor(id, f"pcs_{position if k == 2 else tensor}")[:, 0]
        is_decoy = decoy_share(pc1, blind.truth) > 0.5
        method = chosen_method(blind, id, tensor)
        if is_decoy:
            reported = method == "slope"
            words = "PC1 is a decoy, and " + ("reported as not causal" if reported else "used all the same")
            checks.append(Check("PCA", title, words, "reported as not causal", reported))
        else:
            near = cosine(blind.tensor(id, tensor), blind.truth.directions[k][name])
            checks.append(at_least("PCA", f"{title}, {method}, cosine", near, COSINE, "cosine"))
    return checks


def chosen_method(blind: BlindRun, id: str, tensor: str) -> str:
    """How the run says that it obtained a direction: "PCA" or "slope"."""
    rows = blind.rows(id, "v2") if id == "k2.number" else blind.rows(id, "fits", direction=tensor)
    return str(rows[0]["method"]) if rows else ""


def decoy_share(direction: torch.Tensor, truth: Truth) -> float:
    """How much of a direction's square lies along the curves and the axes that nothing reads."""
    basis = torch.cat([truth.decoys.curve, truth.decoys.junk], 1).double()
    unit = torch.nn.functional.normalize(direction.flatten().double(), dim=0)
    return float((basis.T @ unit).square().sum())


def decoys(blind: BlindRun, lab: Lab, context: Context) -> list[Check]:
    """The decoys decode the number, do nothing, and are not reported."""
    truth, checks = blind.truth, []
    curve = Subspace(truth.decoys.curve)
    for case in CASES:
        site, examples = resid(truth.number_layer).at(case), case_pairs(lab, context, case)
        done = score(examples, [[swap(site, examples.clean, curve)]]).iia(0)
        checks.append(share_below("decoys", f"curve at {case}, IIA", done.columns, UNUSED, "IIA"))
        checks.append(at_least("decoys", f"curve at {case}, probe", decoded(blind, case), R2, "R²"))
    used = [(id, tensor, blind.tensor(id, tensor)) for id, tensor, *_ in (*DIRECTIONS, *COMPONENTS) if blind.has(id)]
    for id, tensor, direction in used:
        checks.append(at_most("decoys", f"{tensor} of {id}", decoy_share(direction, truth), LITTLE, "square on decoys"))
    shared = {(row["layer"], row["neuron"]) for row in blind.rows("k2.neurons", "scores", shared=True)}
    among = sorted(shared & set(truth.decoys.neurons))
    checks.append(Check("decoys", "decoy neurons", f"{len(among)} reported", "none reported", not among))
    return checks


def decoded(blind: BlindRun, case: str) -> float | None:
    """The held-out R² of log y from the decoys' coordinates: every other number is held out."""
    if not blind.has("k2.number"):
        return None
    x = blind.tensor("k2.number", f"means_{case}") @ blind.truth.decoys.curve
    logs = blind.tensor("k2.number", f"values_{case}").double().log()[:, None]
    held_out = torch.arange(len(x)) % 2 == 1
    fitted = ridge(x[~held_out], logs[~held_out])
    return float(r2(logs[held_out][:, 0], fitted(x[held_out])[:, 0]).mean)


def heads(blind: BlindRun) -> list[Check]:
    """In each sweep of a layer's heads, those that have an effect are the planted ones."""
    truth = blind.truth
    sweeps = {
        "y1 to y2 (k = 2)": (blind.rows("k2.heads", "excess"), set(truth.transport_heads["y1"])),
        "y1 to y3 (k = 3)": (blind.rows("k3.heads", "excess", order="y1>y3>y2"), set(truth.transport_heads["y1"])),
        "y2 to y3 (k = 3)": (blind.rows("k3.heads", "excess", order="y2>y3>y1"), set(truth.transport_heads["y2"])),
        "read-out (k = 3)": (
            [row for row in blind.rows("k3.readout", "heads", metric="pooled", order="y1>y2>y3") if row["head"] >= 0],
            {truth.readout_head},
        ),
    }
    checks = []
    for name, (rows, planted) in sweeps.items():
        if not rows:
            checks.append(absent("heads", name, "the planted heads alone"))
            continue
        effective = {(row["layer"], row["head"]) for row in rows if row["mean"] >= LEAST and row["lo"] > 0}
        others = len(rows) - len(planted)
        hits, false = len(effective & planted) / len(planted), len(effective - planted) / others
        words = f"true {hits:.2f}, false {false:.2f}"
        checks.append(Check("heads", name, words, "true 1, false 0", effective == planted, hits - false))
    return checks
