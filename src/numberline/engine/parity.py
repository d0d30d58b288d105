"""Is the map from this architecture to sites true of this very model? Asked once, on load, of a few random tokens.

1. An un-edited run through the engine gives the model's own logits.
2. The heads' contributions, plus the projection's bias, sum to what the output projection gives.
3. The neurons, through the down-projection, give what the MLP gives.
4. A swap of an activation with itself changes nothing.

A model that fails is refused: every number computed on it would be wrong.
"""

import torch
from torch import Tensor

from numberline.engine.attention import Past, installed
from numberline.engine.blocks import attend, feed
from numberline.engine.edits import Edit, swap
from numberline.engine.lab import Lab, Read
from numberline.engine.prompts import Prompts
from numberline.engine.recording import Keeper
from numberline.engine.sites import Site, contribution, head, mid, mlp, neurons, resid
from numberline.errors import NumberlineError
from numberline.seed import SEED

ALLOWED = {torch.float64: 1e-6, torch.float32: 1e-3, torch.bfloat16: 0.1, torch.float16: 0.03}
"""Largest relative difference that rounding explains. Hugging Face computes norms and softmax in fp32 in any dtype."""

TOKENS, PREFIX, EXAMPLES = 7, 3, 2


def check_parity(lab: Lab) -> None:
    """Run the four checks; raises with the first that fails."""
    network, allowed = lab.network, ALLOWED[lab.network.dtype]
    ids = torch.randint(network.vocabulary, (EXAMPLES, TOKENS), generator=torch.Generator().manual_seed(SEED))
    ids[:, :PREFIX] = ids[0, :PREFIX]
    prompts = Prompts(("",) * EXAMPLES, ids, {"last": TOKENS - 1}, PREFIX)
    recording = lab.record(prompts)
    with torch.no_grad():
        truth = network.model(ids.to(network.device), use_cache=False).logits[:, -1]
    everything = torch.arange(network.vocabulary).repeat(EXAMPLES, 1)
    read = Read(logits=everything)
    _compare("the un-edited run", lab.run(recording, [], read).logits, truth, allowed)
    for layer in (0, network.n_layers - 1):
        _check_parts(lab, layer, recording.span("resid", layer - 1, 0, TOKENS), allowed)
        sites: list[Site] = [resid(layer), mlp(layer), neurons(layer), head(layer, network.n_heads - 1)]
        sites += [] if network.parallel else [mid(layer)]
        edits: list[Edit] = [swap(site.at(PREFIX), recording.value(site.at(PREFIX))) for site in sites]
        _compare(f"a swap with itself in block {layer}", lab.run(recording, edits, read).logits, truth, allowed)


def _check_parts(lab: Lab, layer: int, x: Tensor, allowed: float) -> None:
    network, block = lab.network, lab.network.blocks[layer]
    tap = Keeper({"z", "out", "neurons"})
    mlp_out: list[Tensor] = []
    handle = block.mlp.register_forward_hook(lambda _, __, out: mlp_out.append(out))
    try:
        with torch.no_grad(), installed(network.model):
            feed(network, layer, x, attend(network, layer, x, tap, Past(0)), tap)
    finally:
        handle.remove()
    width = network.head_dim
    total = sum(
        contribution(network, layer, h, tap.found["z"][..., h * width : (h + 1) * width])
        for h in range(network.n_heads)
    )
    _compare(
        f"the sum of the heads of block {layer}", _with_bias(total, block.out_projection), tap.found["out"], allowed
    )
    written = tap.found["neurons"].to(torch.promote_types(network.dtype, torch.float32)) @ block.down_matrix.to(
        torch.promote_types(network.dtype, torch.float32)
    )
    _compare(f"the neurons of block {layer}", _with_bias(written, block.down_projection), mlp_out[0], allowed)


def _with_bias(value: Tensor | int, module: torch.nn.Module) -> Tensor:
    bias = getattr(module, "bias", None)
    return value + (bias if bias is not None else torch.zeros(()))


def _compare(what: str, found: Tensor | None, truth: Tensor, allowed: float) -> None:
    assert found is not None
    found, truth = found.double().cpu(), truth.double().cpu()
    error = float((found - truth).abs().max() / truth.abs().max().clamp(min=1e-30))
    if not error <= allowed:
        raise NumberlineError(
            f"{what} differs from the model's own forward pass by {error:.2g} (allowed: {allowed:g}), so this model "
            "does not compute as its row in numberline/models/families.py says: do not trust results on it"
        )
