"""An un-edited run, kept so that edits can resume from it.

1. The tokens that all prompts share run once, in a batch of one; a recording of other prompts that begin with the same
   tokens can take them over (`prefix_of`).
2. The question's tokens run for every prompt, attending to that one copy of the prefix.
3. Kept at every layer: the residual leaving the block, the pre-MLP residual, keys and values. On request also what
   attention and MLP write, the heads before the output projection, the neurons and the attention weights.

What was not kept is computed again when it is asked for, from the residual that enters its block: half a block's work,
so `keep` is about time, never about what can be read.

A recording that is only a source of activations may stop early: `upto` is the last layer that runs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import torch
from jaxtyping import Float
from torch import Tensor

from numberline.engine.attention import Past, installed
from numberline.engine.blocks import attend, feed
from numberline.engine.journal import Chapter
from numberline.engine.memory import Memory
from numberline.engine.prompts import Prompts
from numberline.engine.sites import KINDS, MID, RESID, Activation, Half, Site
from numberline.errors import NumberlineError
from numberline.models.network import Network

Keep = str
"""What a recording keeps on request, by the name of the activation: "attn", "mlp", "z" (the heads before the output
projection), "neurons", "pattern" (attention weights)."""

Key = tuple[str, int]


@dataclass(eq=False)
class Recording:
    """Activations of one batch of prompts; made by `Lab.record`."""

    prompts: Prompts
    network: Network
    memory: Memory
    prefix: dict[Key, Tensor] = field(default_factory=dict)
    """(kind, layer) → tokens first, batch of one: the shared tokens. Keys and values: heads first."""
    question: dict[Key, Tensor] = field(default_factory=dict)
    """(kind, layer) → examples first: the tokens after the prefix."""
    _recent: tuple[tuple[Activation, int, int, int, range] | None, Tensor] = (None, torch.empty(0))

    def __len__(self) -> int:
        return len(self.prompts)

    @property
    def length(self) -> int:
        """Tokens in a prompt."""
        return int(self.prompts.ids.shape[1])

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return sum(tensor.nbytes for store in (self.prefix, self.question) for tensor in store.values())

    def part(self, rows: slice) -> "Recording":
        """Some of the examples, sharing this recording's memory."""
        if range(len(self))[rows] == range(len(self)):
            return self
        question = {key: tensor[rows] for key, tensor in self.question.items()}
        return replace(self, prompts=self.prompts[rows], question=question, _recent=(None, torch.empty(0)))

    @staticmethod
    def join(recordings: Sequence["Recording"], layers: range) -> "Recording":
        """Recordings of one layout and one prefix as one, with what all of them keep at these layers."""
        first = recordings[0]
        kept = [key for key in first.question if key[1] in layers and all(key in each.question for each in recordings)]
        question = {key: torch.cat([each.question[key] for each in recordings]) for key in kept}
        prompts = Prompts.join([each.prompts for each in recordings])
        return replace(first, prompts=prompts, question=question, _recent=(None, torch.empty(0)))

    def forget(self, after: int) -> None:
        """Let go of what was kept after a layer: what is left is a source of activations up to it."""
        self.question = {key: tensor for key, tensor in self.question.items() if key[1] <= after}

    def same_up_to(self, other: "Recording", token: int) -> bool:
        """Whether two recordings are of the same tokens, up to and including this one: then so are the activations."""
        mine, theirs = self.prompts.ids[:, : token + 1], other.prompts.ids[:, : token + 1]
        return self.network is other.network and torch.equal(mine, theirs)

    def span(
        self, kind: str, layer: int, start: int, stop: int, examples: slice = slice(None)
    ) -> Float[Tensor, "examples tokens d"]:
        """A kept activation at tokens start … stop-1, on its block's device and in the model's dtype."""
        shared = self.prompts.prefix
        device = self.network.blocks[max(layer, 0)].device
        self._check_reached(layer)
        late = self.question[kind, layer][examples, max(start - shared, 0) : max(stop - shared, 0)]
        late = late.to(device, self.network.dtype)
        if start >= shared:
            return late
        early = self.prefix[kind, layer][start : min(stop, shared)].to(device, self.network.dtype)
        return torch.cat([early.expand(late.shape[0], *early.shape), late], 1)

    def past(self, layer: int, start: int, examples: slice = slice(None)) -> Past:
        """What tokens from `start` on attend to at this layer, as recorded."""
        shared, dtype, device = self.prompts.prefix, self.network.dtype, self.network.blocks[layer].device
        past = Past(start, self.length)
        if min(start, shared) > 0:
            past.prefix_keys = self.prefix["keys", layer][:, : min(start, shared)].to(device, dtype)
            past.prefix_values = self.prefix["values", layer][:, : min(start, shared)].to(device, dtype)
        if start > shared:
            self._check_reached(layer)
            past.keys = self.question["keys", layer][examples, :, : start - shared].to(device, dtype)
            past.values = self.question["values", layer][examples, :, : start - shared].to(device, dtype)
        return past

    def _check_reached(self, layer: int) -> None:
        if (RESID.name, layer) not in self.question:
            kept = [there for kind, there in self.question if kind == RESID.name]
            raise NumberlineError(
                f"the recording keeps layers {max(min(kept), 0)} to {max(kept)}, but layer {layer} is needed: record "
                "with a higher `upto`"
            )

    def value(self, site: Site, examples: slice = slice(None)) -> Float[Tensor, "examples tokens d"]:
        """The activation at a site, at its tokens in ascending order: kept, or computed from what was kept."""
        tokens = site.tokens(self.prompts.positions, self.length)
        return site.part(self.network, self.raw(site.kind.read, site.layer, tokens, examples))

    def keeps(self, activation: Activation, layer: int, start: int) -> bool:
        """Whether an activation is stored from this token on."""
        kind = activation.name
        return (kind, layer) in self.question and (start >= self.prompts.prefix or (kind, layer) in self.prefix)

    def raw(
        self, activation: Activation, layer: int, tokens: tuple[int, ...], examples: slice = slice(None)
    ) -> Float[Tensor, "examples tokens d"]:
        """A whole layer's activation (every head, every neuron) at some tokens."""
        start, stop = tokens[0], tokens[-1] + 1
        columns = [token - start for token in tokens]
        if self.keeps(activation, layer, start):
            return self.span(activation.name, layer, start, stop, examples)[:, columns]
        rows = range(len(self))[examples]
        asked = activation, layer, start, stop, rows
        if self._recent[0] != asked:
            # A sweep over heads or neuron sets asks for the same layer many times.
            self._recent = asked, self._again(activation, layer, start, stop, rows)
        return self._recent[1][:, columns]

    def keys_and_values(
        self, layer: int, start: int, stop: int, examples: slice = slice(None)
    ) -> tuple[Float[Tensor, "n kv_heads tokens head_dim"], Float[Tensor, "n kv_heads tokens head_dim"]]:
        """Recorded keys and values at tokens start … stop-1, one copy per example."""
        found = []
        for kind in ("keys", "values"):
            shared = self.prompts.prefix
            device, dtype = self.network.blocks[layer].device, self.network.dtype
            late = self.question[kind, layer][examples, :, max(start - shared, 0) : max(stop - shared, 0)]
            if start < shared:
                early = self.prefix[kind, layer][:, start : min(stop, shared)]
                late = torch.cat([early.expand(late.shape[0], *early.shape), late], 2)
            found.append(late.to(device, dtype))
        return found[0], found[1]

    def _again(self, activation: Activation, layer: int, start: int, stop: int, examples: range) -> Tensor:
        """Re-run the half block that computes this activation, at these tokens only, from the recorded residual."""

        def run(rows: slice) -> Tensor:
            tap, rows = Keeper({activation.name}), slice(examples.start + rows.start, examples.start + rows.stop)
            x = self.span(RESID.name, layer - 1, start, stop, rows)
            if activation.half is Half.MLP:
                feed(self.network, layer, x, self.span(MID.name, layer, start, stop, rows), tap)
            else:
                attend(self.network, layer, x, tap, self.past(layer, start, rows))
            return tap.found[activation.name]

        with torch.no_grad(), installed(self.network.model):
            return torch.cat(self.memory.over(len(examples), stop - start, run))


@dataclass
class Keeper:
    """A tap that keeps what it sees and changes nothing."""

    names: set[str]
    found: dict[str, Tensor] = field(default_factory=dict)

    def wants(self, name: str) -> bool:
        """Whether this activation is kept."""
        return name in self.names

    def __call__(self, name: str, value: Tensor) -> Tensor:
        """Keep it."""
        if name in self.names:
            self.found[name] = value
        return value


def size(network: Network, prompts: Prompts, keep: Iterable[Keep] = (), dtype: torch.dtype | None = None) -> int:
    """Bytes that a recording of these prompts will hold."""
    extras = check_keep(keep)
    length = int(prompts.ids.shape[1])
    widths = {kind.read: kind.width(network, length) for kind in KINDS.values()}
    always = 2 * network.kv_width + sum(width for activation, width in widths.items() if activation.always)
    question = always + sum(width for activation, width in widths.items() if activation.name in extras)
    tokens = len(prompts) * (length - prompts.prefix)
    values = network.n_layers * (prompts.prefix * always + tokens * question)
    values += network.d_model * (prompts.prefix + tokens)
    return values * (dtype or network.dtype).itemsize


def check_keep(keep: Iterable[str]) -> set[str]:
    """The extras asked for, or a refusal that lists what there is."""
    extras, known = set(keep), [kind.read.name for kind in KINDS.values() if not kind.read.always]
    unknown = extras - set(known)
    if unknown:
        raise NumberlineError(f"a recording cannot keep {sorted(unknown)[0]!r}: choose from {', '.join(known)}")
    return extras


def record(
    network: Network,
    memory: Memory,
    prompts: Prompts,
    keep: Iterable[Keep] = (),
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
    prefix_of: Recording | None = None,
    upto: int | None = None,
    chapter: Chapter | None = None,
) -> Recording:
    """Run the prompts once. `dtype` and `device` say how the recording is kept, not how the model computes."""
    extras, chapter = check_keep(keep), chapter or Chapter()
    layers = range(network.n_layers)[: None if upto is None else upto + 1]
    recording = Recording(prompts, network, memory)
    shared, length = prompts.prefix, int(prompts.ids.shape[1])

    def put(tensor: Tensor) -> Tensor:
        return tensor.to(device or tensor.device, dtype or tensor.dtype)

    with torch.no_grad(), installed(network.model):
        if (
            prefix_of is not None
            and _same_prefix(prefix_of, recording)
            and (RESID.name, layers[-1]) in prefix_of.prefix
        ):
            recording.prefix = {key: put(tensor) for key, tensor in prefix_of.prefix.items()}
        elif shared:
            for key, tensor in _kept(recording, slice(0, shared), slice(0, 1), set(), layers, chapter):
                recording.prefix[key] = put(tensor[0])

        def run(rows: slice) -> None:
            for key, tensor in _kept(recording, slice(shared, length), rows, extras, layers, chapter):
                if key not in recording.question:
                    empty = torch.empty(len(prompts), *tensor.shape[1:], dtype=dtype or tensor.dtype)
                    recording.question[key] = empty.to(device or tensor.device)
                recording.question[key][rows] = put(tensor)

        memory.over(len(prompts), length - shared, run)
    return recording


def _same_prefix(first: Recording, second: Recording) -> bool:
    """Whether two recordings are of one model and begin with the same shared tokens."""
    mine, theirs = (recording.prompts.ids[0, : recording.prompts.prefix] for recording in (first, second))
    return first.network is second.network and torch.equal(mine, theirs)


def _kept(
    recording: Recording, tokens: slice, rows: slice, extras: set[str], layers: range, chapter: Chapter
) -> Iterable[tuple[Key, Tensor]]:
    """What the plain forward pass of some prompts' tokens gives out, from a journal where it is kept there."""

    def run() -> Iterable[tuple[Key, Tensor]]:
        x = recording.network.embed(recording.prompts.ids[rows, tokens], tokens.start)
        return _run(recording, x, tokens.start, rows, extras, layers)

    if not chapter.keeps:  # then a layer's activations can be put where they belong before the next are computed
        return run()
    name = f"tokens {tokens.start}:{tokens.stop} {rows.start}:{rows.stop}"
    made = chapter.piece(name, lambda: {f"{kind} {layer}": tensor for (kind, layer), tensor in run()})
    keys = (key.split() for key in made)
    return [((kind, int(layer)), tensor) for (kind, layer), tensor in zip(keys, made.values(), strict=True)]


def _run(
    recording: Recording, x: Tensor, start: int, rows: slice, extras: set[str], layers: range
) -> Iterable[tuple[Key, Tensor]]:
    """The plain forward pass, block by block, giving out what is to be kept."""
    network = recording.network
    always = {kind.read.name for kind in KINDS.values() if kind.read.always}
    yield (RESID.name, -1), x
    for layer in layers:
        past = recording.past(layer, start, rows)
        past.want_keys = True
        tap = Keeper(always | extras)
        x = feed(network, layer, x, attend(network, layer, x, tap, past), tap)
        yield ("keys", layer), past.kept["keys"]
        yield ("values", layer), past.kept["values"]
        for kind, tensor in tap.found.items():
            yield (kind, layer), tensor
