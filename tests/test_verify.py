"""The scorecard: what passes, what does not, and what it says of it. `numberline verify --quick` itself is run by
test_docs.py, from docs/ground-truth.md; test_mutations.py shows that broken methods are caught."""

import json
from collections.abc import Callable
from itertools import product

import pytest
import torch

from numberline.claims import CLAIMS, Finding
from numberline.engine.edits import swap
from numberline.engine.sites import resid
from numberline.errors import NumberlineError
from numberline.estimates import wilson_of
from numberline.experiments.common.experiment import Context, Result
from numberline.experiments.two.patches import case_pairs
from numberline.methods import das
from numberline.methods.scores import score
from numberline.models.planted import VARIANTS, planted
from numberline.tasks.sizes import MEDIUM
from numberline.verify import cases, neurons, picture, processes, scorecard, sites_and_directions
from numberline.verify.cases import Case
from numberline.verify.check import BlindRun, Check, at_most, correlation, cosine, share_at_least, share_below

GOOD = Check("roles", "number_layer", "2", "2", True)
BAD = Check("directions", "u, cosine", "0.700", "cosine ≥ 0.95", False, 0.7)


def findings(**verdicts: str) -> list[Finding]:
    return [Finding(claim, (), verdicts.get(id.replace("-", "_"), "holds"), "") for id, claim in CLAIMS.items()]


def test_the_plan_has_each_noise_with_each_seed_and_every_variant_once():
    planned = cases.plan([7, 3], [0.1, 0.0, 0.1], 1)
    assert [(case.seed, case.noise) for case in planned[:4]] == [(7, 0.0), (3, 0.0), (7, 0.1), (3, 0.1)]
    assert [case.variant for case in planned[4:]] == list(cases.BROKEN)
    assert {case.seed for case in planned[4:]} == {7}
    assert len({case.name for case in planned}) == len(planned)
    assert len({case.noise for case in cases.plan(cases.SEEDS, None, 0)}) >= 3


def test_seeds_are_ranges_and_lists():
    assert cases.read_seeds("100-103") == [100, 101, 102, 103]
    assert cases.read_seeds("3,7, 11,7") == [3, 7, 11]
    assert cases.read_seeds("5-6,2") == [5, 6, 2]
    for wrong in ("", "a", "9-3", "-1", "1-", "1-2-3", "0-99999999"):
        with pytest.raises(NumberlineError, match="seeds"):
            cases.read_seeds(wrong)


def test_every_claim_has_a_variant_that_breaks_it():
    assert all(claim.broken_by for claim in CLAIMS.values())
    assert len(set(cases.BROKEN)) == len(cases.BROKEN), "and each variant breaks one claim"
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


def test_a_share_is_missed_when_its_whole_interval_is_on_the_wrong_side():
    def reaches(right: int, n: int) -> bool:
        return share_at_least("directions", "u", {"mean": right / n, "n": n}, 0.99, "IIA").passed

    def stays(right: int, n: int) -> bool:
        return share_below("decoys", "curve", {"mean": right / n, "n": n}, 0.02, "IIA").passed

    assert [reaches(*each) for each in ((128, 128), (126, 128), (120, 128), (388, 400))] == [True, True, False, False]
    assert [stays(*each) for each in ((0, 128), (3, 128), (9, 128), (20, 400))] == [True, True, False, False]
    assert not share_at_least("directions", "u", None, 0.99, "IIA").passed


def test_an_undecided_claim_is_not_missed_and_a_failed_one_is():
    assert all(each.passed for each in cases.broken("loud", findings(three_readout="fails", transport="undecided")))
    assert not all(each.passed for each in cases.broken("loud", findings(three_readout="undecided")))


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
        neurons.fields(nothing, lab),
        neurons.weights(nothing),
        neurons.dose(nothing),
    ):
        assert checks
        assert not any(check.passed for check in checks)
    without = BlindRun({}, truth, frozenset(cases.LONGEST))
    assert 0 < len(sites_and_directions.directions(without, lab)) < len(sites_and_directions.directions(nothing, lab))


def test_a_dose_is_missed_when_most_answers_of_a_cell_are_surely_on_the_wrong_side():
    truth = planted()[1]
    grid = torch.arange(15, 96, 10)
    levels = truth.magnitudes[grid - 10]

    def passed(named_first: Callable[[int, int], float]) -> list[bool]:
        rows = [
            {"y1": a, "y2": b, "masked": a == b, **wilson_of(named_first(a, b), 64, 64).columns}
            for a, b in product(grid.tolist(), repeat=2)
        ]
        tensors = {"grid": grid, "coordinates": torch.stack([levels, levels], 1)}
        return [
            each.passed
            for each in neurons.dose(BlindRun({"k2.dose": Result.of({"response": rows}, 1, tensors)}, truth))
        ]

    assert passed(lambda a, b: float(a > b)) == [True, True]
    assert passed(lambda a, b: float(a < b)) == [False, True]
    assert passed(lambda a, b: 34 / 64 if (a, b) == (15, 25) else float(a > b)) == [True, True]
    assert passed(lambda a, b: 46 / 64 if (a, b) == (15, 25) else float(a > b)) == [False, True]


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
