"""The scorecard: what passes, what does not, and what it says of it. `numberline verify --quick` itself is run by
test_docs.py, from docs/ground-truth.md; test_mutations.py shows that broken methods are caught."""

import json

import pytest
import torch

from numberline.claims import CLAIMS, Finding
from numberline.engine.edits import swap
from numberline.engine.sites import resid
from numberline.errors import NumberlineError
from numberline.experiments.common.experiment import Context, Result
from numberline.experiments.two.patches import case_pairs
from numberline.methods import das
from numberline.methods.scores import score
from numberline.models.planted import VARIANTS, planted
from numberline.tasks.sizes import MEDIUM
from numberline.verify import cases, neurons, picture, processes, scorecard, sites_and_directions
from numberline.verify.cases import Case
from numberline.verify.check import BlindRun, Check, at_most, correlation, cosine, iia_at_least

GOOD = Check("roles", "number_layer", "2", "2", True)
BAD = Check("directions", "u, cosine", "0.700", "cosine ≥ 0.95", False, 0.7)


def findings(**verdicts: str) -> list[Finding]:
    return [Finding(claim, (), verdicts.get(id.replace("-", "_"), "holds"), "") for id, claim in CLAIMS.items()]


def test_the_plan_has_each_noise_with_each_seed_and_every_variant_once():
    planned = cases.plan(2, [0.1, 0.0, 0.1], True)
    assert [(case.seed, case.noise) for case in planned[:4]] == [(0, 0.0), (1, 0.0), (0, 0.1), (1, 0.1)]
    assert [case.variant for case in planned[4:]] == list(cases.BROKEN)
    assert len({case.name for case in planned}) == len(planned)
    assert len({case.noise for case in cases.plan(5, None, False)}) >= 3


def test_every_claim_has_a_variant_that_breaks_it():
    assert all(len(claim.broken_by) == 1 for claim in CLAIMS.values())
    assert len(set(cases.BROKEN)) == len(CLAIMS), "and each variant breaks one claim"
    named = {name for claim in CLAIMS.values() for name in (*claim.broken_by, *claim.falls_with)}
    assert named <= set(VARIANTS)


def test_a_broken_variant_must_break_its_claim_and_nothing_that_does_not_depend_on_it():
    assert all(check.passed for check in cases.broken("loud", findings(three_readout="fails")))
    with_it = findings(three_flags="fails", three_readout="fails")
    assert all(check.passed for check in cases.broken("phased-y3", with_it))
    assert [check.passed for check in cases.broken("loud", findings())] == [False, True]
    both = cases.broken("loud", findings(three_readout="fails", transport="fails"))
    assert [check.passed for check in both] == [True, False]
    assert "transport fails" in both[1].found


def test_an_iia_misses_the_bar_when_its_interval_is_below_it():
    def passed(right: int, n: int) -> bool:
        return iia_at_least("directions", "u", {"mean": right / n, "n": n}, 0.99).passed

    assert passed(128, 128)
    assert passed(126, 128)
    assert not passed(120, 128)
    assert not passed(388, 400)
    assert not iia_at_least("directions", "u", None, 0.99).passed


def test_cosine_and_correlation():
    a = torch.tensor([1.0, 2.0, torch.nan, 4.0])
    assert cosine(torch.tensor([1.0, 0.0]), torch.tensor([-2.0, 0.0])) == pytest.approx(1.0)
    assert correlation(a, torch.tensor([2.0, 4.0, 0.0, 8.0])) == pytest.approx(1.0)
    assert correlation(a[2:3], a[2:3]) == 0.0


def test_what_was_not_measured_is_missed_and_what_was_left_out_is_not_asked():
    truth = planted()[1]
    lab = cases.build(Case())[0]
    nothing = BlindRun({}, truth)
    for checks in (
        sites_and_directions.roles(nothing),
        sites_and_directions.directions(nothing, lab),
        sites_and_directions.components(nothing),
        sites_and_directions.heads(nothing),
        neurons.fields(nothing),
        neurons.weights(nothing),
        neurons.dose(nothing),
    ):
        assert checks
        assert not any(check.passed for check in checks)
    without = BlindRun({}, truth, frozenset(cases.LONGEST))
    assert 0 < len(sites_and_directions.directions(without, lab)) < len(sites_and_directions.directions(nothing, lab))


def test_a_dose_on_the_wrong_side_of_the_boundary_is_missed():
    truth = planted()[1]
    grid = torch.arange(15, 96, 10)
    levels = truth.magnitudes[grid - 10]
    fraction = (levels[:, None] > levels[None]).float().masked_fill(torch.eye(9).bool(), torch.nan)
    coordinates = torch.stack([levels, levels], 1)

    def passed(each: torch.Tensor) -> list[bool]:
        result = Result.of({}, 1, {"grid": grid, "fraction": each, "coordinates": coordinates})
        return [check.passed for check in neurons.dose(BlindRun({"k2.dose": result}, truth))]

    assert passed(fraction) == [True, True]
    assert passed(fraction.T) == [False, True]


def test_the_scorecard_is_a_table_a_file_and_a_page(tmp_path):
    checks = {Case(0): [GOOD, BAD], Case(1): [GOOD, Check("directions", "u, cosine", "0.990", "≥", True, 0.99)]}
    scorecard.write(tmp_path, checks, "medium")
    held = json.loads((tmp_path / scorecard.JSON).read_text())
    assert held["passed"] is False
    assert [len(case["checks"]) for case in held["cases"]] == [2, 2]
    page = (tmp_path / scorecard.PAGE).read_text()
    assert "something was missed" in page
    assert "0.700" in page
    (line,) = [line for line in scorecard.lines(checks) if line.name == "u, cosine"]
    assert (line.passed, line.cases, line.worst, line.green) == (1, 2, "0.700", False)
    assert scorecard.passed({Case(0): [GOOD]})


def test_the_worst_of_what_should_be_small_is_the_largest():
    checks = {Case(i): [at_most("decoys", "curve", value, 0.02, "IIA")] for i, value in enumerate((0.5, 0.9, 0.01))}
    (line,) = scorecard.lines(checks)
    assert (line.passed, line.worst) == (1, "0.900")


def test_the_picture_needs_a_scorecard(tmp_path):
    with pytest.raises(NumberlineError, match="numberline verify"):
        picture.draw(tmp_path, tmp_path / "noise.png")
    scorecard.write(tmp_path, {Case(0, noise): [GOOD, BAD] for noise in (0.0, 0.1)}, "medium")
    picture.draw(tmp_path, tmp_path / "noise.png")
    assert (tmp_path / "noise.png").stat().st_size > 10_000


@pytest.mark.parametrize(("variant", "near"), [(None, True), ("certain", False)])
def test_where_the_answer_is_certain_a_direction_suffices_that_is_not_the_planted_one(variant, near):
    lab, truth = cases.build(Case(variant=variant))
    context, site = Context(MEDIUM), resid(truth.flag_layer).at("y2")
    (fit,) = das.fit(case_pairs(lab, context, "y1", "fitting"), site)
    evaluation = case_pairs(lab, context, "y1")
    assert score(evaluation, [[swap(site, evaluation.clean, fit.subspace)]]).iia(0).mean >= 0.99
    assert (cosine(fit.subspace.basis, truth.directions[2]["flag"]) > 0.95) == near


def test_several_models_are_measured_at_once(tmp_path):
    planned = [Case(0, 0.0, "unsolving"), Case(0, 0.3)]
    left_out = [id for id in cases.EXPERIMENTS if id != "behaviour.pairs"]
    found = dict(processes.each(planned, tmp_path, "quick", 2, left_out))
    assert found[planned[0]][0].found == "fails"
    accuracy = found[planned[1]][0]
    assert (accuracy.row, accuracy.passed) == ("behaviour", False)  # so much noise destroys the model
