"""The command that proves the methods: blind runs on models whose mechanism is known."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from numberline.cli.base import StoppedError, app, out
from numberline.cli.screen import Watcher, bar, quiet_transformers

if TYPE_CHECKING:
    from rich.progress import Progress

    from numberline.verify.cases import Case
    from numberline.verify.check import Check


@app.command()
def verify(
    quick: Annotated[
        bool, typer.Option("--quick", help="one model, without directions and flags of three numbers")
    ] = False,
    seeds: Annotated[
        str | None, typer.Option(help="models, each hidden differently: 100-119 or 3,7,11; 0-4 unless given")
    ] = None,
    noise: Annotated[list[float] | None, typer.Option(help="relative noise on every weight; repeatable")] = None,
    variants: Annotated[
        int | None, typer.Option(help="also the broken variants, each on so many of the seeds; 3", min=0)
    ] = None,
    size: Annotated[str, typer.Option(help="the sample sizes of each run: paper, medium, quick")] = "medium",
    jobs: Annotated[int, typer.Option(help="models at once; as many as there are cores unless given", min=0)] = 0,
    folder: Annotated[Path, typer.Option("--out", help="the folder of the scorecard and its runs")] = Path(
        "runs/verify"
    ),
    picture: Annotated[Path | None, typer.Option(help="draw what is recovered against the noise")] = None,
) -> None:
    """Prove the methods on models whose mechanism is known: a blind run on each, then the truth beside it.

    Example: [bold]numberline verify --quick[/bold]
    """
    from numberline.verify import cases, scorecard
    from numberline.verify import picture as drawing

    chosen = cases.read_seeds(seeds) if seeds is not None else list(cases.SEEDS)[: 1 if quick else None]
    planned = cases.plan(
        chosen, noise or ([0.0] if quick else None), (0 if quick else 3) if variants is None else variants
    )
    left_out = cases.LONGEST if quick else ()
    checks: dict[Case, list[Check]] = {}
    with bar() as progress, quiet_transformers():
        try:
            for case, found in _measured(planned, folder, size, jobs, left_out, progress):
                checks[case] = found
                ordered = {each: checks[each] for each in planned if each in checks}
                scorecard.write(folder, ordered, size)
                passed = sum(check.passed for check in found)
                mark = "[green]✓[/green]" if passed == len(found) else "[red]✗[/red]"
                progress.console.print(f"{mark} {case.name:28} {passed} of {len(found)} recovered")
        except KeyboardInterrupt:
            progress.stop()
            done = f"stopped with {len(checks)} of {len(planned)} models finished"
            raise StoppedError(f"{done}; their runs are in {folder}, and the same command continues") from None
    out.print()
    out.print(scorecard.table(ordered))
    if not scorecard.passed(ordered):
        out.print("\nWhat was missed:")
        out.print(scorecard.table(ordered, missed=True))
    out.print(f"\nEvery check of every model is in {folder / scorecard.PAGE} and {scorecard.JSON}")
    if picture is not None:
        drawing.draw(folder, picture)
    raise typer.Exit(0 if scorecard.passed(ordered) else 1)


def _measured(
    planned: "list[Case]", folder: Path, size: str, jobs: int, left_out: Sequence[str], progress: "Progress"
) -> "Iterator[tuple[Case, list[Check]]]":
    """One model here, with a bar for each experiment; several in processes, with a bar over all."""
    from numberline.verify import cases, processes

    if len(planned) == 1:
        yield planned[0], cases.verify(planned[0], folder, size, Watcher(progress), left_out)
        return
    row = progress.add_task("planted models", total=len(planned))
    for found in processes.each(planned, folder, size, jobs, left_out):
        yield found
        progress.advance(row)
