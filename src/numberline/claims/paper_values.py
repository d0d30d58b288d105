"""What does the paper measure? Its numbers on Qwen2.5-7B-Instruct, from paper_values.toml, to set beside a run."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

Number = float | int
Pair = tuple[Number, Number]


@dataclass(frozen=True)
class PaperValue:
    """A number (or several) of the paper, the section that states it, and the experiment that measures it here."""

    name: str
    value: tuple[Number, ...]
    section: str
    id: str
    key: str
    """By which a figure asks for it, and paper_comparison.py measures it."""
    parts: tuple[str, ...] = ()
    """What each number is, where there are several."""

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each number."""
        return tuple(f"{self.name}: {part}" for part in self.parts) or (self.name,)


@dataclass(frozen=True)
class WholeRow:
    """A row of table app-whole-iia: by case, IIA on the first digit and on the whole number."""

    patch: str
    name: str
    scores: Mapping[str, Pair]


@dataclass(frozen=True)
class PaperValues:
    """All of them."""

    model: str
    values: tuple[PaperValue, ...]
    whole: tuple[WholeRow, ...]


@cache
def paper_values() -> PaperValues:
    """The paper's numbers."""
    found = tomllib.loads(files("numberline.claims").joinpath("paper_values.toml").read_text(encoding="utf-8"))
    values = tuple(
        PaperValue(
            row["name"],
            tuple(row["value"]) if isinstance(row["value"], list) else (row["value"],),
            row["section"],
            row["id"],
            row["key"],
            tuple(row.get("parts", ())),
        )
        for row in found["value"]
    )
    whole = tuple(
        WholeRow(row["patch"], row["name"], {case: tuple(row[case]) for case in ("y1", "y2") if case in row})
        for row in found["whole"]
    )
    return PaperValues(found["model"], values, whole)
