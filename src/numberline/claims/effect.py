"""How large is a claim's effect, beside the paper's? Words for a ratio, by one declared rule.

Every claim names the measurement that is its effect's size. Where the paper states that one, the run's value over the
paper's is said:

| ratio | words |
|---|---|
| at least 1.25 | stronger than in the paper |
| 0.8 to 1.25 | as in the paper |
| 0.1 to 0.8 | as in the paper, weaker |
| −0.1 to 0.1 | absent |
| below | opposite to the paper |

A verdict says whether an effect clears its threshold; this says how near it is to what was found on the paper's model.
"""

from numberline.claims.calibration import quantity
from numberline.claims.paper_values import paper_values
from numberline.claims.verdicts import Finding
from numberline.results.formatting import number

WORDS = (
    (1.25, "stronger than in the paper"),
    (0.8, "as in the paper"),
    (0.1, "as in the paper, weaker"),
    (-0.1, "absent"),
    (float("-inf"), "opposite to the paper"),
)
"""From which ratio on which words."""


def effect(finding: Finding) -> str:
    """The effect's size in words; nothing where it was not measured, or the paper states none."""
    keys = [criterion.key for criterion in finding.claim.criteria]
    if finding.claim.effect not in keys:
        return ""
    value = finding.measurements[keys.index(finding.claim.effect)].value
    stated = {(each.claim, each.key): each for each in paper_values().measured}
    paper = stated.get((finding.id, finding.claim.effect))
    if value is None or paper is None:
        return ""
    theirs = quantity(paper).value
    ratio = value / theirs
    words = next(words for least, words in WORDS if ratio >= least)
    return f"{words} ({number(value)} against {number(theirs)})"
