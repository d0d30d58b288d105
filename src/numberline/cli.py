"""The command line: thin. It reads options, calls the package, and prints.

Errors are one sentence on stderr and exit code 2. Torch is imported only by the commands that need it.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from numberline import __version__
from numberline.errors import NumberlineError

if TYPE_CHECKING:
    from numberline.engine.lab import Lab
    from numberline.experiments.experiment import Experiment, Result
    from numberline.report.draw import Made
    from numberline.runs.claims import Claim
    from numberline.runs.folder import Meta
    from numberline.runs.run import Run

app = typer.Typer(name="numberline", add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
out, err = Console(highlight=False, soft_wrap=True), Console(stderr=True, highlight=False)

Model = Annotated[str, typer.Argument(help="a built-in name, a folder with Hugging Face weights, or a Hub id")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda or mps; the best there is unless given")]
Dtype = Annotated[str, typer.Option(help="float32, bfloat16 or float16")]
DeviceMap = Annotated[str | None, typer.Option(help="spread the model over devices: auto")]
Size = Annotated[str, typer.Option(help="paper: the paper's sample sizes; quick: smaller ones")]
Seed = Annotated[int, typer.Option(help="decides every sampled example")]
Kind = Annotated[str, typer.Option("--task", help="max or min")]
SEED = 52


def _print_version(asked: bool) -> bool:
    if asked:
        typer.echo(f"numberline {__version__}")
        raise typer.Exit
    return asked


@app.callback()
def numberline(
    version: Annotated[
        bool, typer.Option("--version", help="print the version and stop", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Find the straight line that a language model computes with when it compares numbers.

    Example: [bold]numberline run[/bold]
    """


@app.command()
def models() -> None:
    """List the built-in models, and say how to use others.

    Example: [bold]numberline models[/bold]
    """
    from numberline.models.catalogue import built_in_models

    for model in built_in_models():
        out.print(f"[bold]{model.name:8}[/bold] {model.shape}\n         {model.what}")
    out.print(
        "\nAny other causal language model of a supported architecture can take their place, by its folder or its\n"
        "Hub id: numberline run ./my-model, numberline run Qwen/Qwen2.5-0.5B"
    )


@app.command()
def sample(
    k: Annotated[int, typer.Option("--k", help="operands in a prompt", min=2)] = 2,
    case: Annotated[str, typer.Option(help="the operand that changes: y1, y2, …")] = "y1",
    n: Annotated[int, typer.Option("--n", help="how many", min=1)] = 5,
    digits: Annotated[int, typer.Option(help="digits of each operand", min=1)] = 2,
    task: Kind = "max",
    seed: Seed = SEED,
    out: Annotated[Path | None, typer.Option(help="a CSV file to write; printed unless given")] = None,
) -> None:
    """Sample counterfactuals: clean and corrupted operands that differ in one, as CSV.

    Example: [bold]numberline sample --k 2 --case y1 --n 5[/bold]
    """
    from numberline.tasks import Task, perturb, ranked_tuples, to_csv, write_counterfactuals

    asked = Task(_kind(task), k=k, digits=digits)
    examples = perturb(asked, ranked_tuples(asked, n, seed), case)
    if out is None:
        typer.echo(to_csv(asked, examples), nl=False)
    else:
        write_counterfactuals(out, asked, examples)
        typer.echo(f"{n} counterfactuals are in {out}")


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="a CSV file with clean_y1, …, corrupted_y1, … columns")],
    k: Annotated[int, typer.Option("--k", help="operands in a prompt", min=2)] = 2,
    digits: Annotated[int, typer.Option(help="digits of each operand", min=1)] = 2,
    task: Kind = "max",
) -> None:
    """Check a CSV file of your own counterfactuals: each row must make one.

    Example: [bold]numberline check mine.csv --k 2[/bold]
    """
    from numberline.tasks import Task, cases, read_counterfactuals

    examples = read_counterfactuals(file, Task(_kind(task), k=k, digits=digits))
    counts = {name: sum(example.case == name for example in examples) for name in cases(k)}
    listed = ", ".join(f"{count} with {name} changed" for name, count in counts.items() if count)
    typer.echo(f"{file} holds {len(examples)} valid counterfactuals: {listed}")


@app.command()
def behaviour(
    model: Model = "tiny",
    size: Size = "paper",
    seed: Seed = SEED,
    task: Kind = "max",
    device: Device = None,
    dtype: Dtype = "float32",
    device_map: DeviceMap = None,
) -> None:
    """Measure how often a model names the right number: pairs, triples, longer lists.

    Example: [bold]numberline behaviour tiny[/bold]
    """
    from dataclasses import replace

    from numberline.experiments.behaviour import operands, pairs
    from numberline.runs.run import Settings

    context = Settings(size, seed, task).context
    lab = _load(model, device, dtype, device_map)
    for experiment in (pairs, operands):
        with _bar() as progress:
            row = progress.add_task(experiment.id, total=None)
            result = experiment(lab, replace(context, progress=_advance(progress, row)))
        _print_accuracy(result)


@app.command()
def run(
    model: Model = "tiny",
    out: Annotated[Path | None, typer.Option(help="the run's folder; runs/MODEL unless given")] = None,
    size: Size = "paper",
    only: Annotated[list[str] | None, typer.Option(help="an experiment's id, or a pattern: 'k2.*'; repeatable")] = None,
    role: Annotated[list[str] | None, typer.Option(help="choose a site yourself: number_layer=13; repeatable")] = None,
    seed: Seed = SEED,
    task: Kind = "max",
    device: Device = None,
    dtype: Dtype = "float32",
    device_map: DeviceMap = None,
) -> None:
    """Run the experiments on a model; a run that was stopped continues where it was.

    Example: [bold]numberline run tiny --only behaviour.operands --size quick[/bold]
    """
    from numberline.experiments import roles
    from numberline.experiments.registry import select
    from numberline.runs.folder import RunFolder
    from numberline.runs.run import Run, Settings, check_free, configuration, folder_name

    settings, patterns = Settings(size, seed, task, dict(map(roles.parse, role or ()))), only or ["*"]
    folder = RunFolder(out or folder_name(model, settings))
    # What can be refused is refused before a model is loaded.
    select(patterns)
    check_free(folder, configuration(model, settings))
    _execute(Run(_load(model, device, dtype, device_map), folder, settings), patterns)


@app.command()
def experiments() -> None:
    """List the experiments: their ids, and the question that each answers.

    Example: [bold]numberline experiments[/bold]
    """
    from numberline.experiments.registry import EXPERIMENTS

    for experiment in EXPERIMENTS.values():
        out.print(f"[bold]{experiment.id:20}[/bold] {experiment.question}")


def _execute(run: "Run", patterns: list[str]) -> None:
    with _bar() as progress:
        watcher = _Watcher(progress)
        try:
            done = run.execute(patterns, watcher)
        except KeyboardInterrupt:
            progress.stop()
            raise StoppedError(
                f"stopped with {watcher.count} experiments finished in {run.folder.path}; the same command continues"
            ) from None
    for meta in done:
        if meta.id.startswith("behaviour.") and "accuracy" in meta.tables:
            _print_accuracy(run.folder.load(meta.id))
    unmeasured: dict[str, list[str]] = {}
    for meta in done:
        if "missing" in meta.tables:  # one reason may stop many, through one another: it is said once
            reason = run.folder.load(meta.id).rows("missing")[0]["reason"].split(" is missing: ")[-1]
            unmeasured.setdefault(reason, []).append(meta.id)
    for reason, ids in unmeasured.items():
        out.print(f"Could not be measured ({', '.join(ids)}): {reason}")
    from numberline.runs.claims import write_claims

    ledger = write_claims(run.folder.path)
    out.print(f"\nThe results are in [bold]{run.folder.path}[/bold]: run.json, results/ and claims.json")
    _draw(run.folder.path, watcher.fresh)
    _print_verdict(run.folder.path, ledger)


def _print_verdict(path: Path, claims: "Sequence[Claim]") -> None:
    """How many of the paper's claims hold, in one line."""
    from numberline.report.facts import Facts
    from numberline.report.stored import Stored
    from numberline.report.verdict import counted

    out.print(counted(claims, Facts(Stored.open(path))), markup=False)


@app.command()
def report(
    run: Annotated[Path, typer.Argument(help="a run's folder: runs/tiny")],
    only: Annotated[list[str] | None, typer.Option(help="a figure's label, or a pattern: 'app-*'; repeatable")] = None,
) -> None:
    """Draw a run's figures and tables again, from its folder alone, and write its page.

    Example: [bold]numberline report runs/tiny[/bold]
    """
    made = _drawn(run, only or ["*"])
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
    from numberline.report.show import ledger_table
    from numberline.runs.claims import CLAIMS, write_claims

    found = write_claims(run)
    if as_json:
        typer.echo((run / CLAIMS).read_text(encoding="utf-8"), nl=False)
    else:
        out.print(ledger_table(found))
        _print_verdict(run, found)


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
    sections = [comparison.beside(runs[0])] if len(runs) == 1 else comparison.write_comparison(runs, place)
    for section in sections:
        out.print(f"\n{section.title}", markup=False, style="bold")
        out.print(section_table(section))
        out.print(section.note, markup=False)
    if len(runs) > 1:
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

    for title, table in result_tables(run, id, rows):
        out.print(f"\n{title}", markup=False)
        out.print(table)


def _draw(path: Path, ids: list[str]) -> None:
    """Draw what new results feed, at the end of a run."""
    from numberline.report.draw import fed_by

    labels = fed_by(path, ids)
    if labels:
        made = _drawn(path, labels)
        out.print(
            f"{len(made.figures)} figures and {len(made.tables)} tables are in figures/ and tables/ there, and all of "
            "them in report.html"
        )


def _drawn(path: Path, labels: list[str]) -> "Made":
    from numberline.report.draw import usable_processes
    from numberline.report.page import make_report

    with _bar() as progress:
        row = progress.add_task("", total=None)
        return make_report(path, labels, lambda label: progress.update(row, description=label), usable_processes())


class _Watcher:
    """Shows how a run goes on."""

    def __init__(self, progress: Progress) -> None:
        self.bar = progress
        self.task = progress.add_task("", total=None)
        self.count = 0
        self.fresh: list[str] = []

    def started(self, experiment: "Experiment") -> None:
        """A new bar."""
        self.bar.reset(self.task, description=experiment.id, total=None)

    def progress(self, done: int, total: int) -> None:
        """The bar grows."""
        self.bar.update(self.task, completed=done, total=total)

    def finished(self, experiment: "Experiment", meta: "Meta", kept: bool) -> None:
        """A line that stays."""
        how = "kept from before" if kept else f"{meta.seconds:.1f} s"
        mark = "[yellow]–[/yellow]" if "missing" in meta.tables else "[green]✓[/green]"
        line = f"{mark} {experiment.id:24} {how:>16}  {experiment.question}"
        self.bar.console.print(line, no_wrap=True, overflow="ellipsis")
        self.count += 1
        self.fresh += [] if kept else [experiment.id]


def _bar() -> Progress:
    return Progress(
        TextColumn("{task.description:24}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn(), console=err,
        transient=True, disable=not err.is_terminal,
    )  # fmt: skip


def _advance(progress: Progress, row: Any) -> Any:
    return lambda done, total: progress.update(row, completed=done, total=total)


def _print_accuracy(result: "Result") -> None:
    table = Table(box=None, pad_edge=False)
    for name, side in (("prompts", "left"), ("right", "right"), ("of", "right"), ("accuracy", "right")):
        table.add_column(name, justify=side, no_wrap=True)  # type: ignore[arg-type]
    table.add_column("95 % interval", justify="right", no_wrap=True)
    for row in result.rows("accuracy"):
        interval = f"{100 * row['lo']:.2f} – {100 * row['hi']:.2f}"
        table.add_row(row["population"], str(row["right"]), str(row["n"]), f"{100 * row['mean']:.2f} %", interval)
    out.print()
    out.print(table)


def _load(model: str, device: str | None, dtype: str, device_map: str | None) -> "Lab":
    from numberline.engine.lab import Lab
    from numberline.models.loading import load

    with _quiet_transformers():
        return Lab.of(load(model, device, dtype, device_map))


@contextmanager
def _quiet_transformers() -> Iterator[None]:
    """Loading a model prints nothing but what goes wrong."""
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before)


def _kind(name: str) -> Any:
    from numberline.tasks import KINDS

    if name not in KINDS:
        raise NumberlineError(f"there is no task {name!r}: choose from {', '.join(KINDS)}")
    return KINDS[name]


class StoppedError(Exception):
    """Ctrl-C, with a sentence about what is kept."""


def _stop(sentence: str, code: int) -> NoReturn:
    print(f"numberline: {' '.join(sentence.split())}", file=sys.stderr)
    raise SystemExit(code)


def main() -> None:
    """The entry point: every failure becomes one sentence."""
    # Threads that wait busily make a run ten times slower when a neighbour takes a core; threads that sleep at once, a
    # quarter slower between small operations. So they spin for a tenth of a millisecond. OpenMP reads this once.
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ["OMP_WAIT_POLICY"] = "passive"
        os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    os.environ.setdefault("HF_HUB_VERBOSITY", "error")
    try:
        code = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except NumberlineError as error:
        _stop(str(error), 2)
    except StoppedError as error:
        _stop(str(error), 130)
    except (KeyboardInterrupt, typer.Abort):
        _stop("stopped", 130)
    except BrokenPipeError:
        # The reader of our output went away (head): nothing more to say, not even while closing.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except Exception as error:
        usage = getattr(error, "format_message", None)  # typer's own refusals of options and commands
        if usage is not None:
            _stop(f"{usage()} (numberline --help lists what there is)", 2)
        if os.environ.get("NUMBERLINE_TRACEBACK"):
            raise
        _stop(f"a mistake of ours, {type(error).__name__}: {error} (NUMBERLINE_TRACEBACK=1 shows where)", 1)
    raise SystemExit(code or 0)
