"""The page of a run: self-contained, escaped, and honest about what is not there."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest
from synthetic import make_run

from numberline.report.draw import draw_run, listed_in
from numberline.report.page import command, html, make_report
from numberline.report.registry import FIGURES, SECTIONS, TABLES
from numberline.report.view import RunView
from numberline.results.folder import RunFolder


class Page(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words += data


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = make_run(
        tmp_path_factory.mktemp("page") / "run", model="<script>alert(1)</script> & co", without=("k2.dose",)
    )
    make_report(path, ("app-behaviour", "app-whole-iia", "app-patch-examples", "app-whole-examples-a"))
    return path


@pytest.fixture(scope="module")
def page(path) -> Page:
    return Page((path / "report.html").read_text(encoding="utf-8"))


def test_every_label_has_a_place_in_the_page():
    placed = [label for labels in SECTIONS.values() for label in labels]
    assert len(placed) == len(set(placed))
    assert {*FIGURES, *TABLES} <= set(placed)


def test_it_is_self_contained(page):
    sources = [attributes.get(name) for _, attributes in page.tags for name in ("src", "href") if name in attributes]
    assert sources
    assert all(source.startswith(("data:image/svg+xml;base64,", "#")) for source in sources)
    assert not {"link", "iframe", "object", "base"} & {tag for tag, _ in page.tags}


def test_only_scripts_of_the_package_may_run(path):
    text = (path / "report.html").read_text(encoding="utf-8")
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(scripts) == 2, "without a plot there is no need of plotly"
    (policy,) = [attributes["content"] for tag, attributes in Page(text).tags if "http-equiv" in attributes]
    assert policy.startswith("default-src 'none'; ")
    sums = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    assert re.findall("sha256-([^']*)", policy) == sums


def test_plotly_is_there_once(path):
    made = listed_in(path)
    draw_run(path, ("app-trace-k2", "shared-rep"))
    text = html(RunView(RunFolder.open(path)), listed_in(path))
    assert text.startswith("<!doctype html>")
    assert text.count("* plotly.js v") == 1
    page = Page(text)
    plots = [attributes["id"] for _, attributes in page.tags if attributes.get("class") == "plot"]
    assert plots == ["plot-shared-rep-1", "plot-app-trace-k2-1"], "k2.dose was not run: there is no second one"
    assert "* plotly.js v" not in html(RunView(RunFolder.open(path)), made)


def test_places_are_kept_for_pictures(page):
    (picture,) = [attributes for tag, attributes in page.tags if tag == "img"]
    assert (int(picture["width"]), int(picture["height"])) == (326, 211)  # 3.4 by 2.2 inches


def test_links_lead_somewhere(page):
    ids = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    links = {attributes["href"][1:] for tag, attributes in page.tags if tag == "a"}
    assert links <= ids


def test_names_of_models_and_what_they_say_are_escaped(page):
    assert "<script>alert(1)</script> & co" in page.words
    assert "i" not in [tag for tag, _ in page.tags]


def test_pictures_have_their_caption_as_alternative(page, path):
    (picture,) = [attributes for tag, attributes in page.tags if tag == "img"]
    assert picture["alt"] == listed_in(path).figures["app-behaviour"]


def test_the_answer_comes_first(page):
    words = " ".join(page.words.split())
    assert words.index("Of the paper's 12 claims") < words.index("The paper's claims on this model")
    verdicts = [attributes["class"] for _, attributes in page.tags if attributes.get("class", "").startswith("badge ")]
    assert len(verdicts) > 2 * 12
    assert {name.split()[1] for name in verdicts} <= {"holds", "fails", "undecided", "not-tested"}
    assert "Beside the paper's numbers, on Qwen2.5-7B-Instruct" in words
    assert "IIA of u, y1 perturbed, whole number" in words


def test_what_is_missing_is_said(page):
    assert "Not drawn: it was not drawn yet" in page.words
    path_words = " ".join(page.words.split())
    assert "Quick run: 64 evaluation examples" in path_words
    assert "number layer" in path_words


def test_reasons_are_shown(path):
    draw_run(path, ("app-whole-l15",))
    about = RunFolder.open(path)
    made = listed_in(path)
    made.skipped["app-u-layers"] = "k2.layers was <not> run"
    assert "k2.layers was &lt;not&gt; run" in html(RunView(about), made)


def test_the_command_that_makes_it_again(path):
    assert command(RunView(RunFolder.open(path))) == "numberline run '<script>alert(1)</script> & co' --size quick"
