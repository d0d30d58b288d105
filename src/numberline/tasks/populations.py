"""Which clean prompts are used for geometry, behaviour and fields?

- `cloud`: prompts for means, principal components and probes. Distinct leading digits. Two-operand clouds hold each
  unordered pair in both orders, one after the other; clouds of one task and seed are nested, so that one recording of
  the largest serves all (the paper does not say whether its 2,000 and 3,000 prompts overlap).
- `all_pairs`, `drawn_pairs`, `operand_count`: behaviour. Pairs hold two different numbers, also where they are drawn
  with replacement, for a tie has no winning position.
- `dose_values`, `field_values`, `field_grid`: the grids of the dose-response sweep and of the receptive fields.

All return rows of operands; `encode` turns rows into prompts.
"""

import math
from collections.abc import Mapping
from itertools import permutations, product

import numpy as np
from jaxtyping import Int64

from numberline.errors import NumberlineError
from numberline.seed import SEED
from numberline.tasks.concept import Concept
from numberline.tasks.concepts.whole_numbers import MAX
from numberline.tasks.sampling import CHUNK, Rows, by_lead, spread_tuples, stream, unique_rows
from numberline.tasks.sizes import PAPER
from numberline.tasks.task import Task

MANY = 2_000_000
"""Of more ordered pairs than this, a sample is drawn without listing all of them."""


def cloud(task: Task, n: int, seed: int = SEED) -> Rows:
    """n distinct rows of operands with pairwise distinct leading digits."""
    if task.k != 2:
        return spread_tuples(task, n, seed)
    if n % 2:
        raise NumberlineError(
            f"a two-operand cloud holds each pair in both orders, so {n} prompts cannot be: use {n + 1}"
        )
    pairs = spread_tuples(task, n // 2, seed, unordered=True)
    return tuple(row for x, y in pairs for row in ((x, y), (y, x)))


def all_pairs(task: Task, limit: int | None = None, seed: int = SEED) -> Rows:
    """Every ordered pair of distinct values, in order; with a limit below their number, that many drawn at random."""
    _two(task)
    count = math.perm(len(task.values), 2)
    if limit is not None and limit < count > MANY:
        return _some_pairs(task, limit, seed)
    pairs = tuple(permutations(task.values, 2))
    if limit is None or limit >= len(pairs):
        return pairs
    return tuple(pairs[i] for i in stream(seed, task, "pairs").permutation(len(pairs))[:limit])


def drawn_pairs(task: Task, n: int = PAPER.three_digit_pairs, seed: int = SEED) -> Rows:
    """n ordered pairs of distinct values, drawn with replacement."""
    _two(task)
    values = task.values
    numbers = stream(seed, task, "drawn pairs").randint(0, len(values) * (len(values) - 1), n, dtype=np.int64)
    # A number names a pair: its first value, and its second among the remaining ones.
    places = [divmod(int(number), len(values) - 1) for number in numbers]
    return tuple((values[x], values[y + (y >= x)]) for x, y in places)


def operand_count(
    k: int, n: int = PAPER.operand_prompts, concept: Concept = MAX, seed: int = SEED
) -> tuple[Task, Rows]:
    """n rows of k distinct operands, and the task that asks about them in the list format, k = 2 included."""
    task = Task(concept, k, listed=True)
    values = np.asarray(task.values, dtype=np.int64)
    generator = stream(seed, task, "operand count")

    def propose() -> Int64[np.ndarray, "rows k"]:
        keys = generator.random_sample((CHUNK // 16, len(values)))
        return values[np.argsort(keys, axis=1, kind="stable")[:, :k]]

    rows = unique_rows(n, math.perm(len(values), k), f"rows of {k} distinct operands", propose)
    return task, rows


def dose_values(task: Task) -> tuple[int, ...]:
    """One value per leading digit, the middle one: 15, 25, …, 95."""
    return tuple(sorted(alike[len(alike) // 2] for alike in by_lead(task).values()))


def field_values(task: Task, stride: int = PAPER.field_stride) -> tuple[int, ...]:
    """The values of a receptive field's axis: every fourth from 11 to 99; all where the stride is one."""
    return tuple(task.values[min(stride - 1, 1) :: stride])


def field_grid(task: Task, stride: int = PAPER.field_stride, fixed: Mapping[str, int] | None = None) -> Rows:
    """Every combination of the field's values, the last operand fastest; operands named in `fixed` keep that value."""
    fixed = fixed or {}
    unknown = sorted(set(fixed) - set(task.operands))
    if unknown:
        raise NumberlineError(f"{unknown[0]!r} is no operand of the task: fix one of {', '.join(task.operands)}")
    axis = field_values(task, stride)
    return tuple(product(*((fixed[name],) if name in fixed else axis for name in task.operands)))


def _some_pairs(task: Task, n: int, seed: int) -> Rows:
    """n different ordered pairs of distinct values, none of the others listed."""
    values, generator = np.asarray(task.values, dtype=np.int64), stream(seed, task, "pairs")

    def propose() -> Int64[np.ndarray, "rows 2"]:
        drawn = generator.randint(0, len(values), size=(CHUNK, 2), dtype=np.int64)
        rows: Int64[np.ndarray, "rows 2"] = values[drawn[drawn[:, 0] != drawn[:, 1]]]
        return rows

    return unique_rows(n, math.perm(len(values), 2), "pairs", propose)


def _two(task: Task) -> None:
    if task.k != 2:
        raise NumberlineError(f"pairs are for tasks of two operands, and this one has k={task.k}: use k=2")
