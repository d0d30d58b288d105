"""Which neurons would be shared if they were ranked by sign? Beside the ranking by size, which is the one in use.

The score of a neuron estimates what freezing it does to the PLD of a patched run: below zero, freezing it undoes some
of the patch. By sign, those come first whose scores are furthest below zero (choices.toml, "ranking").
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from numberline.results.arrays import Array
from numberline.results.cases import CASES
from numberline.results.table import Row, Table

TOP = 20
"""How many of each case's ranking may be shared, as in the paper."""


@dataclass(frozen=True)
class Neuron:
    """A neuron that is shared by one ranking or by both."""

    row: Row
    by_sign: Mapping[str, int]
    """Its rank (from 1) in each case by sign."""

    @property
    def shared_by_size(self) -> bool:
        """Whether it is in the top of both cases by size."""
        return bool(self.row["shared"])

    @property
    def shared_by_sign(self) -> bool:
        """Whether it is in the top of both cases by sign."""
        return all(rank <= TOP for rank in self.by_sign.values())


def shared_neurons(scores: Table) -> list[Neuron]:
    """The neurons in the tops of both cases by size or by sign, the former first, each by its worst rank."""
    ranks = {case: _ranks(scores.array(case).astype(float)) for case in CASES}
    every = [
        Neuron(row, {case: int(ranks[case][place]) for case in CASES})
        for place, row in enumerate(scores)
        if row["shared"] or all(ranks[case][place] <= TOP for case in CASES)
    ]
    return sorted(every, key=lambda found: (not found.shared_by_size, _worst(found)))


def _ranks(scores: Array) -> Array:
    order = np.argsort(scores, kind="stable")
    ranks = np.empty(len(scores), dtype=int)
    ranks[order] = np.arange(1, len(scores) + 1)
    return ranks


def _worst(found: Neuron) -> int:
    by_size = max(found.row[f"rank_{case}"] for case in CASES)
    return int(by_size if found.shared_by_size else max(found.by_sign.values()))
