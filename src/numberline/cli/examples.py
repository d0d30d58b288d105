"""Commands that run no model: the built-in ones, and counterfactuals."""

from pathlib import Path
from typing import Annotated

import typer

from numberline.cli.base import Seed, TaskName, app, out
from numberline.seed import SEED


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
    digits: Annotated[int | None, typer.Option(help="digits of each operand, where they are numbers; 2", min=1)] = None,
    task: TaskName = "max",
    seed: Seed = SEED,
    out: Annotated[Path | None, typer.Option(help="a CSV file to write; printed unless given")] = None,
) -> None:
    """Sample counterfactuals: clean and corrupted operands that differ in one, as CSV.

    Example: [bold]numberline sample --k 2 --case y1 --n 5[/bold]
    """
    from numberline.tasks import Task, concept_of, perturb, ranked_tuples, to_csv, write_counterfactuals

    asked = Task(concept_of(task), k, digits)
    examples = perturb(asked, ranked_tuples(asked, n, seed), case)
    if out is None:
        typer.echo(to_csv(asked, examples), nl=False)
    else:
        write_counterfactuals(out, asked, examples)
        typer.echo(f"{n} counterfactuals are in {out}")
