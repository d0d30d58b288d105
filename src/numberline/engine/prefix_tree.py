"""Activations of many prompts that begin alike: every distinct beginning runs once.

An activation at a token depends on the tokens up to it and on nothing else. A grid of 12,167 three-number prompts has
23 beginnings up to y1, 529 up to y2; only y3's last digit is different in each. So

1. the tokens are cut into segments, within which the number of distinct beginnings stays the same;
2. a segment has one row for each distinct beginning. It attends to the keys and values of the row that it continues,
   and to one copy of what all prompts share;
3. nothing runs after the last token, or above the last block, that is asked for, and nothing else is kept.

The answer equals that of a recording of all prompts (a test compares both with the plain forward pass).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from torch import Tensor

from numberline.engine.attention import Past, installed
from numberline.engine.blocks import attend, feed
from numberline.engine.journal import Chapter, Piece
from numberline.engine.memory import Memory
from numberline.engine.prompts import Prompts
from numberline.engine.recording import Keeper
from numberline.engine.sites import RESID, Site, check
from numberline.models.network import Network

HELD = 512 * 2**20
"""Bytes of keys and values that one batch of prompts may hold."""


@dataclass(frozen=True, eq=False)
class Segment:
    """Tokens start … stop-1 and their distinct beginnings: a prompt that has each, its row in the segment before, and
    which of them every prompt has."""

    start: int
    stop: int
    prompt: Int[Tensor, " rows"]
    parent: Int[Tensor, " rows"]
    of: Int[Tensor, " n"]

    def __len__(self) -> int:
        return len(self.prompt)


def segments(ids: Int[Tensor, "n tokens"]) -> list[Segment]:
    """The distinct beginnings of some prompts, from what all share to what is different in each."""
    found: list[Segment] = []
    of = torch.zeros(len(ids), dtype=torch.long)
    for token in range(ids.shape[1]):
        _, finer = torch.stack([of, ids[:, token]]).unique(dim=1, return_inverse=True)
        rows = int(finer.max()) + 1
        if found and rows == len(found[-1]):  # a partition refined without gaining a part is the same
            last = found.pop()
            found.append(Segment(last.start, token + 1, last.prompt, last.parent, last.of))
            continue
        prompt = torch.full((rows,), len(ids)).scatter_reduce_(0, finer, torch.arange(len(ids)), "amin")
        found.append(Segment(token, token + 1, prompt, of[prompt], finer))
        of = finer
    return found


def activations(
    network: Network, memory: Memory, prompts: Prompts, sites: Sequence[Site], chapter: Chapter | None = None
) -> list[Float[Tensor, "n tokens d"]]:
    """The un-edited activation at each site, for every prompt."""
    for site in sites:
        check(site, network)
    wanted = [site.tokens(prompts.positions, int(prompts.ids.shape[1])) for site in sites]
    stop, layers = max(tokens[-1] for tokens in wanted) + 1, max(site.layer for site in sites) + 1
    each = 2 * max(layers, 1) * network.kv_width * network.dtype.itemsize
    with torch.no_grad(), installed(network.model):

        def run(rows: slice) -> Piece:
            reader = Reader(network, memory, prompts.ids[rows, :stop], prompts.ids.shape[1], sites, wanted)
            return (chapter or Chapter()).piece(f"{rows.start}:{rows.stop}", reader.piece)

        tokens = max(stop - prompts.prefix, 1)
        parts = memory.halving(
            len(prompts), lambda: max(at_once(memory, each, tokens, layers) // memory.shrink, 1), run
        )
    return [torch.cat([part[str(number)] for part in parts]) for number in range(len(sites))]


def at_once(memory: Memory, each: int, tokens: int, layers: int) -> int:
    """How many prompts may hold keys and values of `each` bytes a token, and be computed in one go.

    Had they no beginning in common.
    """
    return max(min(HELD // (each * tokens), memory.wave(tokens, layers)), 1)


@dataclass(eq=False)
class Reader:
    """Runs one batch of prompts, segment by segment, and gives out what is read."""

    network: Network
    memory: Memory
    ids: Int[Tensor, "n tokens"]
    length: int
    sites: Sequence[Site]
    wanted: Sequence[tuple[int, ...]]
    shared: dict[int, Past] = field(default_factory=dict)
    """By layer, the keys and values that all prompts share."""
    past: dict[int, tuple[Tensor, Tensor]] = field(default_factory=dict)
    """By layer, the keys and values after them, of each row of the segment before."""

    def run(self) -> list[Float[Tensor, "n tokens d"]]:
        """Every site's values."""
        last = max(site.layer for site in self.sites)
        read: list[dict[int, Tensor]] = [{} for _ in self.sites]
        cut = segments(self.ids)
        for segment in cut:
            x = self.network.embed(self.ids[segment.prompt, segment.start : segment.stop], segment.start)
            self._take(read, segment, -1, {RESID.name: x})
            for layer in range(last + 1):
                x, found = self._block(layer, x, segment, more=segment is not cut[-1])
                self._take(read, segment, layer, found)
        return [
            torch.stack([values[token] for token in tokens], 1)
            for values, tokens in zip(read, self.wanted, strict=True)
        ]

    def piece(self) -> Piece:
        """The same, by the site's number."""
        return {str(number): values for number, values in enumerate(self.run())}

    def _take(self, read: list[dict[int, Tensor]], segment: Segment, layer: int, found: dict[str, Tensor]) -> None:
        """Put what was computed in a segment where each prompt's values are collected."""
        for values, site, tokens in zip(read, self.sites, self.wanted, strict=True):
            here = [token for token in tokens if segment.start <= token < segment.stop] if site.layer == layer else []
            if here:
                raw = found[site.kind.read.name][:, [token - segment.start for token in here]]
                chosen = site.part(self.network, raw)
                of = segment.of.to(chosen.device)
                values |= {token: chosen[of, place] for place, token in enumerate(here)}

    def _block(self, layer: int, x: Tensor, segment: Segment, more: bool) -> tuple[Tensor, dict[str, Tensor]]:
        """One block for all rows of a segment; with `more` segments to come, its keys and values join the past."""
        network, alone = self.network, segment.start == 0
        inside = range(segment.start, segment.stop)
        names = {
            site.kind.read.name
            for site, tokens in zip(self.sites, self.wanted, strict=True)
            if site.layer == layer and any(token in inside for token in tokens)
        }
        shared, (keys, values) = self.shared.get(layer), self.past.get(layer, (None, None))
        parent = segment.parent.to(network.blocks[layer].device)

        def run(rows: slice) -> tuple[Tensor, dict[str, Tensor], Tensor, Tensor]:
            past = Past(segment.start, self.length, want_keys=True)
            if shared is not None:
                past.prefix_keys, past.prefix_values = shared.prefix_keys, shared.prefix_values
            past.keys, past.values, past.rows = keys, values, parent[rows]
            tap = Keeper(names)
            out = feed(network, layer, x[rows], attend(network, layer, x[rows], tap, past), tap)
            new = past.with_new(past.kept["keys"], past.kept["values"]) if more else (out, out)
            return out, tap.found, *new

        parts = self.memory.over(len(segment), len(inside), run)
        if more:
            grown = torch.cat([part[2] for part in parts]), torch.cat([part[3] for part in parts])
            if alone and len(segment) == 1:
                self.shared[layer] = Past(segment.stop, prefix_keys=grown[0][0], prefix_values=grown[1][0])
            else:
                self.past[layer] = grown
        found = {name: torch.cat([part[1][name] for part in parts]) for name in names}
        return torch.cat([part[0] for part in parts]), found
