"""A concept in a TOML file: the same as its Python form; each mistake of docs/concepts.md is answered as it says."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

import numberline as nl
from numberline.errors import NumberlineError
from numberline.runs.settings import SIZES
from numberline.runs.used_code import of_files
from numberline.tasks import QUICK, Task, concept_of
from numberline.tasks.declaration import line_of

PAGE = (Path(__file__).parents[2] / "docs/concepts.md").read_text()
MONTHS = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[0]
LISTED = dict(re.findall(r"^\| (.+?) \| `(months.toml.+)` \|$", PAGE, re.MULTILINE))
MISTAKES = {
    "no such file": None,
    "no TOML": ('axis = "month"', 'axis = "month'),
    "a key that there is not": ("stem = ", "stam = "),
    "a key that is missing": ('noun = "month"\n', ""),
    "a table that is missing": (r"(?s)\[several\].*?\n\n", ""),
    "a number for a word": ('"The later of"', "3"),
    "a word for a number": ("gap = 0", 'gap = "none"'),
    "a number for a spelling": ('"April"', "4"),
    "a word that is empty": ('"earlier"', '""'),
    "too few values": (r"(?s)values = .*?\n\]", 'values = ["March", "July"]'),
    "a spelling that comes twice": ('"August"', '"March"'),
    "a spelling with spaces around it": ('"August"', '"August "'),
    "an example that is no value": (r'\["March", "July"\]', '["March", "Juli"]'),
    "an example with too few values": (r'\["May", "June", "April"\]', '["May", "June"]'),
    "an example that holds a value twice": (r'\["March", "July"\]', '["March", "March"]'),
    "a stem that ends in a space": ('"The latest of"', '"The latest of "'),
    "a gap below zero": ("gap = 0", "gap = -1"),
    "a gap that leaves nothing": ("gap = 0", "gap = 5"),
    "a scale that there is not": ('"linear" ', '"square" '),
    "a logarithm of zero": ('"linear" ', '"log" '),
    "places that do not rise": ("gap = 0", "places = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 10, 12]\ngap = 0"),
    "too few places": ("gap = 0", "places = [1, 2, 3]\ngap = 0"),
    "a name that cannot be": ("gap = 0", 'name = "My months"\ngap = 0'),
}

LETTERS = """
values = ["b", "c", "d", "g", "h", "j", "k", "l", "p", "q", "r", "v", "x", "y", "z"]
answer_tokens = 2
pair = { stem = "The later of", exemplar = ["d", "k"] }
several = { stem = "The latest of", exemplar = ["d", "k", "g"] }
words = { noun = "letter", larger = "later", largest = "latest", smaller = "earlier" }
"""


def test_the_page_lists_every_mistake():
    assert list(LISTED) == list(MISTAKES)
    assert len(MISTAKES) >= 12


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence_and_exit_code_2(call, tmp_path, mistake):
    change = MISTAKES[mistake]
    if change is not None:
        wrong, count = re.subn(change[0], change[1], MONTHS, count=1)
        assert count == 1
        (tmp_path / "months.toml").write_text(wrong)
    code, out, err = call("sample", "--task", "months.toml")
    assert (code, out) == (2, "")
    assert err == f"numberline: {LISTED.get(mistake)}\n"


def test_a_file_declares_what_python_does(tmp_path):
    (tmp_path / "months.toml").write_text(MONTHS)
    concept = concept_of(str(tmp_path / "months.toml"))
    assert (concept.name, concept.gap, concept.scale, concept.axis, concept.sign) == ("months", 0, "linear", "month", 1)
    assert (
        Task(concept).prompt((0, 4)).endswith("The later of March and July is July. The later of January and May is ")
    )
    asked = Task(concept, k=3).question((0, 4, 2))
    assert asked == "The latest of January, May and March is "
    assert (concept.parse("Feb."), concept.parse("February"), concept.parse("Marching")) == (1, 1, None)
    assert (concept.words.nouns, concept.words.extremes) == ("months", "latest months")


def test_the_lesser_may_win_and_places_are_the_axis(tmp_path):
    more = 'name = "early"\nwins = "lesser"\nplaces = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048]\ngap = 2'
    (tmp_path / "mine.toml").write_text(MONTHS.replace("gap = 0", more).replace('"linear"', '"log"'))
    concept = concept_of(str(tmp_path / "mine.toml"))
    assert (concept.name, concept.gap, concept.winner((3, 5))) == ("early", 2, 3)
    assert [concept.coordinate(value) for value in (0, 11)] == [1.0, 2048.0]


def test_a_declared_concept_is_run_to_a_report(call, tmp_path, monkeypatch):
    monkeypatch.setitem(
        SIZES, "quick", replace(QUICK, pairs=40, three_digit_pairs=20, evaluation=25, fitting=8, choosing=8)
    )
    (tmp_path / "letters.toml").write_text(LETTERS)
    only = ("--only", "behaviour.pairs", "--only", "k2.trace")
    code, out, err = call("run", "tiny", "--task", "letters.toml", "--size", "quick", "--out", "run", *only)
    assert code == 0, err
    assert "letter pairs" in out + err
    run = nl.open_run(tmp_path / "run")
    accuracy = run.table("behaviour.pairs", "accuracy")
    assert [(row["population"], row["n"]) for row in accuracy] == [("letter pairs", 40), ("letter triples", 20)]
    assert run.result("k2.trace").n == 25
    page = (tmp_path / "run/report.html").read_text()
    assert "How tiny compares letters" in page
    assert "The later of p and b is" in page


def test_a_changed_file_makes_other_results(tmp_path):
    file = tmp_path / "letters.toml"

    def used(text: str) -> dict[str, str]:
        file.write_text(text)
        return dict(of_files([file]))

    first = used(LETTERS)
    assert {"letters.toml", "tasks/declaration.py", "tasks/concept.py"} <= set(first)
    assert used(f"# The same, in another layout\n\n{LETTERS}") == first
    assert used(LETTERS.replace("The later of", "Later, of")) != first


@pytest.mark.parametrize(
    ("where", "begins"),
    [
        (("gap",), "gap = 0"),
        (("several", "stem"), 'stem = "The latest of"'),
        (("values", 1), '    ["February"'),
        (("values", 2), '    "March"'),
        (("words", "nothing"), "[words]"),
        (("nothing",), "# months.toml"),
    ],
)
def test_lines(where, begins):
    assert MONTHS.splitlines()[line_of(MONTHS, where) - 1].startswith(begins)


def test_a_name_follows_from_the_file(tmp_path):
    (tmp_path / "My Months (2).toml").write_text(MONTHS)
    assert concept_of(str(tmp_path / "My Months (2).toml")).name == "my-months-2"
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(NumberlineError, match="give a TOML file in UTF-8"):
        concept_of(str(tmp_path / "binary.toml"))
