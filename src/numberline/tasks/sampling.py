"""How are values drawn, so that the same seed gives the same examples on every machine and version?

1. `numpy.random.RandomState` is the generator: NEP 19 froze its streams for ever. Integers are drawn as int64, because
   its default integer differs between platforms.
2. Every population has its own stream, named by a label, so that a larger one never shifts another.
3. Rows are proposed in chunks of a fixed size and kept in order, without repetition: the first n rows are the same
   however many are asked for.

`max` and `min` are given the same sets of values; only who wins differs.
"""

import hashlib
import json
import math
import zlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import groupby, pairwise

import numpy as np
from jaxtyping import Int64
from numpy.random import RandomState

from numberline.errors import NumberlineError, TooFewError
from numberline.seed import SEED
from numberline.tasks.task import Task

Row = tuple[int, ...]
Rows = tuple[Row, ...]

CHUNK = 4096


def stream(seed: int, task: Task, population: str) -> RandomState:
    """The random stream of one population. Its label holds the task's values and k, but not who wins."""
    if not 0 <= seed < 2**32:
        raise NumberlineError(f"a seed is a whole number from 0 to 2**32 - 1, not {seed}: choose another seed")
    values = task.values
    label = f"{population} k={task.k} values={values.start}:{values.stop}:{values.step} gap={task.gap}"
    return RandomState([seed, zlib.crc32(label.encode())])


def digest(rows: Iterable[Sequence[int]]) -> str:
    """A fingerprint of a population: sixteen hex digits of the SHA-256 of its rows."""
    text = json.dumps([[int(value) for value in row] for row in rows], separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def unique_rows(
    n: int,
    available: int,
    what: str,
    propose: Callable[[], Int64[np.ndarray, "rows width"]],
    key: Callable[[Row], Hashable] = tuple,
) -> Rows:
    """The first n proposed rows that differ in their key."""
    if n > available:
        raise TooFewError(f"{n} {what} were asked for but only {available} exist: ask for at most {available}")
    seen: dict[Hashable, Row] = {}
    while len(seen) < n:
        for row in propose().tolist():
            seen.setdefault(key(tuple(row)), tuple(row))
    return tuple(seen.values())[:n]


def ranked_tuples(task: Task, n: int, seed: int = SEED) -> Rows:
    """n distinct tuples of k + 1 values, best first, with consecutive gaps larger than g.

    For two operands they are the paper's triples (a, b, r) with a > b + g > r + 2g, for three its quadruples
    (a, b, c, r); for `min` the order is reversed. Values more than g apart never share a leading digit. Uniform over
    all such tuples: strictly increasing tuples are drawn from k·g values fewer, then spread by g per step.
    """
    spread = max(alike[-1] - alike[0] for alike in by_lead(task).values())
    if spread > task.gap:
        raise NumberlineError(
            f"the task {task.concept.name!r} has gap {task.gap}, but values that start alike are up to {spread} apart: "
            f"declare a gap of at least {spread}"
        )
    width, values, slots = task.k + 1, np.asarray(task.values, dtype=np.int64), _slots(task)
    generator = stream(seed, task, "tuples")

    def propose() -> Int64[np.ndarray, "rows width"]:
        drawn = np.sort(generator.randint(0, slots, size=(CHUNK, width), dtype=np.int64), axis=1)
        strict = drawn[(np.diff(drawn, axis=1) > 0).all(axis=1)]
        rows: Int64[np.ndarray, "rows width"] = values[strict + task.gap * np.arange(width)]
        return rows[:, :: -task.concept.sign]

    what = f"tuples of {width} values more than {task.gap} apart"
    return unique_rows(n, count_ranked(task), what, propose)


def count_ranked(task: Task) -> int:
    """How many ranked tuples there are."""
    return math.comb(_slots(task), task.k + 1)


def _slots(task: Task) -> int:
    """From how many values strictly increasing tuples are drawn before they are spread by the gap."""
    return max(len(task.values) - task.k * task.gap, 0)


def spread_tuples(task: Task, n: int, seed: int = SEED, unordered: bool = False) -> Rows:
    """n distinct tuples of k operands, no two of which share a leading digit, in random order.

    With `unordered`, no two tuples hold the same set of values either.
    """
    values = np.asarray(task.values, dtype=np.int64)
    _, leads = np.unique([task.lead(value) for value in task.values], return_inverse=True)
    generator = stream(seed, task, "spread")

    def propose() -> Int64[np.ndarray, "rows width"]:
        drawn = generator.randint(0, len(values), size=(CHUNK, task.k), dtype=np.int64)
        distinct = (np.diff(np.sort(leads[drawn], axis=1), axis=1) > 0).all(axis=1)
        return values[drawn[distinct]]

    what = f"{'sets' if unordered else 'tuples'} of {task.k} operands that begin differently"
    return unique_rows(n, count_spread(task, unordered), what, propose, key=frozenset if unordered else tuple)


def count_spread(task: Task, unordered: bool = False) -> int:
    """How many tuples, or sets, of k operands there are no two of which share a leading digit."""
    sets = _transversals([len(alike) for alike in by_lead(task).values()], task.k)
    return sets if unordered else sets * math.factorial(task.k)


def by_lead(task: Task) -> dict[str, list[int]]:
    """The task's values, grouped by their leading digit."""
    ordered = sorted(task.values, key=lambda value: (task.lead(value), value))
    return {lead: list(alike) for lead, alike in groupby(ordered, key=task.lead)}


def _transversals(sizes: Sequence[int], k: int) -> int:
    """In how many ways k things can be taken from groups of these sizes, at most one from each."""
    ways = [1] + [0] * k
    for size in sizes:
        ways = [ways[0]] + [more + size * fewer for fewer, more in pairwise(ways)]
    return ways[k]
