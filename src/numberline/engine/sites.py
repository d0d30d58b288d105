"""Places in the network.

    resid(13).at("y1")        the residual stream leaving block 13, at y1's last token (resid(-1): the embeddings)
    mid(14).at("y2")          the pre-MLP residual of block 14: what entered it plus what its attention wrote
    attn(14), mlp(14)         what a sub-block writes to the residual stream (after a norm on its output, if it has one)
    head(14, 14)              one head's contribution z_h W_O to the attention's output projection
    pattern(14, 14)           one head's attention weights over all tokens (can be read, not edited)
    neurons(14, (3, 5))       coordinates of the vector that feeds the MLP's down-projection; neurons(14): all of them

A position is a name that the prompts define ("y1", "last"), a token index, a tuple of either, or EVERYWHERE.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from numberline.errors import NumberlineError
from numberline.models.network import Network

Kind = Literal["pattern", "head", "attn", "mid", "neurons", "mlp", "resid"]
ORDER: tuple[Kind, ...] = ("pattern", "head", "attn", "mid", "neurons", "mlp", "resid")
"""The kinds of site in the order in which a block computes them."""

EVERYWHERE = "everywhere"
"""Every token of the prompt and, when decoding, every generated token."""

Position = str | int | tuple[str | int, ...]


@dataclass(frozen=True)
class Site:
    """A kind of activation at one layer; `index` is the head, or the neurons; `position` says at which token(s)."""

    kind: Kind
    layer: int
    index: tuple[int, ...] = ()
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

    @property
    def stage(self) -> int:
        """Where in its block this site is computed."""
        return ORDER.index(self.kind)

    def __str__(self) -> str:
        index = (
            f", {self.index[0]}"
            if self.kind in ("head", "pattern")
            else f", {len(self.index)} ids"
            if self.index
            else ""
        )
        where = "" if self.position == () else f".at({self.position!r})"
        return f"{self.kind}({self.layer}{index}){where}"


def resid(layer: int) -> Site:
    """The residual stream leaving a block; layer -1 is the embeddings."""
    return Site("resid", layer)


def mid(layer: int) -> Site:
    """The pre-MLP residual of a block."""
    return Site("mid", layer)


def attn(layer: int) -> Site:
    """What a block's attention adds to the residual stream."""
    return Site("attn", layer)


def mlp(layer: int) -> Site:
    """What a block's MLP adds to the residual stream."""
    return Site("mlp", layer)


def head(layer: int, head: int) -> Site:
    """One attention head's contribution to the output projection."""
    return Site("head", layer, (head,))


def neurons(layer: int, ids: tuple[int, ...] | list[int] = ()) -> Site:
    """Post-activation neurons (the input of the down-projection); no ids means all."""
    return Site("neurons", layer, tuple(ids))


def pattern(layer: int, head: int) -> Site:
    """One head's attention weights, from this position to every token of the prompt."""
    return Site("pattern", layer, (head,))


def check(site: Site, network: Network) -> None:
    """Refuse a site that this model does not have."""
    lowest = -1 if site.kind == "resid" else 0
    if not lowest <= site.layer < network.n_layers:
        raise NumberlineError(f"{site}: the model has layers 0 to {network.n_layers - 1}")
    if site.kind == "mid" and network.parallel:
        raise NumberlineError(f"{site}: this model's attention and MLP run in parallel, so it has no pre-MLP residual")
    limit = network.d_mlp if site.kind == "neurons" else network.n_heads
    outside = [index for index in site.index if not 0 <= index < limit]
    if outside:
        raise NumberlineError(f"{site}: there is no {site.kind} {outside[0]}, the layer has {limit}")
