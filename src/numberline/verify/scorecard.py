"""What is the verdict over all cases? The scorecard: a table in the terminal, a JSON file, an HTML page.

One line per check, over the cases without noise, with noise and broken: in how many it passed, and what was found where
it did worst. `scorecard.json` holds every check of every case.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from numberline.files import make_folder, write_whole
from numberline.templates import fill
from numberline.verify.cases import Case
from numberline.verify.check import ROWS, Check

JSON, PAGE = "scorecard.json", "scorecard.html"
FORMAT = 1

Checks = Mapping[Case, Sequence[Check]]


@dataclass(frozen=True)
class Line:
    """One check over all cases: how often it passed, and the worst that was found."""

    row: str
    name: str
    wanted: str
    passed: int
    cases: int
    worst: str

    @property
    def green(self) -> bool:
        """Whether it passed everywhere."""
        return self.passed == self.cases


def lines(checks: Checks) -> list[Line]:
    """One line per check, in the order of the rows."""
    together: dict[tuple[str, str], list[Check]] = {}
    for found in checks.values():
        for check in found:
            together.setdefault((check.row, check.name), []).append(check)
    ordered = sorted(together.items(), key=lambda item: list(ROWS).index(item[0][0]))
    return [_line(row, name, each) for (row, name), each in ordered]


def _line(row: str, name: str, checks: Sequence[Check]) -> Line:
    failed = [check for check in checks if not check.passed]
    least = -1.0 if any(check.less_is_better for check in checks) else 1.0
    worst = min(failed or checks, key=lambda check: (check.measure is not None, least * (check.measure or 0.0)))
    return Line(row, name, worst.wanted, len(checks) - len(failed), len(checks), worst.found)


def table(checks: Checks, missed: bool = False) -> Table:
    """The scorecard as a terminal shows it: one line per row, or one per check that failed somewhere."""
    shown = Table(box=None, pad_edge=False)
    for name in ("", "what", "passed", "worst", "wanted"):
        shown.add_column(name, justify="right" if name == "passed" else "left")
    for line in [line for line in lines(checks) if not line.green] if missed else summary(checks):
        mark = "[green]✓[/green]" if line.green else "[red]✗[/red]"
        title = f"{line.row}: {line.name}" if line.name else line.row
        shown.add_row(mark, title, f"{line.passed}/{line.cases}", line.worst, line.wanted)
    return shown


def summary(checks: Checks) -> list[Line]:
    """One line per row: how many of its checks passed, and one that did not."""
    rows = []
    for row, wanted in ROWS.items():
        mine = [line for line in lines(checks) if line.row == row]
        if mine:
            bad = [line for line in mine if not line.green]
            more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
            worst = f"{bad[0].name}: {bad[0].worst}{more}" if bad else ""
            counts = (sum(line.passed for line in mine), sum(line.cases for line in mine))
            rows.append(Line(row, "", wanted, *counts, worst))
    return rows


def content(checks: Checks, size: str) -> dict[str, Any]:
    """Everything, as scorecard.json holds it."""
    cases = [
        {"seed": case.seed, "noise": case.noise, "variant": case.variant, "checks": [each.content for each in found]}
        for case, found in checks.items()
    ]
    return {"format": FORMAT, "size": size, "passed": passed(checks), "cases": cases}


def passed(checks: Checks) -> bool:
    """Whether nothing was missed."""
    return all(check.passed for found in checks.values() for check in found)


def write(out: Path, checks: Checks, size: str) -> None:
    """Write scorecard.json and scorecard.html."""
    make_folder(out)
    held = content(checks, size)
    write_whole(out / JSON, (json.dumps(held, indent=2, ensure_ascii=False) + "\n").encode())
    shown = {"rows": ROWS, "summary": summary(checks), "lines": lines(checks), "checks": checks}
    page = fill("numberline.verify", "scorecard.html.j2", **shown, passed=held["passed"], size=size)
    write_whole(out / PAGE, page.encode())
