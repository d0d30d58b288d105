"""Three numbers: who is solved, where the numbers are, who carries them; on `planted` and its truth, and on `tiny`."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from planted_space import SMALL, lab_and_truth, means, short_fits_of
from planted_space import true_space as pair_space
from test_roles import trace

from numberline import load
from numberline.engine.lab import Lab
from numberline.experiments.common import role_rules, roles
from numberline.experiments.common.directions import EXAMPLES, monotone
from numberline.experiments.common.experiment import Context, Experiment, MissingError, Result
from numberline.experiments.three import directions as k3_directions
from numberline.experiments.three import heads as k3_heads
from numberline.experiments.three import trace as k3_trace
from numberline.experiments.three.space import (
    ThreeSpace,
    case_pairs,
    space_of_three,
    split_of,
    three_numbers,
)
from numberline.experiments.two import trace as k2_trace
from numberline.methods import das
from numberline.methods.clouds import rank_correlation
from numberline.methods.pca import principal_components
from numberline.tasks.counterfactuals import CASE_ORDERS, VALUE_ORDERS, arrange, candidates, needed
from numberline.tasks.solved import names_winner

FEW = replace(SMALL, evaluation=25, fitting=16, candidates=84, three_cloud=150)
STEPS = 30
IDS = {
    experiment.id: experiment
    for experiment in (k2_trace.trace, k3_trace.trace, k3_heads.heads, k3_directions.directions)
}
WITHOUT = Result.of({}, 0, missing="not run here")


@cache
def tiny() -> Lab:
    return load("tiny")


short_fits = pytest.fixture(autouse=True, scope="module")(short_fits_of(STEPS))


@cache
def result(model: str, id: str) -> Result:
    """An experiment's result, with all that it needs."""
    lab = tiny() if model == "tiny" else lab_and_truth()[0]
    experiment: Experiment = IDS[id]
    said: list[tuple[int, int]] = []
    # The directions of two numbers are tried beside, where they are there.
    needs = {need: result(model, need) if need in IDS else WITHOUT for need in experiment.needs}
    found = experiment(lab, Context(FEW, needs=needs, progress=lambda *told: said.append(told)))
    assert said[-1][0] == said[-1][1], f"{id} ends at {said[-1]}"
    return found


def value(model: str, id: str, name: str) -> tuple[int, ...]:
    role = result(model, id).role(name)
    assert role.found
    return role.value


def true_space() -> ThreeSpace:
    """The planted directions. y1 is not at y2's position in the number layer: w1 is any direction."""
    truth = lab_and_truth()[1]
    named = truth.directions[3]
    heads = [truth.transport_heads[operand][0] for operand in ("y1", "y2")]
    directions = {name: named[name] for name in ("u1", "u2", "v1", "v2", "v3")}
    return ThreeSpace(truth.number_layer, heads[0], heads[1], **directions, w1=named["v1"])


def test_the_number_layer_of_three_follows_that_of_two_within_the_noise():
    two = role_rules.number_layer(trace({"y1": 0.8}, {"y1": 0.7}, {"y2": 0.9}, {"last": 1.0}))
    assert two.value == (1,)
    same = role_rules.number_layer_k3(trace({"y1": 0.9}, {"y1": 0.6}, {"y2": 0.9}, {"last": 1.0}), two)
    assert (same.name, same.value, same.score) == ("number_layer_k3", (1,), 0.6)
    later = role_rules.number_layer_k3(trace({"y1": 0.8}, {"y1": 0.8}, {"y1": 0.7}, {"y2": 0.9}), two)
    assert later.value == (2,)
    near = role_rules.number_layer_k3(trace({"y1": 0.8}, {"y1": 0.8}, {"y1": 0.52, "y2": 0.5}, {"y2": 0.9}), two)
    assert near.value == (1,)
    assert "layer 2, within the noise" in near.why
    none = role_rules.number_layer_k3(trace({"last": 1.0}, {"last": 1.0}), two)
    assert (none.name, none.value, none.found) == ("number_layer_k3", (1,), True)
    assert not role_rules.number_layer_k3(trace({"last": 1.0}, {"last": 1.0}), None).found


def test_the_users_number_layer_holds_for_three_operands_too():
    lab = lab_and_truth()[0]
    own = role_rules.number_layer_k3(trace({"y1": 0.8}, {"y1": 0.7}, {"y2": 0.9}, {"last": 1.0}), None)
    for chosen, expected in (({"number_layer": (3,)}, (3,)), ({"number_layer": (3,), "number_layer_k3": (2,)}, (2,))):
        (role,) = roles.settle(lab, Context(roles=chosen), own)
        assert (role.name, role.value, role.source) == ("number_layer_k3", expected, "the user")
    assert roles.parse("number_layer_k3=13") == ("number_layer_k3", (13,))


def test_heads_are_ranked_by_what_they_add_in_any_order():
    effects = {"y1>y2>y3": {-1: 0.5, 0: 0.6, 1: 0.5}, "y1>y3>y2": {-1: 0.0, 0: 0.0, 1: -0.8}}
    rows = [
        {"order": order, "layer": 4, "head": head, "metric": metric, "mean": mean if metric == "pr" else 9.0}
        for order, named in effects.items()
        for head, mean in named.items()
        for metric in ("iia", "pr", "pooled")
    ]
    ranking = k3_heads.ranking(rows)
    assert [(row["head"], row["rank"]) for row in ranking] == [(1, 1), (0, 2)]
    assert [row["effect"] for row in ranking] == pytest.approx([0.4, 0.05])


def test_monotone_is_the_rank_correlation_of_the_means():
    rows = [{"position": "y3", "direction": "v3", "value": y, "mean": y**3} for y in range(10, 20)]
    rows += [{"position": "y1", "direction": "u1", "value": y, "mean": -y} for y in range(10, 20)]
    found = {(row["position"], row["direction"]): row for row in monotone(rows)}
    assert found["y3", "v3"]["mean"] == pytest.approx(1.0)
    assert found["y1", "u1"]["mean"] == pytest.approx(-1.0)
    assert found["y3", "v3"]["n"] == 10
    assert rank_correlation(torch.tensor([1.0, 2, 3, 4]), torch.tensor([2.0, 1, 4, 3])) == pytest.approx(0.6)


def test_only_quadruples_solved_in_all_four_orders_are_used():
    lab, task = tiny(), three_numbers(Context())
    (row,) = result("tiny", "k3.trace").rows("population")
    mask = torch.tensor(result("tiny", "k3.trace").tensors["solved"]).bool()
    assert (row["candidates"], row["used"], row["evaluation"], row["choosing"]) == (84, 41, 25, 16)
    assert row["kept"] == int(mask.sum())
    tuples = candidates(task, sizes=FEW)
    for order in VALUE_ORDERS:
        examples = arrange(task, tuples, order)
        for side in ("clean", "corrupted"):
            right = names_winner(lab, task, [getattr(example, side) for example in examples])
            assert bool(right[mask].all())
    holes = mask.clone()
    holes[[0, 3]] = False
    given = Context(FEW, needs={"k3.trace": Result.of({}, 0, {"solved": holes})})
    split = split_of(given)
    assert not {tuples[0], tuples[3]} & {*split.evaluation, *split.fitting}
    assert split.evaluation[:2] == (tuples[1], tuples[2])
    examples = case_pairs(lab, given, "y2", "fitting").examples
    assert [sorted(example.values, reverse=True) for example in examples] == [list(row) for row in split.fitting]


def test_a_model_that_solves_too_few_has_no_three_number_analysis(monkeypatch):
    monkeypatch.setattr(k3_trace, "solved", lambda *_: torch.arange(90) < needed(FEW) - 1)
    found = k3_trace.trace(tiny(), Context(FEW, needs={"k2.trace": result("tiny", "k2.trace")}))
    assert f"solves {needed(FEW) - 1} of 90 quadruples" in found.missing
    with pytest.raises(MissingError, match="is missing: the model solves"):
        split_of(Context(FEW, needs={"k3.trace": found}))


def test_the_trace_shows_the_planted_anatomy():
    truth = lab_and_truth()[1]
    assert value("planted", "k3.trace", "number_layer_k3") == (truth.number_layer,)
    (row,) = result("planted", "k3.trace").rows("population")
    assert row["kept"] == row["candidates"]
    rows = [row for row in result("planted", "k3.trace").rows("trace") if row["metric"] == "pooled"]
    most = {}
    for case in CASE_ORDERS:
        for layer in range(8):
            here = [row for row in rows if (row["case"], row["layer"]) == (case, layer)]
            most[case, layer] = max(here, key=lambda row: row["mean"])["position"]
    for case in CASE_ORDERS:
        assert [most[case, layer] for layer in range(truth.number_layer + 1)] == [case] * (truth.number_layer + 1)
        moved = range(truth.number_layer + 1, truth.readout_layer)
        assert {most[case, layer] for layer in moved} == {"y3"}
        assert most[case, truth.readout_layer] == "last"


def test_the_head_sweep_finds_exactly_the_transport_heads():
    truth = lab_and_truth()[1]
    found = result("planted", "k3.heads")
    for operand in ("y1", "y2"):
        assert (value("planted", "k3.heads", f"transport_head_{operand}"),) == truth.transport_heads[operand]
    first, second = (truth.transport_heads[operand][0][1] for operand in ("y1", "y2"))
    excess = means(found, "excess", "order", "head")
    carried = {"y1>y2>y3": first, "y1>y3>y2": first, "y2>y3>y1": second}
    for (order, head), mean in excess.items():
        assert mean > 0.5 if head == carried[order] else abs(mean) < 0.02
    assert {row["head"] for row in found.rows("ranking")[:2]} == {first, second}


def test_the_true_directions_carry_their_numbers_and_no_others():
    lab, space = lab_and_truth()[0], true_space()
    context = Context(FEW, needs={"k3.trace": result("planted", "k3.trace")})
    pairs_of = {(case, kind): case_pairs(lab, context, case, kind) for case in CASE_ORDERS for kind in EXAMPLES}
    patches = {name: [patch] for name, patch in space.patches.items()}
    patches["pair_plane"] = [pair_space().patches["plane"]]
    rows = k3_directions.patch_scores(lab, patches, pairs_of, lambda _: None).rows
    where = {row["condition"]: row["position"] for row in rows}
    assert {name: where[name] for name in ("u1", "u2", "w1", "v1", "span", "span_y2", "v1_v2_v3")} == {
        "u1": "y1", "u2": "y2", "w1": "y2", "v1": "y3", "span": "y3", "span_y2": "y2", "v1_v2_v3": "y3",
    }  # fmt: skip
    found = Result.of({"patches": rows}, 0)
    iia = means(found, "patches", "condition", "case", examples="evaluation")
    # At its own position a number decides alone. At y3 a patch for y1 or y2 lowers only y3's flag: not always r.
    assert min(iia["u1", "y1"], iia["u2", "y2"], iia["w2", "y2"], iia["v3", "y3"], iia["span", "y3"]) >= 0.96
    specific = [row for row in k3_directions.specificity(rows) if row["metric"] == "pooled"]
    assert len(specific) == 7 * 3
    for row in specific:
        if not row["own"] or row["direction"] == "w1":
            assert abs(row["mean"]) < 0.05, row
        else:
            assert row["mean"] > 0.3, row
    recovery = means(found, "patches", "condition", "case", metric="pooled", examples="evaluation")
    for case, name in (("y1", "v1"), ("y2", "v2"), ("y3", "v3")):
        assert recovery["span", case] == pytest.approx(recovery["v1_v2_v3", case], rel=0.05)
        assert recovery["span", case] == pytest.approx(recovery[name, case], rel=0.05)
    for case in ("y1", "y2"):  # at y2's position, y1 and y2 are compared as two numbers are
        assert recovery["pair_plane", case] == pytest.approx(recovery["full_mid_y2", case], rel=0.1, abs=0.02)
    assert recovery["full_number_y2", "y3"] == 0.0  # y2 comes before y3: both prompts are the same up to there


def test_the_directions_of_tiny():
    found = result("tiny", "k3.directions")
    assert {row["direction"]: row["position"] for row in found.rows("fits")} == {
        "u1": "y1", "u2": "y2", "v1": "y3", "v2": "y3", "v3": "y3", "w1": "y2",
    }  # fmt: skip
    iia = means(found, "patches", "condition", "case", examples="evaluation")
    assert min(iia["u1", "y1"], iia["u2", "y2"], iia["v3", "y3"]) >= 0.9
    recovery = means(found, "patches", "condition", "case", metric="pooled", examples="evaluation")
    for name, case in (("u1", "y1"), ("u2", "y2"), ("v1", "y1"), ("v3", "y3"), ("span", "y1"), ("span", "y3")):
        assert recovery[name, case] > 3 * abs(recovery[f"random_{name}", case])
    assert not any(condition.startswith("pair") for condition, _ in recovery)
    tensors = found.tensors
    assert np.array_equal(tensors["w2"], tensors["u2"])
    for name in ("u1", "u2", "v1", "v2", "v3", "w1"):
        assert np.linalg.norm(tensors[name]) == pytest.approx(1, abs=1e-4)
        assert np.array_equal(found.subspaces[f"k3_{name}"].basis[:, 0], tensors[name])
    rising = {row["direction"]: row["mean"] for row in found.rows("monotone")}
    assert min(rising["u1"], rising["u2"], rising["v3"]) > 0.9
    needs = {need: result("tiny", need) for need in ("k3.trace", "k3.heads", "k3.directions")}
    space = space_of_three(tiny(), Context(FEW, needs=needs))
    assert np.array_equal(space.span.basis, tensors["span"])
    assert space.number_layer == 1
    assert space.layer == 2


def test_a_head_that_writes_along_one_line_has_one_component(monkeypatch):
    """Its tables have one component less, and its pictures stay flat."""
    whole = k3_directions.seen_at

    def flat(*given):
        seen, attention = whole(*given)
        one, line = seen["v1"], seen["v1"].pca.directions[:, :1]
        x = one.pca.mean + (one.x - one.pca.mean) @ line @ line.T
        return {**seen, "v1": replace(one, x=x, pca=principal_components(x))}, attention

    drawn = iter(das.random_subspaces(128, 1, len(k3_directions.DIRECTIONS)))

    def quick(cases, site, seed, progress=lambda _: None, patience=0):
        progress(das.STEPS)
        return [das.Fit(next(drawn), torch.zeros(1))]

    monkeypatch.setattr(k3_directions, "seen_at", flat)
    monkeypatch.setattr(das, "fit_with_restart", quick)
    found = result.__wrapped__("tiny", "k3.directions")
    components = [row["direction"] for row in found.rows("variance") if row["cloud"] == "v1"]
    assert components == ["pc1", "v1"]
    assert found.tensors["pcs_v1"].shape == found.tensors["pcs_v2"].shape == (128, 20)
    projections = found.tensors["projections_v1"]
    assert projections.shape == found.tensors["projections_v2"].shape == (FEW.three_cloud, 3)
    assert projections[:, 1].std() > 0.01
    assert not projections[:, 2].any()
