"""How often is the model right? Every population of pairs and triples, three digits included."""

from numberline.report.exhibit import Section
from numberline.report.figure import caption
from numberline.report.tables import TableContent, table
from numberline.report.view import RunView
from numberline.results.formatting import count, estimate


@table(
    "accuracy-pairs",
    section=Section.BEHAVIOUR,
    order=4,
    needs=("behaviour.pairs",),
    question="How often is the model right, on every population?",
    paper=("accuracy",),
)
def accuracy(view: RunView) -> TableContent:
    """Accuracy on pairs and triples."""
    found = view.run.result("behaviour.pairs").table("accuracy")
    rows = [[row["population"], count(row["right"]), count(row["n"]), estimate(row, 3)] for row in found]
    data = [[row[name] for name in ("population", "right", "n", "mean", "lo", "hi")] for row in found]
    lead = (
        f"Accuracy of the whole {view.language.noun} under greedy decoding, with 95 % Wilson intervals; the answer "
        "is the first one in what the model says"
    )
    columns = ["prompts", "right", "of", "accuracy"]
    return TableContent(
        caption(view, lead), columns, rows, data_columns=["population", "right", "n", "accuracy", "lo", "hi"],
        data_rows=data,
    )  # fmt: skip
