"""The workloads in each tool's own terms, as an expert user of it would write them."""

from importlib import import_module
from pathlib import Path

from workloads import Tool

PACKAGES = {"pyvene": "pyvene", "nnsight": "nnsight", "transformerlens": "transformer-lens"}
"""The other tools: our name of each, and its name on PyPI."""

NAMES = ("plain", "plain-last", "plain-prefix", "engine", *PACKAGES)


def load(name: str, folder: Path) -> Tool:
    """A tool with the model of a folder in it; only the chosen tool's package is imported."""
    module, _, variant = name.partition("-")
    made: Tool = import_module(f"tools.{module}").load(folder, variant)
    return made
