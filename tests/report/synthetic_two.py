"""Made-up results of the two-number experiments, of the exact schemas, for tests of layout only."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from synthetic_parts import (
    HEADS,
    LAYERS,
    NEURONS,
    D,
    N,
    cloud,
    components,
    fits,
    patches,
    random,
    role,
    score,
    scores,
    unit,
)

from numberline.results.cases import CASES
from numberline.results.result import Result


def tokens() -> Iterator[dict[str, Any]]:
    for token, position in enumerate(["y1.first", "y1", "", "y2.first", "y2", "", "last"], start=28):
        yield {"token": token, "token_text": "9", "position": position}


def number_result(digits: int = 2) -> Result:
    values = range(10, 100) if digits == 2 else range(112, 1000, 25)
    operands = cloud() if digits == 2 else cloud() * 10
    pcs = {f"pcs_{at}": torch.linalg.qr(unit(D, D))[0] for at in CASES}
    return Result.of(
        {
            "patches": patches(
                {
                    ("y1", "y1"): {"full": 0.1, "u": 0.94, "u_second": 0.94, "u_16": 0.7, "pc1": 0.3, "random": 0.01},
                    ("y2", "y2"): {"full": 0.98, "v2": 0.79, "random": 0.0},
                }
            ),
            "layout": [{"position": name, "token": 30 + i} for i, name in enumerate(["y1", "y2", "last"])],
            "stability": [
                {"initialisation": i, "seed": i, "cosine": 1 - 0.01 * i, "first_loss": 1.0, "last_loss": 0.1,
                 "iia": 0.94 - 0.02 * i, "fitting_iia": 0.97}
                for i in range(2)
            ],
            "components": [
                *components("y1", "u", "pc1", "pc2", "pc3", values=values),
                *components("y2", "v2", values=values),
            ],
            "log_fits": fits("y1", "u", "pc1") + fits("y2", "v2"),
            "variance": [
                {"position": "y1", "direction": f"pc{i}", "share": 0.4 / i, "cumulative": 0.5} for i in range(1, 21)
            ] + [{"position": "y1", "direction": "u", "share": 0.02, "cumulative": None}],
            "cosines": [{"first": "u", "second": "v2", "cosine": 0.4}],
        },
        N,
        {
            "u": unit(D), "u_second": unit(D), "v2": unit(D), **pcs,
            "operands": torch.tensor(operands), "losses": torch.zeros(2, 100),
            "values_y1": torch.tensor(list(values)), "means_y1": unit(len(values), D), "means_y2": unit(len(values), D),
            "values_y2": torch.tensor(list(values)),
            "projections_y1": torch.tensor(random.randn(len(operands), 4)),
            "projections_y2": torch.tensor(random.randn(len(operands), 3)),
        },
    )  # fmt: skip


def transport_result() -> Result:
    operands = cloud()
    return Result.of(
        {
            "patches": patches(
                {("y1", "y2"): {"full": 0.5, "v1": 0.46, "pc1": 0.2, "random": 0.01, "v1 (pre-MLP)": 0.71}}
            ),
            "attention": [
                {"value": value, "token": token, **score(0.7 if token == "y1" else 0.1)}
                for token in ("y1", "y1.first")
                for value in range(10, 100)
            ],
            "components": components("y2", "v1", "pc1", "pc2"),
            "log_fits": fits("y2", "v1"),
            "space": [{"direction": "v1", "norm_inside": 0.81, "squared_inside": 0.66, "chance": 0.2, "rank": 4}],
        },
        N,
        {
            "v1": unit(D), "pcs": torch.linalg.qr(unit(D, D))[0], "operands": torch.tensor(operands),
            "projections": torch.tensor(random.randn(len(operands), 3)),
            "values": torch.arange(10, 100), "means": unit(90, D),
        },
    )  # fmt: skip


def layers_result() -> Result:
    both = {("y1", "y1"): {"full": 0.1, "u": 0.9, "pc1": 0.3}, ("y2", "y2"): {"full": 0.9, "v2": 0.7}}
    tables: dict[str, list[dict[str, Any]]] = {"patches": [], "components": [], "log_fits": []}
    for layer in range(LAYERS):
        tables["patches"] += patches(both, layer=layer)
        tables["components"] += components("y1", "u", layer=layer) + components("y2", "v2", layer=layer)
        tables["log_fits"] += fits("y1", "u", layer=layer) + fits("y2", "v2", layer=layer)
    return Result.of(tables, N)


def shortcut_result() -> Result:
    operands = cloud()
    return Result.of(
        {
            "patches": patches({("y2", "y2"): {"full": 0.98, "das": 0.99, "v2": 0.79, "random": 0.0}}),
            "outcome": [{"direction": name, "value_r2": 0.5, "both_r2": 0.9, "cosine": 0.3} for name in ("das", "v2")],
        },
        N,
        {"operands": torch.tensor(operands), "projections": torch.tensor(random.randn(len(operands), 2))},
    )


def heads_result() -> Result:
    rows = scores(0.1, layer=2, head=-1, condition="v2")
    for head in range(HEADS):
        rows += scores(0.2 + (head == 1), layer=2, head=head, condition="with v2")
        rows += scores(0.05, layer=2, head=head, condition="alone")
    excess = [{"layer": 2, "head": head, **score(0.1)} for head in range(HEADS)]
    return Result.of({"heads": rows, "excess": excess}, N, roles=[role("transport_head", 2, 1)])


def shared_result() -> Result:
    operands = cloud()
    named = ("full_number_y2", "v2", "v1", "v1_mid", "v1_v2", "plane", "full_mid", "full_resid", "random_plane")
    numbers = {"y1": operands[:, 0].tolist(), "y2": operands[:, 1].tolist()}
    names = ("u", "v1", "v2")
    return Result.of(
        {
            "cloud": {**numbers, **{name: random.randn(len(operands)).tolist() for name in ("v1", "v2", "v2_perp")}},
            "explained": [
                {"site": site, "coordinate": name, "by": "y1", "r2": 0.87, "n": 200}
                for site in ("mid", "resid")
                for name in ("v1", "v2", "v2_perp")
            ],
            "separability": [{"metric": "held-out accuracy of y1 > y2", **score(0.97)}],
            "probes": {
                **numbers,
                "p1": random.randn(len(operands)).tolist(),
                "p2": random.randn(len(operands)).tolist(),
            },
            "probe_scores": [{"probe": f"p{i}", "target": f"log y{i}", "penalty": 1.0, **score(0.9)} for i in (1, 2)],
            "cosines": [{"first": a, "second": b, "cosine": 1.0 if a == b else -0.08} for a in names for b in names],
            "patches": patches({(case, "y2"): dict.fromkeys(named, 0.5) for case in CASES}),
        },
        N,
    )


def dose_result() -> Result:
    grid = torch.arange(15, 100, 10)
    fraction = (grid[:, None] > grid).double().masked_fill(torch.eye(9, dtype=torch.bool), torch.nan)
    return Result.of(
        {"boundary": [{"metric": "as predicted", **score(0.95)}]}, 16, {"fraction": fraction, "grid": grid}
    )


def freeze_result() -> Result:
    frozen = {"none": [], "attention 3": [3], "mlp 2": [2], "mlp 3": [3], "mlp 2+3": [2, 3]}
    return Result.of(
        {
            "freeze": [
                row
                for case in CASES
                for name, layers in frozen.items()
                for row in scores(0.8, case=case, frozen=name, kind=name.split()[0], layers=layers)
            ],
            "inject": [
                row for case in CASES for layers in ([2], [3], [2, 3]) for row in scores(0.3, case=case, layers=layers)
            ],
        },
        N,
        roles=[role("comparator_mlps", 2, 3)],
    )


def neurons_result() -> Result:
    rows = [
        {"layer": layer, "neuron": neuron, "y1": random.randn(), "y2": random.randn(), "rank_y1": neuron + 1,
         "rank_y2": neuron + 1, "shared": neuron < 3}
        for layer in (2, 3)
        for neuron in range(NEURONS)
    ]  # fmt: skip
    curve = [("attribution", -1), ("random", 0), ("random", 1)]
    sets = [("none", -1, 0), ("shared", -1, 6), ("own", -1, 20), ("random", 0, 6), ("random", 1, 6)]
    return Result.of(
        {
            "scores": rows,
            "shared": [row for row in rows if row["shared"]],
            "freeze": [
                row
                for case in CASES
                for ranking, draw in curve
                for k in (1, 3, 10, 30, 80)
                for row in scores(0.8 / (k if draw < 0 else 1), case=case, ranking=ranking, draw=draw, k=k)
            ],
            "sets": [
                row
                for case in CASES
                for frozen, draw, k in sets
                for row in scores(0.1 if frozen == "shared" else 0.8, case=case, frozen=frozen, draw=draw, k=k)
            ],
        },
        N,
    )


def fields_result() -> Result:
    axis = torch.arange(11, 100, 8)
    places = [
        ("shared", 2, 0),
        ("shared", 2, 1),
        ("shared", 2, 2),
        ("shared", 3, 0),
        ("shared", 3, 1),
        ("shared", 3, 2),
    ]
    places += [("y1", 2, 7), ("y2", 3, 8), ("y2", 3, 9)]
    ranks: dict[str, int] = {}
    rows = []
    for group, layer, neuron in places:
        ranks[group] = ranks.get(group, 0) + 1
        measured = {"peak": 1.0, "active": 0.1 + neuron / 50, "comparator": 0.8, "correlation": 0.9}
        rows.append({"layer": layer, "neuron": neuron, "group": group, "rank": ranks[group], **measured})
    return Result.of(
        {
            "fields": rows,
            "stages": [{"layer": layer, "neurons": 3, "active": 0.2, "comparator": 0.5} for layer in (2, 3)],
            "directions": [
                {
                    "layer": layer,
                    "neuron": neuron,
                    "part": part,
                    "v1": random.randn(),
                    "v2_perp": random.randn(),
                    "norm": 3.0,
                }
                for _, layer, neuron in places
                for part in ("gate", "up")
            ],
        },
        len(axis) ** 2,
        {"fields": torch.tensor(random.randn(len(places), len(axis), len(axis))).float(), "axis": axis},
    )


def connectivity_result() -> Result:
    sources, targets = torch.tensor([[2, 0], [2, 1], [2, 2]]), torch.tensor([[3, 0], [3, 1], [3, 2]])
    edges = [
        {"case": case, "from_layer": 2, "from_neuron": i, "to_layer": 3, "to_neuron": j, **score(0.1 * (i - j))}
        for case in CASES
        for i in range(3)
        for j in range(3)
    ]
    tensors = {"edges": torch.tensor(random.randn(2, 3, 3)), "weights": torch.tensor(random.randn(3, 3) / 3)}
    return Result.of({"edges": edges}, N, {**tensors, "sources": sources, "targets": targets})


def flag_result() -> Result:
    operands = cloud()
    wins = np.where(operands[:, 1] > operands[:, 0], 1.0, -1.0)
    named = {"flag_y1": 1.0, "flag_y2": 0.655, "full": 0.9, "random": 0.0}
    numbers = {"y1": operands[:, 0].tolist(), "y2": operands[:, 1].tolist()}
    return Result.of(
        {
            "patches": patches({(case, "y2"): named for case in CASES}, layer=3),
            "cloud": {**numbers, **{f"flag_{case}": (wins + random.randn(len(wins)) / 5).tolist() for case in CASES}},
            "separation": [{"fitted": case, **score(0.99), "auc": 1.0, "d_prime": 4.0} for case in CASES],
            "alignment": [
                {"layer": 3, "neuron": neuron, "shared": neuron < 3, "fitted": case, "rho": abs(random.randn()) / 9,
                 "quantile": 0.9}
                for case in CASES
                for neuron in range(NEURONS)
            ],
            "frozen": [
                row
                for case in CASES
                for name in ("plane", "plane, shared frozen", "flag")
                for row in scores(0.8, case=case, condition=name)
            ],
            "cosines": [{"cosine": 0.5}],
        },
        N,
        roles=[role("flag_layer", 3)],
    )  # fmt: skip


def example(condition: str, case: str, text: str = "12.") -> dict[str, Any]:
    clean, corrupted = ([99, 61], [12, 61]) if case == "y1" else ([61, 99], [61, 12])
    return {
        "condition": condition, "case": case, "clean": clean, "corrupted": corrupted, "r": 12,
        "said": 12 if text[0].isdigit() else None, "text": text, "right": text[0].isdigit(),
    }  # fmt: skip


def whole_result() -> Result:
    both = ("v1", "full_number_y2", "v2", "v1_v2", "plane", "full_resid", "flag")
    named = {"y1": ("full_number_y1", "u", "v1_mid", *both), "y2": both}
    return Result.of(
        {
            "whole": [
                {"condition": name, "case": case, "metric": metric, **score(0.46 if metric == "whole" else 0.5)}
                for case in CASES
                for name in named[case]
                for metric in ("first", "whole")
            ],
            "examples": [
                example(name, case, text)
                for case in CASES
                for name in named[case]
                for text in ("12.", "a_b & <i>\\x</i> | $")
            ],
        },
        N,
    )


def outcomes_result() -> Result:
    shares = {"r": 0.6, "b": 0.2, "a": 0.1, "mixed": 0.06, "other": 0.04}
    return Result.of(
        {
            "outcomes": [
                {"intervention": name, "case": case, "said": kind, **score(share)}
                for name, case in (("none", "y2"), ("full_number_y2", "y2"), ("u", "y1"))
                for kind, share in shares.items()
            ],
            "examples": [example("u", "y1"), example("full_number_y2", "y2"), example("full_number_y2", "y2", "x_1")],
        },
        N,
    )


def trace_result() -> Result:
    rows = [
        row
        for case in CASES
        for layer in range(LAYERS)
        for token in tokens()
        for row in scores(float(random.rand() - 0.2), case=case, layer=layer, **token)
    ]
    return Result.of({"trace": rows}, N, roles=[role("number_layer", 1), role("readout_layer", 4)])


def probes_result() -> Result:
    rows = [
        {"target": target, "layer": layer, **token, "knows": "all", "penalty": 1.0, **score(float(random.rand()), 80)}
        for target in ("log_y1", "log_y2", "y1>y2")
        for layer in range(LAYERS)
        for token in tokens()
    ]
    floors = [{"target": "log_y2", "layer": 0, "token": 29, "mean": 0.01, "lo": 0.0, "hi": 0.1}]
    return Result.of({"probes": rows, "floors": floors}, 400)


def operands_result() -> Result:
    rows = [
        {"population": f"{k} operands", "k": k, "digits": 2, "right": 9, **score(1 - k / 50)}
        for k in (2, 3, 4, 5, 10, 20)
    ]
    return Result.of({"accuracy": rows}, 300)


def pairs_result() -> Result:
    names = {"two-digit pairs": 2, "three-digit pairs": 3}
    rows = [{"population": name, "k": 2, "digits": n, "right": 9, **score(0.9)} for name, n in names.items()]
    return Result.of({"accuracy": rows}, 300)


def results() -> dict[str, Result]:
    """A result of every experiment with two numbers."""
    return {
        "behaviour.operands": operands_result(),
        "behaviour.pairs": pairs_result(),
        "behaviour.outcomes": outcomes_result(),
        "k2.trace": trace_result(),
        "k2.probes": probes_result(),
        "k2.number": number_result(),
        "k2.layers": layers_result(),
        "k2.three_digit": number_result(3),
        "k2.shortcut": shortcut_result(),
        "k2.heads": heads_result(),
        "k2.transport": transport_result(),
        "k2.shared": shared_result(),
        "k2.dose": dose_result(),
        "k2.freeze": freeze_result(),
        "k2.neurons": neurons_result(),
        "k2.fields": fields_result(),
        "k2.connectivity": connectivity_result(),
        "k2.flag": flag_result(),
        "k2.whole": whole_result(),
    }
