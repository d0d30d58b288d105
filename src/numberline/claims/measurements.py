"""What is measured for the claims about two numbers? Small functions from a run's results to a value with its interval.

IIA is the share of evaluation examples in which a patch makes the model name the operand at the clean winner's place.
Recoveries are pooled.
"""

from collections.abc import Sequence

from numberline.claims.evidence import Evidence, NotMeasuredError, Quantity, Row, average, largest, smallest

NOTHING = 0.1
"""An effect below this is none (roles.LEAST)."""
CASES = ("y1", "y2")


def accuracy(population: str, evidence: Evidence) -> Quantity:
    """Whole-number accuracy on a population of behaviour.pairs."""
    return evidence.one("behaviour.pairs", "accuracy", population=population)


def trace(evidence: Evidence, id: str, case: str, position: str, metric: str = "pooled") -> list[Row]:
    """A position's rows of a causal trace, by layer."""
    return sorted(
        evidence.rows(id, "trace", case=case, position=position, metric=metric), key=lambda row: int(row["layer"])
    )


def arrives(evidence: Evidence) -> Quantity:
    """The most that restoring y2's position recovers when y1 is what changed, over layers."""
    return largest(map(Quantity.of, trace(evidence, "k2.trace", "y1", "y2")))


def held(evidence: Evidence) -> Quantity:
    """By how much y1's last token holds more of y1 than any other token does, at the layer where that is largest."""
    rows = evidence.rows("k2.trace", "trace", case="y1", metric="pooled")
    leads = []
    for layer in {row["layer"] for row in rows}:
        here = [row for row in rows if row["layer"] == layer]
        own = next(row for row in here if row["position"] == "y1")
        others = [row for row in here if row is not own]
        leads.append(Quantity.of(own) - largest(map(Quantity.of, others)))
    return largest(leads)


def named_somewhere(evidence: Evidence) -> Quantity:
    """The best IIA of any full-rank patch of the trace, the better case."""
    return largest(map(Quantity.of, evidence.rows("k2.trace", "trace", metric="iia")))


def said(intervention: str, right: Sequence[str], wrong: Sequence[str], evidence: Evidence) -> Quantity:
    """Among the answers of these kinds, how many are of the right ones."""
    rows = evidence.rows("behaviour.outcomes", "outcomes", intervention=intervention)
    counts = {row["said"]: round(row["mean"] * row["n"]) for row in rows}
    hits = sum(counts.get(kind, 0) for kind in right)
    total = hits + sum(counts.get(kind, 0) for kind in wrong)
    if not total:
        raise NotMeasuredError("the patch never changes the answer to one operand's value or place")
    return Quantity.count(hits, total)


def number_share(evidence: Evidence) -> Quantity:
    """What u recovers, as a share of the whole residual at y1 (in the paper u recovers more than that)."""
    u, full = (evidence.patch("k2.number", "pooled", condition=name, case="y1") for name in ("u", "full"))
    return u / full


def straight(evidence: Evidence) -> Quantity:
    """The share of the variance at y1's position that is along its first component: 1 on a straight line."""
    (row,) = evidence.rows("k2.number", "variance", position="y1", direction="pc1")
    return Quantity.point(row["share"])


def head_share(evidence: Evidence) -> Quantity:
    """What the best head recovers with the co-patch, as a share of the whole residual after that layer."""
    rows = evidence.rows("k2.heads", "heads", condition="with v2", metric="pooled")
    best = max(rows, key=lambda row: float(row["mean"]))
    (whole,) = (row for row in trace(evidence, "k2.trace", "y1", "y2") if row["layer"] == best["layer"])
    return Quantity.of(best) / Quantity.of(whole)


def head_lead(evidence: Evidence) -> Quantity:
    """How far the second best head is behind the best, as a share of the best; all the way where there is one head."""
    best, *others = sorted(evidence.rows("k2.heads", "excess"), key=lambda row: -float(row["mean"]))
    if best["lo"] <= 0:
        raise NotMeasuredError("no head of the layer after the number layer recovers anything")
    if not others:
        return Quantity.point(1.0)
    share, lo, hi = (float(others[0][name]) for name in ("behind", "behind_lo", "behind_hi"))
    return Quantity(share, lo, hi, int(best["n"]))


def shared(condition: str, case: str, evidence: Evidence, metric: str = "iia") -> Quantity:
    """A patch of k2.shared."""
    return evidence.patch("k2.shared", metric, condition=condition, case=case)


def mismatch(case: str, evidence: Evidence) -> Quantity:
    """How far the IIA of the two rank-one patches is from the plane's."""
    plane, apart = shared("plane", case, evidence), shared("v1_v2", case, evidence)
    if plane.hi < NOTHING and apart.hi < NOTHING:
        raise NotMeasuredError(f"there is nothing to match: the plane does not move the answer with {case} perturbed")
    return abs(apart - plane)


def overlap(evidence: Evidence) -> Quantity:
    """|cos(v1, v2)|."""
    (row,) = evidence.rows("k2.shared", "cosines", first="v1", second="v2")
    return Quantity.point(abs(row["cosine"]))


def worst(condition: str, evidence: Evidence) -> Quantity:
    """A patch of k2.shared in the case in which it does less."""
    return smallest(shared(condition, case, evidence) for case in CASES)


def most(condition: str, evidence: Evidence) -> Quantity:
    """A control of k2.shared in the case in which it does more."""
    return largest(shared(condition, case, evidence) for case in CASES)


def carried(case: str, evidence: Evidence) -> Quantity:
    """What freezing the shared neurons costs beyond freezing as many random ones, as a share of the plane's effect."""

    def recovery(frozen: str) -> Quantity:
        rows = evidence.rows("k2.neurons", "sets", case=case, frozen=frozen, metric="pooled")
        return average(map(Quantity.of, rows))

    return (recovery("random") - recovery("shared")) / recovery("none")


def second_mlp(evidence: Evidence) -> Quantity:
    """What freezing the second most costly MLP costs, both cases together, as a share of the plane's effect."""
    rows = evidence.rows("k2.freeze", "costs")
    costs = [
        average(Quantity.of(row) for row in rows if row["layer"] == layer) for layer in {row["layer"] for row in rows}
    ]
    if len(costs) < 2:
        raise NotMeasuredError("only one layer follows the transport, so that there are no two MLPs to freeze")
    plane = average(map(Quantity.of, evidence.rows("k2.freeze", "freeze", frozen="none", metric="pooled")))
    return sorted(costs, key=lambda cost: -cost.value)[1] / plane


def stage_reach(stage: int, of: str, evidence: Evidence) -> Quantity:
    """The reach of the shared neurons of the first (0) or last (−1) comparator MLP."""
    layers = evidence.role("comparator_mlps", "k2.freeze")
    if len(layers) < 2:
        raise NotMeasuredError(f"only the MLP of layer {layers[0]} compares, so that there are no two stages")
    return evidence.one("k2.fields", "locality", layer=layers[stage], of=of)


def flag_layer(evidence: Evidence) -> int:
    """Where the flag is looked for: after the last comparator MLP, or the flag layer where that was not tried."""
    layer = max(evidence.role("comparator_mlps", "k2.freeze"))
    if layer not in {row["layer"] for row in evidence.rows("k2.flag", "layers")}:
        (layer,) = evidence.role("flag_layer", "k2.flag")
    return layer


def in_both(fitted: str, layer: int, evidence: Evidence) -> Quantity:
    """IIA of a direction fitted in one case, in the case in which it does less."""
    rows = evidence.rows("k2.flag", "layers", layer=layer, fitted=fitted, metric="iia")
    return smallest(map(Quantity.of, rows))


def flag_in_both(evidence: Evidence) -> Quantity:
    """IIA of one direction after the last comparator MLP, in the case in which it does less; the better of two fits."""
    layer = flag_layer(evidence)
    return largest(in_both(fitted, layer, evidence) for fitted in CASES)


def flag_tells(evidence: Evidence) -> Quantity:
    """How often a threshold on the flag's component tells the winner of a clean prompt."""
    return largest(map(Quantity.of, evidence.rows("k2.flag", "separation")))


def random_flag(evidence: Evidence) -> Quantity:
    """IIA of random directions at the flag layer, the case in which they do more."""
    return largest(evidence.patch("k2.flag", "iia", condition="random", case=case) for case in CASES)
