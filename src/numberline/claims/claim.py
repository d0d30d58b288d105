"""What is a claim? One statement of the paper, declared once with everything about it, in a file of two/ or three/:

    claim = Claim(
        id="flag",
        order=9,
        sentence="One direction holds the answer's position.",
        figures=("comparison-mechanism", "app-l15-direction"),
        criteria=(MEETS, Criterion("IIA of one direction …", in_both, "at least", MOST, "a flag is …", key="iia"), …),
        holds="Once compared, one direction holds the answer's position ({flag_layer}; IIA {iia}).",
        fails="No single direction at y2's position holds the answer's position.",
        broken_by=("no-flag",),
        falls_with=("unsolving",),
    )

The two sentences say what a run found. In the first, the key of a criterion stands for what was measured ({iia}, or
{accuracy:1%} as a percentage with one digit), and the name of a role for its site on this model ({flag_layer}). In all
texts the words of a run's concept stand in place of their names ({noun}, {largest}: `Language`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from numberline.claims.evidence import Evidence, Quantity
from numberline.results.language import Language

Direction = Literal["at least", "at most"]


@dataclass(frozen=True)
class Criterion:
    """What must be measured for a claim to hold: the threshold, and why that one."""

    name: str
    measure: Callable[[Evidence], Quantity]
    direction: Direction
    threshold: float
    reason: str
    key: str = ""
    """By which the claim's sentence, and the paper's value, name what is measured; unique in its claim."""
    counted: bool = True
    """Whether it decides the claim, or only stands beside."""

    def spoken(self, language: Language) -> "Criterion":
        """In the words of a run's concept."""
        return replace(self, name=language.say(self.name), reason=language.say(self.reason))


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One statement of the paper. `order` is its place in the ledger."""

    id: str
    order: int
    sentence: str
    figures: tuple[str, ...]
    criteria: tuple[Criterion, ...]
    holds: str
    fails: str
    broken_by: tuple[str, ...]
    """The variants of the planted model on which it must fail."""
    falls_with: tuple[str, ...] = ()
    """Those on which it may: it is measured with what they break."""
    effect: str = ""
    """The key of the criterion whose value is the effect's size."""

    def spoken(self, language: Language) -> "Claim":
        """In the words of a run's concept."""
        return replace(
            self,
            sentence=language.say(self.sentence),
            holds=language.say(self.holds),
            fails=language.say(self.fails),
            criteria=tuple(criterion.spoken(language) for criterion in self.criteria),
        )
