"""The table of directions: where each lives, how it was obtained, and what its patch does."""

from numberline.report.exhibit import Section
from numberline.report.figure import caption
from numberline.report.tables import TableContent, table
from numberline.report.view import RunView
from numberline.results.formatting import estimate
from numberline.results.table import NotMeasuredError

FLAG = "comparison flag"
SAME = {"w2": "u2"}
"""Directions that are another one's fit."""
SAID = {"PCA": "first principal component", "slope": "slope of the means by value"}
"""How the table `v2` says that a token's own number was found, in words."""
NUMBERS = (
    # operands, direction, position, role of the site, result, the case in which it is fitted
    (2, "u", "y1", "number_layer", "k2.number", "y1"),
    (2, "v1", "y2", "transport_head", "k2.transport", "y1"),
    (2, "v2", "y2", "number_layer", "k2.number", "y2"),
    (2, FLAG, "y2", "flag_layer", "k2.flag", "y1"),
    (2, FLAG, "y2", "flag_layer", "k2.flag", "y2"),
    (3, "u1", "y1", "number_layer_k3", "k3.directions", "y1"),
    (3, "u2", "y2", "number_layer_k3", "k3.directions", "y2"),
    (3, "v1", "y3", "transport_head_y1", "k3.directions", "y1"),
    (3, "v2", "y3", "transport_head_y2", "k3.directions", "y2"),
    (3, "v3", "y3", "number_layer_k3", "k3.directions", "y3"),
    (3, "w1", "y2", "number_layer_k3", "k3.directions", "y1"),
    (3, "w2", "y2", "number_layer_k3", "k3.directions", "y2"),
    (3, FLAG, "y2", "flag_layer", "k3.flags", "y1"),
    (3, FLAG, "y2", "flag_layer", "k3.flags", "y2"),
    (3, FLAG, "y3", "flag_layer", "k3.flags", "y1"),
    (3, FLAG, "y3", "flag_layer", "k3.flags", "y2"),
    (3, FLAG, "y3", "flag_layer", "k3.flags", "y3"),
)
NEEDS = ("k2.trace", "k2.number", "k2.transport", "k2.flag", "k3.directions", "k3.flags", "k3.readout")


@table(
    "tab:app-directions",
    section=Section.SETUP,
    order=2,
    needs=NEEDS,
    question="Which directions were found, where, and how?",
)
def directions(view: RunView) -> TableContent:
    """Directions, where they live and how they are obtained."""
    rows: list[list[object]] = []
    for k, name, position, role, id, case in NUMBERS:
        condition = f"flag_{case}" if name == FLAG else name
        where = {"case": case, "examples": "evaluation"} | ({"position": position} if id == "k3.flags" else {})
        how = _obtained(view, id, name, case, position)
        rows.append([k, name, position, _site(view, role), how, *_effect(view, id, condition=condition, **where)])
    answer = _effect(view, "k3.readout", condition="pcs", order="y1>y3>y2")
    site = _site(view, "readout_layer_k3")
    rows.append([3, "answer subspace", "last token", site, "top two principal components", *answer])
    lead = (
        "Directions, where they live, how they are obtained, and what their patches do on evaluation examples in the "
        f"case they are fitted in (the answer subspace: y1 perturbed): IIA and {view.recovery.words} (95 % intervals)"
    )
    columns = ["K", "direction", "position", "site", "obtained by", "IIA", "PR"]
    return TableContent(caption(view, lead), columns, rows)


def _obtained(view: RunView, id: str, name: str, case: str, position: str) -> str:
    """By DAS; v2 of two numbers and v3 of three are principal components where those move the answer."""
    table = {("k2.number", "v2"): "v2", ("k3.directions", "v3"): "fits"}.get((id, name))
    if table is not None:
        try:
            rows = view.run.result(id).table(table)
            found = rows.rows[0] if table == "v2" else rows.one(direction=name)
            if found["method"] in SAID:
                return SAID[found["method"]]
        except NotMeasuredError:
            return "first principal component"
    subspace = (f"flag_{position}_{case}" if id == "k3.flags" else f"flag_{case}") if name == FLAG else name
    again = " from the mean difference (a random start was stuck)" if _began_again(view, id, subspace) else ""
    return f"DAS{again}, {case} perturbed{' (w2 = u2)' if name == 'w2' else ''}"


def _began_again(view: RunView, id: str, name: str) -> bool:
    """Whether the fit that is used is a second one, as its provenance says (choices.toml, "restarts")."""
    found = view.run.find(id)
    kept = found.subspaces.get(f"{'k3_' if id.startswith('k3.') else ''}{SAME.get(name, name)}") if found else None
    return kept is not None and "mean difference" in kept.provenance["method"]


def _site(view: RunView, role: str) -> str:
    if not view.has(role):
        return f"{view.role(role)}: not found"
    spelled = view.spelled(role)
    return f"output of {spelled}" if "_head" in role else f"L{spelled} residual"


def _effect(view: RunView, id: str, **where: str) -> tuple[str, str]:
    """IIA and position recovery of a patch."""
    try:
        found = view.run.result(id).table("patches").where(**where)
        return estimate(found.one(metric="iia")), estimate(found.one(metric=view.recovery.metric))
    except NotMeasuredError:
        return "not measured", "not measured"
