"""The edited run: many conditions advance through the blocks together, each from where its first edit is.

A condition is a list of edits. Its first change is at some block and some token, so
1. conditions whose first changed token is the same form a wave; tokens before it are never computed, their keys and
   values come from the recording;
2. a condition joins the wave after the block of its first edit, with the recorded residual, edited; when that edit is
   inside the block, only the edited tokens are computed there, from the recorded heads or pre-MLP residual on;
3. the batch grows as conditions join, so late blocks run once for all of them;
4. what a source did not keep is computed before the block that needs it: not in the middle of it, under its hooks; one
   copy serves all conditions, and it is gone when the block is done;
5. at the last block only the last token goes through the MLP, unless something else is read or edited there.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from numberline.engine.blocks import attend, feed
from numberline.engine.conditions import Change, Condition, Sink
from numberline.engine.recording import Recording
from numberline.engine.sites import MID, RESID, Activation, Resume, Site, Z
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
    sources: dict[tuple[Recording, Activation, int, tuple[int, ...]], Tensor] = field(default_factory=dict)
    """What sources did not keep and this block needs: whole activations at some tokens, of this wave's examples."""

    def run(self) -> Float[Tensor, "conditions examples d_model"]:
        """Run all blocks; the residual leaving the last one at the last token, in the order of `conditions`."""
        n = self._n
        waiting = sorted(range(len(self.conditions)), key=lambda i: self.conditions[i].layer)
        x = torch.empty(0)
        for layer in range(self.conditions[waiting[0]].layer, self.last + 1):
            self.sources = self._not_kept(layer)
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
    def sites(self) -> set[Site]:
        """Where any condition changes, or anyone reads, something."""
        changes = [change for condition in self.conditions for change in condition.changes]
        return {read.site for read in self.reads} | {change.edit.site for change in changes}

    @cached_property
    def busy(self) -> set[tuple[int, str]]:
        """The layers and the activations that have to be seen there."""
        return {(site.layer, seen.name) for site in self.sites for seen in (site.kind.read, site.kind.shown)}

    @cached_property
    def aside(self) -> set[tuple[int, str]]:
        """Those of them that are read in one place and changed in another."""
        return {(site.layer, site.kind.read.name) for site in self.sites if site.kind.aside}

    def target(self, change: Change, examples: slice) -> Float[Tensor, "examples tokens d"] | None:
        """The values that an edit changes towards, for some examples (or one for all); None: it needs none."""
        source, site = change.source, change.source_site
        if not isinstance(source, Recording):
            return source if source is None or source.shape[0] == 1 else source[examples]
        held = self.sources.get((source, site.kind.read, site.layer, change.there))
        if held is None:
            return source.value(site, examples)
        first = range(len(self.recording))[self.examples].start
        return site.part(self.recording.network, held[examples.start - first : examples.stop - first])

    def _not_kept(self, layer: int) -> dict[tuple[Recording, Activation, int, tuple[int, ...]], Tensor]:
        found: dict[tuple[Recording, Activation, int, tuple[int, ...]], Tensor] = {}
        for change in (change for condition in self.conditions for change in condition.changes):
            source, site = change.source, change.source_site
            if change.layer != layer or not isinstance(source, Recording):
                continue
            asked = source, site.kind.read, site.layer, change.there
            if asked not in found and not source.keeps(site.kind.read, site.layer, change.there[0]):
                found[asked] = source.raw(*asked[1:], self.examples)
        return found

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
                c.tokens == (last,) or (c.edit.site.kind.resume is Resume.END and condition.layer == layer)
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

        def run(rows: slice) -> tuple[Tensor, dict[str, Tensor]]:
            tap = WaveTap(self, layer, rows, tuple(range(start, length)))
            example = torch.arange(rows.start, rows.stop, device=network.blocks[layer].device) % self._n
            there = replace(past, rows=example, kept={}, want_keys=self.keep_keys)
            mid = attend(network, layer, x[rows], tap, there)
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
        x = recording.span(RESID.name, layer, start, length, self.examples).clone()
        inside = condition.inside
        if inside:
            tokens = tuple(sorted({token for change in inside for token in change.tokens if token < length}))
            tap = WaveTap(self, layer, slice(0, self._n), tokens, joining=number)
            entering = recording.raw(RESID, layer - 1, tokens, self.examples)
            if any(change.edit.site.kind.resume is Resume.HEADS for change in inside):
                z = recording.raw(Z, layer, tokens, self.examples)
                middle = attend(network, layer, entering, tap, z=z)
            else:
                middle = tap(MID.name, recording.raw(MID, layer, tokens, self.examples))
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
    seen: dict[str, Tensor] = field(default_factory=dict)
    """Activations that are read here and changed elsewhere."""
    parts: dict[tuple[int, str, tuple[int, ...]], Tensor] = field(default_factory=dict)
    """Of these, each condition's parts as edited so far."""

    def wants(self, name: str) -> bool:
        """Whether anything is changed or read here."""
        return (self.layer, name) in self.wave.busy

    def __call__(self, name: str, value: Tensor) -> Tensor:
        """Change and read what passes."""
        if (name == RESID.name and self.joining is not None) or not self.wants(name):
            return value
        if (self.layer, name) in self.wave.aside:
            self.seen[name] = value
        return self._read(name, self._change(name, value))

    def leave(self, x: Float[Tensor, "rows tokens d"]) -> Float[Tensor, "rows tokens d"]:
        """The residual that leaves a joining condition's first block."""
        return self._read(RESID.name, self._change(RESID.name, x))

    def _conditions(self) -> Iterator[tuple[int, slice, slice]]:
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
        copied = False
        for number, rows, examples in self._conditions():
            for change in self.wave.conditions[number].changes:
                site = change.edit.site
                columns = [self.tokens.index(token) for token in change.tokens if token in self.tokens]
                if site.layer != self.layer or site.kind.shown.name != name or not columns:
                    continue
                if not copied and (torch.is_grad_enabled() or site.kind.shown.shared):
                    value, copied = value.clone(), True
                target = self.wave.target(change, examples)
                if target is not None and target.shape[1] > 1:
                    target = target[:, [i for i, token in enumerate(change.tokens) if token in self.tokens]]
                where = _where(rows, columns, () if site.kind.aside else site.index)
                now = self._part(number, rows, site)[:, columns] if site.kind.aside else value[where]
                new = change.edit.apply(now, target, examples)
                if site.kind.aside:
                    self.parts[number, site.kind.name, site.index] = self._part(number, rows, site).index_copy(
                        1, torch.tensor(columns, device=new.device), new
                    )
                    new = value[where].to(new.dtype) + (new - now)
                value[where] = new.to(value.dtype)
                change.fired = True
        return value

    def _part(self, number: int, rows: slice, site: Site) -> Tensor:
        """What a site is of an activation seen earlier, in one condition's rows, as edited so far."""
        key = number, site.kind.name, site.index
        if key not in self.parts:
            self.parts[key] = site.part(self.wave.recording.network, self.seen[site.kind.read.name][rows])
        return self.parts[key]

    def _read(self, name: str, value: Tensor) -> Tensor:
        for read in self.wave.reads:
            if read.site.layer == self.layer and read.site.kind.shown.name == name:
                self._put(read, value)
        return value

    def _put(self, read: Sink, value: Tensor) -> None:
        """Put what a read asks for into its place, for every condition of this slice."""
        columns = [self.tokens.index(token) for token in read.tokens if token in self.tokens]
        places = [i for i, token in enumerate(read.tokens) if token in self.tokens]
        if not columns:
            return
        for number, rows, examples in self._conditions():
            if read.site.kind.aside:
                found = self._part(number, rows, read.site)[:, columns]
            else:
                found = read.site.part(self.wave.recording.network, value[rows][:, columns])
            read.values[self.wave.numbers[number], examples.start : examples.stop, places] = found.to(read.values)


def _where(rows: slice, columns: list[int], ids: tuple[int, ...]) -> tuple[slice | Tensor, ...]:
    """An index of some rows, some tokens, and all coordinates or some."""
    tokens = torch.tensor(columns)
    if not ids:
        return (rows, tokens)
    return (rows, tokens[:, None], torch.tensor(ids)[None])
