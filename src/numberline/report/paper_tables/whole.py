"""How often does each patch change the first digit, and the whole number? The table, also beside the paper's."""

from numberline.claims.paper_values import paper_values
from numberline.report.exhibit import Section
from numberline.report.figure import caption
from numberline.report.figures.whole import patch_words, titles
from numberline.report.tables import TableContent, table
from numberline.report.view import RunView
from numberline.results.cases import CASES
from numberline.results.formatting import count, estimate, number


@table(
    "app-whole-iia",
    section=Section.WHOLE,
    order=4,
    needs=("k2.whole",),
    question="How often does each patch change the first {part}, and the whole answer?",
    paper=("whole",),
)
def whole_iia(view: RunView) -> TableContent:
    """IIA on the first {part} and on the whole {noun}, all patches."""
    result = view.run.result("k2.whole").table("whole")
    patches = [row.patch for row in paper_values().whole if len(result.where(condition=row.patch))]
    printed = []
    for patch in patches:
        cells = [patch_words(patch, view)]
        for case in CASES:
            for metric in ("first", "whole"):
                found = result.where(condition=patch, case=case, metric=metric).rows
                cells.append(estimate(found[0], 3) if found else "–")
        printed.append(cells)
    columns = ("condition", "case", "metric", "mean", "se", "n", "lo", "hi")
    first, whole = titles(view).values()
    lead = (
        f"IIA on the first generated token and on the whole generated {view.language.noun}, with 95 % intervals. "
        f"Dashes mark cases in which a patch is not evaluated. n = {count(result.rows[0]['n'])} per case"
    )
    return TableContent(
        caption(view, lead),
        ["patch", first, whole, first, whole],
        printed,
        spans=[("", 1), ("y1 perturbed", 2), ("y2 perturbed", 2)],
        data_columns=columns,
        data_rows=[[row[name] for name in columns] for row in result],
    )  # fmt: skip


def beside_the_paper(view: RunView) -> TableContent:
    """Table app-whole-iia beside the paper's, a row for each patch and case."""
    paper = paper_values()
    result = view.run.result("k2.whole").table("whole")
    rows = []
    for row in paper.whole:
        for case, theirs in row.scores.items():
            cells = [patch_words(row.patch, view), case]
            for place, metric in enumerate(("first", "whole")):
                found = result.where(condition=row.patch, case=case, metric=metric).rows
                cells += [estimate(found[0], 3) if found else "not measured", number(theirs[place], 3)]
            rows.append(cells)
    first, whole = titles(view).values()
    lead = (
        f"IIA on the {first} and on the {whole}, with 95 % intervals, beside the paper's on {paper.model} "
        f"(n = {count(result.rows[0]['n'])} here, 400 there)"
    )
    columns = ["patch", "case", first, "paper", whole, "paper"]
    return TableContent(caption(view, lead), columns, rows)
