"""What a command shows while it works: a bar, a line for each experiment, tables of accuracy, the verdict."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from numberline.cli.base import err, out
from numberline.cli.forecast import Forecast, spoken

if TYPE_CHECKING:
    from numberline.claims import Finding
    from numberline.engine.lab import Lab
    from numberline.experiments.common.experiment import Experiment, Result
    from numberline.report.draw import Inventory
    from numberline.results.language import Language
    from numberline.results.schema import Meta


class Watcher:
    """Shows how a run goes on: a bar for the experiment under way, with the time that is left of it and of all."""

    def __init__(
        self, progress: Progress, language: "Language | None" = None, forecast: Forecast | None = None
    ) -> None:
        from numberline.results.language import PAPER

        self.bar, self.language, self.forecast = progress, language or PAPER, forecast or Forecast.of(())
        self.task = progress.add_task("", total=None, rest="")
        self.count = 0
        self.fresh: list[str] = []
        self.under_way, self.since, self.fraction = "", 0.0, 0.0
        self.found: dict[str, str] = {}
        """The roles so far, with their values."""

    def __enter__(self) -> "Watcher":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Nothing more is shown."""

    def started(self, experiment: "Experiment") -> None:
        """A new bar."""
        self.under_way, self.since, self.fraction = experiment.id, time.monotonic(), 0.0
        self.bar.reset(self.task, description=experiment.id, total=None)

    def progress(self, done: int, total: int) -> None:
        """The bar grows."""
        self.fraction = done / total if total else 0.0
        self.bar.update(self.task, completed=done, total=total, rest=f"all in {spoken(self.left)}")

    @property
    def left(self) -> float | None:
        """Seconds until the run is done, as far as one can tell."""
        return self.forecast.left(self.under_way, self.fraction, time.monotonic() - self.since)

    def finished(self, experiment: "Experiment", meta: "Meta", kept: bool) -> None:
        """A line that stays."""
        how = "kept from before" if kept else f"{meta.seconds:.1f} s"
        mark = "[yellow]–[/yellow]" if meta.missing is not None else "[green]✓[/green]"
        line = f"{mark} {experiment.id:24} {how:>16}  {self.language.say(experiment.question)}"
        self.bar.console.print(line, no_wrap=True, overflow="ellipsis")
        self.count += 1
        self.fresh += [] if kept else [experiment.id]
        self.forecast.finish(experiment.id, None if kept else time.monotonic() - self.since)
        self.found |= {role.name: ".".join(map(str, role.value)) for role in meta.roles if role.found}

    def warned(self, sentence: str) -> None:
        """A line that stays."""
        self.bar.console.print(f"! {sentence}", markup=False)


class RestColumn(ProgressColumn):
    """The time that is left of all, where a row has it."""

    def render(self, task: Task) -> Text:
        """As text."""
        return Text(task.fields.get("rest", ""))


def bar() -> Progress:
    """A bar that is gone when the work is done, and is not there at all where nobody looks."""
    return Progress(
        TextColumn("{task.description:24}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn(),
        RestColumn(), console=err, transient=True, disable=not err.is_terminal,
    )  # fmt: skip


def advance(progress: Progress, row: Any) -> Any:
    """What an experiment calls to move a row of the bar."""
    return lambda done, total: progress.update(row, completed=done, total=total)


def load_lab(
    model: str,
    device: str | None,
    dtype: str,
    device_map: str | None,
    revision: str | None = None,
    trust_remote_code: bool = False,
) -> "Lab":
    """A model, loaded and checked without a word, unless its architecture had to be proven."""
    from numberline.engine.loading import load

    with quiet_transformers():
        return load(model, device, dtype, device_map, revision, trust_remote_code)


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Loading a model prints nothing but what goes wrong."""
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before)


def print_accuracy(result: "Result") -> None:
    """How often the model is right, by population."""
    table = Table(box=None, pad_edge=False)
    for name, side in (("prompts", "left"), ("right", "right"), ("of", "right"), ("accuracy", "right")):
        table.add_column(name, justify=side, no_wrap=True)  # type: ignore[arg-type]
    table.add_column("95 % interval", justify="right", no_wrap=True)
    for row in result.rows("accuracy"):
        interval = f"{100 * row['lo']:.2f} – {100 * row['hi']:.2f}"
        table.add_row(row["population"], str(row["right"]), str(row["n"]), f"{100 * row['mean']:.2f} %", interval)
    out.print()
    out.print(table)


def print_verdict(path: Path, findings: "Sequence[Finding]") -> None:
    """How many of the paper's claims hold, and what is answered beyond the paper: a line each."""
    from numberline.claims import questions
    from numberline.report.summary import counted
    from numberline.report.view import RunView
    from numberline.results.folder import RunFolder

    run = RunFolder.open(path)
    out.print(counted(findings, RunView(run)), markup=False)
    for found in questions(run.results, run.about.language):
        if found.tested:
            out.print(found.words, markup=False)


def drawn(path: Path, labels: list[str], recovery: str = "pooled") -> "Inventory":
    """Draw labels of a run and write its page, with a bar."""
    from numberline.report.draw import usable_processes
    from numberline.report.page import make_report
    from numberline.report.recovery import Recovery

    with bar() as progress:
        row = progress.add_task("", total=None)
        return make_report(
            path, labels, lambda label: progress.update(row, description=label), usable_processes(), Recovery(recovery)
        )
