"""The page of a run in a real browser: it loads from disk, offline, without a complaint, and its figures are drawn."""

import os
import shutil
import subprocess

import matplotlib.image
import pytest
from synthetic import make_run

from numberline.report.page import make_report

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--enable-logging=stderr",
]
OFFLINE = "--host-resolver-rules=MAP * ~NOTFOUND"
NO_BROWSER = "there is no Chromium on this machine: install Debian's package chromium to test the page"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    if BROWSER is None:
        if os.environ.get("CI"):
            pytest.fail(NO_BROWSER)
        pytest.skip(NO_BROWSER)
    path = make_run(tmp_path_factory.mktemp("browser") / "run", model="<b>bold</b>")
    make_report(path, ("app-behaviour", "app-trace-k2", "app-whole-iia"))
    return path / "report.html"


def browse(page, *options: str) -> subprocess.CompletedProcess[str]:
    profile = f"--user-data-dir={page.parent / 'profile'}"
    command = [BROWSER, *QUIET, OFFLINE, profile, *options, page.absolute().as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


def test_it_loads_without_a_complaint(page):
    done = browse(page, "--dump-dom")
    assert "<h1>" in done.stdout
    assert "&lt;b&gt;bold&lt;/b&gt;" in done.stdout
    assert "CONSOLE" not in done.stderr
    broken = page.with_name("broken.html")
    broken.write_text(page.read_text(encoding="utf-8").replace("</body>", "<script>lost()</script></body>"), "utf-8")
    assert "CONSOLE" in browse(broken, "--dump-dom").stderr  # so that silence means something


def test_figures_are_drawn(page):
    picture, blind = page.with_name("page.png"), page.with_name("blind.html")
    blind.write_text(page.read_text(encoding="utf-8").replace("<img", '<img style="display:none"'), "utf-8")
    coloured = []
    for shown in (page, blind):
        browse(shown, "--window-size=1000,6000", f"--screenshot={picture}")
        pixels = matplotlib.image.imread(picture)[..., :3]
        coloured.append(int((pixels.max(-1) - pixels.min(-1) > 0.3).sum()))
    assert coloured[0] > 3 * coloured[1], "the page has as little colour with its figures as without them"
