"""Which parts carry a patch's effect? Freezing them while the patch is made.

1. A patch runs on the corrupted prompts, while some sites, or some neurons at one position, are pinned to their values
   in the unpatched corrupted run. All sets are conditions of one sweep.
2. What freezing a set costs is the pooled recovery that is lost, paired by example with the patch alone.
"""

from collections.abc import Callable, Sequence

from numberline.engine.edits import Edit, freeze
from numberline.engine.sites import Position, Site
from numberline.methods.attribution import Place, activations, pin
from numberline.methods.intervals import Estimate, ratio
from numberline.methods.pairs import Pairs
from numberline.methods.scores import Scores, score

Patch = Callable[[Pairs], Sequence[Edit]]
"""From pairs to the edits that take something from their clean runs."""
Progress = Callable[[int], object]


def freeze_sites(
    pairs: Pairs, patch: Patch, sets: Sequence[Sequence[Site]], progress: Progress | None = None
) -> Scores:
    """The scores of a patch with each set of sites frozen; an empty set is the patch alone."""
    return score(pairs, [[*patch(pairs), *(freeze(site) for site in sites)] for sites in sets], progress)


def freeze_neurons(
    pairs: Pairs,
    patch: Patch,
    sets: Sequence[Sequence[Place]],
    position: Position,
    progress: Progress | None = None,
) -> Scores:
    """The scores of a patch with each set of neurons frozen at a position."""
    layers = sorted({layer for places in sets for layer, _ in places})
    corrupted = activations(pairs.corrupted, layers, position)
    return score(pairs, [[*patch(pairs), *pin(corrupted, places, position)] for places in sets], progress)


def cost(scores: Scores, condition: int, alone: int = 0) -> Estimate:
    """The pooled recovery that is lost from the condition `alone` to another."""
    return ratio(scores.pld[alone] - scores.pld[condition], scores.pairs.scale)
