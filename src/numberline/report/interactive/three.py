"""Three numbers: the space that they span at y3's position, and the position of the winner at the last token."""

import numpy as np

from numberline.report import style
from numberline.report.interactive.plot import (
    Plot,
    Trace,
    Views,
    axis,
    interactive,
    sample,
    shown,
    space,
    spelled,
    value_colours,
    xyz,
)
from numberline.report.view import RunView
from numberline.results.arrays import Array

OPERANDS = ("y1", "y2", "y3")
NAMED = "y1 = %{customdata[0]}, y2 = %{customdata[1]}, y3 = %{customdata[2]}<extra></extra>"


@interactive("three-number-compare")
def numbers(view: RunView) -> Plot:
    """Prompts in the space of v1, v2 and v3, coloured by the winner or by an operand."""
    result = view.run.result("k3.directions")
    along = [result.tensor(f"projections_{name}")[:, 0] for name in ("v1", "v2", "v3")]
    rows = sample(np.column_stack([*along, result.tensor("operands")]))
    points, operands = rows[:, :3], rows[:, 3:].astype(int)
    wins = (view.language.sign * operands).argmax(1)
    words = spelled(view.language, operands)
    traces = [_won(points[wins == place], words[wins == place], place) for place in range(3)]
    traces += [_coloured(points, words, operands[:, place]) for place in range(3)]
    return Plot(
        f"Drag to rotate; point at a mark for the prompt's three {view.language.nouns}. The components on v1, v2 and "
        f"v3 of {shown(len(along[0]))}, each at the site where its direction was found, at y3's position.",
        traces,
        {
            **space("on v1", "on v2", "on v3"),
            **value_colours(view.language, view.language.noun, operands),
            "legend": {"orientation": "h", "y": 1.02, "itemsizing": "constant"},
        },
        Views("coloured by", [f"the {view.language.largest}", *OPERANDS], [0, 0, 0, 1, 2, 3]),
        needs_webgl=True,
        height=500,
    )


def _won(points: Array, words: Array, place: int) -> Trace:
    name = OPERANDS[place]
    marker = {"size": 3.5, "color": style.colour(name), "opacity": 0.85}
    return {**_marks(points, words), "name": f"{name} wins", "marker": marker}


def _coloured(points: Array, words: Array, values: Array) -> Trace:
    marker = {"size": 3.5, "color": values, "coloraxis": "coloraxis"}
    return {**_marks(points, words), "showlegend": False, "marker": marker}


def _marks(points: Array, words: Array) -> Trace:
    return {"type": "scatter3d", "mode": "markers", **xyz(points), "customdata": words, "hovertemplate": NAMED}


@interactive("app-k3-readout-pca")
def readout(view: RunView) -> Plot:
    """The last token's two principal components, one layer at a time."""
    result = view.run.result("k3.readout")
    layers, operands = result.tensor("shown").tolist(), result.tensor("operands")
    projections, wins = result.tensor("projections"), result.tensor("winner")
    traces = [_group(view, projections[place], operands, wins == number, f"y{number}")
              for place in range(len(layers)) for number in (1, 2, 3)]  # fmt: skip
    found = view.value("readout_layer_k3")[0]
    return Plot(
        f"Move the slider to see the position of the winner appear at the last token, on each layer's own two "
        f"principal components ({shown(len(operands))}); point at a mark for the prompt's {view.language.nouns}.",
        traces,
        {"xaxis": axis("PC1"), "yaxis": axis("PC2"), "legend": {"orientation": "h", "y": 1.1}},
        Views("after layer", [str(layer) for layer in layers],
              [place for place in range(len(layers)) for _ in OPERANDS],
              first=layers.index(found) if found in layers else 0, slider=True),
    )  # fmt: skip


def _group(view: RunView, points: Array, operands: Array, chosen: Array, name: str) -> Trace:
    rows = sample(np.column_stack([points, operands, chosen]))
    rows = rows[rows[:, -1] == 1]
    return {
        "type": "scatter", "mode": "markers", "x": rows[:, 0], "y": rows[:, 1], "name": f"{name} wins",
        "customdata": spelled(view.language, rows[:, 2:5].astype(int)), "hovertemplate": NAMED,
        "marker": {"size": 6, "color": style.colour(name), "opacity": 0.75},
    }  # fmt: skip
