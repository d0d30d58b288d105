"""The laboratory: a loaded model, the prompts it has seen, and any number of "what if" questions about them.

lab = numberline.load("tiny")
clean, corrupted = lab.record(clean_prompts), lab.record(corrupted_prompts)
lab.run(corrupted, [swap(resid(13).at("y1"), clean)], Read(logits=tokens))
lab.sweep(corrupted, [[swap(resid(layer).at(token), clean)] for layer … for token …], Read(logits=tokens))
lab.decode(corrupted, [swap(…)], steps=3)
lab.activations(grid_of_prompts, [neurons(14, (3, 5)).at("y3")])
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from numberline.engine import pieces, prefix_tree
from numberline.engine import recording as recordings
from numberline.engine.attention import installed
from numberline.engine.conditions import Condition, Sink, resolve
from numberline.engine.edits import Edit
from numberline.engine.journal import Chapter, Journal, Piece
from numberline.engine.memory import Memory
from numberline.engine.prompts import Prompts
from numberline.engine.recording import Keep, Recording
from numberline.engine.sites import RESID, Site, check
from numberline.engine.wave import Wave
from numberline.errors import NumberlineError
from numberline.models.loaded import LoadedModel
from numberline.models.network import Network

PIECE = 256
"""Final residuals that are unembedded at once."""


@dataclass(frozen=True, eq=False)
class Read:
    """What to read of a run.

    `logits`: tokens whose logits at the last position are wanted, some for each example; `argmax`: the most likely next
    token over the whole vocabulary, with its margin over the second; `sites`: activations, after the edits.
    """

    logits: Int[Tensor, "n chosen"] | None = None
    argmax: bool = False
    sites: Sequence[Site] = ()


@dataclass(frozen=True, eq=False)
class Reading:
    """What was read. From a sweep, every tensor has a leading axis of conditions; from a run, none."""

    logits: Float[Tensor, "*conditions n chosen"] | None = None
    argmax: Int[Tensor, "*conditions n"] | None = None
    margin: Float[Tensor, "*conditions n"] | None = None
    at: dict[Site, Float[Tensor, "*conditions n tokens d"]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Lab:
    """A loaded model with its engine."""

    loaded: LoadedModel
    memory: Memory
    journal: Journal = field(default_factory=Journal)
    """Keeps what was computed, within a run; otherwise nothing."""

    @classmethod
    def of(cls, loaded: LoadedModel) -> "Lab":
        """Set up the engine for a loaded model."""
        network = loaded.network
        return cls(loaded, Memory(network.d_model, network.d_mlp, network.dtype.itemsize, network.blocks[0].device))

    @property
    def network(self) -> Network:
        """The model's parts."""
        return self.loaded.network

    @property
    def tokenizer(self) -> Any:
        """The model's tokenizer."""
        return self.loaded.tokenizer

    def cost(self, prompts: Prompts, keep: Iterable[Keep] = (), dtype: torch.dtype | None = None) -> int:
        """Bytes that recording these prompts would hold."""
        return recordings.size(self.network, prompts, keep, dtype)

    def record(
        self,
        prompts: Prompts,
        keep: Iterable[Keep] = (),
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
        prefix_of: Recording | None = None,
        upto: int | None = None,
    ) -> Recording:
        """Run the prompts un-edited and keep what edits resume from (in `dtype`, on `device`, when given).

        Prompts that begin with the same shared tokens as another recording's take their run over from `prefix_of`. With
        `upto`, the last layer that runs, the recording is only a source of activations for edits of other recordings.
        """
        keep = tuple(keep)
        chapter = self.journal.chapter("record", prompts.ids, keep, upto)
        return recordings.record(self.network, self.memory, prompts, keep, dtype, device, prefix_of, upto, chapter)

    def activations(self, prompts: Prompts, sites: Sequence[Site]) -> list[Float[Tensor, "n tokens d"]]:
        """The un-edited activations at some sites, and nothing else; prompts that begin alike share that run."""
        chapter = self.journal.chapter("activations", prompts.ids, sites)
        return prefix_tree.activations(self.network, self.memory, prompts, sites, chapter)

    def run(self, recording: Recording, edits: Sequence[Edit], read: Read, grad: bool = False) -> Reading:
        """One edited run. With no edits: the recording's own readings. With `grad`, autograd sees the suffix."""
        found = self.sweep(recording, [edits], read, grad)
        return Reading(
            logits=None if found.logits is None else found.logits[0],
            argmax=None if found.argmax is None else found.argmax[0],
            margin=None if found.margin is None else found.margin[0],
            at={site: values[0] for site, values in found.at.items()},
        )

    def sweep(
        self,
        recording: Recording,
        conditions: Sequence[Sequence[Edit]],
        read: Read,
        grad: bool = False,
        progress: Callable[[int], object] | None = None,
    ) -> Reading:
        """Many edited runs of the same prompts, batched together. `progress` is told conditions × examples done."""
        if not conditions:
            raise NumberlineError("a sweep needs at least one condition")
        for site in read.sites:
            check(site, self.network)
        resolved = [resolve(recording, edits) for edits in conditions]
        wants_logits = read.logits is not None or read.argmax
        if not wants_logits and not read.sites:
            raise NumberlineError("nothing is read: ask for logits, argmax or sites")
        last = self.network.n_layers - 1 if wants_logits else max(site.layer for site in read.sites)
        gradient = torch.enable_grad() if grad else torch.no_grad()
        # A gradient cannot be kept: what it is used for is a piece, or nothing is.
        journal = Journal() if grad else self.journal
        chapter = journal.chapter("sweep", recording.prompts.ids, read.sites, conditions)
        with gradient, installed(self.network.model):
            sinks = [self._sink(recording, site, len(resolved)) for site in read.sites]
            finals, of = self._finals(recording, resolved, sinks, last, grad, progress, chapter)
            return self._reading(recording, read, sinks, finals if wants_logits else None, of, chapter)

    def decode(
        self, recording: Recording, conditions: Sequence[Sequence[Edit]], steps: int
    ) -> Int[Tensor, "conditions n steps"]:
        """Greedy continuation of each condition. Edits hold at prompt positions; EVERYWHERE also at generated ones."""
        resolved = [resolve(recording, edits, steps) for edits in conditions]
        out = torch.zeros(len(resolved), len(recording), steps, dtype=torch.long)
        chapter = self.journal.chapter("decode", recording.prompts.ids, steps, conditions)
        with torch.no_grad(), installed(self.network.model):
            last = self.network.n_layers - 1

            def run(numbers: list[int], examples: slice) -> None:
                wave = Wave(recording, [resolved[i] for i in numbers], examples, [], numbers, last)
                out[numbers, examples] = pieces.continued(wave, steps, chapter).cpu()

            self._in_waves(recording, resolved, list(range(len(resolved))), run)
        return out

    def _sink(self, recording: Recording, site: Site, conditions: int) -> Sink:
        """Room for a read, filled with the un-edited values: what no edit reaches stays as recorded."""
        tokens = site.tokens(recording.prompts.positions, recording.length)
        values = recording.value(site)
        return Sink(site, tokens, values.expand(conditions, *values.shape).clone())

    def _finals(
        self,
        recording: Recording,
        resolved: list[Condition],
        sinks: list[Sink],
        last: int,
        grad: bool,
        progress: Callable[[int], object] | None,
        chapter: Chapter,
    ) -> tuple[Float[Tensor, "distinct n d_model"], list[int]]:
        """The residual leaving the last block at the last token, and which row of it each condition has.

        Conditions that change nothing share one.
        """
        length, layer = recording.length, self.network.n_layers - 1
        plain = recording.span(RESID.name, layer, length - 1, length)[:, 0]
        moving = [number for number, condition in enumerate(resolved) if not condition.inert]
        rows = {number: row for row, number in enumerate(moving)}
        still = len(resolved) - len(moving)
        finals = plain.repeat(len(moving) + bool(still), 1, 1)
        if progress is not None and still:
            progress(still * len(recording))  # nothing to run, so done

        def run(numbers: list[int], examples: slice) -> None:
            wave = Wave(recording, [resolved[i] for i in numbers], examples, sinks, numbers, last)
            found = pieces.finals(wave, chapter)
            finals[[rows[number] for number in numbers], examples] = found.to(plain.device)
            if progress is not None:
                progress(found.shape[0] * found.shape[1])

        self._in_waves(recording, resolved, moving, run, grad)
        return finals, [rows.get(number, len(moving)) for number in range(len(resolved))]

    def _in_waves(
        self,
        recording: Recording,
        resolved: list[Condition],
        moving: list[int],
        run: Callable[[list[int], slice], None],
        grad: bool = False,
    ) -> None:
        """Conditions that start at the same token, and as many examples as fit, at a time."""
        groups: dict[int, list[int]] = {}
        for number in moving:
            groups.setdefault(resolved[number].token, []).append(number)
        for token, numbers in sorted(groups.items()):
            blocks = self.network.n_layers - min(resolved[number].layer for number in numbers)
            self._wave(recording, numbers, recording.length - token, blocks, run, grad)

    def _wave(
        self,
        recording: Recording,
        numbers: list[int],
        tokens: int,
        blocks: int,
        run: Callable[[list[int], slice], None],
        grad: bool,
    ) -> None:
        """Run conditions of one first token: in parts, unless a gradient needs all of them anyway."""
        memory, n = self.memory, len(recording)
        if grad:
            run(numbers, slice(0, n))
            return

        def some(conditions: slice) -> None:
            chosen = numbers[conditions]
            most = lambda: max(memory.wave(tokens, blocks) // len(chosen), 1)  # noqa: E731
            memory.halving(n, most, lambda rows: run(chosen, rows))

        memory.halving(len(numbers), lambda: memory.wave(tokens, blocks), some)

    def _reading(
        self,
        recording: Recording,
        read: Read,
        sinks: list[Sink],
        finals: Tensor | None,
        of: list[int],
        chapter: Chapter,
    ) -> Reading:
        """What is read of the finals, a piece at a time: each distinct one once, then each condition's."""
        at = {sink.site: sink.values for sink in sinks}
        if finals is None:
            return Reading(at=at)
        shape, parts = finals.shape[:2], finals.flatten(0, 1).split(PIECE)
        logits = argmax = margin = None
        if read.logits is not None:
            if read.logits.shape[0] != len(recording):
                raise NumberlineError(
                    f"logits were asked for {read.logits.shape[0]} examples, but the run has {len(recording)}"
                )
            tokens = read.logits.repeat(shape[0], 1).split(PIECE)
            chosen = [self.network.logits(*both) for both in zip(parts, tokens, strict=True)]
            logits = torch.cat(chosen).reshape(*shape, -1)[of]
        if read.argmax:
            top = [chapter.piece(f"top {number}", partial(self._top, part)) for number, part in enumerate(parts)]
            values, indices = (torch.cat([each[name] for each in top]) for name in ("values", "indices"))
            argmax = indices[:, 0].reshape(shape)[of]
            margin = (values[:, 0] - values[:, 1]).reshape(shape)[of]
        return Reading(logits, argmax, margin, at)

    def _top(self, finals: Float[Tensor, "rows d_model"]) -> Piece:
        """The two most likely next tokens, and their logits."""
        found = self.network.logits(finals).topk(2, dim=-1)
        return {"values": found.values, "indices": found.indices}
