"""Which layer holds the numbers, which head moves them, who compares? Roles, found on any model from causal evidence.

Every rule is a pure function from an evidence table to a Role. The evidence is measured on examples of the hand
`choosing` alone, so that the examples on which claims are judged chose nothing. Scores are pooled recoveries
(methods/scores.py), but for rule 4: a recovery has no upper end, so that a number's own direction that overdoes it
passes for a flag. On the planted model, where the truth is known, pooled recoveries place the flag a layer early on
three of five seeds.

1. `number_layer`: the last layer before the effect of y1 leaves y1's position. In the causal trace of case y1: the last
   layer at which restoring y1's last token recovers at least as much as restoring any other token. A model that answers
   from leading digits alone has y1's effect at its first token all the way, and no number layer.
2. `transport_head`: in the next layer, at y2's position (case y1), the head whose interchange together with the
   co-patch along v2 recovers most over the co-patch alone.
3. `comparator_mlps`: the two MLPs (two stages, as in the paper) whose freezing costs the patch of the (v1, v2) plane
   most, in both cases together; one alone where a second one costs nothing.
4. `flag_layer`: the first layer at which a direction at y2's position holds the winner and works. Both fits, with y1
   and with y2 perturbed, must hold it: the winner explains more of each one's component than both numbers do
   (methods/outcome.py). Such a layer counts as the IIA of the fit that does more in its weaker case, and the first one
   that reaches nine tenths of the best of them is the flag's.
   Before the comparison is done, the fit with y2 perturbed finds y2's own number, swapped beyond its range: that turns
   nearly as many answers as a flag, and its sign often tells the winner. Hence the first condition. The rule is right
   for the wrong reason where a layer already holds the winner along some direction, and one of the fits prefers a
   number that moves the answer more. So it is after the first stage of `planted`: the fit with y1 perturbed finds the
   sum of the local comparisons there, and works in both cases. And a difference that saturates early counts as a flag.
   It is not asked that both fits work in both cases: where a patch changes the number that is said (the variant
   `by-value`), one of them names neither operand at the very layer at which the flag is written.
5. `readout_layer`: where the recovery at the last token rises most from one layer to the next, both cases together.
6. `readout_layer_k3`: the same with three operands, over the head-group orders. `readout_head`: in that layer, at the
   last token, the head whose interchange recovers most.
7. `number_layer_k3`: the number layer of three operands. The two-number one, unless rule 1 finds another, beyond the
   noise, in the trace of three operands.
8. `transport_head_y1`, `transport_head_y2`: rule 2 at y3's position, in the value orders y1 > y3 > y2 and y2 > y3 > y1,
   with a co-patch of the whole residual leaving the number layer.

A role is not found when its evidence stays below a tenth of the clean-minus-corrupted difference, or within its own
error. It is weak when its margin over the next candidate is below the noise (the half-widths of the two 95 % intervals,
added in squares); a weak role is used, and says so.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from numberline.experiments.common.roles import spell
from numberline.results.roles import Role

Row = Mapping[str, Any]

CHOOSING = "choosing"
"""The hand of examples that the evidence of every rule is measured on; claims are judged on others."""

LEAST = 0.1
"""A recovery below this is no effect."""
COSTLY = 1 / 3
STAGES = 2
PLATEAU = 0.9


def number_layer(trace: Sequence[Row]) -> Role:
    """From the table `trace` of k2.trace (layer, token, position, metric, mean, lo, hi), case y1."""
    rows = [row for row in trace if row["case"] == "y1" and row["metric"] == "pooled"]
    here = {row["layer"]: row for row in rows if row["position"] == "y1"}
    y1 = next(iter(here.values()))["token"]
    later = {
        layer: max((row for row in rows if row["layer"] == layer and row["token"] > y1), key=_mean) for layer in here
    }
    most = {layer: max(row["mean"] for row in rows if row["layer"] == layer) for layer in here}
    held = [layer for layer in sorted(here) if here[layer]["mean"] >= most[layer] and _is_effect(here[layer])]
    if not held:
        best = max(here.values(), key=_mean)
        return _none("number_layer", best, "restoring y1's position never recovers more than every other token")
    layer = held[-1]
    if layer + 1 not in here:
        return _none("number_layer", here[layer], "the effect of y1 is still at y1's position after the last layer")
    before = _difference(here[layer], later[layer])
    after = _difference(later[layer + 1], here[layer + 1])
    margin, noise = min(before, after)
    goes = later[layer + 1]
    why = (
        f"restoring y1's position recovers {here[layer]['mean']:.2f} after layer {layer} and "
        f"{here[layer + 1]['mean']:.2f} after layer {layer + 1}, where token {goes['token']}"
        f"{' (' + goes['position'] + ')' if goes['position'] else ''} recovers {goes['mean']:.2f}"
    )
    return _found("number_layer", (layer,), here[layer]["mean"], margin, noise, why)


def number_layer_k3(trace: Sequence[Row], two: Role | None) -> Role:
    """From the table `trace` of k3.trace, and the role `number_layer` of two operands, if that was found."""
    own = replace(number_layer(trace), name="number_layer_k3")
    if two is None or (own.found and (own.value == two.value or own.margin >= own.noise)):
        return own
    here = f"layer {spell(own.value)}, within the noise: {own.why}" if own.found else f"none: {own.why}"
    return replace(two, name="number_layer_k3", why=f"as with two operands; three operands alone show {here}")


def readout_layer(trace: Sequence[Row]) -> Role:
    """From the table `trace`: its last token, the mean over cases."""
    return _rises_most("readout_layer", [row for row in trace if row["position"] == "last"])


def readout_layer_k3(layers: Sequence[Row]) -> Role:
    """From the table `layers` of k3.readout: the last token after each layer, the mean over value orders."""
    return _rises_most("readout_layer_k3", layers)


def _rises_most(name: str, last: Sequence[Row]) -> Role:
    level = _averages([row for row in last if row["metric"] == "pooled"], "layer")
    rises = []
    for layer in sorted(level):
        # Before the first layer nothing at the last token knows the operands: its recovery is zero.
        below = level.get(layer - 1, {"mean": 0.0, "lo": 0.0, "hi": 0.0})
        rise, noise = _difference(level[layer], below)
        rises.append({"layer": layer, "mean": rise, "lo": rise - noise, "hi": rise + noise})
    best, margin, noise = _winner(rises)
    layer = best["layer"]
    if not _is_effect(best):
        return _none(name, best, "the recovery at the last token never rises from one layer to the next")
    before = level.get(layer - 1, {"mean": 0.0})["mean"]
    why = f"the recovery at the last token rises from {before:.2f} to {level[layer]['mean']:.2f} at layer {layer}"
    return _found(name, (layer,), best["mean"], margin, noise, why)


def leading_head(name: str, heads: Sequence[Row]) -> Role:
    """From rows (layer, head, mean, lo, hi): each head's recovery, over a baseline where there is one."""
    best, margin, noise = _winner(heads)
    place = f"head {best['head']} of layer {best['layer']}"
    if not _is_effect(best):
        return _none(name, best, f"no head recovers much: the best, {place}, adds {best['mean']:.2f}")
    others = [row for row in heads if row is not best and row["mean"] >= COSTLY * best["mean"]]
    beside = "".join(f"; head {row['head']} adds {row['mean']:.2f}" for row in sorted(others, key=_mean, reverse=True))
    why = f"{place} adds {best['mean']:.2f}, the next one {best['mean'] - margin:.2f}{beside}"
    return _found(name, (best["layer"], best["head"]), best["mean"], margin, noise, why)


def comparator_mlps(costs: Sequence[Row]) -> Role:
    """From rows (layer, mean, lo, hi): how much of the plane patch's recovery is lost when that MLP is frozen."""
    level: list[dict[str, Any]] = [{"layer": layer, **row} for layer, row in _averages(costs, "layer").items()]
    best = max(level, key=_mean)
    if not _is_effect(best):
        return _none("comparator_mlps", best, f"no MLP matters: freezing costs {best['mean']:.2f} at most")
    chosen = [row for row in sorted(level, key=_mean, reverse=True)[:STAGES] if _is_effect(row)]
    rest = [row for row in level if row not in chosen]
    last = min(chosen, key=_mean)
    margin, noise = _difference(last, max(rest, key=_mean)) if rest else (last["mean"], _half(last))
    listed = ", ".join(f"{row['layer']}: {row['mean']:.2f}" for row in sorted(level, key=_mean, reverse=True))
    layers = tuple(sorted(row["layer"] for row in chosen))
    return _found("comparator_mlps", layers, best["mean"], margin, noise, f"cost of freezing each MLP: {listed}")


def flag_layer(directions: Sequence[Row], gains: Sequence[Row]) -> Role:
    """From rows (layer, fitted, case, mean, lo, hi) of IIA, and (layer, fitted, mean, lo, hi): what the winner explains
    of each direction's component beyond both numbers."""
    works, holds = _better_fit(directions), {layer: rows[0] for layer, rows in _rising(gains, "layer").items()}
    best = max(works.values(), key=_mean)
    listed = ", ".join(f"{layer}: {works[layer]['mean']:.2f}, {holds[layer]['mean']:+.2f}" for layer in sorted(works))
    why = (
        f"by layer, IIA of one direction in its weaker case, and what the winner explains beyond both numbers: {listed}"
    )
    if not _is_effect(best):
        return _none("flag_layer", best, f"no single direction works at any layer ({why})")
    counted = {layer: row for layer, row in works.items() if holds[layer]["mean"] > 0 and _is_effect(row)}
    if not counted:
        return _none("flag_layer", best, f"what works at y2's position follows a number, not the winner ({why})")
    least = PLATEAU * max(row["mean"] for row in counted.values())
    layer = min(layer for layer, row in counted.items() if row["mean"] >= least)
    margins = [(holds[layer]["mean"], _half(holds[layer]))]
    if layer - 1 in works:
        before = holds[layer - 1]
        follows_a_number = (-before["mean"], _half(before))
        margins.append(_difference(works[layer], works[layer - 1]) if before["mean"] > 0 else follows_a_number)
    margin, noise = min(margins)
    return _found("flag_layer", (layer,), works[layer]["mean"], margin, noise, why)


def flag_fit(directions: Sequence[Row], gains: Sequence[Row], role: Role) -> dict[str, Any]:
    """Which of the fits is the flag (layer, fitted, why): at its layer, the one that does more in its weaker case.

    Of two that do as much, the one of whose component the winner explains more. Where no layer has the role, it is the
    one at which a direction works best: that the claim fails there is to be measured, not to be assumed.
    """
    works = _better_fit(directions)
    layer = role.layer if role.found else max(works, key=lambda layer: _mean(works[layer]))
    here = [row for row in directions if row["layer"] == layer]
    weaker = {fitted: rows[0]["mean"] for fitted, rows in _rising(here, "fitted").items()}
    holds = {row["fitted"]: row["mean"] for row in gains if row["layer"] == layer}
    chosen = max(weaker, key=lambda fitted: (weaker[fitted], holds[fitted]))
    listed = ", ".join(f"{fitted}: {weaker[fitted]:.2f}, {holds[fitted]:+.2f}" for fitted in weaker)
    why = f"by fit, IIA in the weaker case, and what the winner explains beyond both numbers: {listed}"
    return {"layer": layer, "fitted": chosen, "why": why if role.found else f"{role.why}; {why}"}


def _better_fit(directions: Sequence[Row]) -> dict[int, Row]:
    """At each layer, the fit that does more in its weaker case: that case's row."""
    weaker = {
        layer: [cases[0] for cases in _rising(rows, "fitted").values()]
        for layer, rows in _rising(directions, "layer").items()
    }
    return {layer: max(rows, key=_mean) for layer, rows in weaker.items()}


def _rising(rows: Sequence[Row], by: str) -> dict[Any, list[Row]]:
    """The rows of each group, the least first."""
    groups: dict[Any, list[Row]] = {}
    for row in sorted(rows, key=_mean):
        groups.setdefault(row[by], []).append(row)
    return groups


def _mean(row: Row) -> float:
    return float(row["mean"])


def _half(row: Row) -> float:
    return float(row["hi"] - row["lo"]) / 2


def _difference(first: Row, second: Row) -> tuple[float, float]:
    """How much higher one score is than another, and the noise of that difference."""
    return first["mean"] - second["mean"], math.hypot(_half(first), _half(second))


def _is_effect(row: Row) -> bool:
    return bool(row["mean"] >= LEAST and row["lo"] > 0)


def _winner(rows: Sequence[Row]) -> tuple[Row, float, float]:
    """The row with the largest mean, its margin over the second, and the noise of that margin."""
    best, *others = sorted(rows, key=_mean, reverse=True)
    return (best, *_difference(best, others[0])) if others else (best, best["mean"], _half(best))


def _averages(rows: Sequence[Row], by: str) -> dict[int, dict[str, float]]:
    """Rows that share a key (the cases of one layer), averaged; the half-widths are averaged too."""
    groups: dict[int, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[by], []).append(row)
    return {
        key: {name: sum(row[name] for row in group) / len(group) for name in ("mean", "lo", "hi")}
        for key, group in groups.items()
    }


def _found(name: str, value: tuple[int, ...], score: float, margin: float, noise: float, why: str) -> Role:
    weak = f"weak, its margin {margin:.2f} is below the noise {noise:.2f}: " if margin < noise else ""
    return Role(name, value, score, margin, noise, True, why=weak + why, chosen_on=CHOOSING)


def _none(name: str, best: Row, why: str) -> Role:
    return Role(name, (), best["mean"], 0.0, _half(best), False, why=why, chosen_on=CHOOSING)
