"""Places in the network, and what the engine knows of each kind of place: one row.

    resid(13).at("y1")        the residual stream leaving block 13, at y1's last token (resid(-1): the embeddings)
    mid(14).at("y2")          the pre-MLP residual of block 14: what entered it plus what its attention wrote
    attn(14), mlp(14)         what a sub-block writes to the residual stream (after a norm on its output, if it has one)
    head(14, 14)              one head's contribution z_h W_O to the attention's output projection
    pattern(14, 14)           one head's attention weights over all tokens (can be read, not edited)
    neurons(14, (3, 5))       coordinates of the vector that feeds the MLP's down-projection; neurons(14): all of them

A position is a name that the prompts define ("y1", "last"), a token index, a tuple of either, or EVERYWHERE.

The table KINDS says everything that the rest of the engine asks about a kind. A new kind is a row there, and a function
that makes its sites; an activation inside a module that has no row yet is named in the row too.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum, IntEnum, auto

import torch
from jaxtyping import Float
from torch import Tensor

from numberline.errors import NumberlineError
from numberline.models.network import Network

EVERYWHERE = "everywhere"
"""Every token of the prompt and, when decoding, every generated token."""

Position = str | int | tuple[str | int, ...]
Index = tuple[int, ...]


class Half(Enum):
    """A block computes in two halves."""

    ATTENTION = auto()
    MLP = auto()


class Resume(IntEnum):
    """What a block goes on from when something in it was edited: all before it is as recorded."""

    HEADS = auto()
    """The heads before the output projection."""
    MIDDLE = auto()
    """The pre-MLP residual."""
    END = auto()
    """Nothing of the block has to run."""


@dataclass(frozen=True)
class Activation:
    """What a block computes and shows to taps, by the name under which recordings keep it.

    One inside a module of Hugging Face's is the input (or the `output`) of `module`, a field of the architecture's
    Block, and is shown by a torch hook; the others by the half that computes them (`blocks.py`). Every recording keeps
    what is kept `always`, the others on request.
    """

    name: str
    half: Half
    module: str | None = None
    output: bool = False
    always: bool = False

    @property
    def shared(self) -> bool:
        """Whether others may hold the same tensor, as the residual stream is an MLP's input where there is no norm."""
        return self.module is not None and not self.output


def _chosen(_: Network, __: int, index: Index, found: Tensor) -> Tensor:
    return found[..., list(index)] if index else found


@dataclass(frozen=True)
class Kind:
    """A kind of site. `read`: the activation that it is, or is a part of.

    `written`: where an edit takes place; None: it cannot be edited. Where that is not what is read, as at a head, the
    change of the part is added there. `resume`: from where the block goes on after an edit. `width`: of the activation,
    in prompts of some length. `part` selects a site's part of it; `parts` says how many indices a layer has, `single`
    that a site has exactly one. `sequential`: only blocks whose MLP follows the attention have it.
    """

    name: str
    read: Activation
    written: Activation | None
    resume: Resume
    width: Callable[[Network, int], int] = lambda network, _: network.d_model
    part: Callable[[Network, int, Index, Tensor], Tensor] = _chosen
    parts: Callable[[Network], int] = lambda _: 0
    single: bool = False
    lowest: int = 0
    sequential: bool = False

    @property
    def shown(self) -> Activation:
        """The activation with which a site's value, edits included, is known."""
        return self.written or self.read

    @property
    def aside(self) -> bool:
        """Whether what is read is not what is written."""
        return self.shown != self.read


@dataclass(frozen=True)
class Site:
    """A kind of activation at one layer; `index` is the head, or the neurons; `position` says at which token(s)."""

    kind: Kind
    layer: int
    index: Index = ()
    position: Position = ()

    def at(self, position: Position) -> "Site":
        """The same site at a position."""
        return replace(self, position=position)

    def tokens(self, names: Mapping[str, int], length: int) -> tuple[int, ...]:
        """The token indices of this site's position, in a prompt of `length` tokens."""
        if self.position == ():
            raise NumberlineError(f'{self} has no position: say where, for example .at("y2")')
        if self.position == EVERYWHERE:
            return tuple(range(length))
        asked = self.position if isinstance(self.position, tuple) else (self.position,)
        tokens = []
        for item in asked:
            if isinstance(item, str) and item not in names:
                raise NumberlineError(f"{self}: these prompts have no position '{item}', only {', '.join(names)}")
            token = names[item] if isinstance(item, str) else item
            if not -length <= token < length:
                raise NumberlineError(f"{self}: token {token} lies outside the prompt, which has {length} tokens")
            tokens.append(token % length)
        return tuple(sorted(set(tokens)))

    def part(self, network: Network, found: Float[Tensor, "*n tokens w"]) -> Float[Tensor, "*n tokens d"]:
        """What this site is of a layer's whole activation."""
        return self.kind.part(network, self.layer, self.index, found)

    def missing(self, network: Network) -> str:
        """Why this model does not have the site; empty where it does."""
        kind = self.kind
        if not kind.lowest <= self.layer < network.n_layers:
            return f"{self}: the model has layers 0 to {network.n_layers - 1}"
        if kind.sequential and network.parallel:
            return f"{self}: this model's attention and MLP run in parallel, so it has no pre-MLP residual"
        limit = kind.parts(network)
        outside = [index for index in self.index if not 0 <= index < limit]
        return f"{self}: there is no {kind.name} {outside[0]}, the layer has {limit}" if outside else ""

    def __str__(self) -> str:
        index = f", {self.index[0]}" if self.kind.single else f", {len(self.index)} ids" if self.index else ""
        where = "" if self.position == () else f".at({self.position!r})"
        return f"{self.kind.name}({self.layer}{index}){where}"


def check(site: Site, network: Network) -> None:
    """Refuse a site that this model does not have."""
    if why := site.missing(network):
        raise NumberlineError(why)


def contribution(
    network: Network, layer: int, head: int, z: Float[Tensor, "*n head_dim"]
) -> Float[Tensor, "*n d_model"]:
    """z_h W_O: what one head adds to the output projection's result, in fp32 or better."""
    width = network.head_dim
    precise = torch.promote_types(z.dtype, torch.float32)
    weight = network.blocks[layer].out_matrix[head * width : (head + 1) * width]
    return z.to(weight.device, precise) @ weight.to(precise)


def _head(network: Network, layer: int, index: Index, z: Tensor) -> Tensor:
    (head,), width = index, network.head_dim
    return contribution(network, layer, head, z[..., head * width : (head + 1) * width])


def _weights(network: Network, _: int, index: Index, found: Tensor) -> Tensor:
    (head,) = index
    return found.reshape(*found.shape[:-1], network.n_heads, -1)[..., head, :]


PATTERN = Activation("pattern", Half.ATTENTION)
Z = Activation("z", Half.ATTENTION, "out_projection")
OUT = Activation("out", Half.ATTENTION, "out_projection", output=True)
ATTN = Activation("attn", Half.ATTENTION)
MID = Activation("mid", Half.ATTENTION, always=True)
NEURONS = Activation("neurons", Half.MLP, "down_projection")
MLP = Activation("mlp", Half.MLP)
RESID = Activation("resid", Half.MLP, always=True)

KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            "pattern",
            read=PATTERN,
            written=None,
            resume=Resume.HEADS,
            width=lambda network, length: network.n_heads * length,
            part=_weights,
            parts=lambda network: network.n_heads,
            single=True,
        ),
        Kind(
            "head",
            read=Z,
            written=OUT,
            resume=Resume.HEADS,
            width=lambda network, _: network.n_heads * network.head_dim,
            part=_head,
            parts=lambda network: network.n_heads,
            single=True,
        ),
        Kind("attn", read=ATTN, written=ATTN, resume=Resume.HEADS),
        Kind("mid", read=MID, written=MID, resume=Resume.MIDDLE, sequential=True),
        Kind(
            "neurons",
            read=NEURONS,
            written=NEURONS,
            resume=Resume.MIDDLE,
            width=lambda network, _: network.d_mlp,
            parts=lambda network: network.d_mlp,
        ),
        Kind("mlp", read=MLP, written=MLP, resume=Resume.MIDDLE),
        Kind("resid", read=RESID, written=RESID, resume=Resume.END, lowest=-1),
    )
}
"""The kinds of site by name, in the order in which a block computes them."""


def inside(half: Half) -> list[Activation]:
    """The activations inside the modules of half a block."""
    every = dict.fromkeys(activation for kind in KINDS.values() for activation in (kind.read, kind.shown))
    return [activation for activation in every if activation.module is not None and activation.half is half]


def resid(layer: int) -> Site:
    """The residual stream leaving a block; layer -1 is the embeddings."""
    return Site(KINDS["resid"], layer)


def mid(layer: int) -> Site:
    """The pre-MLP residual of a block."""
    return Site(KINDS["mid"], layer)


def attn(layer: int) -> Site:
    """What a block's attention adds to the residual stream."""
    return Site(KINDS["attn"], layer)


def mlp(layer: int) -> Site:
    """What a block's MLP adds to the residual stream."""
    return Site(KINDS["mlp"], layer)


def head(layer: int, head: int) -> Site:
    """One attention head's contribution to the output projection."""
    return Site(KINDS["head"], layer, (head,))


def neurons(layer: int, ids: tuple[int, ...] | list[int] = ()) -> Site:
    """Post-activation neurons (the input of the down-projection); no ids means all."""
    return Site(KINDS["neurons"], layer, tuple(ids))


def pattern(layer: int, head: int) -> Site:
    """One head's attention weights, from this position to every token of the prompt."""
    return Site(KINDS["pattern"], layer, (head,))
