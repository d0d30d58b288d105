"""What every command shares: the application, where it prints, the options that many have, what is said of failures."""

import os
import platform
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from numberline import __version__
from numberline.errors import NumberlineError

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
TaskName = Annotated[
    str, typer.Option("--task", help="a concept (see: numberline concepts), or a TOML or Python file that declares one")
]


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


@contextmanager
def reading(*runs: Path) -> Iterator[None]:
    """Read run folders. Files that hold something else than results of this version fail somewhere, and are said so."""
    try:
        yield
    except (NumberlineError, typer.Exit, typer.Abort, BrokenPipeError):
        raise
    except Exception as error:
        if os.environ.get("NUMBERLINE_TRACEBACK"):
            raise
        raise NumberlineError(
            f"{' or '.join(map(str, runs))} does not hold what this version of numberline writes "
            f"({type(error).__name__}: {error}): make the run again, in another folder; if nobody changed its files "
            f"and no other version wrote them, report it together with the file {traceback_file()}"
        ) from error


def traceback_file() -> str:
    """A new file in the temporary directory with all that a report needs of the error under way."""
    about = f"numberline {__version__}, Python {platform.python_version()}, {platform.platform()}\n{sys.argv}\n\n"
    with tempfile.NamedTemporaryFile("w", prefix="numberline-", suffix=".txt", delete=False, encoding="utf-8") as file:
        file.write(about + traceback.format_exc())
    return file.name


class StoppedError(Exception):
    """Ctrl-C, with a sentence about what is kept."""
