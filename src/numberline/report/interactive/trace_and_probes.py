"""Where the computation happens: cells of the causal trace by name, probes layer by layer."""

from numberline.report import style
from numberline.report.figures.trace_and_probes import token_name
from numberline.report.interactive.plot import Plot, Trace, Views, axis, colours, interactive, plain
from numberline.report.panels import signed_range
from numberline.report.view import RunView
from numberline.results.formatting import estimate
from numberline.results.table import Row, Table


@interactive("app-trace-k2")
def trace(view: RunView) -> Plot:
    """The causal trace of two operands."""
    return _trace(view, "k2.trace")


@interactive("app-trace-k3")
def trace_three(view: RunView) -> Plot:
    """The causal trace of three operands."""
    return _trace(view, "k3.trace")


def _trace(view: RunView, id: str) -> Plot:
    """A map of layers and tokens for each case."""
    table = view.run.result(id).table("trace").where(metric=view.recovery.metric)
    cases = table.unique("case")
    limit = signed_range(*(table.where(case=case).grid("layer", "token")[2] for case in cases))
    return Plot(
        f"Point at a cell for its layer, its token and the {view.recovery.words} with the 95 % interval.",
        [_map(view, table.where(case=case)) for case in cases],
        {
            "xaxis": axis("token", type="category", tickangle=-40),
            "yaxis": axis("layer", dtick=_step(table)),
            **colours(style.SIGNED_MAP, "position recovery", -limit, limit),
        },
        Views("which operand changes", [f"{case} perturbed" for case in cases], range(len(cases))),
    )


def _map(view: RunView, table: Table) -> Trace:
    layers, tokens, matrix = table.grid("layer", "token")
    rows = {(row["layer"], row["token"]): row for row in table}
    said = [[_cell(rows.get((layer, token))) for token in tokens] for layer in layers]
    return {
        "type": "heatmap", "x": token_names(view, table), "y": layers, "z": matrix, "text": said,
        "coloraxis": "coloraxis",
        "hovertemplate": "after layer %{y}<br>token %{x}<br>%{text}<extra></extra>", "xgap": 1, "ygap": 1,
    }  # fmt: skip


def _cell(row: Row | None) -> str:
    return "not measured" if row is None else f"recovery {estimate(row)}"


def token_names(view: RunView, table: Table) -> list[str]:
    """Each token's number, its text in the first prompt where that never changes, and whose it is."""
    found = {}
    for row in sorted(table, key=lambda row: row["token"]):
        whose = token_name(view, row["position"])
        found[row["token"]] = f"{row['token']} {whose or repr(row['token_text'])}"
    return [plain(name) for name in found.values()]


def _step(table: Table) -> int:
    return max(1, round(len(table.unique("layer")) / 8))


@interactive("app-probes-k2")
def probes(view: RunView) -> Plot:
    """What ridge probes read at every token, one layer at a time."""
    table = view.run.result("k2.probes").table("probes")
    layers = sorted(table.unique("layer"))
    targets = table.unique("target")
    shades = dict(zip(targets, map(style.colour, ("y1", "y2", "plane")), strict=True))
    traces = [_line(view, table.where(layer=layer, target=target), target, shades[target])
              for layer in layers for target in targets]  # fmt: skip
    return Plot(
        "Move the slider to see what the probes read after each layer; point at a mark for the score and its 95 % "
        "interval. Chance is 0 for R² and 0.5 for the accuracy; scores below 0 are drawn at 0.",
        traces,
        {
            "xaxis": axis("token", type="category", tickangle=-40),
            "yaxis": axis("held-out score", range=[-0.05, 1.08]),
            "legend": {"orientation": "h", "y": 1.12},
        },
        Views("after layer", [str(layer) for layer in layers], [place for place in range(len(layers)) for _ in targets],
              first=len(layers) // 2, slider=True),
    )  # fmt: skip


def _line(view: RunView, table: Table, target: str, colour: str) -> Trace:
    rows = sorted(table, key=lambda row: row["token"])
    name = "accuracy of y1 > y2" if target == "y1>y2" else f"R² of {target.replace('_', ' ')}"
    return {
        "type": "scatter", "mode": "lines+markers", "name": name, "x": token_names(view, table),
        "y": [None if row["mean"] is None else max(row["mean"], 0.0) for row in rows],
        "line": {"color": colour}, "marker": {"size": 8}, "text": [estimate(row) for row in rows],
        "hovertemplate": f"{plain(name)}<br>%{{text}}<extra></extra>",
    }  # fmt: skip
