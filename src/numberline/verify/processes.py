"""How are many planted models put to the test? Each in a process of its own, as many at once as there are cores.

The model is so small that one of them does not keep two cores busy, but two of them do. Every case has its own run
folder, so that a verification that was stopped goes on where it was.
"""

import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import torch

from numberline.experiments.common.experiment import Experiment
from numberline.results.schema import Meta
from numberline.verify.cases import Case, verify
from numberline.verify.check import Check


class SilentWatcher:
    """Watches a run and says nothing."""

    def started(self, experiment: Experiment) -> None:
        """An experiment begins."""

    def progress(self, done: int, total: int) -> None:
        """It got this far."""

    def finished(self, experiment: Experiment, meta: Meta, kept: bool) -> None:
        """It ended."""

    def warned(self, sentence: str) -> None:
        """It goes on."""


def each(
    cases: Sequence[Case], out: Path, size: str, jobs: int = 0, left_out: Sequence[str] = ()
) -> Iterator[tuple[Case, list[Check]]]:
    """The checks of every case, as they are done; `jobs` at once, or as many as there are cores."""
    measure = partial(_one, out=out, size=size, left_out=left_out)
    workers = min(len(cases), jobs or os.cpu_count() or 1)
    if workers <= 1:
        yield from map(measure, cases)
        return
    with multiprocessing.get_context("spawn").Pool(workers, _begin) as pool:  # leaving it ends the processes
        yield from pool.imap_unordered(measure, cases)


def _begin() -> None:
    """A process of the pool: one core, and whoever stops it is told by the first process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)


def _one(case: Case, out: Path, size: str, left_out: Sequence[str]) -> tuple[Case, list[Check]]:
    return case, verify(case, out, size, SilentWatcher(), left_out)
