"""Line or manifold: on `planted`, which reads a line beside curves, and on `helix`, which must read the curve."""

from dataclasses import replace
from functools import cache

import pytest
import torch
from planted_space import SMALL, means

from numberline.claims import questions
from numberline.engine.sites import head, mid, resid
from numberline.engine.subspace import Subspace
from numberline.experiments.common.experiment import Context, Result
from numberline.experiments.two import geometry as k2_geometry
from numberline.experiments.two.geometry_parts import Part
from numberline.methods import das
from numberline.methods.scores import score
from numberline.verify import cases

FEW = replace(SMALL, evaluation=20, fitting=16, number_cloud=60, dose_prompts=12)
CONTEXT = Context(FEW)


@cache
def result(variant: str | None = None) -> Result:
    """With the planted directions; on the helix, where there is none, with the one that DAS finds."""
    lab, truth = cases.build(cases.Case(0, 0.0, variant))
    number = resid(truth.number_layer)
    if variant is not None:
        pairs = k2_geometry.case_pairs(lab, CONTEXT, "y1", "fitting")
        (fit,) = das.fit(pairs, number.at("y1"), seeds=(CONTEXT.seed,), steps=30)
        return k2_geometry.measure(lab, CONTEXT, {"u": Part(number.at("y1"), fit.subspace)})
    two, at = truth.directions[2], truth.transport_heads["y1"][0]
    u, v1, v2, flag = (Subspace(two[name][:, None]) for name in ("u", "v1", "v2", "flag"))
    parts = {
        "u": Part(number.at("y1"), u),
        "v2": Part(number.at("y2"), v2),
        "v1": Part(head(*at).at("y2"), v1),
        "plane": Part(mid(at[0]).at("y2"), Subspace.spanned_by(two["v1"], two["v2"])),
        "flag": Part(resid(truth.flag_layer).at("y2"), flag),
    }
    return k2_geometry.measure(lab, CONTEXT, parts)


def shares(variant: str | None, table: str, *keys: str, **where: object) -> dict:
    return means(result(variant), table, *keys, metric="pooled", **where)


def verdict(found: Result) -> str:
    (asked,) = (each for each in questions({"k2.geometry": found}) if each.id == "line-or-manifold")
    return asked.verdict


@pytest.mark.parametrize(("variant", "answer"), [(None, "line"), ("helix", "manifold")])
def test_the_verdict_is_the_planted_one(variant, answer):
    assert verdict(result(variant)) == answer


def test_a_wrong_direction_is_no_proof_of_a_manifold():
    lab, truth = cases.build(cases.Case())
    (wrong,) = das.random_subspaces(lab.network.d_model, 1, 1)
    few = Context(replace(FEW, evaluation=12))
    found = k2_geometry.measure(lab, few, {"u": Part(resid(truth.number_layer).at("y1"), wrong)})
    assert verdict(found) == "undecided"


def test_the_part_does_everything_and_the_rest_nothing():
    found = shares(None, "complement", "place", "case", "condition")
    for place, case in (("u", "y1"), ("plane", "y1"), ("plane", "y2"), ("flag", "y1"), ("flag", "y2")):
        full = found[place, case, "full"]
        assert found[place, case, "part"] == pytest.approx(full, rel=0.05)
        assert abs(found[place, case, "rest"]) < 0.05 * full
        assert abs(found[place, case, "random part"]) < 0.05 * full
        assert found[place, case, "random rest"] == pytest.approx(full, rel=0.05)
    helix = shares("helix", "complement", "condition")
    assert helix["part"] < 0.5 * helix["full"] < helix["rest"]


def test_everything_but_a_part_is_what_plain_hooks_do():
    lab, truth = cases.build(cases.Case())
    pairs = k2_geometry.case_pairs(lab, Context(replace(FEW, evaluation=4)), "y1")
    u = truth.directions[2]["u"]
    part = Part(resid(truth.number_layer).at("y1"), Subspace(u[:, None]))
    ours = score(pairs, k2_geometry.complement(pairs, part, 0)["rest"]).pld[0]
    at, layer = pairs.positions["y1"], lab.network.model.model.layers[truth.number_layer]
    seen = {}

    def keep(_, __, out):
        seen["clean"] = (out[0] if isinstance(out, tuple) else out)[:, at].clone()

    def change(_, __, out):
        x = out[0] if isinstance(out, tuple) else out
        x[:, at] = seen["clean"] + ((x[:, at] - seen["clean"]) @ u)[:, None] * u
        return out

    for hook, prompts in ((keep, pairs.clean.prompts), (change, pairs.corrupted.prompts)):
        handle = layer.register_forward_hook(hook)
        with torch.no_grad():
            logits = lab.network.model(prompts.ids).logits[:, -1]
        handle.remove()
    wanted = logits.gather(1, pairs.answers)
    assert torch.allclose(ours.float(), wanted[:, 0] - wanted[:, 1], atol=1e-4)


def test_what_is_used_is_needed_and_a_direction_of_that_variance_is_not():
    found = means(result(), "necessity", "direction", "case", "condition", metric="iia")
    assert found["none", "y1", "mean"] == found["none", "y2", "mean"] == 1.0
    for name in ("u", "v1", "v2", "plane", "flag"):
        assert min(found[name, case, "mean"] for case in ("y1", "y2")) < 0.95
        assert min(found[name, case, "random"] for case in ("y1", "y2")) > 0.95
    assert found["flag", "y2", "mean"] == 0.0  # without its flag, y2 never wins


def test_a_straight_line_survives_where_the_line_is_read_and_only_the_curve_on_the_helix():
    survives = means(result(), "survival", "case", "condition")
    assert min(survives.values()) == 1.0
    helix = shares("helix", "survival", "case", "condition")
    for case in ("y1", "y2"):
        assert helix[case, "mean"] == pytest.approx(1.0, abs=1e-3)  # y1's state is a function of y1
        assert helix[case, "curve"] > 0.9
    assert min(helix[case, "line"] for case in ("y1", "y2")) < 0.5
    exchanged = shares(None, "fits", "fit", "condition")
    for fit in ("line", "polynomial", "helix", "curve", "mean"):
        assert exchanged[fit, "line"] == pytest.approx(exchanged["mean", "all"], rel=0.05)
        assert abs(exchanged[fit, "rest"]) < 0.05


def test_a_dose_along_the_line_works_off_the_curve_and_along_the_curve_only_with_it():
    named = means(result(), "doses", "move", "dose")
    for (move, dose), share in named.items():
        assert share == (1.0 if dose > 0 and move != "held" else 0.0)
    helix = means(result("helix"), "doses", "move", "dose")
    assert helix["line", 45] < 0.2
    assert helix["curve", 45] == helix["point", 45] == 1.0


def test_without_the_later_parts_there_are_only_those_of_the_number():
    found = result("helix")
    assert {row["place"] for row in found.rows("complement")} == {"u"}
    assert {row["direction"] for row in found.rows("necessity")} == {"none", "u"}
