"""The shared neurons by either ranking: by the size of their attribution scores, and by sign."""

from numberline.report.exhibit import Section
from numberline.report.figure import caption
from numberline.report.ranking_by_sign import TOP, shared_neurons
from numberline.report.tables import TableContent, table
from numberline.report.view import RunView
from numberline.results.cases import CASES
from numberline.results.formatting import count, number

WAYS = ("size", "sign")


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
    size, sign = (sum(getattr(each, f"shared_by_{way}") for each in found) for way in WAYS)
    both = sum(each.shared_by_size and each.shared_by_sign for each in found)
    rows = [
        [
            f"L{each.row['layer']}#{each.row['neuron']}",
            ", ".join(number(each.row[case], 3) for case in CASES),
            ", ".join(count(each.row[f"rank_{case}"]) for case in CASES),
            ", ".join(count(each.by_sign[case]) for case in CASES),
            " and ".join(way for way in WAYS if getattr(each, f"shared_by_{way}")),
        ]
        for each in found
    ]
    data = [
        [
            each.row["layer"],
            each.row["neuron"],
            *(each.row[case] for case in CASES),
            *(each.row[f"rank_{case}"] for case in CASES),
            *(each.by_sign[case] for case in CASES),
            each.shared_by_size,
            each.shared_by_sign,
        ]
        for each in found
    ]
    lead = (
        f"Neurons in the top {TOP} of both cases, of {count(len(scores))}: {size} ranked by the size of their "
        f"attribution scores, which is the set in use, {sign} ranked by sign (first those whose freezing lowers the "
        f"PLD most), {both} by both"
    )
    columns = ["neuron", *(f"{what} (y1, y2)" for what in ("score", "rank by size", "rank by sign")), "shared by"]
    named = [f"{what}_{case}" for what in ("score", "rank_by_size", "rank_by_sign") for case in CASES]
    names = ["layer", "neuron", *named, "shared_by_size", "shared_by_sign"]
    return TableContent(caption(view, lead), columns, rows, data_columns=names, data_rows=data)
