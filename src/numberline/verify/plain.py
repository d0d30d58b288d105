"""What do the comparators do in the model as it is? Plain forward passes with torch hooks, and its own weights.

Noise moves a neuron away from what its circuit describes. A method that then reports the moved neuron is right, and one
that reports the planted one would be wrong: with noise, what a run found is compared with this, without with the truth.

1. A forward pass keeps what enters an MLP's norm and what enters its down-projection, at y2's token.
2. A receptive field is the second, over a grid of pairs.
3. A causal edge: the source's clean minus its corrupted activation, times what it writes, is added to what enters the
   target's MLP in the corrupted run; the mean shift of the target, in units of its spread over a cloud.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from numberline.engine.lab import Lab
from numberline.models.planted.truth import Place
from numberline.tasks.layout import encode
from numberline.tasks.task import Task

Operands = Sequence[Sequence[int]]
BATCH = 512


@torch.no_grad()
def at_y2(lab: Lab, layer: int, operands: Operands) -> tuple[Float[Tensor, "n d"], Float[Tensor, "n neurons"]]:
    """What enters the norm and the down-projection of an MLP at y2's token, for each pair of numbers."""
    block = lab.network.model.model.layers[layer]
    prompts = encode(lab.tokenizer, Task(), [(int(first), int(second)) for first, second in operands])
    token = prompts.positions["y2"]
    kept: dict[str, list[Tensor]] = {"mid": [], "neurons": []}
    hooks = [
        module.register_forward_pre_hook(lambda _, given, name=name: kept[name].append(given[0][:, token].clone()))
        for name, module in (("mid", block.post_attention_layernorm), ("neurons", block.mlp.down_proj))
    ]
    try:
        for batch in prompts.ids.split(BATCH):
            lab.network.model(batch, logits_to_keep=1)
    finally:
        for hook in hooks:
            hook.remove()
    return torch.cat(kept["mid"]), torch.cat(kept["neurons"])


def fields(lab: Lab, places: Sequence[Place], axis: Sequence[int]) -> Float[Tensor, "places y1 y2"]:
    """The receptive fields of some neurons."""
    grid = [(first, second) for first in axis for second in axis]
    seen = {layer: at_y2(lab, layer, grid)[1] for layer in {layer for layer, _ in places}}
    return torch.stack([seen[layer][:, neuron].reshape(len(axis), -1) for layer, neuron in places])


@torch.no_grad()
def edges(
    lab: Lab, sources: Sequence[Place], targets: Sequence[Place], clean: Operands, corrupted: Operands, cloud: Operands
) -> Float[Tensor, "sources targets"]:
    """The causal edges of later neurons on earlier ones; NaN where the target is not later."""
    blocks = lab.network.model.model.layers
    change = {
        layer: at_y2(lab, layer, clean)[1] - at_y2(lab, layer, corrupted)[1]
        for layer in {place[0] for place in sources}
    }
    found = torch.full((len(sources), len(targets)), torch.nan)
    for layer in {place[0] for place in targets}:
        block, (entering, plain) = blocks[layer], at_y2(lab, layer, corrupted)
        spread = at_y2(lab, layer, cloud)[1].std(0)
        for i, (earlier, neuron) in enumerate(sources):
            if earlier < layer:
                written = change[earlier][:, neuron, None] * blocks[earlier].mlp.down_proj.weight[:, neuron]
                read = block.post_attention_layernorm(entering + written)
                shifted = block.mlp.act_fn(block.mlp.gate_proj(read)) * block.mlp.up_proj(read)
                shift = (shifted - plain).mean(0) / spread
                for j, (later, target) in enumerate(targets):
                    if later == layer:
                        found[i, j] = shift[target]
    return found
