"""The command line: thin. Each module of commands reads options, calls the package, and prints.

A new command is a function with `@app.command()`, in one of them or in a new one that is imported here; `--help` lists
them in this order. Torch is imported only by the commands that need it.
"""

from numberline.cli import checking, concepts, examples, experiments, plan, results, verifying
from numberline.cli.base import app
from numberline.cli.entry import main

__all__ = ["app", "checking", "concepts", "examples", "experiments", "main", "plan", "results", "verifying"]
