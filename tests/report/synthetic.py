"""A run folder with made-up results of the exact schemas, for tests of layout only. Nothing in it was measured."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import synthetic_three
import synthetic_two
from synthetic_parts import HEADS, LAYERS, NEURONS, D, random

from numberline.results.folder import RunFolder
from numberline.results.language import PAPER as PAPERS
from numberline.results.language import Language
from numberline.results.result import Result
from numberline.results.schema import FORMAT, About, Configuration, Hardware, Model
from numberline.tasks.sizes import PAPER, QUICK


def results() -> dict[str, Result]:
    """One result for every id that a figure reads."""
    return {**synthetic_two.results(), **synthetic_three.results()}


def make_run(
    path: Path,
    size: str = "quick",
    model: str = "made-up",
    without: tuple[str, ...] = (),
    language: Language = PAPERS,
    change: Callable[[Result], Result] = lambda result: result,
) -> Path:
    """A run folder of such results, each perhaps changed, in the words of a concept."""
    random.seed(0)
    folder, entries = RunFolder(path), {}
    for id, result in results().items():
        if id not in without:
            meta = folder.save(id, change(result), digest="0", needs={}, seconds=1.0)
            entries[id] = meta.entry
    about = About(
        format=FORMAT,
        configuration=Configuration(model=model, size=size, seed=52, task="max"),
        language=language,
        model=Model(
            name=model, fingerprint="0", architecture="qwen2", layers=LAYERS, heads=HEADS, width=D, neurons=NEURONS,
            vocabulary=306, parameters=1000, dtype="float32", device="cpu",
        ),
        sizes=asdict(QUICK if size == "quick" else PAPER),
        versions={"python": "3.11"},
        hardware=Hardware(platform="made up", processor="", cores=1, threads=1, memory_gib=None, accelerators=()),
        created="2026-01-01T00:00:00+00:00",
        updated="2026-01-01T00:00:00+00:00",
        experiments=entries,
    )  # fmt: skip
    folder.describe(about)
    return path
