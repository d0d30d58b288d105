"""Small made-up results on which every claim holds, and ways to spoil one measurement. Nothing here was measured.

Summaries are made (and spoiled) first; per-example scores and what the examples that choose say are made from them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from numberline.results.result import Result
from numberline.results.roles import Role

CASES2, CASES3 = ("y1", "y2"), ("y1", "y2", "y3")
ORDERS = ("y1>y2>y3", "y1>y3>y2", "y2>y3>y1")
N = 400
Row = dict[str, Any]
Change = Callable[[Row], Mapping[str, Any]]


def score(mean: float, n: int = N) -> Row:
    return {"mean": mean, "se": 0.02, "n": n, "lo": mean - 0.04, "hi": mean + 0.04}


def pair(iia: float, pooled: float | None = None, **labels: Any) -> list[Row]:
    """The two metrics that claims read."""
    values = {"iia": iia, "pooled": iia if pooled is None else pooled, "pr": iia if pooled is None else pooled}
    return [{**labels, "metric": metric, **score(value)} for metric, value in values.items()]


SCORED = {
    "k2.trace": "trace",
    "k2.number": "patches",
    "k2.heads": "heads",
    "k2.shared": "patches",
    "k2.freeze": "freeze",
    "k2.neurons": "sets",
    "k2.flag": "patches",
    "k3.directions": "patches",
    "k3.flags": "patches",
    "k3.readout": "patches",
}
"""The tables beside which per-example scores stand."""
MADE = ("_scored", "_choosing")
EACH = 64
"""Examples with scores of their own."""


def scored(rows: list[Row]) -> dict[str, list[Any]]:
    """Per-example scores whose means are those of the summary, on a scale of 10 logits."""
    found: dict[str, list[Any]] = {}
    for row in rows:
        if row["metric"] != "pooled":
            continue
        labels = {key: value for key, value in row.items() if key not in score(0) and key != "metric"}
        same = (each for each in rows if each["metric"] == "iia" and labels.items() <= each.items())
        hits = round(EACH * next(same)["mean"])
        for i in range(EACH):
            wobble = 0.02 * (-1) ** i
            values = {"example": i, "pld": 10 * (row["mean"] + wobble) - 4, "clean": 6.0, "corrupted": -4.0}
            for key, value in {**labels, **values, "hit": i < hits}.items():
                found.setdefault(key, []).append(value)
    return found


def complete(id: str, tables: Mapping[str, list[Row]]) -> dict[str, Any]:
    """Tables with the per-example scores and with what the examples that choose say."""
    made: dict[str, Any] = dict(tables)
    if id in SCORED and SCORED[id] in tables:
        made[f"{SCORED[id]}_scored"] = scored(list(tables[SCORED[id]]))
    made |= {f"{name}_choosing": tables[name] for name in ("trace", "costs") if name in tables}
    return made


def evaluated(**labels: Any) -> Row:
    return {**labels, "examples": "evaluation"}


def trace(cases: tuple[str, ...], place: str) -> list[Row]:
    """y1 is at its own token after layer 1, and at the later operand's after layers 2 and 3."""
    rows: list[Row] = []
    tokens = {"y1.first": 28, "y1": 29, "y2": 33, "y3": 37, "last": 40}
    for case in cases:
        for layer in range(4):
            for position, token in tokens.items():
                mean = 0.9 if position == ("y1" if layer < 2 else place) else 0.0
                rows += pair(mean, mean, case=case, layer=layer, token=token, position=position)
    return rows


ROLES = {
    "k2.heads": [Role("transport_head", (2, 1), 0.7, 0.6, 0.1, True, why="made up")],
    "k2.freeze": [Role("comparator_mlps", (2, 3), 0.9, 0.5, 0.1, True, why="made up")],
    "k3.readout": [Role("readout_layer_k3", (3,), 0.9, 0.5, 0.1, True, why="made up")],
}


CARRIED = (0.2, 0.8, 0.2)
SETS = (("none", -1, 0.85), ("shared", -1, 0.1), ("random", 0, 0.83), ("random", 1, 0.85))
PLANE = {"plane": 0.85, "v1_v2": 0.8, "random_plane": 0.0, "full_mid": 0.9, "v2": 0.8, "full_number_y2": 0.8}


def good() -> dict[str, Result]:
    """Results as the paper's."""
    tables: dict[str, dict[str, list[Row]]] = {
        "behaviour.pairs": {
            "accuracy": [{"population": f"two-digit {name}", **score(0.98)} for name in ("pairs", "triples")]
        },
        "behaviour.outcomes": {
            "outcomes": [
                {"intervention": name, "said": said, **score(share)}
                for name, shares in {
                    "u": {"r": 0.9, "b": 0.1, "a": 0.0, "mixed": 0.0, "other": 0.0},
                    "full_number_y2": {"r": 0.1, "b": 0.1, "a": 0.0, "mixed": 0.8, "other": 0.0},
                }.items()
                for said, share in shares.items()
            ]
        },
        "k2.trace": {"trace": trace(CASES2, "y2")},
        "k2.number": {
            "patches": [
                row
                for name, iia in {"u": 0.9, "full": 0.9, "random": 0.0}.items()
                for row in pair(iia, **evaluated(case="y1", condition=name))
            ],
            "curvature": [{"position": "y1", "of": "gain", **score(0.3, n=90)}],
            "monotone": [
                {"position": f"y{name[1]}" if name != "u" else "y1", "direction": name, **score(0.97, n=90)}
                for name in ("u", "v2")
            ],
            "stability": [{"initialisation": 1, "cosine": 0.99}],
        },
        "k2.transport": {"monotone": [{"position": "y2", "direction": "v1", **score(0.97, n=90)}]},
        "k2.heads": {
            "heads": [
                *pair(0.1, layer=2, head=-1, condition="v2"),
                *(row for head in range(3) for row in pair(CARRIED[head], layer=2, head=head, condition="with v2")),
                *pair(0.95, layer=2, head=-1, condition="all with v2"),
                *pair(0.25, layer=2, head=-1, condition="others with v2"),
            ],
            "excess": [{"layer": 2, "head": head, **score(0.7 if head == 1 else 0.1)} for head in range(3)],
        },
        "k2.shared": {
            "patches": [
                row
                for case in CASES2
                for name, iia in PLANE.items()
                for row in pair(iia, **evaluated(case=case, condition=name))
            ],
            "cosines": [{"first": "v1", "second": "v2", "cosine": -0.08}],
            "angles": [{"of": of, **score(mean)} for of, mean in {"relative": 0.5, "contrast": 0.5}.items()],
            "separability": [{"metric": "held-out accuracy", **score(0.97)}],
        },
        "k2.dose": {"boundary": [{"metric": "as the cell predicts", **score(0.9)}]},
        "k2.freeze": {
            "costs": [
                {"case": case, "layer": layer, **score(cost)}
                for case in CASES2
                for layer, cost in ((2, 0.6), (3, 0.4))
            ],
            "freeze": [
                row
                for case in CASES2
                for frozen, left in {"none": 0.85, "mlp 2": 0.25, "mlp 3": 0.45}.items()
                for row in pair(left, case=case, frozen=frozen)
            ],
        },
        "k2.neurons": {
            "sets": [
                row
                for case in CASES2
                for frozen, draw, iia in SETS
                for row in pair(iia, case=case, frozen=frozen, draw=draw)
            ],
            "scores": [{"layer": layer, "neuron": 0, "shared": True} for layer in (2, 3)],
        },
        "k2.fields": {
            "judged": [
                {"layer": layer, "of": of, **score(share)}
                for layer, shares in ((2, {"locality": 0.9, "coverage": 0.95}), (3, {"furthest": 0.95}))
                for of, share in shares.items()
            ]
        },
        "k2.connectivity": {"driving": [{"case": case, "of": "share", **score(0.9)} for case in CASES2]},
        "k2.flag": {
            "flag": [{"layer": 3, "fitted": "y1", "why": "made up"}],
            "winner": [
                {"layer": layer, "fitted": case, "examples": examples, "of": "gain", **score(gain)}
                for layer, gain in ((2, -0.3), (3, 0.3)) for case in CASES2 for examples in ("choosing", "evaluation")
            ],
            "separation": [{"fitted": case, **score(0.97)} for case in CASES2],
            "patches": [
                row for case in CASES2 for name, iia in (("flag_y1", 0.9), ("flag_y2", 0.8), ("random", 0.0))
                for row in pair(iia, **evaluated(case=case, condition=name))
            ],
        },
        "k3.trace": {"trace": trace(CASES3, "y3")},
        "k3.directions": {
            "monotone": [{"direction": f"v{i}", **score(0.99, n=90)} for i in (1, 2, 3)],
            "patches": [
                row
                for case in CASES3
                for name in ("v1", "v2", "v3", "full_mid")
                for own in (name in (f"v{case[1]}", "full_mid"),)
                for row in pair(0.0, 0.8 if own else 0.1, **evaluated(case=case, condition=name))
            ],
        },
        "k3.flags": {
            "patches": [
                row
                for position in ("y2", "y3")
                for case in (*CASES3, "decides")
                for name in ("flag_y1", "flag_y2", "flag_y3", "flag_decides", "full")
                for examples in ("evaluation", "fitting")
                for row in pair(0.0, 0.8, position=position, case=case, condition=name, examples=examples)
            ],
            "separation": [
                {"position": position, "fitted": case, **score(0.97)} for position in ("y2", "y3") for case in CASES3
            ],
        },
        "k3.readout": {
            "patches": [
                row
                for order in ORDERS
                for name, pooled in {"full": 0.6, "pcs": 0.6, "random": 0.0}.items()
                for row in pair(0.0, pooled, order=order, layer=3, condition=name)
            ],
            "pca": [{"layer": 3, **score(0.97)}],
        },
    }  # fmt: skip
    return {id: Result.of(complete(id, named), N, roles=ROLES.get(id, ())) for id, named in tables.items()}


def to(mean: float) -> Change:
    return lambda _: score(mean)


def when(change: Change, metric: str = "pooled", **labels: Any) -> Change:
    """Only in rows of a metric with these labels."""
    wanted = labels if not metric else {**labels, "metric": metric}
    return lambda row: change(row) if all(row.get(key) == value for key, value in wanted.items()) else {}


SPOILED: Mapping[str, tuple[str, list[tuple[str, str, Change]]]] = {
    "wrong pairs": ("solves", [("behaviour.pairs", "accuracy", when(to(0.5), "", population="two-digit pairs"))]),
    "wrong triples": ("solves", [("behaviour.pairs", "accuracy", when(to(0.5), "", population="two-digit triples"))]),
    "no patch names r": (
        "position",
        [("k2.trace", "trace", when(to(0.1), "iia"))],
    ),
    "u moves the value": (
        "position",
        [
            ("behaviour.outcomes", "outcomes", when(to(0.0), "", intervention="u", said="r")),
            ("behaviour.outcomes", "outcomes", when(to(0.9), "", intervention="u", said="a")),
        ],
    ),
    "the residual moves the value": (
        "position",
        [("behaviour.outcomes", "outcomes", when(to(0.7), "", intervention="full_number_y2", said="a"))],
    ),
    "held by the first digit": (
        "linear",
        [("k2.trace", "trace", when(to(0.95), case="y1", position="y1.first"))],
    ),
    "no u": ("linear", [("k2.number", "patches", when(to(0.1), "iia", condition="u"))]),
    "a chord of a helix": ("linear", [("k2.number", "patches", when(to(0.5), condition="u"))]),
    "random directions do it": ("linear", [("k2.number", "patches", when(to(0.5), "iia", condition="random"))]),
    "a straight line with jitter": ("linear", [("k2.number", "curvature", to(0.0))]),
    "v1 rises and falls": ("linear", [("k2.transport", "monotone", to(0.3))]),
    "a weak head": ("transport", [("k2.heads", "heads", when(to(0.3), head=1))]),
    "two heads that each do it": ("transport", [("k2.heads", "heads", when(to(1.0), condition="others with v2"))]),
    "many heads that do a little": ("transport", [("k2.heads", "heads", when(to(0.6), head=head)) for head in (0, 2)]),
    "y1 does not add": ("additive", [("k2.shared", "patches", when(to(0.5), case="y1", condition="v1_v2"))]),
    "y2 does not add": ("additive", [("k2.shared", "patches", when(to(0.5), case="y2", condition="v1_v2"))]),
    "y1 adds too much": ("additive", [("k2.shared", "patches", when(to(1.5), case="y1", condition="v1_v2"))]),
    "y2 adds too much": ("additive", [("k2.shared", "patches", when(to(1.5), case="y2", condition="v1_v2"))]),
    **{
        f"little to be matched, {case}": (
            "additive",
            [("k2.shared", "patches", when(to(0.1), case=case, condition=name)) for name in ("plane", "v1_v2")],
        )
        for case in CASES2
    },
    "aligned": ("additive", [("k2.shared", "angles", when(to(2.0), "", of="relative"))]),
    "never parted": ("additive", [("k2.shared", "angles", when(to(0.0), "", of="contrast"))]),
    "v2 is a shortcut": ("additive", [("k2.shared", "patches", when(to(4.85), case="y2", condition="v2"))]),
    "not separable": ("plane", [("k2.shared", "separability", to(0.6))]),
    "no plane": (
        "plane",
        [("k2.shared", "patches", when(to(0.3), "iia", case="y2", condition=name)) for name in ("plane", "v1_v2")],
    ),
    "random planes do it": ("plane", [("k2.shared", "patches", when(to(0.4), "iia", condition="random_plane"))]),
    "no dose response": ("plane", [("k2.dose", "boundary", to(0.5))]),
    **{
        f"{case} survives the set": (
            "neurons",
            [("k2.neurons", "sets", when(to(0.8), "iia", case=case, frozen="shared"))],
        )
        for case in CASES2
    },
    "random sets do it": ("neurons", [("k2.neurons", "sets", when(to(0.1), "iia", case="y2", frozen="random"))]),
    "one stage": ("two-stage", [("k2.freeze", "freeze", when(to(0.85), frozen="mlp 3"))]),
    "a global first stage": ("two-stage", [("k2.fields", "judged", when(to(0.1), "", of="locality"))]),
    "a first stage with holes": ("two-stage", [("k2.fields", "judged", when(to(0.3), "", of="coverage"))]),
    "a local second stage": ("two-stage", [("k2.fields", "judged", when(to(0.3), "", of="furthest"))]),
    "stages that do not speak": ("two-stage", [("k2.connectivity", "driving", when(to(0.3), "", case="y2"))]),
    "a flag of one case": ("flag", [("k2.flag", "patches", when(to(0.1), "iia", condition="flag_y1", case="y2"))]),
    "a flag that tells nothing": ("flag", [("k2.flag", "separation", when(to(0.6), "", fitted="y1"))]),
    "a difference that never saturates": (
        "flag",
        [("k2.flag", "winner", when(to(-0.3), "", layer=3, fitted="y2", examples="evaluation"))],
    ),
    "random flags do it": ("flag", [("k2.flag", "patches", when(to(0.5), "iia", condition="random"))]),
    "v2 rises and falls": (
        "three-linear",
        [("k3.directions", "monotone", when(to(0.2), "", direction="v2"))],
    ),
    "no v2": ("three-linear", [("k3.directions", "patches", when(to(0.2), condition="v2", case="y2"))]),
    "v3 is not its own": ("three-linear", [("k3.directions", "patches", when(to(0.7), condition="v3", case="y1"))]),
    **{
        f"no flag at {position}": (
            "three-flags",
            [
                ("k3.flags", "patches", when(to(0.1), position=position, case=case)),
                ("k3.flags", "patches", when(to(0.8), position=position, condition="full")),
            ],
        )
        for position, case in (("y2", "y2"), ("y3", "y3"))
    },
    "no flag at y2 where it decides": (
        "three-flags",
        [("k3.flags", "patches", when(to(0.1), position="y2", case="decides", condition="flag_decides"))],
    ),
    "a silent flag at y2": ("three-flags", [("k3.flags", "separation", when(to(0.6), "", position="y2"))]),
    "a silent flag at y3": ("three-flags", [("k3.flags", "separation", when(to(0.6), "", position="y3"))]),
    "no two components": ("three-readout", [("k3.readout", "patches", when(to(0.1), condition="pcs"))]),
    "any two components": ("three-readout", [("k3.readout", "patches", when(to(0.5), condition="random"))]),
    "components of something else": ("three-readout", [("k3.readout", "pca", to(0.5))]),
}
"""By name: the one claim that must fail, and what is changed in which table."""


UNCOUNTED = ("no flag at y2 where it decides", "v2 is a shortcut")
"""What is spoiled where a measurement only stands beside: the claim holds."""


def spoiled(name: str) -> dict[str, Result]:
    """The good results with one thing changed."""
    return changed(good(), SPOILED[name][1])


def changed(results: dict[str, Result], changes: Sequence[tuple[str, str, Change]]) -> dict[str, Result]:
    """Results with some rows of some tables changed, and what is made from these."""
    for id, table, change in changes:
        tables = {name: results[id].rows(name) for name in results[id].tables if not name.endswith(MADE)}
        tables[table] = [{**row, **change(row)} for row in tables[table]]
        results[id] = Result.of(complete(id, tables), N, roles=results[id].roles)
    return results
