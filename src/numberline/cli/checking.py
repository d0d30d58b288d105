"""The command that looks before a run: is this file of examples valid, can this model do the task?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from numberline.cli.base import Device, DeviceMap, Dtype, Revision, Seed, TaskName, TrustRemoteCode, app, out
from numberline.cli.screen import bar, load_lab
from numberline.errors import NumberlineError
from numberline.seed import SEED

if TYPE_CHECKING:
    from numberline.engine.lab import Lab
    from numberline.tasks import Concept
    from numberline.tasks.ability import Ability


@app.command()
def check(
    target: Annotated[str, typer.Argument(help="a model, or a CSV file with clean_y1, …, corrupted_y1, … columns")],
    k: Annotated[int, typer.Option("--k", help="operands in a prompt of the file", min=2)] = 2,
    digits: Annotated[int | None, typer.Option(help="digits of each operand, where they are numbers; 2", min=1)] = None,
    task: TaskName = "max",
    seed: Seed = SEED,
    device: Device = None,
    dtype: Dtype = "float32",
    device_map: DeviceMap = None,
    revision: Revision = None,
    trust_remote_code: TrustRemoteCode = False,
) -> None:
    """Check whether a model can do the task, and in which prompt (about a minute); or a CSV file of your own examples.

    Example: [bold]numberline check tiny[/bold]
    """
    if Path(target).suffix == ".csv":
        _file(Path(target), k, digits, task)
        return
    if k != 2 or digits is not None:
        raise NumberlineError(
            "--k and --digits are about a CSV file: a model is checked on two operands, leave them out"
        )
    from numberline.tasks import concept_of

    concept = concept_of(task)
    _model(target, load_lab(target, device, dtype, device_map, revision, trust_remote_code), concept, seed)


def _file(file: Path, k: int, digits: int | None, task: str) -> None:
    from numberline.tasks import Task, cases, concept_of, read_counterfactuals

    examples = read_counterfactuals(file, Task(concept_of(task), k, digits))
    counts = {name: sum(example.case == name for example in examples) for name in cases(k)}
    listed = ", ".join(f"{count} with {name} changed" for name, count in counts.items() if count)
    typer.echo(f"{file} holds {len(examples)} valid counterfactuals: {listed}")


def _model(name: str, lab: "Lab", concept: "Concept", seed: int) -> None:
    from numberline.engine.parity import self_check
    from numberline.tasks.ability import PAIRS, abilities, best

    network, largest = lab.network, self_check(lab)
    size = sum(parameter.numel() for parameter in network.model.parameters())
    for what, found in {
        "architecture": f"{network.model.config.model_type}, seen as {network.family.name}: {network.n_layers} layers, "
        f"{network.n_heads} heads, width {network.d_model}, {size:,} parameters",
        "self-check": f"every site of every layer is the model's own (largest difference {largest.error:.1g}, at "
        f"{largest.what}; allowed {largest.allowed:g})",
        "tokenizer": _layout(lab, concept),
    }.items():
        out.print(f"[bold]{what:14}[/bold]{found}")
    with bar() as progress:
        row = progress.add_task("accuracy", total=PAIRS)
        tried = list(abilities(lab, concept, PAIRS, seed, lambda more: progress.advance(row, more)))
    out.print()
    out.print(_table(tried))
    out.print()
    out.print(_verdict(name, best(tried)), markup=False)


def _layout(lab: "Lab", concept: "Concept") -> str:
    from numberline.tasks import Task
    from numberline.tasks.ability import layout

    try:
        return str(layout(lab.tokenizer, Task(concept)))
    except NumberlineError as error:
        return str(error)


def _table(tried: "list[Ability]") -> Table:
    from numberline.tasks.variants import VARIANTS

    table = Table(box=None, pad_edge=False)
    for name in ("prompt", "accuracy", "95 % interval", ""):
        table.add_column(name, justify="left" if name in ("prompt", "") else "right", no_wrap=bool(name))
    for each in tried:
        if each.accuracy is None:
            table.add_row(each.prompt, "–", "", each.why.partition(": ")[0])
            continue
        found, wrong = each.accuracy, f"; wrong: {each.said}" if each.said else ""
        interval = f"{100 * found.lo:.1f} – {100 * found.hi:.1f}"
        table.add_row(each.prompt, f"{100 * found.mean:.1f} %", interval, f"{VARIANTS[each.prompt].what}{wrong}")
    return table


def _verdict(name: str, chosen: "Ability") -> str:
    """What to do with the model, or a refusal where there is nothing to find in it."""
    option = "" if chosen.prompt == "paper" else f" --prompt {chosen.prompt}"
    if chosen.accuracy is None:
        raise NumberlineError(f"'{name}' cannot be asked in any prompt ({chosen.why}): use another model")
    if chosen.verdict == "cannot":
        raise NumberlineError(
            f"'{name}' cannot do the task in any prompt: in the best, {chosen.prompt}, {chosen.accuracy.mean:.0%} "
            f"of {chosen.accuracy.n} answers are right, and naming either operand would be right in 50%; what a run "
            "finds in it is noise, so use another model"
        )
    if chosen.verdict == "in part":
        return (
            f"{name} does the task in part: use only the examples that it solves, with\n"
            f"numberline run {name}{option} --solved"
        )
    return f"{name} does the task: numberline run {name}{option}"
