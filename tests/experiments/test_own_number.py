"""v2 where the first principal component is a decoy: not what DAS learns at that place, but how the state moves."""

from dataclasses import replace
from functools import cache
from math import pi

import pytest
import torch
from planted_space import SMALL

from numberline.engine.edits import swap
from numberline.engine.lab import Lab
from numberline.engine.sites import resid
from numberline.experiments.common import own_number, roles
from numberline.experiments.common.directions import Cloud, Place
from numberline.experiments.common.examples import case_pairs
from numberline.experiments.common.experiment import Context
from numberline.methods import clouds, das
from numberline.methods.scores import score
from numberline.models.planted import Truth
from numberline.models.planted.broken import DESIGNS, FROM_Y2, Design
from numberline.tasks import Task
from numberline.tasks.layout import encode
from numberline.tasks.populations import cloud
from numberline.verify.cases import Case, build

CONTEXT = Context(replace(SMALL, fitting=32, choosing=32, number_cloud=400))
SITE = resid(2).at("y2")


@cache
def copying() -> tuple[Lab, Truth, Cloud]:
    """Circles outweigh the line at y2, and the answer's digits are copied from there: as on a real model, PC1 does
    nothing, and the whole residual less than the number alone, for it moves the digits as well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(DESIGNS, "copying", Design(curved=(FROM_Y2,), code=False))
        lab, truth = build(Case(variant="copying"))
    operands = cloud(Task(), CONTEXT.sizes.number_cloud, CONTEXT.seed)
    states = clouds.read(lab, encode(lab.tokenizer, Task(), operands), [SITE])[0]
    return lab, truth, Cloud.of(lab, Place("y2", SITE), states, operands)


def test_the_slope_is_the_number_where_a_learned_direction_is_a_shortcut():
    lab, truth, seen = copying()
    own = truth.directions[2]["v2"]
    choosing, fitting = (case_pairs(lab, CONTEXT, Task(), "y2", hand) for hand in ("choosing", "fitting"))
    v2, row = own_number.own_number(CONTEXT, seen, SITE, choosing)
    assert (row["method"], row["relevant"]) == ("slope", True)
    assert row["pc1"] < 0.5 * row["full"]
    assert v2.basis[:, 0] @ own > 0.95
    assert v2.provenance["method"] == "slope of the means by value"
    # What the rule took before: it turns as many answers, and recovers far more than the number does.
    (learned,) = das.fit_with_restart([fitting], SITE, CONTEXT.seed)
    directions = [learned.subspace.basis.cpu(), own[:, None]]
    scores = score(choosing, [[swap(SITE, choosing.clean, each)] for each in directions])
    assert scores.iia(0).mean > 0.5
    assert scores.pooled(0).mean > 1.5 * max(row["full"], scores.pooled(1).mean)
    assert (learned.subspace.basis[:, 0].cpu() @ own).abs() < 0.9
    assert 0.5 < row["slope"] / scores.pooled(1).mean < 1.1


def test_on_the_papers_model_it_is_the_first_component(monkeypatch):
    lab, _, seen = copying()
    monkeypatch.setattr(roles, "is_papers", lambda lab: True)
    choosing = case_pairs(lab, CONTEXT, Task(), "y2", "choosing")
    v2, row = own_number.own_number(CONTEXT, seen, SITE, choosing)
    assert (row["method"], row["relevant"]) == ("PCA", False)
    assert "not relevant" in row["why"]
    assert torch.equal(v2.basis, seen.component(1).basis)


def test_the_first_that_is_relevant_is_taken():
    assert own_number.choose({"PCA": 0.6, "slope": 0.9}, 0.5) == "PCA"
    assert own_number.choose({"PCA": 0.13, "slope": 4.5}, 0.59) == "slope"
    assert own_number.choose({"PCA": 0.2, "slope": 0.1}, 0.5) == "PCA"


def test_what_winds_with_the_number_averages_out_of_the_slope():
    # Nearly: circles of three times the length of the line leave the slope at a cosine of 0.97 with it.
    values = torch.arange(10, 100)
    line, angle = values.double().log(), 2 * pi * values / 10
    means = torch.stack([line, 2 * angle.cos(), 2 * angle.sin(), torch.ones(90)], 1)
    direction = own_number.least_squares_slope(means, line)
    assert direction[0] > 0.95
    assert float(direction.norm()) == pytest.approx(1.0)
