"""What a plot of the page says of the mark or the cell that a reader points at; in a real browser, in one page."""

import re
import time

import pytest
from browser import load, point, show
from synthetic import make_run

from numberline.report.draw import Inventory
from numberline.report.page import html
from numberline.report.registry import PLOTS
from numberline.report.view import RunView
from numberline.results.folder import RunFolder

VALUE = r"[-−]?[\d.]+"
THREE = r"y1 = \d+, y2 = \d+, y3 = \d+"
SAID = {
    "plot-number-reps-1": rf"y1 = \d+along u {VALUE}",
    "plot-shared-rep-1": rf"y1 = \d+, y2 = \d+v1 {VALUE}, v2 {VALUE}",
    "plot-shared-rep-2": r"v1 as for \d+, v2 as for \d+\d+% of answers name y1",
    "plot-three-number-compare-1": THREE,
    "plot-app-trace-k2-1": rf"after layer \dtoken \d+ .+recovery {VALUE} \[{VALUE}, {VALUE}\]",
    "plot-app-probes-k2-1": rf".+{VALUE} \[{VALUE}, {VALUE}\]",
    "plot-app-trace-k3-1": rf"after layer \dtoken \d+ .+recovery {VALUE} \[{VALUE}, {VALUE}\]",
    "plot-app-attribution-1": r"layer \d, neuron \d+rank \d+ \(y1\), \d+ \(y2\)",
    "plot-app-rf-shared-1": rf"y1 = \d+, y2 = \d+activation {VALUE}",
    "plot-app-k3-readout-pca-1": THREE,
}
"""What a plot says of the place that is pointed at."""
PLACE = """
const box = arguments[0], layout = box._fullLayout;
const trace = box.data.find(trace => trace.visible !== false && trace.hoverinfo !== "skip");
const number = Math.floor(arguments[1] * trace.x.length);
if (layout.scene) {  // as plotly projects the mark under the pointer
  const scene = layout.scene._scene, camera = scene.glplot.cameraParams, scale = scene.dataScale;
  const times = (m, v) => [0, 1, 2, 3].map(i => m[i] * v[0] + m[4 + i] * v[1] + m[8 + i] * v[2] + m[12 + i] * v[3]);
  const mark = [trace.x[number] * scale[0], trace.y[number] * scale[1], trace.z[number] * scale[2], 1];
  const [x, y, , w] = [camera.model, camera.view, camera.projection].reduce((v, m) => times(m, v), mark);
  return [0.5 + 0.5 * x / w, 0.5 - 0.5 * y / w];
}
const row = trace.z ? trace.z.findIndex(row => row[number] !== null) : number;
const at = (axis, values, i) => axis._offset + axis.l2p(axis.type === "category" ? i : values[i]);
return [at(layout.xaxis, trace.x, number) / layout.width, at(layout.yaxis, trace.y, row) / layout.height];
"""
"""Where one of the marks or cells is, in parts of the plot's width and height."""


@pytest.fixture(scope="module")
def closer(driver, tmp_path_factory):
    """A page with every plot, under pictures that are left empty; loaded once."""
    run = make_run(tmp_path_factory.mktemp("closer") / "run")
    (run / "figures").mkdir()
    for label in PLOTS:
        (run / "figures" / f"{label}.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 90 30"/>')
    place = run / "report.html"
    place.write_text(html(RunView(RunFolder.open(run)), Inventory(dict.fromkeys(PLOTS, "Empty."))), encoding="utf-8")
    return load(driver, place)


@pytest.mark.parametrize("id", SAID)
def test_pointing_at_a_mark_says_what_it_is(closer, id):
    plot = show(closer, id)
    for part in (0.3, 0.5, 0.7):  # a line or a mark in front may hide one
        point(closer, plot, *closer.execute_script(PLACE, plot, part))
        end = time.monotonic() + 2
        while time.monotonic() < end:
            said = closer.execute_script("return arguments[0].querySelector('.hovertext')?.textContent", plot)
            if said:
                assert re.fullmatch(SAID[id], said), said
                return
            time.sleep(0.05)
    pytest.fail("nothing was said")


def test_every_plot_is_pointed_at():
    assert set(SAID) == {f"plot-{label}-{place + 1}" for label, plots in PLOTS.items() for place in range(len(plots))}
