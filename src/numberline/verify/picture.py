"""At which noise does each method break? A picture of a scorecard: for each row the share of its checks that passed.

Against the noise, one panel per row: the mean over seeds, and their range.
"""

import json
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from numberline.errors import NumberlineError
from numberline.verify.check import ROWS
from numberline.verify.scorecard import JSON


def passed_by_noise(cases: list[dict[str, Any]]) -> dict[str, dict[float, list[float]]]:
    """For each row and noise: the share of its checks that passed, one value per seed."""
    shares: dict[str, dict[float, list[float]]] = {}
    for case in cases:
        if case["variant"] is None:
            for row in ROWS:
                mine = [check["passed"] for check in case["checks"] if check["row"] == row]
                if mine:
                    shares.setdefault(row, {}).setdefault(case["noise"], []).append(sum(mine) / len(mine))
    return shares


def draw(folder: Path, target: Path) -> None:
    """One panel per row of a scorecard: the share of its checks that passed, against the noise."""
    try:
        held = json.loads((folder / JSON).read_text(encoding="utf-8"))
    except OSError as error:
        raise NumberlineError(f"{folder} holds no scorecard: make one with numberline verify --out {folder}") from error
    matplotlib.use("Agg")
    from matplotlib import pyplot

    shares = passed_by_noise(held["cases"])
    columns = 4
    figure, axes = pyplot.subplots(
        -(-len(shares) // columns), columns, figsize=(10, 6.2), sharex=True, sharey=True, layout="constrained"
    )
    for panel, (row, by_noise) in zip(axes.flat, shares.items(), strict=False):
        noises = sorted(by_noise)
        at = np.arange(len(noises))
        middle = [float(np.mean(by_noise[noise])) for noise in noises]
        panel.plot(at, middle, marker="o", color="#1f6fb2")
        panel.fill_between(
            at, [min(by_noise[n]) for n in noises], [max(by_noise[n]) for n in noises], color="#1f6fb2", alpha=0.2
        )
        panel.set_title(row, fontsize=10)
        panel.set_xticks(at, [f"{noise:g}" for noise in noises], rotation=60, fontsize=8)
        panel.set_ylim(-0.05, 1.05)
        panel.grid(alpha=0.3)
    for panel in list(axes.flat)[len(shares) :]:
        panel.set_axis_off()
    figure.supxlabel(
        "noise (standard deviation of every weight, relative to its tensor's root mean square)", fontsize=9
    )
    figure.supylabel("share of checks recovered (mean and range over seeds)", fontsize=9)
    figure.savefig(target, dpi=150)
    pyplot.close(figure)
