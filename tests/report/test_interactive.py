"""Plots to look closer at: valid for plotly, with the stored numbers in them, and nothing where results are missing."""

import json

import numpy as np
import plotly.graph_objects
import pytest
from synthetic import make_run, results

from numberline.discovery import declared
from numberline.report.interactive import number, shared_plane, three, trace_and_probes
from numberline.report.interactive.plot import MOST_POINTS, PlotSpec, clean, plain, sample, shown
from numberline.report.registry import FIGURES, PLOTS
from numberline.report.view import RunView
from numberline.results.folder import RunFolder
from numberline.results.formatting import estimate
from numberline.results.table import NotMeasuredError

ALL = [(label, place) for label, plots in PLOTS.items() for place in range(len(plots))]


def test_every_plot_stands_under_a_figure():
    assert {plot.under for plot in declared(PlotSpec, "numberline.report.interactive")} == set(PLOTS) <= set(FIGURES)


@pytest.mark.parametrize(("label", "place"), ALL)
def test_plotly_takes_it(label, place, view):
    plot = PLOTS[label][place].make(view)
    content = json.loads(json.dumps(plot.content, allow_nan=False))
    drawn = plotly.graph_objects.Figure(data=content["data"], layout=content["layout"])
    assert len(drawn.data) == len(plot.data) > 0
    assert plot.says.endswith(".")
    assert all("hovertemplate" in trace or trace["hoverinfo"] == "skip" for trace in content["data"])
    if plot.views is not None:
        assert len(plot.views.of) == len(plot.data)
        assert {view for view in plot.views.of if view is not None} == set(range(len(plot.views.names)))
        assert 0 <= plot.views.first < len(plot.views.names)


@pytest.mark.parametrize(("label", "place"), ALL)
def test_without_results_there_is_none(label, place, tmp_path):
    empty = RunView(RunFolder.open(make_run(tmp_path / "run", without=tuple(results()))))
    with pytest.raises(NotMeasuredError, match="was not run"):
        PLOTS[label][place].make(empty)


def test_a_cell_of_the_trace_has_its_layer_token_and_score(view):
    plot = trace_and_probes.trace.make(view)
    row = view.run.result("k2.trace").table("trace").one(case="y2", layer=3, token=32, metric="pooled")
    heat = plot.content["data"][1]
    assert heat["y"][3] == 3
    assert heat["x"][4] == "32 y2"
    assert heat["text"][3][4] == f"recovery {estimate(row)}"
    assert heat["z"][3][4] == pytest.approx(row["mean"], rel=1e-4)


def test_a_point_of_the_manifold_has_its_number(view):
    result = view.run.result("k2.number")
    points = number.manifold.make(view).content["data"][0]
    means, pcs = result.tensor("means_y1"), result.tensor("pcs_y1")
    assert points["text"] == result.tensor("values_y1").tolist()
    assert np.allclose(points["y"], (means - means.mean(0)) @ pcs[:, 1], rtol=1e-3)


def test_the_slider_steps_through_the_layers(view):
    plot = trace_and_probes.probes.make(view)
    assert plot.views.slider
    assert list(plot.views.names) == [str(layer) for layer in range(6)]
    row = view.run.result("k2.probes").table("probes").one(layer=5, target="y1>y2", token=29)
    last = plot.content["data"][-1]
    assert plot.views.of[-1] == 5
    assert last["text"][1] == estimate(row)


def test_the_dose_response_leaves_equal_numbers_out(view):
    heat = shared_plane.dose.make(view).content["data"][0]
    assert heat["z"][2][2] is None
    assert (heat["z"][0][5], heat["z"][5][0]) == (1.0, 0.0), "x is the first operand"


def test_three_numbers_are_coloured_by_the_winner(view):
    result, plot = view.run.result("k3.directions"), three.numbers.make(view).content
    operands = result.tensor("operands")
    second = operands[operands.argmax(1) == 1]
    assert plot["data"][1]["customdata"] == second.tolist()
    assert np.allclose(plot["data"][4]["z"], result.tensor("projections_v3")[:, 0], rtol=1e-3)


def test_the_read_out_has_every_winner_at_every_layer(view):
    plot = three.readout.make(view)
    result = view.run.result("k3.readout")
    assert plot.views.names[plot.views.first] == str(view.value("readout_layer_k3")[0])
    counts = [len(trace["x"]) for trace in plot.content["data"][:3]]
    assert counts == [int((result.tensor("winner") == number).sum()) for number in (1, 2, 3)]


def test_what_a_prompt_holds_is_shown_as_it_is():
    assert plain("<b>60</b> & 'x'") == "&lt;b&gt;60&lt;/b&gt; &amp; 'x'"


def test_numbers_are_short_and_finite():
    assert clean([np.float64(1 / 3), float("nan"), np.int64(3), np.array([[2.0]])]) == [0.33333, None, 3, [[2.0]]]


def test_a_large_cloud_is_thinned_and_it_is_said():
    assert len(sample(np.zeros((3000, 2)))) == MOST_POINTS
    assert shown(3000) == "every third of 3,000 prompts"
    assert shown(600) == "all 600 prompts"
