"""One decoder block, in two halves, with a tap at every site.

The halves call Hugging Face's own modules and add their results to the residual stream. A tap sees each activation as
it is computed and may return a changed one; recordings, reads and edits are all taps. Only what happens inside a module
(the heads before the output projection, the neurons before the down-projection) needs a torch hook; which these are,
the table of sites says. The hooks live as long as the half that installs them, whatever happens inside.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from numberline.engine.attention import Past
from numberline.engine.sites import ATTN, MID, MLP, PATTERN, RESID, Activation, Half, inside
from numberline.models.network import Block, Network


@runtime_checkable
class Tap(Protocol):
    """Sees activations (`sites.py`) in the order of computation: z, out, pattern, attn, mid, neurons, mlp, resid.

    `z` is the concatenated heads, `out` the output projection's result, `pattern` the attention weights.
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
    with _shown(block, Half.ATTENTION, tap):
        if z is None:
            assert past is not None, "attention needs to know what came before"
            past.want_weights = tap.wants(PATTERN.name)
            out = block.attention(
                block.before_attention(x),
                attention_mask=None,
                position_embeddings=network.rotation(layer, x, past.start, x.shape[1]),
                numberline=past,
            )[0]
        else:
            out = block.out_projection(z.to(block.device))
    if past is not None and past.want_weights:
        tap(PATTERN.name, past.pattern)
    return tap(MID.name, x + tap(ATTN.name, block.after_attention(out)))


def feed(
    network: Network, layer: int, x: Float[Tensor, "rows tokens d"], mid: Float[Tensor, "rows tokens d"], tap: Tap
) -> Float[Tensor, "rows tokens d"]:
    """The second half: the residual that leaves, from the pre-MLP residual (parallel blocks read what entered, x)."""
    block = network.blocks[layer]
    read = x.to(mid.device) if network.parallel else mid
    with _shown(block, Half.MLP, tap):
        out = block.mlp(block.before_mlp(read))
    return tap(RESID.name, mid + tap(MLP.name, block.after_mlp(out)))


@contextmanager
def _shown(block: Block, half: Half, tap: Tap) -> Iterator[None]:
    """Hooks that show what is inside the modules of half a block, as far as it is wanted."""
    handles = []
    try:
        for activation in inside(half):
            if tap.wants(activation.name):
                handles.append(_hook(getattr(block, activation.module or ""), activation, tap))
        yield
    finally:
        for handle in handles:
            handle.remove()


def _hook(module: nn.Module, activation: Activation, tap: Tap) -> RemovableHandle:
    if activation.output:
        return module.register_forward_hook(lambda _, __, output: tap(activation.name, output))
    return module.register_forward_pre_hook(lambda _, inputs: (tap(activation.name, inputs[0]), *inputs[1:]))
