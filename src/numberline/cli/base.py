"""What every command shares: the application, where it prints, and the options that many have."""

from typing import Annotated

import typer
from rich.console import Console

from numberline import __version__

app = typer.Typer(name="numberline", add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
out, err = Console(highlight=False, soft_wrap=True), Console(stderr=True, highlight=False)

Model = Annotated[
    str, typer.Argument(help="a built-in name, a folder with Hugging Face weights, a GGUF file, or a Hub id")
]
Device = Annotated[str | None, typer.Option(help="cpu, cuda or mps; the best there is unless given")]
Dtype = Annotated[str, typer.Option(help="float32, bfloat16 or float16")]
DeviceMap = Annotated[str | None, typer.Option(help="spread the model over devices: auto")]
Revision = Annotated[str | None, typer.Option(help="a branch, tag or commit of a Hub id")]
TrustRemoteCode = Annotated[bool, typer.Option("--trust-remote-code", help="run the code that comes with the model")]
Size = Annotated[str, typer.Option(help="the sample sizes: paper, medium, quick")]
Seed = Annotated[int, typer.Option(help="decides every sampled example")]
Prompt = Annotated[str, typer.Option(help="the words of the question: paper, no-space, few-shot, larger-of, chat")]
TaskName = Annotated[str, typer.Option("--task", help="max, min, or a Python file that declares a concept")]


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


class StoppedError(Exception):
    """Ctrl-C, with a sentence about what is kept."""
