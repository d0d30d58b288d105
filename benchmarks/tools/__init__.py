"""The workloads in each tool's own terms, as an expert user of it would write them."""

from importlib import import_module
from pathlib import Path

from workloads import Tool

PACKAGES = {
    "pyvene": "pyvene",
    "nnsight": "nnsight",
    "transformerlens": "transformer-lens",
    "hookedtransformer": "transformer-lens<4",
}
"""The other tools: the name of each here, and what is asked of PyPI."""

NAMES = (
    "plain",
    "plain-last",
    "pyvene",
    "nnsight",
    "transformerlens",
    "hookedtransformer",
    "plain-prefix",
    "nnsight-prefix",
    "transformerlens-prefix",
    "hookedtransformer-prefix",
    "engine",
)
"""What is measured, in the order of the table. `-prefix`: with the shared tokens cached by hand."""


def load(name: str, folder: Path) -> Tool:
    """A tool with the model of a folder in it; only the chosen tool's package is imported."""
    module, _, variant = name.partition("-")
    made: Tool = import_module(f"tools.{module}").load(folder, variant)
    return made
