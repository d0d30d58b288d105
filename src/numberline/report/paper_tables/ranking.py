"""The shared neurons by either ranking: by the size of their attribution scores, and by sign."""

from numberline.report.exhibit import Section
from numberline.report.figure import caption
from numberline.report.ranking_by_sign import TOP, shared_neurons
from numberline.report.tables import TableContent, table
from numberline.report.view import RunView
from numberline.results.cases import CASES
from numberline.results.formatting import count, number


@table(
    "attribution-by-sign",
    section=Section.NEURONS,
    order=8,
    needs=("k2.neurons",),
    question="Would a ranking by sign find the same neurons as one by size?",
)
def by_sign(view: RunView) -> TableContent:
    """The shared neurons, ranked by size and by sign."""
    scores = view.run.result("k2.neurons").table("scores")
    found = shared_neurons(scores)
    size, sign = (sum(getattr(each, f"shared_by_{way}") for each in found) for way in ("size", "sign"))
    both = sum(each.shared_by_size and each.shared_by_sign for each in found)
    rows = [
        [
            f"L{each.row['layer']}#{each.row['neuron']}",
            *(number(each.row[case], 3) for case in CASES),
            *(each.row[f"rank_{case}"] for case in CASES),
            *(each.by_sign[case] for case in CASES),
            "yes" if each.shared_by_size else "no",
            "yes" if each.shared_by_sign else "no",
        ]
        for each in found
    ]
    lead = (
        f"Neurons in the top {TOP} of both cases, of {count(len(scores))}: {size} ranked by the size of their "
        f"attribution scores, which is the set in use, {sign} ranked by sign (first those whose freezing lowers the "
        f"PLD most), {both} by both"
    )
    spans = [("", 1), ("score", 2), ("rank by size", 2), ("rank by sign", 2), ("shared", 2)]
    names = ["neuron", *("y1", "y2") * 3, "by size", "by sign"]
    return TableContent(caption(view, lead), names, rows, spans=spans)
