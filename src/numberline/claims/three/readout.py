"""Do two components at the last token hold the position of the maximum?"""

from functools import partial

from numberline.claims.claim import Claim, Criterion
from numberline.claims.common import SLIGHT
from numberline.claims.evidence import Evidence, Quantity
from numberline.claims.scored import mean_of, part_of


def readout(condition: str, evidence: Evidence) -> Quantity:
    """A patch at the read-out layer as a share of the full-rank one, the mean over value orders."""
    scored = evidence.scored("k3.readout", "patches")
    orders = sorted({row["order"] for row in evidence.rows("k3.readout", "patches")})
    patch, full = ([scored.of(condition=name, order=order) for order in orders] for name in (condition, "full"))
    part, whole = (mean_of([each.recovery for each in some]) for some in (patch, full))
    return part_of(part, whole, len(full[0].scale))


def told(evidence: Evidence) -> Quantity:
    """How often the two components at the read-out layer tell the winner."""
    (layer,) = evidence.role("readout_layer_k3", "k3.readout")
    return evidence.one("k3.readout", "pca", layer=layer)


claim = Claim(
    id="three-readout",
    order=12,
    sentence="Two components at the last token hold the position of the {extreme}.",
    figures=("three-number-compare", "app-k3-readout-pca", "app-k3-readout-causal"),
    criteria=(
        Criterion(
            "recovery of two components, as a share of the whole residual's",
            partial(readout, "pcs"),
            "at least",
            0.75,
            "the paper finds both the same; a quarter less is not",
            key="share",
        ),
        Criterion(
            "the same of random planes",
            partial(readout, "random"),
            "at most",
            SLIGHT,
            "a random plane that did a tenth of it would make two components unremarkable",
            key="random",
        ),
        Criterion(
            "prompts whose winner the two components tell",
            told,
            "at least",
            0.9,
            "a third is chance; a position that is held is told nearly always",
            key="told",
        ),
    ),
    holds=(
        "At the last token two components hold the position of the {extreme} ({share} of the whole residual's "
        "recovery; the winner told in {told:1%} of prompts)."
    ),
    fails="The position of the {extreme} is not held by two components at the last token.",
    broken_by=("loud",),
    falls_with=("unsolving", "phased-y3"),
    effect="share",
)
