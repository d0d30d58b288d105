"""The edited run: many conditions advance through the blocks together, each from where its first edit is.

A condition is a list of edits. Its first change is at some block and some token, so
1. conditions whose first changed token is the same form a wave; tokens before it are never computed, their keys and
   values come from the recording;
2. a condition joins the wave after the block of its first edit, with the recorded residual, edited; when that edit is
   inside the block, only the edited tokens are computed there, from the recorded heads or pre-MLP residual on;
3. the batch grows as conditions join, so late blocks run once for all of them;
4. at the last block only the last token goes through the MLP, unless something else is read or edited there.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from numberline.engine.blocks import attend, feed
from numberline.engine.conditions import Condition, Sink
from numberline.engine.edits import apply
from numberline.engine.recording import Recording, contribution, pattern, select
from numberline.errors import NumberlineError


@dataclass(eq=False)
class Wave:
    """Conditions with one first token, over some examples of a recording, on their way through the blocks."""

    recording: Recording
    conditions: list[Condition]
    examples: slice
    reads: list[Sink]
    numbers: list[int]
    """Each condition's row in the reads."""
    last: int
    """The last block that has to run."""
    keep_keys: bool = False
    keys: dict[int, tuple[Tensor, Tensor]] = field(default_factory=dict)
    """With keep_keys: new keys and values at each block, for the conditions active there, in order of joining."""
    active: list[int] = field(default_factory=list)
    """The conditions under way, in order of joining; each is as many rows as there are examples."""

    def run(self) -> Float[Tensor, "conditions examples d_model"]:
        """Run all blocks; the residual leaving the last one at the last token, in the order of `conditions`."""
        n = self._n
        waiting = sorted(range(len(self.conditions)), key=lambda i: self.conditions[i].layer)
        x = torch.empty(0)
        for layer in range(self.conditions[waiting[0]].layer, self.last + 1):
            if self.active:
                x = self._block(layer, x)
            joining = [i for i in waiting if self.conditions[i].layer == layer]
            if joining:
                new = torch.cat([self._join(i, only_last=self._narrow(layer)) for i in joining])
                x = torch.cat([x.to(new.device), new]) if self.active else new
                self.active += joining
        self._check_fired()
        final = x[:, -1].reshape(len(self.active), n, -1)
        return final[[self.active.index(i) for i in range(len(self.conditions))]]

    @cached_property
    def busy(self) -> set[tuple[int, str]]:
        """The layers and kinds of site at which any condition changes, or anyone reads, something."""
        sites = [read.site for read in self.reads]
        sites += [change.edit.site for condition in self.conditions for change in condition.changes]
        return {(site.layer, site.kind) for site in sites}

    @property
    def _n(self) -> int:
        return len(range(len(self.recording))[self.examples])

    @property
    def _start(self) -> int:
        return self.conditions[0].token

    def _narrow(self, layer: int) -> bool:
        """Whether only the last token's output of this block matters."""
        last = self.recording.length - 1
        return (
            layer == self.last == self.recording.network.n_layers - 1
            and not self.keep_keys
            and all(
                c.tokens == (last,) or (c.edit.site.kind == "resid" and condition.layer == layer)
                for condition in self.conditions
                for c in condition.changes
                if c.layer == layer
            )
            and all(read.tokens == (last,) for read in self.reads if read.site.layer == layer)
        )

    def _block(self, layer: int, x: Float[Tensor, "rows tokens d"]) -> Float[Tensor, "rows narrowed d"]:
        """One whole block for all active conditions."""
        recording, network = self.recording, self.recording.network
        start, length = self._start, self.recording.length
        past = recording.past(layer, start, self.examples)
        want_pattern = any(read.site.kind == "pattern" and read.site.layer == layer for read in self.reads)

        def run(rows: slice) -> tuple[Tensor, dict[str, Tensor]]:
            tap = WaveTap(self, layer, rows, tuple(range(start, length)))
            example = torch.arange(rows.start, rows.stop, device=network.blocks[layer].device) % self._n
            there = replace(past, rows=example, kept={}, want_keys=self.keep_keys, want_weights=want_pattern)
            mid = attend(network, layer, x[rows], tap, there)
            if want_pattern:
                weights = pattern(there, length)
                for read in (r for r in self.reads if r.site.kind == "pattern" and r.site.layer == layer):
                    tap.read(read, weights)
            entering = x[rows]
            if self._narrow(layer):
                tap.tokens, mid, entering = (length - 1,), mid[:, -1:], entering[:, -1:]
            return feed(network, layer, entering, mid, tap), there.kept

        everything = slice(0, x.shape[0])
        grad = torch.is_grad_enabled()  # slices do not save memory when every activation is kept for the gradient
        parts = [run(everything)] if grad else recording.memory.over(x.shape[0], x.shape[1], run)
        if self.keep_keys:
            keys, values = (torch.cat([kept[name] for _, kept in parts]) for name in ("keys", "values"))
            self.keys[layer] = keys, values
        return parts[0][0] if len(parts) == 1 else torch.cat([out for out, _ in parts])

    def _join(self, number: int, only_last: bool) -> Float[Tensor, "examples tokens d"]:
        """A condition's residual leaving its first block: as recorded, but for the edited tokens."""
        recording, network, condition = self.recording, self.recording.network, self.conditions[number]
        layer, start, length = condition.layer, self._start, recording.length
        x = recording.span("resid", layer, start, length, self.examples).clone()
        inside = condition.inside
        if inside:
            tokens = tuple(sorted({token for change in inside for token in change.tokens if token < length}))
            tap = WaveTap(self, layer, slice(0, self._n), tokens, joining=number)
            entering = recording.raw("resid", layer - 1, tokens, self.examples)
            if any(change.edit.site.kind in ("head", "attn") for change in inside):
                z = recording.raw("z", layer, tokens, self.examples)
                middle = attend(network, layer, entering, tap, z=z)
            else:
                middle = tap("mid", recording.raw("mid", layer, tokens, self.examples))
            x[:, [token - start for token in tokens]] = feed(network, layer, entering, middle, tap)
        x = WaveTap(self, layer, slice(0, self._n), tuple(range(start, length)), joining=number).leave(x)
        return x[:, -1:] if only_last else x

    def _check_fired(self) -> None:
        for condition in self.conditions:
            for change in condition.changes:
                if not change.fired:
                    raise NumberlineError(
                        f"the edit at {change.edit.site} did not take place: nothing that is read comes after it"
                    )


@dataclass(eq=False)
class WaveTap:
    """The tap of a slice of a wave's rows: applies each condition's changes, then serves the reads.

    Rows are conditions × examples, flattened; with `joining`, the rows are the examples of one condition alone, and
    the residual that leaves the block is not touched until all its tokens are together (`leave`).
    """

    wave: Wave
    layer: int
    rows: slice
    tokens: tuple[int, ...]
    joining: int | None = None
    z: Tensor | None = None
    heads: dict[tuple[int, int], Tensor] = field(default_factory=dict)

    def wants(self, name: str) -> bool:
        """Whether anything is changed or read here."""
        return (self.layer, "head" if name in ("z", "out") else name) in self.wave.busy

    def __call__(self, name: str, value: Tensor) -> Tensor:
        """Change and read what passes."""
        if name == "z":
            self.z = value
            return value
        if (name == "resid" and self.joining is not None) or not self.wants(name):
            return value
        return self._read(name, self._change(name, value))

    def leave(self, x: Float[Tensor, "rows tokens d"]) -> Float[Tensor, "rows tokens d"]:
        """The residual that leaves a joining condition's first block."""
        return self._read("resid", self._change("resid", x))

    def _parts(self) -> Iterator[tuple[int, slice, slice]]:
        """(condition, its rows within this slice, the examples they are) for each condition in the slice."""
        n, first = self.wave._n, range(len(self.wave.recording))[self.wave.examples].start
        if self.joining is not None:
            yield self.joining, slice(0, n), slice(first, first + n)
            return
        for place in range(self.rows.start // n, -(-self.rows.stop // n)):
            low, high = max(place * n, self.rows.start), min((place + 1) * n, self.rows.stop)
            rows = slice(low - self.rows.start, high - self.rows.start)
            yield self.wave.active[place], rows, slice(first + low - place * n, first + high - place * n)

    def _change(self, name: str, value: Tensor) -> Tensor:
        kind = "head" if name == "out" else name
        copied = not torch.is_grad_enabled()
        for number, rows, examples in self._parts():
            for change in self.wave.conditions[number].changes:
                site = change.edit.site
                columns = [self.tokens.index(token) for token in change.tokens if token in self.tokens]
                if site.layer != self.layer or site.kind != kind or not columns:
                    continue
                if not copied:
                    value, copied = value.clone(), True
                target = change.target(examples)
                if target.shape[1] > 1:
                    target = target[:, [i for i, token in enumerate(change.tokens) if token in self.tokens]]
                where = _where(rows, columns, site.index if kind == "neurons" else ())
                now = self._head(number, rows, site.index[0])[:, columns] if kind == "head" else value[where]
                new = apply(change.edit.action, now, target, change.edit.basis(examples))
                if kind == "head":
                    self.heads[number, site.index[0]] = self._head(number, rows, site.index[0]).index_copy(
                        1, torch.tensor(columns, device=new.device), new
                    )
                    new = value[where].to(new.dtype) + (new - now)
                value[where] = new.to(value.dtype)
                change.fired = True
        return value

    def _head(self, number: int, rows: slice, head: int) -> Tensor:
        """A head's contribution in one condition's rows, as edited so far."""
        if (number, head) not in self.heads:
            network = self.wave.recording.network
            assert self.z is not None, "the heads come before the output projection's result"
            part = self.z[rows][..., head * network.head_dim : (head + 1) * network.head_dim]
            self.heads[number, head] = contribution(network, self.layer, head, part)
        return self.heads[number, head]

    def _read(self, name: str, value: Tensor) -> Tensor:
        kind = "head" if name == "out" else name
        for read in self.wave.reads:
            if read.site.layer == self.layer and read.site.kind == kind:
                self.read(read, value)
        return value

    def read(self, read: Sink, value: Tensor) -> None:
        """Put what a read asks for into its place, for every condition of this slice."""
        columns = [self.tokens.index(token) for token in read.tokens if token in self.tokens]
        places = [i for i, token in enumerate(read.tokens) if token in self.tokens]
        if not columns:
            return
        for number, rows, examples in self._parts():
            if read.site.kind == "head":
                found = self._head(number, rows, read.site.index[0])[:, columns]
            else:
                found = select(self.wave.recording.network, read.site, value[rows][:, columns])
            read.values[self.wave.numbers[number], examples.start : examples.stop, places] = found.to(read.values)


def _where(rows: slice, columns: list[int], ids: tuple[int, ...]) -> tuple[slice | Tensor, ...]:
    """An index of some rows, some tokens, and all coordinates or some."""
    tokens = torch.tensor(columns)
    if not ids:
        return (rows, tokens)
    return (rows, tokens[:, None], torch.tensor(ids)[None])
