"""What did the paper measure where this run measures? Each number of paper_values.toml beside the run's own.

For each: the paper's value, the run's with its interval, the difference, and whether the paper's value lies in the
interval. A value without sampling error (a cosine, a count) has no interval. What the run did not measure says why.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from numberline.claims.evidence import Evidence, NotMeasuredError, Quantity
from numberline.claims.paper_values import Number, paper_values
from numberline.results.language import PAPER, Language
from numberline.results.result import Result

Measures = Callable[[Evidence], Sequence[Quantity]]
WHOLE = "whole"
"""The key of the table of whole numbers."""


@dataclass(frozen=True)
class Comparison:
    """One number of the paper beside the run's; `found` is None where it was not measured, and `why` says why.

    `key` is its name in paper_values.toml, by which a figure or a table asks for it.
    """

    name: str
    section: str
    paper: Number
    found: Quantity | None
    key: str
    why: str = ""

    @property
    def difference(self) -> float | None:
        """The run's value minus the paper's."""
        return None if self.found is None else self.found.value - self.paper

    @property
    def inside(self) -> bool | None:
        """Whether the paper's value lies in the run's interval; None where there is no interval."""
        if self.found is None or self.found.lo == self.found.hi:
            return None
        return self.found.lo <= self.paper <= self.found.hi


def beside_the_paper(results: Mapping[str, Result], language: Language = PAPER) -> list[Comparison]:
    """Every number of the paper, those of its table of whole numbers included, beside a run's results.

    They say nothing of another question than the paper's: beside it, nothing was measured.
    """
    if language != PAPER:
        why = f"the paper asks “{PAPER.question}”, and this run “{language.question}”"
        return [replace(row, why=why) for row in beside_the_paper({})]
    evidence = Evidence(results)
    rows: list[Comparison] = []
    for value in paper_values().values:
        try:
            found: Sequence[Quantity | None] = MEASURES[value.key](evidence)
            why = ""
        except NotMeasuredError as error:
            found, why = [None] * len(value.value), str(error)
        rows += [
            Comparison(name, value.section, theirs, ours, value.key, why)
            for name, theirs, ours in zip(value.names, value.value, found, strict=True)
        ]
    for row in paper_values().whole:
        for case, scores in row.scores.items():
            for metric, theirs in zip(("first", "whole"), scores, strict=True):
                name = f"IIA of {row.name}, {case} perturbed, {'first digit' if metric == 'first' else 'whole number'}"
                rows.append(_whole(name, row.patch, case, metric, theirs, evidence))
    return rows


def _whole(name: str, patch: str, case: str, metric: str, theirs: Number, evidence: Evidence) -> Comparison:
    try:
        found = evidence.one("k2.whole", "whole", condition=patch, case=case, metric=metric)
    except NotMeasuredError as error:
        return Comparison(name, "app:res-whole", theirs, None, WHOLE, str(error))
    return Comparison(name, "app:res-whole", theirs, found, WHOLE)


def _layout(id: str, operands: Sequence[str], table: str = "trace", **where: Any) -> Measures:
    """The prompt's length and the operands' tokens, from a table that names them."""

    def measure(evidence: Evidence) -> list[Quantity]:
        def token(position: str) -> int:
            return int(evidence.rows(id, table, position=position, **where).rows[0]["token"])

        return [Quantity.point(token("last") + 1), *(Quantity.point(token(name)) for name in operands)]

    return measure


def _scale(evidence: Evidence) -> list[Quantity]:
    """The smaller and the larger of the cases' scales."""
    return sorted(map(Quantity.of, evidence.rows("k2.trace", "scale")), key=lambda scale: scale.value)


def _stability(id: str) -> Measures:
    """|cos| of the second initialisation with the first."""
    return lambda evidence: [Quantity.point(evidence.rows(id, "stability", initialisation=1).one()["cosine"])]


def _iia(id: str, *names: str) -> Measures:
    """Held-out IIA of u from each initialisation."""
    return lambda evidence: [evidence.patch(id, "iia", condition=name, case="y1") for name in names]


def _few(evidence: Evidence) -> list[Quantity]:
    """IIA of u fitted on few examples, on those and held out."""
    where = {"condition": "u_16", "metric": "iia"}
    return [evidence.one("k2.number", "patches", examples=kind, **where) for kind in ("fitting", "evaluation")]


def _point(id: str, table: str, column: str, **where: str) -> Measures:
    """One number of a table."""
    return lambda evidence: [Quantity.point(evidence.rows(id, table, **where).one()[column])]


def _shared_neurons(evidence: Evidence) -> list[Quantity]:
    """How many there are, in all and in each comparator MLP."""
    layers = [*evidence.role("comparator_mlps", "k2.freeze"), -1][:2]
    shared = [row["layer"] for row in evidence.rows("k2.neurons", "scores") if row["shared"]]
    return [Quantity.point(count) for count in (len(shared), *(shared.count(layer) for layer in layers))]


def _readout(evidence: Evidence) -> list[Quantity]:
    """Mean position recovery over value orders before and at the read-out layer; nothing is read before the first."""
    (layer,) = evidence.role("readout_layer_k3", "k3.readout")

    def level(layer: int) -> Quantity:
        levels = evidence.rows("k3.readout", "layers", layer=layer, metric="pr")
        value, lo, hi = (float(levels.array(end).mean()) for end in ("mean", "lo", "hi"))
        return Quantity(value, lo, hi, min(row["n"] for row in levels))

    return [level(layer - 1) if layer else Quantity.point(0.0), level(layer)]


MEASURES: Mapping[str, Measures] = {
    "layout_two": _layout("k2.trace", ("y1", "y2"), layer=0),
    "layout_three_digits": _layout("k2.three_digit", ("y1", "y2"), "layout"),
    "layout_three": _layout("k3.trace", ("y1", "y2", "y3"), layer=0),
    "accuracy": lambda evidence: [evidence.one("behaviour.pairs", "accuracy", population="two-digit pairs")],
    "solved": _point("k3.trace", "population", "kept"),
    "scale": _scale,
    "stability_two": _stability("k2.number"),
    "iia_two": _iia("k2.number", "u"),
    "stability_three": _stability("k2.three_digit"),
    "few": _few,
    "iia_three": _iia("k2.three_digit", "u", "u_second"),
    "cosine": _point("k2.shared", "cosines", "cosine", first="v1", second="v2"),
    "inside": _point("k2.transport", "space", "norm_inside", direction="v1"),
    "explained_mid": _point("k2.shared", "explained", "r2", site="mid", coordinate="v1"),
    "explained_end": _point("k2.shared", "explained", "r2", site="resid", coordinate="v1"),
    "shared_neurons": _shared_neurons,
    "readout": _readout,
}
"""How a run measures each: as many values as the paper gives."""
