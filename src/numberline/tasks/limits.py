"""How large can populations be for a concept that has few values? Twelve months make 220 triples, not 528.

Sample sizes are those asked for where the concept has as many examples, and else all that there are: evaluation and
fitting in the same proportion, choosing as fitting, grids without gaps. For two-digit numbers nothing changes.
Experiments on more operands than the sizes are limited by may still find too few, and say so.
"""

import math
from dataclasses import replace
from itertools import pairwise

from numberline.tasks.concept import Concept
from numberline.tasks.concepts.whole_numbers import MAX
from numberline.tasks.counterfactuals import HANDS
from numberline.tasks.populations import dose_values
from numberline.tasks.sampling import count_ranked, count_spread
from numberline.tasks.sizes import Sizes
from numberline.tasks.task import Task

LEAST_AXIS = 11
"""A receptive field's axis has at least as many values as this, where the concept has them."""

MOST_AXIS = len(MAX.values)
"""For more values than the paper's ninety, a field's steps are as many times longer: its grid grows no further."""


def within(sizes: Sizes, concept: Concept) -> Sizes:
    """Sample sizes that a concept has values for."""
    two, three, count = Task(concept), Task(concept, k=3), len(concept.values)
    rounds = max(count_ranked(two) // (sum(HANDS) + HANDS[1]), 1)  # a choosing hand is as large as a fitting one
    pairs = 2 * count_spread(two, unordered=True)
    clouds = {name: min(getattr(sizes, name), pairs) for name in ("number_cloud", "shared_cloud", "edge_cloud")}
    grid = dose_values(two)
    apart = min((later - earlier for earlier, later in pairwise(grid)), default=1)
    return replace(
        sizes,
        evaluation=min(sizes.evaluation, HANDS[0] * rounds),
        fitting=min(sizes.fitting, HANDS[1] * rounds),
        choosing=min(sizes.choosing, HANDS[1] * rounds, max(count_ranked(two) - sum(HANDS) * rounds, 0)),
        candidates=min(sizes.candidates, count_ranked(three)),
        **clouds,
        three_cloud=min(sizes.three_cloud, count_spread(three)),
        pairs=min(sizes.pairs, math.perm(count, 2)),
        three_digit_pairs=min(sizes.three_digit_pairs, math.perm(count, 3)),
        operand_counts=tuple(k for k in sizes.operand_counts if k <= count),
        operand_prompts=min(sizes.operand_prompts, math.perm(count, 2)),
        dose_prompts=min(sizes.dose_prompts, pairs),
        dose_window=min(sizes.dose_window, (apart - 1) // 2),
        field_stride=min(sizes.field_stride * max(-(-count // MOST_AXIS), 1), max(count // LEAST_AXIS, 1)),
    )
