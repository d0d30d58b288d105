"""A real browser for the report's pages: started without a network, moved about, pointed with."""

import os
import shutil
import time

import pytest

DRIVER = shutil.which("chromedriver")
NO_BROWSER = "there is no chromedriver on this machine: install Debian's chromium-driver to test the page in a browser"
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-unsafe-swiftshader",  # WebGL without a graphics card
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--window-size=1200,900",
)


def start():
    """A browser, or the reason why there is none."""
    if DRIVER is None:
        if os.environ.get("CI"):
            pytest.fail(NO_BROWSER)
        pytest.skip(NO_BROWSER)
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for option in OPTIONS:
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))


def load(driver, path, scheme="light"):
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    feature = {"name": "prefers-color-scheme", "value": scheme}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": [feature]})
    driver.get_log("browser"), driver.get_log("performance")
    driver.get("about:blank")
    driver.get(path.absolute().as_uri())
    driver.execute_script("localStorage.clear(); delete document.documentElement.dataset.theme")
    return driver


def find(page, selector):
    return page.find_element("css selector", selector)


def wait(page, script, *arguments, seconds=30):
    """What a script returns, as soon as it is something."""
    end = time.monotonic() + seconds
    while not (found := page.execute_script(f"return {script}", *arguments)):
        assert time.monotonic() < end, f"not within {seconds} s: {script}"
        time.sleep(0.05)
    return found


def show(page, id):
    """Scroll to a plot and wait until it is drawn."""
    page.execute_script(
        "document.getElementById(arguments[0]).scrollIntoView({block: 'center', behavior: 'instant'})", id
    )
    wait(page, "document.getElementById(arguments[0]).dataset.drawn", id)
    return page.find_element("id", id)


def point(page, element, x, y):
    """Move the mouse to a place of an element, in parts of its width and height."""
    from selenium.webdriver import ActionChains

    size = element.size
    at = (round((x - 0.5) * size["width"]), round((y - 0.5) * size["height"]))
    ActionChains(page, duration=50).move_to_element_with_offset(element, at[0] - 4, at[1]).pause(0.1).perform()
    ActionChains(page, duration=50).move_to_element_with_offset(element, *at).perform()
