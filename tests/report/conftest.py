"""Folders that the report's tests draw from."""

from pathlib import Path

import browser
import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from synthetic import make_run

from numberline.report import style
from numberline.report.registry import FIGURES
from numberline.report.view import RunView
from numberline.results.folder import RunFolder


@pytest.fixture(scope="session")
def made_up(tmp_path_factory) -> Path:
    """A run folder with made-up results for every figure."""
    return make_run(tmp_path_factory.mktemp("report") / "run", model="a_model & <b>more</b> {x}")


@pytest.fixture(scope="session")
def view(made_up) -> RunView:
    return RunView(RunFolder.open(made_up))


@pytest.fixture(scope="session")
def drawings(view):
    """Every figure, laid out, and its pixels at low resolution."""
    found = {}
    for label, spec in FIGURES.items():
        # One draw instead of render's layout and a second one for the pixels.
        with matplotlib.rc_context(style.RC):
            drawing = spec.make(view)
            style.note(drawing.figure, view.note)
            canvas = FigureCanvasAgg(drawing.figure)
            canvas.draw()
        found[label] = (drawing, np.asarray(canvas.buffer_rgba()))
    return found


@pytest.fixture(scope="module")
def driver():
    driver = browser.start()
    yield driver
    driver.quit()
