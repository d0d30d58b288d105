"""How does a template become a page? In one way: every string is escaped, and a name that is missing is an error."""

from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined, select_autoescape


def own(package: str, name: str) -> str:
    """A text file of this package."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


def fill(package: str, name: str, **values: Any) -> str:
    """The text of a template of this package, with values in place."""
    environment = Environment(autoescape=select_autoescape(default=True), undefined=StrictUndefined, trim_blocks=True)
    return environment.from_string(own(package, name)).render(**values)
