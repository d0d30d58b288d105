"""The command that says what can be compared, and with which tokenizer."""

from typing import Annotated

import typer

from numberline.cli.base import app, out
from numberline.cli.screen import quiet_transformers


@app.command()
def concepts(
    model: Annotated[
        str | None, typer.Argument(help="say for each whether this model's tokenizer can be used; no weights are read")
    ] = None,
) -> None:
    """List what can be compared (`--task NAME`), with an example; and, for a model, whether its tokenizer allows it.

    Example: [bold]numberline concepts tiny[/bold]
    """
    from numberline.runs.language import language_of
    from numberline.runs.plan import config_of
    from numberline.tasks.registry import built_in
    from numberline.tasks.usable import usability

    with quiet_transformers():
        tokenizer = None if model is None else config_of(model)[1]
        for name, concept in built_in().items():
            language = language_of(concept)
            about = f"{language.question} …  ({len(concept.values)} {language.nouns}, {language.extent})"
            out.print(f"[bold]{name:18}[/bold]{about}")
            if tokenizer is not None:
                two, three = usability(tokenizer, concept)
                out.print(f"{'':18}{two}", markup=False)
                if not three.like(two):
                    out.print(f"{'':18}of three operands: {three}", markup=False)
