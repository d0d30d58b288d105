"""The command that says what a run will cost."""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from numberline.cli.base import Seed, Size, TaskName, app, out
from numberline.cli.screen import bar, quiet_transformers
from numberline.seed import SEED

if TYPE_CHECKING:
    from numberline.runs.plan import Plan
    from numberline.runs.run import Settings

SMALL = 20_000_000
"""A model of fewer parameters runs about as fast as it is planned."""


@app.command()
def plan(
    model: Annotated[
        str, typer.Argument(help="a built-in name, a folder with a config.json, a config file, or a Hub id")
    ] = "tiny",
    size: Size = "paper",
    only: Annotated[list[str] | None, typer.Option(help="an experiment's id, or a pattern: 'k2.*'; repeatable")] = None,
    gpu: Annotated[str | None, typer.Option(help="an accelerator that is not here: a100-40gb, h100-80gb, …")] = None,
    role: Annotated[list[str] | None, typer.Option(help="choose a site yourself: number_layer=13; repeatable")] = None,
    seed: Seed = SEED,
    task: TaskName = "max",
    dtype: Annotated[str | None, typer.Option(help="float32, or with --gpu bfloat16, unless given")] = None,
) -> None:
    """Say what a run will cost, before any weights are read: operations, time and memory of each experiment.

    Example: [bold]numberline plan tiny --size quick --only k2.trace[/bold]
    """
    from numberline.experiments.common import roles
    from numberline.runs.plan import plan as planned
    from numberline.runs.run import Settings

    settings = Settings(size, seed, task, dict(map(roles.parse, role or ())))
    with bar() as progress, quiet_transformers():
        row = progress.add_task("the speed of this machine" if gpu is None else "", total=None)
        found = planned(
            model,
            settings,
            only or ["*"],
            gpu,
            dtype,
            None,
            lambda experiment: progress.update(row, description=experiment.id),
        )
    print_plan(found)
    out.print(verdict(model, found))


def announced(
    model: str, settings: "Settings", patterns: Sequence[str], device: str | None, dtype: str
) -> dict[str, float]:
    """Say how long a run will take, before it begins; gives the seconds of each experiment.

    Nothing is said of a small model, and of one that has no config to plan from.
    """
    from numberline.results.formatting import duration, size
    from numberline.runs.plan import parameters, plan

    try:
        with quiet_transformers():
            if parameters(model) < SMALL:
                return {}
            found = plan(model, settings, patterns, dtype=dtype, device=device)
    except Exception as error:
        logging.getLogger("numberline").debug("no plan: %s", error)
        return {}
    out.print(
        f"It will take about {duration(found.seconds)} and {size(found.peak)} of memory on this machine "
        f"(numberline plan {model} tells more)"
    )
    return {cost.id: cost.seconds for cost in found.costs}


def print_plan(plan: "Plan") -> None:
    """A row for each experiment."""
    from numberline.results.formatting import duration, size

    table = Table(box=None, pad_edge=False)
    table.add_column("experiment", no_wrap=True)
    for name in ("operations", "time", "memory", "full passes with hooks"):
        table.add_column(name, justify="right", no_wrap=True)
    for cost in plan.costs:
        if cost.missing is not None:
            table.add_row(cost.id, "–", "–", "–", "–")
            continue
        table.add_row(
            cost.id, f"{cost.operations:.2g}", duration(cost.seconds), size(cost.memory), duration(cost.naive_seconds)
        )
    naive = sum(cost.naive_seconds for cost in plan.costs)
    operations = sum(cost.operations for cost in plan.costs)
    table.add_row("all", f"{operations:.2g}", duration(plan.seconds), size(plan.peak), duration(naive), style="bold")
    out.print(table)


def verdict(model: str, plan: "Plan") -> str:
    """Whether it fits, and how long it takes, in a sentence."""
    from numberline.results.formatting import duration, size

    about = f"{model} ({size(plan.shape.weights)} of weights) on {plan.machine}"
    if plan.shape.weights > plan.memory:
        return f"{about}: the weights alone do not fit {size(plan.memory)}."
    if plan.too_large:
        return (
            f"{about}: about {duration(plan.seconds)}; {', '.join(plan.too_large)} would not fit {size(plan.memory)}."
        )
    return (
        f"{about}: it fits, {size(plan.peak)} of {size(plan.memory)} at most, and takes about {duration(plan.seconds)}."
    )
