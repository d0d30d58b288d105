"""For tests of runs: a small model, and two experiments that count how often they are computed."""

from collections.abc import Callable
from pathlib import Path

import torch
from transformers import AutoTokenizer, Qwen2Config, Qwen2ForCausalLM

from numberline.engine.lab import Lab
from numberline.engine.subspace import Subspace
from numberline.experiments.common.experiment import Context, Experiment, Result, experiment
from numberline.experiments.registry import index
from numberline.models.catalogue import BUILT_IN
from numberline.models.loaded import wrap
from numberline.results.folder import RunFolder
from numberline.results.roles import Role
from numberline.results.schema import Meta
from numberline.runs.run import Run, Settings


def small_lab() -> Lab:
    """A model of one layer, untrained."""
    torch.manual_seed(52)
    config = Qwen2Config(
        vocab_size=306, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1,
        intermediate_size=16,
    )  # fmt: skip
    return Lab.of(wrap(Qwen2ForCausalLM(config), AutoTokenizer.from_pretrained(BUILT_IN / "tiny"), "small"))


class Bench:
    """Two experiments that count how often they are computed, and a watcher that writes down what it is told."""

    def __init__(self) -> None:
        self.computed: list[str] = []
        self.said: list[tuple] = []
        self.found: dict[str, Subspace] = {}
        self.stop: Callable[[], None] = lambda: None

        @experiment("demo.first")
        def first(lab: Lab, context: Context) -> Result:
            """What is first?"""
            self.computed.append("demo.first")
            context.progress(1, 2)
            scores = torch.arange(6.0).reshape(2, 3).T  # not contiguous
            rows = [{"case": "y1", "mean": context.seed / 10, "n": 3}, {"case": "y2", "mean": 0.5, "n": 3}]
            role = Role("number_layer", (0,), 1.0, 1.0, float("nan"), True, why="there is but one")
            return Result.of({"scores": rows}, 3, {"scores": scores}, self.found, [role])

        @experiment("demo.second", needs=("demo.first",))
        def second(lab: Lab, context: Context) -> Result:
            """What follows?"""
            self.computed.append("demo.second")
            self.stop()
            total = sum(row["mean"] for row in context.needs["demo.first"].rows("scores"))
            return Result.of({"total": {"total": [total, total]}}, n=1)

        self.experiments = index(second, first)

    def started(self, experiment: Experiment) -> None:
        self.said.append(("started", experiment.id))

    def progress(self, done: int, total: int) -> None:
        self.said.append(("progress", done, total))

    def finished(self, experiment: Experiment, meta: Meta, kept: bool) -> None:
        assert meta.id == experiment.id
        self.said.append(("finished", meta.id, kept))

    def warned(self, sentence: str) -> None:
        self.said.append(("warned", sentence))

    def run(self, lab: Lab, path: Path, *patterns: str, settings: Settings | None = None) -> RunFolder:
        folder = RunFolder(path)
        Run(lab, folder, settings or Settings(), self.experiments).execute(patterns or ("*",), self)
        return folder


def direction(model: str) -> Subspace:
    return Subspace.spanned_by(torch.arange(1.0, 17.0), model=model, method="test")
