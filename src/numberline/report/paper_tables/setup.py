"""With which sample sizes and hyperparameters was this run made?"""

from typing import Any

from numberline.report.exhibit import Section
from numberline.report.figure import caption
from numberline.report.tables import TableContent, table
from numberline.report.view import RunView
from numberline.results.formatting import count


@table(
    "app:setup-hparams",
    section=Section.SETUP,
    order=1,
    needs=("k2.number", "k2.neurons"),
    question="How much was measured, with which settings?",
)
def hyperparameters(view: RunView) -> TableContent:
    """Sample sizes and hyperparameters of this run."""
    rows: list[list[Any]] = []
    for group, quantity, value in _settings(view):
        rows.append([group if not rows or rows[-1][3] != group else "", quantity, value, group])
    starts = [place for place in range(1, len(rows)) if rows[place][3] != rows[place - 1][3]]
    return TableContent(
        caption(view, "Sample sizes and hyperparameters of this run"),
        ["", "quantity", "value"],
        [row[:3] for row in rows],
        starts,
        data_columns=["group", "quantity", "value"],
        data_rows=[[row[3], row[1], row[2]] for row in rows],
    )


def _settings(view: RunView) -> list[tuple[str, str, str]]:
    """Group, quantity, value: from run.json, and from what the results hold."""
    size = view.sizes
    found = [
        ("populations", "evaluation / fitting examples", f"{size['evaluation']} / {size['fitting']}"),
        ("populations", f"clouds ({view.language.noun} layer / shared plane / three {view.language.nouns})",
         f"{size['number_cloud']} / {size['shared_cloud']} / {size['three_cloud']}"),
        ("populations", "operand counts k in the accuracy sweeps, prompts per k",
         f"{', '.join(map(str, size['operand_counts']))}; {size['operand_prompts']}"),
        ("populations", "base random seed", str(view.run.about.configuration.seed)),
    ]  # fmt: skip
    found += _from_results(view)
    found += [
        ("sweeps and fields", "prompts per dose-response cell", str(size["dose_prompts"])),
        ("sweeps and fields", "dose-response window", f"±{size['dose_window']}"),
        ("sweeps and fields", "receptive-field grid", f"stride {size['field_stride']}"),
    ]
    return found


def _from_results(view: RunView) -> list[tuple[str, str, str]]:
    found = []
    number_ = view.run.find("k2.number")
    if number_ is not None and number_.missing is None:
        initialisations, steps = number_.tensor("losses").shape
        found.append(("learned directions", "Adam steps", str(steps)))
        found.append(("learned directions", "initialisations in the stability check (u)", str(initialisations)))
    neurons = view.run.find("k2.neurons")
    if neurons is not None and neurons.missing is None:
        table = neurons.table("freeze")
        found.append(("attribution", "candidate neurons", count(len(neurons.table("scores")))))
        depths = sorted(set(table.array("k").tolist()))
        found.append(("attribution", "freeze-sweep depths k", ", ".join(count(k) for k in depths)))
    return found
