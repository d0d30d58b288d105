"""Folders that the report's tests draw from."""

from pathlib import Path

import browser
import pytest
from synthetic import make_run

from numberline.report.view import RunView
from numberline.results.folder import RunFolder


@pytest.fixture(scope="session")
def made_up(tmp_path_factory) -> Path:
    """A run folder with made-up results for every figure."""
    return make_run(tmp_path_factory.mktemp("report") / "run", model="a_model & <b>more</b> {x}")


@pytest.fixture(scope="session")
def view(made_up) -> RunView:
    return RunView(RunFolder.open(made_up))


@pytest.fixture(scope="module")
def driver():
    driver = browser.start()
    yield driver
    driver.quit()
