"""Small made-up results on which every claim holds, and ways to spoil one measurement. Nothing here was measured."""

from collections.abc import Callable, Mapping
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


def behind(share: float) -> Row:
    return {"behind": share, "behind_lo": share - 0.04, "behind_hi": share + 0.04}


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
    "k2.freeze": [Role("comparator_mlps", (2, 3), 0.9, 0.5, 0.1, True, why="made up")],
    "k3.readout": [Role("readout_layer_k3", (3,), 0.9, 0.5, 0.1, True, why="made up")],
}


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
            "variance": [{"position": "y1", "direction": "pc1", "share": 0.5}],
            "stability": [{"initialisation": 1, "cosine": 0.99}],
        },
        "k2.heads": {
            "heads": [
                row
                for head in range(3)
                for row in pair(0.8 if head == 1 else 0.1, layer=2, head=head, condition="with v2")
            ],
            "excess": [
                {"layer": 2, "head": head, **score(0.8 if head == 1 else 0.1), **behind(0.0 if head == 1 else 0.9)}
                for head in range(3)
            ],
        },
        "k2.shared": {
            "patches": [
                row
                for case in CASES2
                for name, iia in {"plane": 0.85, "v1_v2": 0.8, "random_plane": 0.0}.items()
                for row in pair(iia, **evaluated(case=case, condition=name))
            ],
            "cosines": [{"first": "v1", "second": "v2", "cosine": -0.08}],
            "separability": [{"metric": "held-out accuracy", **score(0.97)}],
        },
        "k2.dose": {"boundary": [{"metric": "as the cell predicts", **score(0.9)}]},
        "k2.freeze": {
            "costs": [
                {"case": case, "layer": layer, **score(cost)}
                for case in CASES2
                for layer, cost in ((2, 0.6), (3, 0.4))
            ],
            "freeze": [row for case in CASES2 for row in pair(0.85, case=case, frozen="none")],
        },
        "k2.neurons": {
            "sets": [
                row
                for case in CASES2
                for frozen, iia in (("none", 0.85), ("shared", 0.1), ("random", 0.8), ("random", 0.84))
                for row in pair(iia, case=case, frozen=frozen)
            ],
            "scores": [{"layer": layer, "neuron": 0, "shared": True} for layer in (2, 3)],
        },
        "k2.fields": {
            "locality": [
                {"layer": layer, "of": of, **score(reach)}
                for layer, reaches in ((2, {"mean": 0.3, "best": 0.5}), (3, {"mean": 0.7, "best": 0.95}))
                for of, reach in reaches.items()
            ]
        },
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
                for name in ("flag_y1", "flag_y2", "flag_y3", "full")
                for row in pair(0.0, 0.8, **evaluated(position=position, case=case, condition=name))
            ],
            "separation": [
                {"position": position, "fitted": "y1", **score(0.97)} for position in ("y2", "y3")
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
    return {id: Result.of(named, N, roles=ROLES.get(id, ())) for id, named in tables.items()}


def to(mean: float) -> Change:
    return lambda _: score(mean)


def when(change: Change, metric: str = "pooled", **labels: Any) -> Change:
    """Only in rows of a metric with these labels."""
    wanted = labels if not metric else {**labels, "metric": metric}
    return lambda row: change(row) if all(row.get(key) == value for key, value in wanted.items()) else {}


SPOILED: Mapping[str, tuple[str, list[tuple[str, str, Change]]]] = {
    "wrong pairs": ("solves", [("behaviour.pairs", "accuracy", when(to(0.5), "", population="two-digit pairs"))]),
    "wrong triples": ("solves", [("behaviour.pairs", "accuracy", when(to(0.5), "", population="two-digit triples"))]),
    "no patch names r": ("position", [("k2.trace", "trace", when(to(0.1), "iia"))]),
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
    "a straight line": ("linear", [("k2.number", "variance", lambda _: {"share": 0.99})]),
    "a weak head": ("transport", [("k2.heads", "heads", when(to(0.3), head=1))]),
    "two heads": ("transport", [("k2.heads", "excess", lambda row: {**score(0.8), **behind(0.0)})]),
    "y1 does not add": ("additive", [("k2.shared", "patches", when(to(0.3), "iia", case="y1", condition="v1_v2"))]),
    "y2 does not add": ("additive", [("k2.shared", "patches", when(to(0.3), "iia", case="y2", condition="v1_v2"))]),
    "aligned": ("additive", [("k2.shared", "cosines", lambda _: {"cosine": 0.8})]),
    "not separable": ("plane", [("k2.shared", "separability", to(0.6))]),
    "no plane": (
        "plane",
        [("k2.shared", "patches", when(to(0.3), "iia", case="y2", condition=name)) for name in ("plane", "v1_v2")],
    ),
    "random planes do it": ("plane", [("k2.shared", "patches", when(to(0.4), "iia", condition="random_plane"))]),
    "no dose response": ("plane", [("k2.dose", "boundary", to(0.5))]),
    "y1 survives the set": ("neurons", [("k2.neurons", "sets", when(to(0.8), case="y1", frozen="shared"))]),
    "random sets do it": ("neurons", [("k2.neurons", "sets", when(to(0.1), case="y2", frozen="random"))]),
    "one stage": ("two-stage", [("k2.freeze", "costs", when(to(0.0), "", layer=2))]),
    "a global first stage": ("two-stage", [("k2.fields", "locality", when(to(0.9), "", layer=2))]),
    "a local second stage": ("two-stage", [("k2.fields", "locality", when(to(0.3), "", layer=3))]),
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
    "no flag at y2": (
        "three-flags",
        [
            ("k3.flags", "patches", when(to(0.1), position="y2", case="decides")),
            ("k3.flags", "patches", when(to(0.8), position="y2", condition="full")),
        ],
    ),
    "no flag at y3": (
        "three-flags",
        [
            ("k3.flags", "patches", when(to(0.1), position="y3", case="y3")),
            ("k3.flags", "patches", when(to(0.8), position="y3", condition="full")),
        ],
    ),
    "a silent flag at y2": ("three-flags", [("k3.flags", "separation", when(to(0.6), "", position="y2"))]),
    "a silent flag at y3": ("three-flags", [("k3.flags", "separation", when(to(0.6), "", position="y3"))]),
    "no two components": ("three-readout", [("k3.readout", "patches", when(to(0.1), condition="pcs"))]),
    "any two components": ("three-readout", [("k3.readout", "patches", when(to(0.5), condition="random"))]),
    "components of something else": ("three-readout", [("k3.readout", "pca", to(0.5))]),
}
"""By name: the one claim that must fail, and what is changed in which table."""


def spoiled(name: str) -> dict[str, Result]:
    """The good results with one thing changed."""
    results = good()
    for id, table, change in SPOILED[name][1]:
        rows = [{**row, **change(row)} for row in results[id].rows(table)]
        results[id] = Result.of({**results[id].tables, table: rows}, N, roles=results[id].roles)
    return results
