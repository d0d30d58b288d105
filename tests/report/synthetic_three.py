"""Made-up results of the three-number experiments, of the exact schemas, for tests of layout only."""

from typing import Any

import numpy as np
import torch
from synthetic_parts import HEADS, LAYERS, D, N, components, fits, patches, random, role, score, scores, unit

from numberline.results.cases import CASES_OF_THREE
from numberline.results.result import Result

ORDERS = {"y1>y2>y3": "y2", "y1>y3>y2": "y3", "y2>y3>y1": "y3"}
PLACES = {"u1": "y1", "u2": "y2", "v1": "y3", "v2": "y3", "v3": "y3", "w1": "y2"}
POSITIONS = ["y1.first", "y1", "", "y2.first", "y2", "", "y3.first", "y3", "", "last"]


def tokens() -> list[dict[str, Any]]:
    return [{"token": token, "token_text": "9", "position": name} for token, name in enumerate(POSITIONS, start=34)]


def cloud(n: int = 200) -> np.ndarray:
    return random.randint(10, 100, (n, 3))


def trace_result() -> Result:
    rows = [
        row
        for case in CASES_OF_THREE
        for layer in range(LAYERS)
        for token in tokens()
        for row in scores(float(random.rand() - 0.2), case=case, layer=layer, **token)
    ]
    population = {"candidates": 264, "kept": 250, "used": 96, "evaluation": 64, "fitting": 32, "orders": list(ORDERS)}
    tables = {"population": [population], "trace": rows}
    return Result.of(tables, N, {"solved": torch.ones(264)}, roles=[role("number_layer_k3", 1)])


def heads_result() -> Result:
    rows, excess = [], []
    for order, position in ORDERS.items():
        labels = {"order": order, "position": position, "layer": 2}
        rows += scores(0.1, **labels, head=-1, condition="full_number")
        for head in range(HEADS):
            rows += scores(0.2 + (head == 1), **labels, head=head, condition="with full_number")
            excess.append({**labels, "head": head, **score(0.1)})
    ranking = [{"layer": 2, "head": head, "rank": head + 1, "effect": 1.0 - head / 9} for head in range(HEADS)]
    found = [role("transport_head_y1", 2, 1), role("transport_head_y2", 2, 3)]
    return Result.of({"heads": rows, "excess": excess, "ranking": ranking}, N, roles=found)


def directions_result() -> Result:
    operands = cloud()
    alone = dict.fromkeys((*PLACES, "w2"), 0.8)
    joint = ("full_number_y2", "v1_v2_v3", "span", "full_resid", "w1_w2", "span_y2", "full_resid_y2", "pair_plane")
    named = alone | dict.fromkeys(joint, 1.4) | {"random_span": 0.01, "random_span_y2": 0.02}
    rows = [row for case in CASES_OF_THREE for row in patches({(case, "y3"): named})]
    names = list(PLACES)
    return Result.of(
        {
            "patches": rows,
            "fits": [
                {"direction": name, "carries": f"y{name[1]}", "position": place, "site": "resid(1)", "method": "DAS",
                 "first_loss": 1.0, "last_loss": 0.1, "why": "made up"}
                for name, place in PLACES.items()
            ],
            "specificity": [
                {"direction": name, "carries": f"y{name[1]}", "case": case, "metric": metric,
                 **score(1.3 if case[1] == name[1] else 0.01), "own": case[1] == name[1]}
                for name in alone
                for case in CASES_OF_THREE
                for metric in ("pr", "pooled")
            ],
            "attention": [
                {"direction": name, "token": token, "larger": larger, **score(0.4)}
                for name in ("v1", "v2")
                for token in CASES_OF_THREE
                for larger in ("y1", "y2")
            ],
            "components": [row for name, place in PLACES.items() for row in components(place, name)],
            "log_fits": [row for name, place in PLACES.items() for row in fits(place, name)],
            "variance": [
                {"cloud": name, "position": place, "direction": f"pc{i}", "share": 0.4 / i, "cumulative": 0.5}
                for name, place in PLACES.items()
                for i in (1, 2)
            ],
            "cosines": [
                {"first": a, "second": b, "cosine": 0.1 * (j - i)}
                for i, a in enumerate(names)
                for j, b in enumerate(names)
                if i < j
            ],
        },
        N,
        {
            "operands": torch.tensor(operands),
            **{name: unit(D) for name in names},
            **{f"pcs_{name}": torch.linalg.qr(unit(D, D))[0] for name in names},
            **{f"values_{name}": torch.arange(10, 100) for name in names},
            **{f"means_{name}": unit(90, D) for name in names},
            **{f"projections_{name}": torch.tensor(random.randn(len(operands), 3)) for name in names},
        },
    )  # fmt: skip


def fields_result() -> Result:
    axis, places = torch.arange(11, 100, 8), [("shared", 2, 4), ("shared", 3, 6), ("own", 2, 9)]
    rows = [
        {"position": position, "layer": layer, "neuron": neuron, "group": group, "rank": 1, "peak": 1.0,
         "active": 0.2, "comparator": 0.7, "correlation": 0.8}
        for position in ("y3", "y2")
        for group, layer, neuron in places
    ]  # fmt: skip
    stages = [
        {"position": position, "group": "shared", "layer": layer, "neurons": 1, "active": 0.2, "comparator": 0.7}
        for position in ("y3", "y2")
        for layer in (2, 3)
    ]
    side = len(axis)
    tensors = {
        "axis": axis,
        "marginals_y3": torch.tensor(random.randn(len(places), 3, side, side)),
        "fields_y2": torch.tensor(random.randn(len(places), side, side)),
        "fields_y3": torch.tensor(random.randn(len(places), side, side, side)).float(),
    }
    return Result.of({"fields": rows, "stages": stages}, side**3, tensors)


def flags_result() -> Result:
    operands = cloud()
    fitted = [("y2", "y1"), ("y2", "y2"), ("y3", "y1"), ("y3", "y2"), ("y3", "y3")]
    columns = {f"y{i + 1}": operands[:, i].tolist() for i in range(3)}
    for position, case in fitted:
        seen = operands[:, : int(position[1])]
        largest = np.where(seen[:, -1] == seen.max(1), 1.0, -1.0)
        columns[f"flag_{position}_{case}"] = (largest + random.randn(len(largest)) / 5).tolist()
    rows = []
    for position in ("y2", "y3"):
        named = {f"flag_{case}": 0.9 for at, case in fitted if at == position} | {"full": 1.0, "random": 0.0}
        rows += [row for case in CASES_OF_THREE for row in patches({(case, position): named}, layer=3)]
    names = [f"flag_{position}_{case}" for position, case in fitted]
    return Result.of(
        {
            "patches": rows,
            "cloud": columns,
            "separation": [
                {"position": position, "fitted": case, **score(0.98), "auc": 1.0, "d_prime": 4.0}
                for position, case in fitted
            ],
            "cosines": [{"first": a, "second": b, "cosine": 0.5} for a in names for b in names],
            **pattern_tables(),
        },
        N,
        {name: unit(D) for name in names},
    )


def readout_result() -> Result:
    operands = cloud()
    shown = [2, 3, 4, 5]
    labels = [{"order": order} for order in ORDERS]
    attention = [
        {"head": 1, "winner": case, **token, **score(0.1 + 0.6 * (token["position"] == case))}
        for case in CASES_OF_THREE
        for token in tokens()
    ]
    return Result.of(
        {
            "layers": [row for label in labels for layer in range(LAYERS) for row in scores(0.5, **label, layer=layer)],
            "patches": [
                row
                for label in labels
                for condition, mean in {"full": 1.0, "pcs": 0.9, "pc1": 0.4, "random": 0.0}.items()
                for row in scores(mean, **label, layer=4, condition=condition, draws=1, spread=0.0)
            ],
            "heads": [
                row
                for label in labels
                for head in range(-1, HEADS)
                for row in scores(0.1 + 0.5 * (head < 2), **label, layer=4, head=head)
            ],
            "learned": [
                row
                for label in labels
                for examples in ("evaluation", "fitting")
                for row in scores(1.0, **label, layer=4, condition="learned", examples=examples, draws=1, spread=0.0)
            ],
            "attention": attention,
            "pca": [{"layer": layer, "pc1": 0.4, "pc2": 0.3, **score(0.9)} for layer in shown],
        },
        N,
        {
            "projections": torch.tensor(random.randn(len(shown), len(operands), 2)),
            "shown": torch.tensor(shown),
            "operands": torch.tensor(operands),
            "winner": torch.tensor(operands.argmax(1) + 1),
            "pcs": unit(D, 2),
            "learned": unit(D, 2),
            "overlap": torch.tensor([0.9, 0.2]),
        },
        roles=[role("readout_layer_k3", 4), role("readout_head", 4, 1)],
    )


def neurons_result() -> Result:
    blocks = [
        ("none", "none", []),
        ("attention 3", "attention", [3]),
        ("mlp 2", "mlp", [2]),
        ("mlp 2+3", "mlp", [2, 3]),
    ]
    sets = [("none", -1, 0), ("shared", -1, 6), ("own", -1, 20), ("random", 0, 6), ("random", 1, 6)]
    tables: dict[str, list[dict[str, Any]]] = {"blocks": [], "freeze": [], "sets": [], "overlap": []}
    for case in CASES_OF_THREE:
        for frozen, kind, layers in blocks:
            tables["blocks"] += scores(1.2 - 0.4 * len(layers), case=case, frozen=frozen, kind=kind, layers=layers)
        for ranking, draw in (("attribution", -1), ("random", 0), ("random", 1)):
            for k in (1, 3, 10, 30, 80):
                tables["freeze"] += scores(1 / (k if draw < 0 else 1), case=case, ranking=ranking, draw=draw, k=k)
        for frozen, draw, k in sets:
            tables["sets"] += scores(0.1 if frozen == "shared" else 0.8, case=case, frozen=frozen, draw=draw, k=k)
        tables["overlap"].append({"case": case, "top": 20, "shared": 3, "of": 6})
    return Result.of(tables, N)


def pattern_tables() -> dict[str, list[dict[str, Any]]]:
    rows = []
    made = [("none", *["as is"] * 3)]
    settings = [(y1, y2, y3) for y1 in ("as is", "set", "unset") for y2 in ("set", "unset") for y3 in ("set", "unset")]
    made += [(direction, *setting) for setting in settings for direction in ("flag", "random")]
    for direction, y1, y2, y3 in made:
        says = "y3" if y3 == "set" else "y2" if y2 == "set" else "" if y1 == "unset" else "y1"
        for winner in ("all", *CASES_OF_THREE):
            for named in (*CASES_OF_THREE, "other"):
                label = {"direction": direction, "y1": y1, "y2": y2, "y3": y3, "winner": winner, "named": named}
                rows.append({**label, "predicted": says if direction == "flag" else "", **score(0.25)})
    rules = [{"rule": rule, **score(0.5)} for rule in ("latest", "earliest", "largest")]
    verdict = {"verdict": "holds", "right": 11, "patterns": 11, "why": "made up"}
    return {"patterns": rows, "rules": rules, "verdict": [verdict]}


def beyond_result() -> Result:
    tables: dict[str, list[dict[str, Any]]] = {name: [] for name in ("solved", "patches", "separation", "verdict")}
    for k in (3, 4, 5):
        tables["solved"].append({"k": k, "solved": 200, "candidates": 264, "used": True, "why": ""})
        for position in [f"y{t}" for t in range(2, k + 1)]:
            named = {"flag": 0.95, "flag_k3": 0.7, "full": 1.0, "random": 0.0}
            tables["patches"] += patches({(position, position): named}, k=k, layer=3)
            for fitted in ("flag", "flag_k3"):
                label = {"k": k, "position": position, "fitted": fitted}
                tables["separation"].append({**label, **score(0.95), "auc": 1.0, "d_prime": 4.0})
            said = {"found": k < 5, "decides": k < 4, "recovery": 1.0, "tells": 0.95, "why": "made up"}
            tables["verdict"].append({"k": k, "position": position, **said})
    return Result.of(tables, N)


def ablation_result() -> Result:
    rows = [
        {"k": k, "condition": condition, "neurons": 0 if condition == "intact" else 6, "draws": 1, "metric": metric,
         "right": 10, **score(0.3 if "token" in condition else 0.95)}
        for k in (2, 3, 4, 5, 10, 20)
        for condition in ("intact", "every token", "last token", "random")
        for metric in ("leading", "integer")
    ]  # fmt: skip
    return Result.of({"accuracy": rows}, N)


def results() -> dict[str, Result]:
    """One result for every three-number id that a figure reads."""
    return {
        "k3.trace": trace_result(),
        "k3.heads": heads_result(),
        "k3.directions": directions_result(),
        "k3.fields": fields_result(),
        "k3.flags": flags_result(),
        "k3.readout": readout_result(),
        "k3.neurons": neurons_result(),
        "k3.flags_beyond": beyond_result(),
        "k3.ablation": ablation_result(),
    }
