"""The tutorial notebook runs from top to bottom, in a kernel of its own, and its stored pictures are there."""

from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[1] / "docs/tutorial.ipynb"


def texts(notebook):
    """Everything that the cells printed or returned as text."""
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    return "\n".join(output.get("text", "") + output.get("data", {}).get("text/plain", "") for output in outputs)


def test_the_tutorial_runs_from_top_to_bottom(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    stored = texts(notebook)
    NotebookClient(notebook, timeout=280, kernel_name="python3").execute()
    found = texts(notebook)
    assert "'number_layer': (1,)" in stored
    assert "'number_layer': (1,)" in found
    assert "right: 100%" in found
    pictures = [
        o for c in notebook.cells if c.cell_type == "code" for o in c.outputs if "image/png" in o.get("data", {})
    ]
    assert len(pictures) == 3
