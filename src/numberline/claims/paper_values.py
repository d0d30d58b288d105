"""What does the paper measure? Its numbers on Qwen2.5-7B-Instruct, from paper_values.toml, to set beside a run."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

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
class PaperMeasurement:
    """What the paper states of a measurement that a claim asks for: a share of n examples, or one over another."""

    claim: str
    """The claim's id; * for a criterion that several claims have."""
    key: str
    """The criterion's, in its claim."""
    section: str
    """Or table."""
    shares: tuple[float, ...] = ()
    n: int = 0
    same: bool = False
    """Whether it only says that the two things are the same."""
    note: str = ""


@dataclass(frozen=True)
class PaperValues:
    """All of them."""

    model: str
    values: tuple[PaperValue, ...]
    whole: tuple[WholeRow, ...]
    measured: tuple[PaperMeasurement, ...]
    drawn: Mapping[str, str]
    """What it shows without stating it: CLAIM.KEY, and the figure."""


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
    measured = tuple(
        _measurement(row, {each.patch: each for each in whole}, found["whole_n"]) for row in found["measured"]
    )
    return PaperValues(found["model"], values, whole, measured, found["drawn"])


def _measurement(row: Mapping[str, Any], whole: Mapping[str, WholeRow], n: int) -> PaperMeasurement:
    named = {name: row[name] for name in ("claim", "key", "same", "note") if name in row}
    if "patches" not in row:
        stated = (row["share"],) if "share" in row else ()
        return PaperMeasurement(**named, section=row["section"], shares=stated, n=row.get("n", 0))
    shares = tuple(float(whole[patch].scores[row["case"]][row.get("whole", False)]) for patch in row["patches"])
    return PaperMeasurement(**named, section="tab:app-whole-iia", shares=shares, n=n)
