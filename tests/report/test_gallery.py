"""The gallery of the documentation: made from a run's folder, small, and up to date with the figures that exist."""

import importlib.util
from pathlib import Path

import pytest
from synthetic import make_run

from numberline.report.draw import draw_run

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def make_gallery():
    spec = importlib.util.spec_from_file_location("gallery", DOCS / "gallery.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.make_gallery


def test_it_is_made_from_a_run(make_gallery, tmp_path):
    run = make_run(tmp_path / "run", model="a_model <b>")
    made = draw_run(run, ("app-behaviour", "app-whole-l15"))
    docs = tmp_path / "docs"
    (docs / "pictures").mkdir(parents=True)
    (docs / "pictures/old.png").write_bytes(b"")
    text = make_gallery(run, docs).read_text()
    assert "# Gallery: a run on a\\_model &lt;b&gt;" in text
    assert "claims" in text
    assert {path.name for path in (docs / "pictures").iterdir()} == {f"{label}.png" for label in made.figures}
    for label in made.figures:
        assert f"![{label}](pictures/{label}.png)" in text
        assert (docs / f"pictures/{label}.png").stat().st_size < (run / f"figures/{label}.png").stat().st_size


def test_the_documentations_own_is_small():
    assert sum(path.stat().st_size for path in (DOCS / "pictures").iterdir()) < 2_000_000
    assert "Gallery: a run on tiny" in (DOCS / "gallery.md").read_text()
