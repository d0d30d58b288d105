"""Where does this differ from the paper, and what was chosen where the paper is silent? One list, choices.toml.

Each entry says what the paper says or leaves open, what is done here, why, where in the code, and which figures and
tables show it. docs/choices.md (`python scripts/write_pages.py`) and the report's section are made from it.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

PAGE = Path("docs/choices.md")
KINDS: Mapping[str, str] = {"deviation": "Where the paper says otherwise", "silent": "Where the paper is silent"}
"""The two kinds, and their headings."""
LEAD = (
    "Every deviation from the paper, and every choice where it is silent, from the one list that a run's report shows\n"
    "(`src/numberline/report/choices.toml`). Sections are named by their labels in the paper."
)


@dataclass(frozen=True)
class Choice:
    """A choice; `shown` are labels of figures and tables, or tables of results (k2.neurons/scores)."""

    kind: str
    id: str
    title: str
    section: str
    paper: str
    here: str
    why: str
    code: tuple[str, ...]
    shown: tuple[str, ...]


@cache
def choices() -> tuple[Choice, ...]:
    """All of them, deviations first."""
    found = tomllib.loads(files("numberline.report").joinpath("choices.toml").read_text(encoding="utf-8"))
    return tuple(
        Choice(kind, **{**row, "code": tuple(row["code"]), "shown": tuple(row["shown"])})
        for kind in KINDS
        for row in found[kind]
    )


def markdown() -> str:
    """The page of the documentation."""
    parts = ["# Choices", LEAD]
    for kind, heading in KINDS.items():
        parts.append(f"## {heading}")
        parts += [_entry(choice) for choice in choices() if choice.kind == kind]
    return "\n\n".join(parts) + "\n"


def _entry(choice: Choice) -> str:
    code = ", ".join(f"[`{path}`](../src/numberline/{path})" for path in choice.code)
    shown = ", ".join(f"`{label}`" for label in choice.shown)
    return "\n".join(
        [
            f"### {choice.title}",
            "",
            f"- **The paper** ({choice.section}): {choice.paper}",
            f"- **Here**: {choice.here}",
            f"- **Why**: {choice.why}",
            f"- **Code**: {code}. **Shown in**: {shown}.",
        ]
    )
