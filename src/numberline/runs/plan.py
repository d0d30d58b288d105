"""What will a run cost? Operations, seconds and memory of each experiment, before any weight is read.

1. The config alone says the model's shape (`costs.py`): a built-in name, a folder, a bare config.json, a Hub id.
2. The experiments are rehearsed on a lab that computes nothing (`rehearsal.py`). Which sites play the roles is not
   known before a run: they are those of the paper, at the same fraction of the depth.
3. Calls become seconds on this machine, or on a declared accelerator (`speed.py`). What an experiment does beside the
   engine took its time in the rehearsal.

A fit that is stuck begins again, and a fit may end early: neither is known before.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil
import torch
from jaxtyping import Int
from torch import Tensor

from numberline.engine.prompts import Prompts
from numberline.errors import NumberlineError
from numberline.experiments.common.experiment import Experiment
from numberline.experiments.registry import select
from numberline.models.catalogue import BUILT_IN, TRAINED
from numberline.models.free_memory import free_bytes
from numberline.models.loaded import LoadedModel
from numberline.models.loading import DTYPES, default_device
from numberline.models.network import Network
from numberline.models.refusals import refusals
from numberline.results.paper_roles import SITES
from numberline.results.result import Result
from numberline.runs.costs import Call, Shape, Work
from numberline.runs.made_up import NARROW, NEURONS, VirtualMemory
from numberline.runs.rehearsal import RehearsingLab
from numberline.runs.run import Settings
from numberline.runs.speed import Speed, accelerator, measure, seconds
from numberline.tasks.concept import Concept

LARGE = Call("block", 64, 8, 8)
"""A batch that is large enough: full forward passes have as many rows as one likes."""
DEPTH, HEADS = 28, 28
"""Layers and heads of the paper's model."""


@dataclass(frozen=True)
class Cost:
    """What one experiment will take, and what full forward passes with hooks would."""

    id: str
    operations: float
    seconds: float
    memory: int
    naive: float
    naive_seconds: float
    missing: str | None = None
    """Why it could not be rehearsed, if so."""


@dataclass(frozen=True)
class Plan:
    """The costs of all experiments of a run, on a machine with some memory."""

    costs: tuple[Cost, ...]
    shape: Shape
    machine: str
    memory: int

    @property
    def seconds(self) -> float:
        """Of all experiments."""
        return sum(cost.seconds for cost in self.costs)

    @property
    def peak(self) -> int:
        """The most memory that any of them needs, the model included."""
        return max((cost.memory for cost in self.costs), default=self.shape.weights)

    @property
    def too_large(self) -> list[str]:
        """What does not fit: the experiments, by id."""
        return [cost.id for cost in self.costs if cost.memory > self.memory]


def plan(
    model: str,
    settings: Settings,
    patterns: Sequence[str] = ("*",),
    gpu: str | None = None,
    dtype: str | None = None,
    device: str | None = None,
    progress: Callable[[Experiment], object] = lambda _: None,
    clock: Callable[[], float] = time.perf_counter,
) -> Plan:
    """Plan a run. With `gpu`, the name of an accelerator, for that one, in bfloat16 unless a dtype is given."""
    name = dtype or ("float32" if gpu is None else "bfloat16")
    if name not in DTYPES:
        raise NumberlineError(f"there is no dtype '{name}': choose from {', '.join(DTYPES)}")
    declared = None if gpu is None else accelerator(gpu)
    config, tokenizer = config_of(model)
    shape, place = Shape.of(config, DTYPES[name]), device or default_device()
    there = declared or measure(config, DTYPES[name], place, clock)
    if declared is not None:
        memory, base = declared.memory, 0
    else:
        base = psutil.Process().memory_info().rss if place == "cpu" else 0  # what torch itself takes
        memory = free_bytes(torch.device(place)) + base
    free = memory if declared is not None or place != "cpu" else None
    lab = rehearsing(shape, tokenizer, settings.concept, model, free)
    costs = [
        replace(cost, memory=cost.memory + base) for cost in rehearsed(lab, settings, patterns, there, progress, clock)
    ]
    return Plan(tuple(costs), shape, gpu or place, memory)


def parameters(model: str) -> int:
    """How many a model has."""
    return Shape.of(config_of(model)[0], torch.float32).parameters


def config_of(model: str) -> tuple[Any, Any]:
    """A model's config and its tokenizer; a bare config has none, and is planned with the built-in one, as Qwen's."""
    from transformers import AutoConfig, AutoTokenizer

    name = model if model in TRAINED else "tiny" if model == "planted" else None
    source: Path | str = BUILT_IN / name if name else model
    with refusals(model, source, None):
        config = AutoConfig.from_pretrained(source)
        bare = Path(source).is_file() or (Path(source).is_dir() and not (Path(source) / "tokenizer.json").is_file())
        return config, AutoTokenizer.from_pretrained(BUILT_IN / "tiny" if bare else source)


def rehearsing(shape: Shape, tokenizer: Any, concept: Concept, name: str, free: int | None = None) -> RehearsingLab:
    """A lab that computes nothing, as deep as the model and with its heads, but narrow; `free`: an accelerator's."""
    from transformers import Qwen2Config, Qwen2ForCausalLM

    narrow = Qwen2Config(
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=1,
        head_dim=2,
        hidden_size=min(shape.width, NARROW),
        intermediate_size=min(shape.neurons, NEURONS),
        vocab_size=shape.vocabulary if shape.vocabulary < 1000 else 64,
    )
    model = Qwen2ForCausalLM(narrow).eval().requires_grad_(False)
    network = replace(Network.of(model), vocabulary=shape.vocabulary)
    memory = VirtualMemory(shape.width, shape.neurons, shape.itemsize, torch.device("cpu" if free is None else "cuda"))
    loaded = LoadedModel(name, network, tokenizer, "rehearsal")
    lab = RehearsingLab(loaded, memory, shape=shape, winner=lambda prompts: winners(tokenizer, concept, prompts))
    if free is not None:
        memory.free = lambda: free - lab.held
    return lab


def winners(tokenizer: Any, concept: Concept, prompts: Prompts) -> Int[Tensor, " n"]:
    """The first token of the operand that wins, in each prompt: what a model that is right says next."""
    names = [name for name in prompts.positions if f"{name}.first" in prompts.positions]
    if not names:
        return prompts.ids[:, -1]
    firsts = [prompts.positions[f"{name}.first"] for name in names]
    spelled = [
        tokenizer.batch_decode(prompts.ids[:, first : prompts.positions[name] + 1])
        for name, first in zip(names, firsts, strict=True)
    ]
    columns = []
    for texts in zip(*spelled, strict=True):
        values = [concept.parse(text) or 0 for text in texts]
        columns.append(firsts[values.index(concept.winner(values))])
    return prompts.ids.gather(1, torch.tensor(columns)[:, None])[:, 0]


def roles_at(shape: Shape) -> dict[str, tuple[int, ...]]:
    """The paper's roles at the same fraction of the depth, each in a layer of its own where there are enough."""
    layers = sorted({layer for name, value in SITES.items() for layer in (value[:1] if "_head" in name else value)})
    placed: dict[int, int] = {}
    for layer in layers:
        lowest = max(placed.values(), default=-1) + 1
        placed[layer] = min(max(round((layer + 0.5) / DEPTH * shape.layers - 0.5), lowest), shape.layers - 1)
    return {
        name: (placed[value[0]], value[1] * shape.heads // HEADS)
        if "_head" in name
        else tuple(placed[layer] for layer in value)
        for name, value in SITES.items()
    }


def rehearsed(
    lab: RehearsingLab,
    settings: Settings,
    patterns: Sequence[str],
    there: Speed,
    progress: Callable[[Experiment], object],
    clock: Callable[[], float],
) -> Iterator[Cost]:
    """Every experiment's cost, in the order of the run."""
    sizes = replace(settings.sizes, patience=0)  # when a loss will have ended is not known
    context = replace(settings.context, sizes=sizes, roles={**roles_at(lab.shape), **settings.roles})
    known: dict[str, Result] = {}
    for experiment in select(patterns):
        progress(experiment)
        work, began = Work(lab.shape), clock()
        lab.work.append(work)
        needs = {id: known[id] for id in experiment.needs}
        result = known[experiment.id] = experiment(lab, replace(context, needs=needs))
        beside = clock() - began
        yield Cost(
            experiment.id,
            work.operations,
            seconds(work, there) + beside,
            work.peak,
            work.naive,
            work.naive * there.seconds(LARGE, lab.shape) / LARGE.operations(lab.shape),
            result.missing,
        )
