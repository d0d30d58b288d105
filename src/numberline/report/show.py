"""A result's tables, for the terminal; k2.whole stands beside the paper's table."""

from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from rich.table import Table as RichTable

from numberline.claims import Finding, Found
from numberline.errors import NumberlineError
from numberline.report.compare import Section
from numberline.report.paper_tables.whole import beside_the_paper
from numberline.report.summary import ledger_rows, threshold
from numberline.report.tables import plain_heads
from numberline.report.view import RunView
from numberline.results.folder import RunFolder
from numberline.results.language import PAPER
from numberline.results.roles import Role


def result_tables(path: str | Path, id: str, most: int = 40) -> Iterator[tuple[str, RichTable]]:
    """Each table of a stored result with a title; `most` rows of each, all of them when it is 0."""
    run = RunFolder.open(path)
    found = run.find(id)
    if found is None:
        raise NumberlineError(f"{path} has no result {id!r}: it has {', '.join(run.ids) or 'none'}")
    if found.missing is not None:
        yield f"{id} could not be measured on this model: {found.why}", _rich([], [])
    if id == "k2.whole" and found.missing is None and run.about.language == PAPER:
        content = beside_the_paper(RunView(run))
        yield content.caption, _rich(plain_heads(content), content.rows)
    if found.roles:
        heads = [each.name for each in fields(Role)]
        yield f"{id}: roles", _rich(heads, [[_cell(getattr(role, name)) for name in heads] for role in found.roles])
    for name in found.tables:
        table = found.table(name)
        shown = table.rows[:most] if most else table.rows
        cut = f", the first {len(shown)} of {len(table)} rows" if len(shown) < len(table) else f", {len(table)} rows"
        rows = [[_cell(row[column]) for column in table.columns] for row in shown]
        yield f"{id}: {name}{cut}", _rich(list(table.columns), rows)


def ledger_table(findings: Sequence[Finding]) -> RichTable:
    """The ledger: each claim with its verdict, and under it what was measured."""
    rows: list[list[str]] = []
    for claim in ledger_rows(findings):
        size = f" Effect: {claim['effect']}." if claim["effect"] else ""
        rows.append([f"{claim['symbol']} {claim['id']}", claim["verdict"], claim["sentence"] + size, "", ""])
        for each in claim["measurements"]:
            rows.append(["", each["verdict"], f"  {each['name']}", each["value"], each["threshold"]])
    return _rich(["claim", "verdict", "measured", "value", "asked"], rows)


def question_table(questions: Sequence[Found]) -> RichTable:
    """Questions beyond the paper: each with its verdict, what was measured, and what each answer asks of it."""
    rows: list[list[str]] = []
    for found in (each for each in questions if each.tested):
        rows.append([found.id, found.verdict, found.asked, ""])
        for name, value in found.measured.items():
            asks = {
                answer: " and ".join(threshold(each) for each in asked if each.name == name)
                for answer, asked in found.asks.items()
            }
            asked = "; ".join(f"{answer} {text}" for answer, text in asks.items() if text)
            rows.append(["", "", f"  {name}: {value}", asked])
    return _rich(["question", "verdict", "measured", "asked"], rows)


def section_table(section: Section) -> RichTable:
    """A table of a comparison."""
    return _rich(list(section.columns), section.rows)


def _rich(columns: list[str], rows: Any) -> RichTable:
    table = RichTable(box=None, pad_edge=False)
    for number, name in enumerate(columns):
        numeric = bool(rows) and all(_is_number(row[number]) for row in rows)
        table.add_column(_safe(name), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_safe(str(cell)) for cell in row))
    return table


def _cell(value: Any) -> str:
    """A value as a person reads it: floats with four digits, nothing as a dash."""
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _is_number(cell: Any) -> bool:
    text = str(cell).replace("−", "-")
    try:
        float(text)
    except ValueError:
        return text == "–"
    return True


def _safe(text: str) -> str:
    """No square bracket of a prompt or a model is taken for markup."""
    return text.replace("[", r"\[")
