"""The page of a run in a real browser: from disk, offline, without a complaint; looked at, pointed at, printed."""

import base64
import json

import pytest
from browser import find, load, point, show, wait
from synthetic import make_run

from numberline.report.page import make_report

LABELS = ("fig1toy", "app-behaviour", "number-reps", "app-trace-k2", "app-probes-k2", "app-whole-iia")
WARNINGS = "WebGL"
"""Chromium warns of slow reading where WebGL has no graphics card."""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = make_run(tmp_path_factory.mktemp("browser") / "run", model="<script>lost()</script>")
    make_report(path, LABELS)
    return path / "report.html"


@pytest.fixture
def page(driver, path):
    """The page, freshly loaded in a light window for a desk."""
    return load(driver, path)


def complaints(page):
    return [entry["message"] for entry in page.get_log("browser") if WARNINGS not in entry["message"]
            and "Canvas2D" not in entry["message"]]  # fmt: skip


def requests(page):
    events = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    sent = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    return [url for url in sent if not url.startswith(("data:", "blob:", "about:"))]


def test_it_loads_offline_without_a_complaint(page, path):
    for plot in page.find_elements("css selector", ".plot"):
        show(page, plot.get_attribute("id"))
    assert len(page.find_elements("css selector", ".plot")) == 3
    assert find(page, "h1").text == "How <script>lost()</script> compares numbers"
    assert complaints(page) == []
    assert requests(page) == [path.absolute().as_uri()]


def test_a_strange_script_does_not_run_and_is_complained_of(driver, path):
    broken = path.with_name("broken.html")
    added = "<script>document.title = 'mine'; fetch('http://example.com')</script></body>"
    broken.write_text(path.read_text(encoding="utf-8").replace("</body>", added), encoding="utf-8")
    page = load(driver, broken)
    assert page.title != "mine"
    assert any("Content Security Policy" in message for message in complaints(page)), "so that silence means something"


def test_every_figure_is_seen(page):
    pictures = page.find_elements("css selector", ".picture img")
    assert len(pictures) == len(LABELS) - 1  # one of them is a table
    for picture in pictures:
        wait(page, "arguments[0].complete && arguments[0].naturalWidth", picture)
        assert picture.is_displayed()
        assert picture.size["width"] > 200
        assert picture.size["height"] / picture.size["width"] == pytest.approx(
            int(picture.get_dom_attribute("height")) / int(picture.get_dom_attribute("width")), rel=0.02
        )


def test_nothing_moves_while_it_loads(page):
    shifts = (
        "window.shift = 0; new PerformanceObserver(list => list.getEntries().forEach(entry => shift += entry.value))"
        ".observe({type: 'layout-shift', buffered: true})"
    )
    page.execute_script(shifts)
    for plot in page.find_elements("css selector", ".plot"):
        show(page, plot.get_attribute("id"))
    assert page.execute_script("return shift") < 0.02


def test_the_ledger_leads_to_the_figures(page):
    assert len(page.find_elements("css selector", ".ledger tbody")) == 12
    links = page.find_elements("css selector", ".ledger .figures a")
    assert links
    there = "return arguments[0].every(link => document.getElementById(link.hash.slice(1)))"
    assert page.execute_script(there, links)
    link = next(link for link in links if link.text == "number-reps")
    page.execute_script("document.documentElement.style.scrollBehavior = 'auto'")
    link.click()
    top = "document.getElementById('number-reps').getBoundingClientRect().top"
    assert wait(page, f"{top} >= 0 && {top} < innerHeight / 2")


def test_pointing_at_a_cell_of_the_trace_says_layer_token_and_score(page):
    plot = show(page, "plot-app-trace-k2-1")
    cell = plot.find_element("css selector", ".nsewdrag")
    point(page, cell, 0.93, 0.92)
    said = wait(page, "arguments[0].querySelector('.hoverlayer').textContent", plot)
    assert "after layer 0" in said
    assert "token 34 last" in said
    assert "recovery" in said


def test_another_case_is_chosen(page):
    plot = show(page, "plot-app-trace-k2-1")
    seen = "arguments[0].data.map(trace => trace.visible)"
    assert page.execute_script(f"return {seen}", plot) == [True, False]
    page.find_elements("css selector", "#plot-app-trace-k2-1-views input")[1].click()
    wait(page, f"{seen}[1]", plot)


def test_the_slider_moves_by_keyboard(page):
    from selenium.webdriver import Keys

    plot = show(page, "plot-app-probes-k2-1")
    slider = find(page, "#plot-app-probes-k2-1-views input")
    slider.send_keys(Keys.ARROW_RIGHT)
    assert find(page, "#plot-app-probes-k2-1-views output").text == "4"
    wait(page, "arguments[0].data.findIndex(trace => trace.visible) === 4 * 3", plot)


def test_the_manifold_is_rotated(page):
    from selenium.webdriver import ActionChains

    plot = show(page, "plot-number-reps-1")
    eye = "return JSON.stringify(arguments[0]._fullLayout.scene._scene.getCamera().eye)"
    before = page.execute_script(eye, plot)
    ActionChains(page, duration=100).move_to_element(plot).click_and_hold().move_by_offset(90, 20).release().perform()
    assert page.execute_script(eye, plot) != before


def test_dark_is_the_readers_choice(driver, path):
    from selenium.webdriver import Keys

    page = load(driver, path, scheme="dark")
    ground = (
        "return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).every(part => part < 60)"
    )
    assert page.execute_script(ground)
    plot = show(page, "plot-app-probes-k2-1")
    assert page.execute_script("return arguments[0].layout.font.color", plot) == "rgb(231, 231, 228)"
    find(page, "#theme").send_keys(Keys.ENTER)
    assert not page.execute_script(ground)
    wait(page, "arguments[0].layout.font.color === 'rgb(29, 31, 34)'", plot)
    page.refresh()
    assert not page.execute_script(ground), "the choice is kept"


def test_a_phone_scrolls_in_one_direction_only(page):
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    for plot in page.find_elements("css selector", ".plot"):
        show(page, plot.get_attribute("id"))
    assert page.execute_script("return document.documentElement.scrollWidth") == 390
    assert page.execute_script("return innerWidth") == 390


def test_the_keyboard_reaches_the_content(page):
    from selenium.webdriver import ActionChains, Keys

    ActionChains(page).send_keys(Keys.TAB, Keys.ENTER).perform()
    assert page.execute_script("return location.hash") == "#main"
    ActionChains(page).send_keys(Keys.TAB).perform()
    outline = page.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


def test_it_prints(page):
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not find(page, ".closer").is_displayed()
    assert not find(page, "nav").is_displayed()
    assert all(picture.is_displayed() for picture in page.find_elements("css selector", ".picture img"))
    assert base64.b64decode(page.print_page()).startswith(b"%PDF")


def test_without_scripts_the_pictures_are_there(driver, path):
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        driver.get(path.absolute().as_uri())
        assert all(picture.is_displayed() for picture in driver.find_elements("css selector", ".picture img"))
        assert not find(driver, ".closer").is_displayed()
        assert not find(driver, "#theme").is_displayed()
    finally:
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
