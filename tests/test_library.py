"""The library's face: own pairs by name, one condition or several, a run from Python, its folder, its figures."""

import pytest
import torch

import numberline as nl
from numberline.tasks import to_csv


@pytest.fixture(scope="module")
def pairs():
    task = nl.Task()
    return nl.record_pairs(nl.load("tiny"), task, nl.perturb(task, nl.pool(task).evaluation[:12], "y1"))


def test_one_condition_or_several_by_name(pairs):
    site = nl.resid(1).at("y1")
    patch = [nl.swap(site, pairs.clean)]
    both = nl.score(pairs, {"whole": patch, "nothing": [], "made": lambda some: [nl.swap(site, some.clean)]})
    one = nl.score(pairs, patch, progress=False)
    assert one.names == ("patch",)
    assert torch.equal(one.scores.pld[0], both.scores.pld[0])
    assert torch.equal(both.scores.pld[2], both.scores.pld[0])
    iia = both.to_pandas().query("metric == 'iia'").set_index("condition")["mean"]
    assert (iia["whole"], iia["nothing"]) == (1.0, 0.0)
    assert both.table.where(condition="whole", metric="iia").one()["n"] == 12


def test_a_trace_is_a_frame_and_a_grid(pairs):
    found = nl.trace(pairs, layers=[0, 1], progress=False)
    frame = found.to_pandas()
    assert found.grid().shape == (2, len(found.tokens))
    row = frame.query("metric == 'pooled' and layer == 1 and position == 'y1'").iloc[0]
    place = [token.position for token in found.tokens].index("y1")
    assert row["mean"] == pytest.approx(float(found.grid()[1, place]))
    assert row["mean"] > 1


def test_a_sweep_takes_each_site_in_turn(pairs):
    sites = [nl.resid(layer).at("y1") for layer in (1, 3)]
    found = nl.sweep(pairs, sites, progress=False)
    assert found.names == tuple(map(str, sites))
    assert float(found.scores.hit[0].float().mean()) > float(found.scores.hit[1].float().mean())
    with pytest.raises(nl.NumberlineError, match="at least one site"):
        nl.sweep(pairs, [])


def test_fit_and_attribute(pairs):
    site = nl.resid(1).at("y1")
    fit = nl.fit(pairs, site, steps=30, progress=False)
    assert fit.losses[-1] < fit.losses[0]
    scores = nl.attribute(pairs, lambda some: [nl.swap(site, some.clean)], [2, 3], "y2", progress=False)
    assert scores.shape == (2, pairs.lab.network.d_mlp)
    assert float(scores.abs().max()) > 0


def test_a_run_from_python_on_ones_own_examples(tmp_path, pairs):
    task = nl.Task()
    mine = [e for case in ("y1", "y2") for e in nl.perturb(task, nl.pool(task, seed=7).evaluation[:60], case)]
    nl.write_counterfactuals(str(tmp_path / "mine.csv"), task, mine)
    run = nl.run(pairs.lab, tmp_path / "run", ["k2.trace"], "quick", examples=tmp_path / "mine.csv", progress=False)
    assert run.about.configuration.examples == str(tmp_path / "mine.csv")
    assert run.roles["number_layer"].value == (1,)
    counts = {row["n"] for row in run.table("k2.trace", "trace")}
    assert counts == {30}
    assert run.figure("app-trace-k2").axes
    assert {finding.id: finding.verdict for finding in run.claims()}["solves"] == "not tested"
    with pytest.raises(nl.NumberlineError, match="there is no figure 'nothing'"):
        run.figure("nothing")


def test_too_few_examples_of_a_case_are_said(tmp_path, pairs):
    task = nl.Task()
    text = to_csv(task, nl.perturb(task, nl.pool(task, seed=7).evaluation[:60], "y1"))
    (tmp_path / "mine.csv").write_text(text)
    run = nl.run(pairs.lab, tmp_path / "run", ["k2.trace"], "quick", examples=tmp_path / "mine.csv", progress=False)
    assert "hold 0 in which y2 changes" in str(run.load("k2.trace").missing)
