"""Does the ledger say of the paper's model what the paper says? The paper's own numbers, judged by every criterion.

1. paper_values.toml holds what the paper states of a measurement that a claim asks for, with its n and its section.
2. A share of n examples has the Wilson interval of that n. A share over another share of the same examples has the
   interval of the logarithm of their ratio, as if the two were independent: which examples both have in common is not
   stated, and it could only make the interval narrower. What is said to be the same is a point, at 1.
3. Each is judged as a run's measurement is. `distance` is how far the value is inside its threshold, below zero where
   it is outside. No claim of the paper may fail.

docs/claims.md holds the table (`python scripts/write_pages.py`).
"""

import math
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist

from numberline.claims.claim import Claim, Criterion
from numberline.claims.evidence import Quantity
from numberline.claims.paper_values import PaperMeasurement, paper_values
from numberline.claims.registry import CLAIMS
from numberline.claims.verdicts import Verdict, judge
from numberline.estimates import CONFIDENCE
from numberline.results.formatting import count, number, with_interval
from numberline.results.language import PAPER

PAGE = Path("docs/claims.md")
BEGIN, END = "<!-- calibration: python scripts/write_pages.py -->", "<!-- end of calibration -->"


@dataclass(frozen=True)
class Calibration:
    """A criterion of a claim, and what the paper states of it, if anything."""

    claim: Claim
    criterion: Criterion
    paper: PaperMeasurement | None

    @property
    def found(self) -> Quantity | None:
        """The paper's value with the sampling error of its n."""
        return None if self.paper is None else quantity(self.paper)

    @property
    def verdict(self) -> Verdict:
        """What the ledger says of the paper's value."""
        found = self.found
        return "not tested" if found is None else judge(found, self.criterion.direction, self.criterion.threshold)

    @property
    def distance(self) -> float | None:
        """How far the paper's value is inside the threshold."""
        found = self.found
        if found is None:
            return None
        inside = found.value - self.criterion.threshold
        return inside if self.criterion.direction == "at least" else -inside


def calibration() -> list[Calibration]:
    """Every criterion of every claim, in the ledger's order."""
    stated = {(each.claim, each.key): each for each in paper_values().measured}
    return [
        Calibration(claim, criterion, stated.get((claim.id, criterion.key)) or stated.get(("*", criterion.key)))
        for claim in CLAIMS.values()
        for criterion in claim.spoken(PAPER).criteria
    ]


def quantity(paper: PaperMeasurement) -> Quantity:
    """A value of the paper with the interval that its n gives it."""
    if paper.same:
        return Quantity.point(1.0)
    shares = [Quantity.count(share * paper.n, paper.n) for share in paper.shares]
    return shares[0] if len(shares) == 1 else _ratio(paper.shares[0], paper.shares[1], paper.n)


def _ratio(part: float, whole: float, n: int) -> Quantity:
    half = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * math.sqrt((1 / part + 1 / whole - 2) / n)
    return Quantity(part / whole, part / whole * math.exp(-half), part / whole * math.exp(half), n)


def markdown() -> str:
    """The table of docs/claims.md."""
    lines = ["| claim | measurement | asked | the paper's | distance | verdict |", "|---|---|---|---|---|---|"]
    for each in calibration():
        asked = f"{each.criterion.direction} {number(each.criterion.threshold)}"
        name = each.criterion.name.replace("|", r"\|")
        cells = [each.claim.id, name, asked, _stated(each), number(each.distance), each.verdict]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _stated(each: Calibration) -> str:
    if each.paper is None or each.found is None:
        figure = paper_values().drawn.get(f"{each.claim.id}.{each.criterion.key}")
        return f"drawn in {figure}, not stated" if figure else "not measured"
    about = [f"n = {count(each.paper.n)}" if each.paper.n else "said in words", each.paper.note, each.paper.section]
    return f"{with_interval(each.found.value, each.found.lo, each.found.hi)} ({'; '.join(filter(None, about))})"


def page(text: str) -> str:
    """A text with the table between its two marks."""
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n{markdown()}\n{END}{rest.split(END)[1]}"
