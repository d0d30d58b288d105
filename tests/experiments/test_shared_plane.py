"""The shared plane of the planted model, with its true directions: patches, geometry, doses, freezing, words."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from planted_space import CONTEXT, SMALL, lab_and_truth, means, true_space

from numberline.engine.lab import Lab
from numberline.engine.sites import resid
from numberline.engine.subspace import Subspace
from numberline.experiments.common.experiment import Context, MissingError, Result
from numberline.experiments.two import dose as k2_dose
from numberline.experiments.two import freeze as k2_freeze
from numberline.experiments.two import outcomes
from numberline.experiments.two import shared as k2_shared
from numberline.experiments.two import whole as k2_whole
from numberline.experiments.two.patches import SPACE, space_of, swapping
from numberline.models.loaded import wrap
from numberline.results.roles import Role
from numberline.tasks import Task
from numberline.tasks.answers import Answer
from numberline.tasks.counterfactuals import counterfactual


def test_the_plane_is_the_sum_of_its_two_directions():
    result = k2_shared.measure(lab_and_truth()[0], CONTEXT, true_space())
    iia = means(result, "patches", "case", "condition", examples="evaluation")
    for case, own, other in (("y1", "v1", "v2"), ("y2", "v2", "v1")):
        assert iia[case, "plane"] >= 0.99
        assert iia[case, "v1_v2"] >= 0.99
        assert iia[case, own] >= 0.99
        assert iia[case, other] <= 0.05
        assert iia[case, "random_plane"] <= 0.05
    assert iia["y1", "full_number_y2"] == 0.0  # y2's token before transport knows nothing of y1
    recovery = means(result, "patches", "case", "condition", "examples", metric="pooled")
    assert recovery["y1", "plane", "evaluation"] == pytest.approx(recovery["y1", "v1_v2", "evaluation"], rel=0.02)
    assert recovery["y1", "plane", "fitting"] == pytest.approx(recovery["y1", "plane", "evaluation"], rel=0.1)
    (separated,) = result.rows("separability")
    assert separated["mean"] >= 0.95
    assert separated["n"] == 60
    explained = {(row["site"], row["coordinate"]): row["r2"] for row in result.rows("explained")}
    assert min(explained["mid", "v1"], explained["mid", "v2"]) > 0.99
    probes = result.rows("probe_scores")
    assert min(row["mean"] for row in probes) > 0.95
    assert probes[0]["cosine_v1"] > 0.9
    cosines = {(row["first"], row["second"]): row["cosine"] for row in result.rows("cosines")}
    assert abs(cosines["v1", "v2"]) < 0.01
    assert cosines["u", "v2"] == pytest.approx(1.0, abs=1e-5)


def test_the_answer_turns_where_the_coordinates_cross():
    result = k2_dose.measure(lab_and_truth()[0], CONTEXT, true_space())
    fraction = result.tensors["fraction"]
    assert fraction.shape == (9, 9)
    assert np.isnan(fraction.diagonal()).all()
    below = np.tri(9, k=-1, dtype=bool)
    assert (fraction[below] == 1).all()  # y1's coordinate above y2's
    assert (fraction[below.T] == 0).all()
    (boundary,) = result.rows("boundary")
    assert boundary["mean"] == 1.0
    assert boundary["n"] == 72 * SMALL.dose_prompts


def test_a_model_that_names_no_operand_has_no_dose_response():
    lab, space = lab_and_truth()[0], true_space()
    few = replace(CONTEXT, sizes=replace(SMALL, shared_cloud=60, dose_prompts=2))
    with pytest.raises(MissingError, match="name either operand"):
        k2_dose.measure(silenced(lab), few, space)


def silenced(lab: Lab) -> Lab:
    """The same model, whose unembedding favours a token that is no digit."""
    model = copy.deepcopy(lab.network.model)
    model.lm_head.weight.data.zero_()
    return Lab.of(wrap(model, lab.tokenizer, "silenced"))


def test_a_grid_value_that_the_cloud_lacks_takes_the_nearest():
    space = true_space()
    states = torch.stack([10 * space.v1 + 20 * space.v2, 30 * space.v1 + 40 * space.v2])
    numbers, grid = torch.tensor([[11, 50], [90, 60]]), torch.tensor([12, 55])
    found = k2_dose.coordinates_of(space, states, numbers, grid, window=2)
    assert torch.allclose(found, torch.tensor([[10.0, 20.0], [30.0, 30.0]]), atol=1e-4)


def test_freezing_the_comparator_mlps_undoes_the_patch_and_injecting_them_replaces_it():
    lab, truth = lab_and_truth()
    result = k2_freeze.measure(lab, CONTEXT, true_space())
    first, second = truth.comparator_mlps
    iia = means(result, "freeze", "case", "frozen")
    injected = means(result, "inject", "case", "layers")
    for case in ("y1", "y2"):
        assert iia[case, "none"] >= 0.99
        assert iia[case, f"attention {second}"] >= 0.99
        assert iia[case, f"mlp {second + 1}"] >= 0.99
        assert iia[case, f"mlp {first}"] <= 0.6  # the second stage reads the plane, too
        assert max(iia[case, f"mlp {second}"], iia[case, f"mlp {first}+{second}"]) <= 0.05
        assert (case, f"attention {first}") not in iia
        assert injected[case, (first, second)] >= 0.99
        assert injected[case, (second + 1,)] <= 0.05
    (role,) = result.roles
    assert (role.name, role.found, role.value) == ("comparator_mlps", True, truth.comparator_mlps)


def test_the_planted_model_says_the_whole_number():
    lab, truth = lab_and_truth()
    direction = Subspace.spanned_by(truth.directions[2]["flag"])
    flag = swapping(resid(truth.flag_layer).at("y2"), direction)
    result = k2_whole.measure(lab, CONTEXT, true_space(), flag)
    scores = means(result, "whole", "case", "condition", metric="whole")
    assert set(scores) == {(case, name) for case, names in k2_whole.PATCHES.items() for name in names}
    for name in ("v1", "v1_v2", "plane", "flag", "u", "v1_mid"):
        assert scores["y1", name] >= 0.99
    assert min(scores["y2", name] for name in ("v2", "v1_v2", "plane", "flag")) >= 0.99
    assert scores["y1", "v2"] <= 0.05
    shown = result.rows("examples")
    assert {row["condition"] for row in shown} == {name for names in k2_whole.PATCHES.values() for name in names}
    assert all(sum(row["condition"] == name for row in shown) == 5 for name in k2_whole.BOTH)
    kinds = {row["right"] for row in shown if row["condition"] == "v1"}
    assert kinds == {True, False}  # right in one case, wrong in the other
    without = k2_whole.measure(lab, Context(replace(SMALL, evaluation=10)), true_space(), None)
    assert "flag" not in {row["condition"] for row in without.rows("whole")}


def test_what_the_patched_model_says_is_sorted():
    lab, truth = lab_and_truth()
    result = outcomes.measure(lab, CONTEXT, truth.number_layer, truth.directions[2]["u"])
    share = {(row["intervention"], row["said"]): row["mean"] for row in result.rows("outcomes")}
    assert share["none", "b"] == 1.0
    assert share["u", "r"] >= 0.99
    for name in ("none", "full_number_y2", "u"):
        assert sum(share[name, kind] for kind in outcomes.KINDS) == pytest.approx(1.0)
    assert len(result.rows("examples")) == 6
    task = Task()
    example = counterfactual(task, (56, 97), (56, 32))
    assert [outcomes.sort(task, example, said) for said in (32, 56, 97, 37, 39, None)] == [
        "r", "b", "a", "mixed", "other", "other",
    ]  # fmt: skip


def test_examples_include_mistakes_where_there_are_any():
    task = Task()
    examples = [counterfactual(task, (a, 50), (r, 50)) for a, r in ((60, 10), (70, 20), (80, 30), (90, 40), (95, 15))]
    rows = [k2_whole.describe(e, Answer("", said)) for e, said in zip(examples, (10, 50, 33, 40, 15), strict=True)]
    chosen = k2_whole.choose({"y1": rows})
    assert [row["said"] for row in chosen] == [10, 40, 15, 33, 50]
    right = [k2_whole.describe(e, Answer("", e.r)) for e in examples]
    assert [row["right"] for row in k2_whole.choose({"y1": right})] == [True] * 5


def test_a_missing_role_or_direction_says_so():
    lab = lab_and_truth()[0]
    lost = Role("number_layer", (), 0.0, 0.0, 0.0, found=False, why="no effect")
    needs = {id: Result.of({}, 0) for id in SPACE}
    needs["k2.trace"] = Result.of({}, 0, roles=[lost])
    result = k2_shared.shared(lab, replace(CONTEXT, needs=needs))
    assert list(result.tables) == []
    assert result.missing == "the role number_layer was not found on this model: no effect"
    needs["k2.trace"] = Result.of({}, 0, missing="nothing was recorded")
    with pytest.raises(MissingError, match="nothing was recorded"):
        space_of(lab, replace(CONTEXT, needs=needs))
