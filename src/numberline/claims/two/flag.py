"""Does one direction hold the answer's position, once the numbers are compared?"""

from numberline.claims.claim import Claim, Criterion
from numberline.claims.common import CONTROL, MEETS, MOST, SLIGHT
from numberline.claims.evidence import Evidence, Quantity, largest, smallest
from numberline.results.cases import CASES


def flag_layer(evidence: Evidence) -> int:
    """Where the flag is looked for: after the last comparator MLP, or the flag layer where that was not tried."""
    layer = max(evidence.role("comparator_mlps", "k2.freeze"))
    if layer not in {row["layer"] for row in evidence.rows("k2.flag", "layers")}:
        (layer,) = evidence.role("flag_layer", "k2.flag")
    return layer


def in_both(fitted: str, layer: int, evidence: Evidence) -> Quantity:
    """IIA of a direction fitted in one case, in the case in which it does less."""
    rows = evidence.rows("k2.flag", "layers", layer=layer, fitted=fitted, metric="iia")
    return smallest(map(Quantity.of, rows))


def flag_in_both(evidence: Evidence) -> Quantity:
    """IIA of one direction after the last comparator MLP, in the case in which it does less; the better of two fits."""
    layer = flag_layer(evidence)
    return largest(in_both(fitted, layer, evidence) for fitted in CASES)


def flag_tells(evidence: Evidence) -> Quantity:
    """How often a threshold on the flag's component tells the winner of a clean prompt."""
    return largest(map(Quantity.of, evidence.rows("k2.flag", "separation")))


def random_flag(evidence: Evidence) -> Quantity:
    """IIA of random directions at the flag layer, the case in which they do more."""
    return largest(evidence.patch("k2.flag", "iia", condition="random", case=case) for case in CASES)


claim = Claim(
    id="flag",
    order=9,
    sentence="One direction holds the answer's position.",
    figures=("comparison-mechanism", "app-l15-direction"),
    criteria=(
        MEETS,
        Criterion(
            "IIA of one direction after the last comparator MLP, the weaker case",
            flag_in_both,
            "at least",
            MOST,
            "a flag is one variable: the same direction must change most answers in both cases; 0.66 in the paper",
            key="iia",
        ),
        Criterion(
            "prompts whose winner the flag's component tells",
            flag_tells,
            "at least",
            0.9,
            "half is chance; a binary value is told nearly always",
        ),
        Criterion("IIA of random directions", random_flag, "at most", SLIGHT, CONTROL),
    ),
    holds=(
        "Once compared, one direction at y2's position holds the answer's position ({flag_layer}; IIA {iia} in the "
        "weaker case)."
    ),
    fails="No single direction at y2's position holds the answer's position.",
    broken_by=("no-flag",),
    falls_with=("unsolving",),
)
