"""For every test: shapes are checked at run time, small matrices are not spread over threads, no Hub is asked.

And `call`, which runs a command.
"""

import os
import sys

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # of the commands that tests start: every core has a worker of its own
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["COLUMNS"] = "200"  # rich reads the width once, when the first test imports the command line

import pytest
import torch
from jaxtyping import install_import_hook

torch.set_num_threads(1)
install_import_hook("numberline", "beartype.beartype")


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    """Run a command in an empty folder; its exit code, what it printed, and what it complained."""
    from numberline import cli

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["numberline", *arguments])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        return (stopped.value.code, *capsys.readouterr())

    return run


LONGEST = ("test_a_page_can_be_followed[ground-truth.md]", "test_the_tutorial_runs_from_top_to_bottom")
"""Tests of a minute and more: begun first, so that at the end no worker waits for one of them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest tests first; all others stay in their order."""
    items.sort(key=lambda item: item.name not in LONGEST)
