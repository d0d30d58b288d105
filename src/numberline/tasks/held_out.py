"""Which two-digit pairs do the built-in models never see in training? A fixed tenth of the unordered ones.

Their accuracy on these tells learning from memorising. The rule stands here because both the training scripts and the
measurement of behaviour need it.
"""

from functools import cache
from itertools import combinations

from numpy.random import RandomState

from numberline.tasks.sampling import Rows
from numberline.tasks.task import Task

HELD_OUT_SEED = 2024
SHARE = 0.1


@cache
def held_out_sets() -> frozenset[frozenset[int]]:
    """The unordered pairs left out of training."""
    pairs = list(combinations(Task().values, 2))
    chosen = RandomState(HELD_OUT_SEED).permutation(len(pairs))[: round(SHARE * len(pairs))]
    return frozenset(frozenset(pairs[i]) for i in chosen)


def held_out(rows: Rows) -> list[bool]:
    """Which of these rows of two operands were left out of training."""
    return [frozenset(row) in held_out_sets() for row in rows]
