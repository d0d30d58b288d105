"""Commands that read a run's folder: its page, the claims, the paper's numbers, its tables."""

from pathlib import Path
from typing import Annotated

import typer

from numberline.cli.base import app, out, reading
from numberline.cli.screen import drawn, print_verdict
from numberline.report.recovery import Recovery


@app.command()
def report(
    run: Annotated[Path, typer.Argument(help="a run's folder: runs/tiny")],
    only: Annotated[list[str] | None, typer.Option(help="a figure's label, or a pattern: 'app-*'; repeatable")] = None,
    recovery: Annotated[Recovery, typer.Option(help="the position recovery that is shown")] = Recovery.POOLED,
) -> None:
    """Draw a run's figures and tables again, from its folder alone, and write its page.

    Example: [bold]numberline report runs/tiny[/bold]
    """
    with reading(run):
        made = drawn(run, only or ["*"], recovery)
    for label, reason in made.skipped.items():
        out.print(f"– {label:24} {reason}", markup=False)
    out.print(
        f"{len(made.figures)} figures and {len(made.tables)} tables are in {run / 'figures'} and {run / 'tables'}, "
        f"all of them in {run / 'report.html'}"
    )


@app.command()
def claims(
    run: Annotated[Path, typer.Argument(help="a run's folder: runs/tiny")],
    as_json: Annotated[bool, typer.Option("--json", help="print claims.json instead of a table")] = False,
) -> None:
    """Test the paper's claims on a run: what was measured, the threshold, the verdict; writes claims.json.

    Example: [bold]numberline claims runs/tiny[/bold]
    """
    from numberline.claims import FILE, questions_of, write_claims
    from numberline.report.show import ledger_table, question_table

    with reading(run):
        found = write_claims(run)
        if as_json:
            typer.echo((run / FILE).read_text(encoding="utf-8"), nl=False)
        else:
            out.print(ledger_table(found))
            if any(each.tested for each in questions_of(run)):
                out.print()
                out.print(question_table(questions_of(run)))
            print_verdict(run, found)


@app.command()
def compare(
    runs: Annotated[list[Path], typer.Argument(help="one run: beside the paper; several: side by side, as a page")],
    to: Annotated[Path | None, typer.Option("--out", help="where the page goes; compare.html unless given")] = None,
) -> None:
    """Set the paper's numbers beside a run, or several runs side by side as one page.

    Example: [bold]numberline compare runs/tiny[/bold]
    """
    from numberline.report import compare as comparison
    from numberline.report.show import section_table

    place = to or Path(comparison.PAGE)
    alone = [comparison.roles_beside, comparison.beside] if len(runs) == 1 else []
    with reading(*runs):
        sections = [part(runs[0]) for part in alone] or comparison.write_comparison(runs, place)
    for section in sections:
        out.print(f"\n{section.title}", markup=False, style="bold")
        out.print(section_table(section))
        out.print(section.note, markup=False)
    if not alone:
        out.print(f"The page is {place}", markup=False)


@app.command()
def show(
    run: Annotated[Path, typer.Argument(help="a run's folder: runs/tiny")],
    id: Annotated[str, typer.Argument(help="an experiment's id: k2.whole")],
    rows: Annotated[int, typer.Option(help="rows of each table; 0 for all", min=0)] = 40,
) -> None:
    """Print a result's tables; k2.whole stands beside the paper's.

    Example: [bold]numberline show runs/tiny behaviour.pairs[/bold]
    """
    from numberline.report.show import result_tables

    with reading(run):
        for title, table in result_tables(run, id, rows):
            out.print(f"\n{title}", markup=False)
            out.print(table)
