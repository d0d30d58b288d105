"""What made-up results are made of: scores, patches, components, roles. Nothing in them was measured."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from numberline.results.roles import Role

METRICS = ("iia", "pr", "pooled")
D, LAYERS, HEADS, NEURONS = 12, 6, 4, 40
N = 64
random = np.random.RandomState(0)


def score(mean: float, n: int = N) -> dict[str, float | int]:
    return {"mean": mean, "se": 0.02, "n": n, "lo": mean - 0.04, "hi": mean + 0.04}


def scores(mean: float, **labels: Any) -> list[dict[str, Any]]:
    """Three rows of a table of patches."""
    caveats = {"near_ties": 0, "nonpositive": 1}
    return [
        {**labels, "metric": metric, **score(mean * (1 if metric == "iia" else 1.2)), **caveats} for metric in METRICS
    ]


def patches(conditions: Mapping[tuple[str, str], Mapping[str, float]], **labels: Any) -> list[dict[str, Any]]:
    """Rows of a `patches` table: by (case, position), conditions and their scores."""
    return [
        row
        for (case, position), named in conditions.items()
        for condition, mean in named.items()
        for examples in ("evaluation", "fitting")
        for row in scores(
            mean, **labels, case=case, position=position, condition=condition, examples=examples, draws=1, spread=0.0
        )
    ]


def role(name: str, *value: int) -> Role:
    return Role(name, value, score=0.9, margin=0.5, noise=0.1, found=True, why="made up")


def components(position: str, *directions: str, values: range = range(10, 100), **labels: Any) -> list[dict[str, Any]]:
    return [
        {
            **labels, "position": position, "direction": direction, "value": value, **score(float(np.log(value))),
            "standardized": float(np.log(value) - 3.8) * 2,
        }
        for direction in directions
        for value in values
    ]  # fmt: skip


def fits(position: str, *directions: str, **labels: Any) -> list[dict[str, Any]]:
    return [{**labels, "position": position, "direction": name, "p": 1.0, "q": 0.0, "r2": 0.95} for name in directions]


def unit(*shape: int) -> torch.Tensor:
    tensor = torch.tensor(random.randn(*shape)).float()
    return tensor / tensor.norm(dim=0)


def cloud(n: int = 200) -> np.ndarray:
    return random.randint(10, 100, (n, 2))
