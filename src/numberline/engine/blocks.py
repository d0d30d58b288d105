"""One decoder block, in two halves, with a tap at every site.

The halves call Hugging Face's own modules and add their results to the residual stream. A tap sees each activation as
it is computed and may return a changed one; recordings, reads and edits are all taps. Only what happens inside a module
(the heads before the output projection, the neurons before the down-projection) needs a torch hook; the hooks live as
long as the half that installs them, whatever happens inside.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor, nn

from numberline.engine.attention import Past
from numberline.models.network import Block, Network


@runtime_checkable
class Tap(Protocol):
    """Sees activations in the order a block computes them: z, out, attn, mid, neurons, mlp, resid.

    `z` is the concatenated heads, `out` the output projection's result; the other names are the kinds of site.
    """

    def wants(self, name: str) -> bool:
        """Whether this activation is of interest; asked before a hook is installed."""
        ...

    def __call__(self, name: str, value: Float[Tensor, "rows tokens d"]) -> Float[Tensor, "rows tokens d"]:
        """The activation to go on with."""
        ...


def attend(
    network: Network,
    layer: int,
    x: Float[Tensor, "rows tokens d"],
    tap: Tap,
    past: Past | None = None,
    z: Float[Tensor, "rows tokens heads_width"] | None = None,
) -> Float[Tensor, "rows tokens d"]:
    """The first half: the pre-MLP residual, from the residual that enters (or, when z is known, from the heads on)."""
    block = network.blocks[layer]
    x = x.to(block.device)
    with _tapped_heads(block, tap):
        if z is None:
            assert past is not None, "attention needs to know what came before"
            out = block.attention(
                block.before_attention(x),
                attention_mask=None,
                position_embeddings=network.rotation(layer, x, past.start, x.shape[1]),
                numberline=past,
            )[0]
        else:
            out = block.out_projection(z.to(block.device))
    return tap("mid", x + tap("attn", block.after_attention(out)))


def feed(
    network: Network, layer: int, x: Float[Tensor, "rows tokens d"], mid: Float[Tensor, "rows tokens d"], tap: Tap
) -> Float[Tensor, "rows tokens d"]:
    """The second half: the residual that leaves, from the pre-MLP residual (parallel blocks read what entered, x)."""
    block = network.blocks[layer]
    read = x.to(mid.device) if network.parallel else mid
    with _tapped_neurons(block, tap):
        out = block.mlp(block.before_mlp(read))
    return tap("resid", mid + tap("mlp", block.after_mlp(out)))


@contextmanager
def _tapped_heads(block: Block, tap: Tap) -> Iterator[None]:
    if not (tap.wants("z") or tap.wants("out")):
        yield
        return

    def before(_: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (tap("z", inputs[0]),)

    def after(_: nn.Module, __: Any, output: Tensor) -> Tensor:
        return tap("out", output)

    handles = [
        block.out_projection.register_forward_pre_hook(before),
        block.out_projection.register_forward_hook(after),
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def _tapped_neurons(block: Block, tap: Tap) -> Iterator[None]:
    if not tap.wants("neurons"):
        yield
        return

    def before(_: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (tap("neurons", inputs[0]),)

    handle = block.down_projection.register_forward_pre_hook(before)
    try:
        yield
    finally:
        handle.remove()
