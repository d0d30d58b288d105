"""Which position recovery does a report show? Every result holds both, and a figure's caption says which one it shows.

1. `pooled`, the default: the mean effect on the logit difference over the mean distance of the clean from the corrupted
   run. An example counts by what it moves, so that a distance near zero, or below it, cannot carry the mean away.
2. `paper`: the paper's, the mean of the examples' own ratios. Where no example's distance is small the two agree.
"""

from enum import StrEnum


class Recovery(StrEnum):
    """One of the two position recoveries, by the name that `--recovery` takes."""

    POOLED = "pooled"
    PAPER = "paper"

    @property
    def metric(self) -> str:
        """Its rows in a result's tables."""
        return {"pooled": "pooled", "paper": "pr"}[self]

    @property
    def words(self) -> str:
        """Its name in a sentence."""
        return {"pooled": "pooled position recovery", "paper": "mean per-example position recovery"}[self]

    @property
    def begins(self) -> str:
        """Its name at the beginning of a sentence."""
        return self.words[0].upper() + self.words[1:]

    @property
    def axis(self) -> str:
        """Its name beside an axis or a colour bar."""
        return {"pooled": "position recovery (pooled)", "paper": "position recovery (mean)"}[self]
