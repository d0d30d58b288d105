"""Does a patch move the answer's position, or its value?"""

from collections.abc import Sequence
from functools import partial

from numberline.claims.claim import Claim, Criterion
from numberline.claims.common import MOST
from numberline.claims.evidence import Evidence, NotMeasuredError, Quantity


def decides(evidence: Evidence) -> Quantity:
    """IIA of one patch: the cell of the trace that does most on the examples that choose, or u, if it did more on
    those that it was fitted on. (In the paper the whole residual at y1 has an IIA of 0.07, and u one of 0.94.)"""
    cell = max(evidence.rows("k2.trace", "trace_choosing", metric="iia"), key=lambda row: float(row["mean"]))
    try:
        u = evidence.one("k2.number", "patches", case="y1", condition="u", examples="fitting", metric="iia")
    except NotMeasuredError:
        u = Quantity.point(0.0)
    if u.value > cell["mean"]:
        return evidence.patch("k2.number", "iia", case="y1", condition="u")
    where = {name: cell[name] for name in ("case", "layer", "token")}
    return evidence.one("k2.trace", "trace", metric="iia", **where)


def said(intervention: str, right: Sequence[str], wrong: Sequence[str], evidence: Evidence) -> Quantity:
    """Among the answers of these kinds, how many are of the right ones."""
    rows = evidence.rows("behaviour.outcomes", "outcomes", intervention=intervention)
    counts = {row["said"]: round(row["mean"] * row["n"]) for row in rows}
    hits = sum(counts.get(kind, 0) for kind in right)
    total = hits + sum(counts.get(kind, 0) for kind in wrong)
    if not total:
        raise NotMeasuredError("the patch never changes the answer to one operand's value or place")
    return Quantity.count(hits, total)


claim = Claim(
    id="position",
    order=2,
    sentence="Patching moves the answer's position, not its value.",
    figures=("app-patch-outcomes", "app-patch-examples"),
    criteria=(
        Criterion(
            "IIA of the patch that other examples chose: one cell of the trace, or u",
            decides,
            "at least",
            MOST,
            "some state must decide the position for it to be moved: most answers then name the other operand",
            key="decides",
        ),
        Criterion(
            "answers at the new position, of those at it or with the old value, u patched",
            partial(said, "u", ("r",), ("a",)),
            "at least",
            0.9,
            "a model that moves values would say the clean value a; one in ten is left for accidents",
            key="moved",
        ),
        Criterion(
            "the same, full residual at y2 patched",
            partial(said, "full_number_y2", ("r", "mixed"), ("a",)),
            "at least",
            0.9,
            "as above; r's first {part} followed by a's last is the new position with a {part} overwritten",
            key="moved_y2",
        ),
    ),
    holds="A patch moves the answer's position, not its value ({moved} of the answers that it changes).",
    fails="No patch moves the answer's position alone.",
    broken_by=("by-value",),
    falls_with=("unsolving", "helix"),
    effect="decides",
)
