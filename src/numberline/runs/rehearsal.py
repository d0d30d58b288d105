"""What would the engine do, were the experiments run? A lab that computes nothing, and counts what would be computed.

1. It has the questions of a real lab: record, run, sweep, decode, activations. The experiments cannot tell, so that
   what is counted is their own conditions on their own examples, not a second description of them.
2. Work is counted at the real widths: batches are cut by the real rules (`engine/memory.py`), each block that a wave
   would run is a call. What is alive is added up, so that the peak is known.
3. Answers are made up, at a narrow width: activations are random numbers, the model is right, every fit succeeds.
   What an experiment does beside the engine (components, tables, probes) is done, and its time is part of the plan.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from weakref import WeakSet

import torch
from jaxtyping import Float, Int
from torch import Tensor

from numberline.engine.conditions import Condition, resolve
from numberline.engine.edits import Edit
from numberline.engine.lab import PIECE, Lab, Read, Reading
from numberline.engine.prefix_tree import at_once, segments
from numberline.engine.prompts import Prompts
from numberline.engine.recording import Keep, Recording
from numberline.engine.sites import Activation, Resume, Site, Z
from numberline.runs.costs import Call, Shape, Work
from numberline.runs.made_up import MadeUp, half_of, made_up


def _weighed(values: Tensor) -> Float[Tensor, ""]:
    return (values * torch.linspace(1, 0, values.shape[-1])).sum()


@dataclass(frozen=True, eq=False)
class RehearsingLab(Lab):
    """Counts what each question would cost."""

    shape: Shape = field(kw_only=True)
    work: list[Work] = field(default_factory=list)
    """The last is counted in: a new one for every experiment."""
    winner: Callable[[Prompts], Int[Tensor, " n"]] = lambda prompts: prompts.ids[:, -1]
    """What the model should say next."""
    alive: "WeakSet[MadeUp]" = field(default_factory=WeakSet)

    @property
    def held(self) -> int:
        """Bytes of the weights and of all recordings that are alive."""
        return self.shape.weights + sum(recording.held for recording in self.alive)

    def cost(self, prompts: Prompts, keep: Iterable[Keep] = (), dtype: torch.dtype | None = None) -> int:  # noqa: ARG002
        """Bytes that recording these prompts would hold."""
        return self.shape.recording(len(prompts), prompts.prefix, int(prompts.ids.shape[1]), self.shape.layers)

    def record(
        self,
        prompts: Prompts,
        keep: Iterable[Keep] = (),  # noqa: ARG002
        dtype: torch.dtype | None = None,  # noqa: ARG002
        device: torch.device | str | None = None,  # noqa: ARG002
        prefix_of: Recording | None = None,
        upto: int | None = None,
    ) -> MadeUp:
        """Count a run of all prompts."""
        n, length, shared = len(prompts), int(prompts.ids.shape[1]), prompts.prefix
        layers = self.shape.layers if upto is None else upto + 1
        if shared and prefix_of is None:
            self._count(Call("block", 1, shared, shared // 2), layers)
        self._blocks(n, length - shared, (length + shared) // 2, layers)
        held = self.shape.recording(n, shared, length, layers)
        recording = MadeUp(
            prompts, self.network, self.memory, held=held, corrupted=prefix_of is not None, computed=self._count
        )
        self.alive.add(recording)
        self.work[-1].full_passes(n, length)
        self._hold(rows=n, tokens=length - shared)
        return recording

    def activations(self, prompts: Prompts, sites: Sequence[Site]) -> list[Float[Tensor, "n tokens d"]]:
        """Count every distinct beginning once."""
        length = int(prompts.ids.shape[1])
        wanted = [site.tokens(prompts.positions, length) for site in sites]
        stop, layers = max(tokens[-1] for tokens in wanted) + 1, max(site.layer for site in sites) + 1
        each = 2 * max(layers, 1) * self.shape.kv_width * self.shape.itemsize
        step = at_once(self.memory, each, max(stop - prompts.prefix, 1), layers)
        for start in range(0, len(prompts), step):
            for segment in segments(prompts.ids[start : start + step, :stop]):
                keys = (segment.start + segment.stop) // 2
                self._blocks(len(segment), segment.stop - segment.start, keys, layers)
        self.work[-1].full_passes(len(prompts), length)
        kept = sum(len(prompts) * len(tokens) * self.shape.width * 4 for tokens in wanted)
        self._hold(kept + min(step, len(prompts)) * each * (stop - prompts.prefix))
        found = []
        for site, tokens in zip(sites, wanted, strict=True):
            where = site.layer, *tokens
            values = made_up(self.network, site.kind.read, len(prompts), len(tokens), length, where)
            found.append(site.part(self.network, values))
        return found

    def sweep(
        self,
        recording: Recording,
        conditions: Sequence[Sequence[Edit]],
        read: Read,
        grad: bool = False,
        progress: Callable[[int], object] | None = None,
    ) -> Reading:
        """Count the waves of a sweep, and what is unembedded."""
        resolved, n = [resolve(recording, edits) for edits in conditions], len(recording)
        wants = read.logits is not None or read.argmax
        last = self.shape.layers - 1 if wants else max(site.layer for site in read.sites)
        moving = [condition for condition in resolved if not condition.inert]
        self._waves(moving, n, last, grad)
        rows = (len(moving) + (len(moving) < len(resolved))) * n
        if read.logits is not None:
            self._count(Call("rows", rows, grad=grad))
        if read.argmax:
            self._count(Call("unembedding", min(PIECE, rows)), -(-rows // PIECE))
        for condition in moving:
            self.work[-1].full_passes(n, recording.length, condition.layer if grad else None)
        self._hold(rows * self.shape.width * self.shape.itemsize + PIECE * self.shape.vocabulary * 4)
        if progress is not None:
            progress(len(resolved) * n)
        return self._reading_of(recording, conditions, read, grad)

    def decode(
        self, recording: Recording, conditions: Sequence[Sequence[Edit]], steps: int
    ) -> Int[Tensor, "conditions n steps"]:
        """Count the waves and every further token; the model says what it should."""
        resolved, n = [resolve(recording, edits, steps) for edits in conditions], len(recording)
        self._waves(resolved, n, self.shape.layers - 1, grad=False, narrow=False)
        rows = len(resolved) * n
        self._count(Call("unembedding", min(PIECE, rows)), -(-rows // PIECE) * steps)
        for _ in range(steps - 1):
            self._blocks(rows, 1, recording.length, self.shape.layers)
        self.work[-1].full_passes(rows * steps, recording.length)
        past = rows * (recording.length - recording.prompts.prefix) * 2 * self.shape.kv_width * self.shape.layers
        self._hold(past * self.shape.itemsize + PIECE * self.shape.vocabulary * 4)
        return self.winner(recording.prompts)[None, :, None].repeat(len(resolved), 1, steps)

    def _waves(self, moving: list[Condition], n: int, last: int, grad: bool, narrow: bool = True) -> None:
        """The blocks of every wave: a condition joins at its layer, and what is edited inside a block runs there."""
        groups: dict[int, list[Condition]] = {}
        for condition in moving:
            groups.setdefault(condition.token, []).append(condition)
        for token, chosen in groups.items():
            length = chosen[0].recording.length
            tokens, first = length - token, min(condition.layer for condition in chosen)
            most = self.memory.wave(tokens, self.shape.layers - first)
            together = len(chosen) if grad else min(len(chosen), most)
            for start in range(0, len(chosen), together):
                part = chosen[start : start + together]
                step = n if grad else min(max(most // len(part), 1), n)
                for examples in {step, n % step} - {0}:
                    times = n // step if examples == step else 1
                    self._wave_of(part, examples, times, tokens, (token + length) // 2, last, grad, narrow)

    def _wave_of(
        self,
        chosen: list[Condition],
        n: int,
        times: int,
        tokens: int,
        keys: int,
        last: int,
        grad: bool,
        narrow: bool,
    ) -> None:
        active = 0
        for activation, width in self._not_kept(chosen):
            self._rows(Call(half_of(activation), n, width, keys), times)
        for layer in range(min(condition.layer for condition in chosen), last + 1):
            if active:
                final = narrow and layer == last == self.shape.layers - 1
                self._rows(Call("last" if final else "block", active * n, tokens, keys, grad), times)
            for condition in chosen:
                if condition.layer != layer:
                    continue
                active += 1
                inside = condition.inside
                if inside:
                    width = len({token for change in inside for token in change.tokens})
                    from_heads = any(change.edit.site.kind.resume is Resume.HEADS for change in inside)
                    self._rows(Call("heads" if from_heads else "mlp", n, width, 0, grad), times)
        rows = len(chosen) * n
        self._hold(rows=rows, tokens=tokens, graph=last - min(c.layer for c in chosen) if grad else 0)

    def _not_kept(self, chosen: list[Condition]) -> list[tuple[Activation, int]]:
        """What sources, and runs that resume inside a block, did not keep: the activation, at how many tokens, once."""
        found: dict[tuple[int, str, int], tuple[Activation, int]] = {}
        for condition in chosen:
            for change in condition.changes:
                if isinstance(change.source, MadeUp) and not change.source_site.kind.read.always:
                    read, where = change.source_site.kind.read, (id(change.source), change.source_site.layer)
                    found[where[0], read.name, where[1]] = read, len(change.there)
            if any(change.edit.site.kind.resume is Resume.HEADS for change in condition.inside):
                tokens = {token for change in condition.inside for token in change.tokens}
                found[id(condition.recording), Z.name, condition.layer] = Z, len(tokens)
        return list(found.values())

    def _blocks(self, rows: int, tokens: int, keys: int, layers: int) -> None:
        self._rows(Call("block", rows, tokens, keys), layers)

    def _rows(self, call: Call, times: int) -> None:
        """A call in slices, as the engine cuts them; with a gradient it is not cut."""
        step = call.rows if call.grad else self.memory.slices(call.rows, call.tokens)
        self._count(replace(call, rows=step), times * (call.rows // step))
        if call.rows % step:
            self._count(replace(call, rows=call.rows % step), times)

    def _count(self, call: Call, times: int = 1) -> None:
        self.work[-1].calls[call] += times

    def _hold(self, more: int = 0, rows: int = 0, tokens: int = 0, graph: int = 0) -> None:
        """What is held now: recordings, rows under way, a slice inside a block or a graph, and `more`."""
        shape = self.shape
        if rows:
            slices = self.memory.slices(rows, tokens)
            inside = slices * tokens * (3 * shape.neurons + 8 * shape.width) * shape.itemsize
            under_way = 3 * rows * tokens * shape.width * shape.itemsize
            more += under_way + (shape.graph(rows, tokens, graph) if graph else inside)
        self.work[-1].hold(self.held + more)

    def _reading_of(
        self, recording: Recording, conditions: Sequence[Sequence[Edit]], read: Read, grad: bool
    ) -> Reading:
        """Answers: the wanted token is far ahead, whatever was edited."""
        count, n = len(conditions), len(recording)
        logits = argmax = margin = None
        if read.logits is not None:
            logits = torch.zeros(count, n, read.logits.shape[1])
            for number, edits in enumerate(conditions):
                sign = -1 if isinstance(recording, MadeUp) and recording.corrupted and not edits else 1
                logits[number, :, 0] = sign * (2.0 + torch.rand(n))
            if grad:
                every = [edit for edits in conditions for edit in edits]
                # The same neurons matter in all cases, in every layer; fits end in directions of their own.
                given = [_weighed(edit.source) for edit in every if isinstance(edit.source, Tensor)]
                free = [edit.along for edit in every if isinstance(edit.along, Tensor) and edit.along.requires_grad]
                learned = [(along * torch.randn(along.shape)).sum() for along in free]
                logits[..., 0] += 1e-3 * sum(given) + 1e-3 * sum(learned)
        if read.argmax:
            said = self.winner(recording.prompts) if read.logits is None else read.logits[:, 0]
            argmax, margin = said.repeat(count, 1), torch.ones(count, n)
        at = {}
        for site in read.sites:
            values = recording.value(site)
            at[site] = values + 0.1 * torch.rand(values.shape, generator=torch.Generator().manual_seed(0)).expand(
                count, *values.shape
            )
        return Reading(logits, argmax, margin, at)
