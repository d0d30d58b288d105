"""The page of a run: self-contained, escaped, and honest about what is not there."""

from html.parser import HTMLParser

import pytest
from synthetic import make_run

from numberline.report.draw import draw_run, listed_in
from numberline.report.facts import Facts
from numberline.report.page import command, html, make_report
from numberline.report.registry import FIGURES, SECTIONS, TABLES
from numberline.report.stored import Stored


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
    assert "script" not in [tag for tag, _ in page.tags]
    sources = [attributes.get(name) for _, attributes in page.tags for name in ("src", "href") if name in attributes]
    assert sources
    assert all(source.startswith(("data:image/svg+xml;base64,", "#")) for source in sources)


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


def test_what_is_missing_is_said(page):
    assert "Not drawn: it was not drawn yet" in page.words
    path_words = " ".join(page.words.split())
    assert "Quick run: 64 evaluation examples" in path_words
    assert "number layer" in path_words


def test_reasons_are_shown(path):
    draw_run(path, ("app-whole-l15",))
    about = Stored.open(path)
    made = listed_in(path)
    made.skipped["shared-rep"] = "k2.dose was <not> run"
    assert "k2.dose was &lt;not&gt; run" in html(Facts(about), made)


def test_the_command_that_makes_it_again(path):
    assert command(Facts(Stored.open(path))) == "numberline run '<script>alert(1)</script> & co' --size quick"
