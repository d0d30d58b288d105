"""Commands that run a model: its accuracy, and the experiments."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from numberline.cli.base import (
    Device,
    DeviceMap,
    Dtype,
    Model,
    Prompt,
    Revision,
    Seed,
    Size,
    StoppedError,
    TaskName,
    TrustRemoteCode,
    app,
    err,
    out,
    reading,
)
from numberline.cli.forecast import Forecast
from numberline.cli.log import LogWatcher
from numberline.cli.plan import announced
from numberline.cli.screen import Watcher, advance, bar, drawn, load_lab, print_accuracy, print_verdict
from numberline.seed import SEED

if TYPE_CHECKING:
    from numberline.runs.run import Run


@app.command()
def behaviour(
    model: Model = "tiny",
    size: Size = "paper",
    seed: Seed = SEED,
    task: TaskName = "max",
    prompt: Prompt = "paper",
    device: Device = None,
    dtype: Dtype = "float32",
    device_map: DeviceMap = None,
    revision: Revision = None,
    trust_remote_code: TrustRemoteCode = False,
) -> None:
    """Measure how often a model names the right answer: pairs, triples, longer lists.

    Example: [bold]numberline behaviour tiny[/bold]
    """
    from dataclasses import replace

    from numberline.experiments.common.behaviour import operands, pairs
    from numberline.runs.run import Settings
    from numberline.tasks import Task
    from numberline.tasks.ability import check_suits

    context = Settings(size, seed, task, prompt=prompt).context
    lab = load_lab(model, device, dtype, device_map, revision, trust_remote_code)
    check_suits(lab, Task(context.concept))
    for experiment in (pairs, operands):
        with bar() as progress:
            row = progress.add_task(experiment.id, total=None)
            result = experiment(lab, replace(context, progress=advance(progress, row)))
        print_accuracy(result)


@app.command()
def run(
    model: Model = "tiny",
    out: Annotated[Path | None, typer.Option(help="the run's folder; runs/MODEL unless given")] = None,
    size: Size = "paper",
    only: Annotated[list[str] | None, typer.Option(help="an experiment's id, or a pattern: 'k2.*'; repeatable")] = None,
    role: Annotated[list[str] | None, typer.Option(help="choose a site yourself: number_layer=13; repeatable")] = None,
    seed: Seed = SEED,
    task: TaskName = "max",
    examples: Annotated[
        Path | None, typer.Option(help="your own counterfactuals of two operands: a CSV file, see numberline check")
    ] = None,
    prompt: Prompt = "paper",
    solved: Annotated[bool, typer.Option("--solved", help="use only examples of two operands that it solves")] = False,
    device: Device = None,
    dtype: Dtype = "float32",
    device_map: DeviceMap = None,
    revision: Revision = None,
    trust_remote_code: TrustRemoteCode = False,
    wait: Annotated[bool, typer.Option("--wait", help="wait while another process works on the folder")] = False,
) -> None:
    """Run the experiments on a model; a run that was stopped continues where it was.

    Example: [bold]numberline run tiny --only behaviour.operands --size quick[/bold]
    """
    from numberline.experiments.common import roles
    from numberline.experiments.registry import select
    from numberline.models.loading import default_device
    from numberline.results.folder import RunFolder
    from numberline.runs.identity import ModelChoice, check_free, configuration, folder_name
    from numberline.runs.lock import held
    from numberline.runs.run import Run, Settings

    mine = None if examples is None else str(examples)
    settings, patterns = (
        Settings(size, seed, task, dict(map(roles.parse, role or ())), mine, prompt, solved),
        only or ["*"],
    )
    choice = ModelChoice(model, dtype, (device or default_device()).partition(":")[0], revision)
    folder = RunFolder(out or folder_name(choice, settings))
    # What can be refused is refused before a model is loaded.
    select(patterns)
    _ = settings.counterfactuals
    if device_map is None:  # else the devices are known when the model is
        check_free(folder, configuration(choice, settings))
    with held(folder.path, wait, err.print):
        planned = announced(model, settings, patterns, device, dtype) if device_map is None else {}
        lab = load_lab(model, device, dtype, device_map, revision, trust_remote_code)
        _execute(Run(lab, folder, settings), patterns, planned)


@app.command()
def experiments() -> None:
    """List the experiments in the order in which they run: their ids, and the question that each answers.

    Example: [bold]numberline experiments[/bold]
    """
    from numberline.experiments.registry import select
    from numberline.results.language import PAPER

    for experiment in select():
        out.print(f"[bold]{experiment.id:20}[/bold] {PAPER.say(experiment.question)}")


def _execute(run: "Run", patterns: list[str], planned: Mapping[str, float]) -> None:
    from numberline.experiments.registry import select
    from numberline.runs.language import language_of

    ids, kind = [each.id for each in select(patterns, run.experiments)], Watcher if err.is_terminal else LogWatcher
    forecast = Forecast.of(ids, kept=[id for id in ids if run.folder.has(id)], plan=planned)
    with bar() as progress, kind(progress, language_of(run.settings.concept), forecast) as watcher:
        try:
            done = run.execute(patterns, watcher)
        except KeyboardInterrupt:
            progress.stop()
            raise StoppedError(
                f"stopped with {watcher.count} experiments finished in {run.folder.path}; the same command continues"
            ) from None
    for meta in done:
        if meta.id.startswith("behaviour.") and "accuracy" in meta.tables:
            print_accuracy(run.folder.load(meta.id))
    unmeasured: dict[str, list[str]] = {}
    for meta in done:
        if meta.missing is not None:  # one reason may stop many, through one another: it is said once
            unmeasured.setdefault(meta.missing, []).append(meta.id)
    for reason, ids in unmeasured.items():
        out.print(f"Could not be measured ({', '.join(ids)}): {reason}")
    from numberline.claims import write_claims

    with reading(run.folder.path):
        ledger = write_claims(run.folder.path)
    out.print(f"\nThe results are in [bold]{run.folder.path}[/bold]: run.json, results/ and claims.json")
    _draw(run.folder.path, watcher.fresh)
    print_verdict(run.folder.path, ledger)


def _draw(path: Path, ids: list[str]) -> None:
    """Draw what new results feed, at the end of a run."""
    from numberline.report.draw import fed_by

    labels = fed_by(path, ids)
    if labels:
        made = drawn(path, labels)
        out.print(
            f"{len(made.figures)} figures and {len(made.tables)} tables are in figures/ and tables/ there, and all of "
            "them in report.html"
        )
