"""Is the map from this architecture to sites true of this very model? Asked once, on load, of a few random tokens.

The model's own forward pass is watched with hooks, and then compared with the engine:
1. what enters block 0 is the engine's embedding of the tokens;
2. at every layer, the engine's block, given what entered the model's own, has the same heads, attention, neurons, MLP
   and residual: errors do not add up over layers, so that even in half precision a wrong map stands out;
3. at every layer, the heads' contributions and the bias sum to the attention's result, the neurons through the
   down-projection give the MLP's, and each neuron reads what its rows say: its gradient lies in their span;
4. an un-edited run through the engine, over a shared prefix, gives the model's own logits, and so does one in which
   every site of a layer is swapped with itself.

The first that differs is named. A model that fails is refused (`numberline.engine.loading`): every number computed
on it would be wrong.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import normalize

from numberline.engine.attention import Past, installed
from numberline.engine.blocks import attend, feed
from numberline.engine.edits import Edit, swap
from numberline.engine.lab import Lab, Read
from numberline.engine.memory import is_out_of_memory
from numberline.engine.prompts import Prompts
from numberline.engine.recording import Keeper
from numberline.engine.sites import Site, contribution, head, mid, mlp, neurons, resid
from numberline.errors import NumberlineError
from numberline.models.network import Block, Network
from numberline.models.placement import bias
from numberline.seed import SEED

AT_A_SITE = {torch.float64: 1e-6, torch.float32: 1e-4, torch.bfloat16: 0.08, torch.float16: 0.01}
"""Largest difference, relative to the size of the activation, that rounding explains inside one block. Hugging Face
computes norms and softmax in fp32 in any dtype. In bfloat16 `planted`, whose gates are steep, differs by 0.06, models
with ordinary weights by 0.01, and what is wrong by a third and more."""
AT_THE_END = {torch.float64: 1e-6, torch.float32: 1e-3, torch.bfloat16: 0.1, torch.float16: 0.03}
"""The same after all blocks, where differences have added up."""

OF_A_ROW = {torch.float64: 1e-6, torch.float32: 1e-2, torch.bfloat16: 0.1, torch.float16: 0.03}
"""The same for what a neuron reads, found from its gradient; what is wrong differs by a seventh and more."""

TOKENS, PREFIX, EXAMPLES, CHOSEN = 7, 3, 2, 64


@dataclass(frozen=True)
class Comparison:
    """One activation of the engine beside the model's own."""

    what: str
    error: float
    allowed: float

    @property
    def holds(self) -> bool:
        """Whether rounding explains the difference; a number that is not a number never holds."""
        return self.error <= self.allowed

    def __str__(self) -> str:
        return f"{self.what} differs from the model's own forward pass by {self.error:.2g} (allowed: {self.allowed:g})"


def self_check(lab: Lab) -> Comparison:
    """The first comparison that does not hold, or else the one with the largest error."""
    largest: Comparison | None = None
    for comparison in comparisons(lab):
        if not comparison.holds:
            return comparison
        if largest is None or comparison.error > largest.error:
            largest = comparison
    assert largest is not None, "there is always something to compare"
    return largest


def check_finite(model: Any) -> None:
    """Refuse a model that cannot run on plain tokens, or whose own logits are no numbers."""
    ids = _random_tokens(model).to(model.get_input_embeddings().weight.device)
    try:
        with torch.no_grad():
            logits = model(ids, use_cache=False).logits
    except (TypeError, ValueError, AttributeError, RuntimeError) as error:
        if is_out_of_memory(error):
            raise
        raise NumberlineError(
            f"the model '{model.config.model_type}' does not run on plain tokens ({str(error).splitlines()[0]}): "
            "numberline works on decoder-only language models"
        ) from error
    if not logits.isfinite().all():
        raise NumberlineError(
            f"the model's own logits are not finite in {str(model.dtype).removeprefix('torch.')}: its weights are "
            "damaged, or their values are too large for this dtype (then load it in float32 or bfloat16)"
        )


def comparisons(lab: Lab) -> Iterator[Comparison]:
    """Every comparison, in the order of computation."""
    network = lab.network
    ids = _random_tokens(network.model)
    with torch.no_grad(), _watched(network) as own:
        logits = network.model(ids.to(network.device), use_cache=False).logits[:, -1]
    yield _compare("resid(-1)", network.embed(ids, 0), own[0]["enter"], AT_A_SITE[network.dtype])
    for layer, found in enumerate(own):
        yield from _at_a_layer(network, layer, found)
    yield from _at_the_end(lab, ids, logits)


def _at_a_layer(network: Network, layer: int, own: dict[str, Tensor]) -> Iterator[Comparison]:
    block, x = network.blocks[layer], own["enter"]
    tap = Keeper({"z", "out", "neurons", "mlp", "resid"})
    with torch.no_grad(), installed(network.model):
        feed(network, layer, x, attend(network, layer, x, tap, Past(0)), tap)
    width, ours = network.head_dim, tap.found
    yield _compare(f"head({layer})", ours["z"], own["heads"], AT_A_SITE[network.dtype])
    contributions = [
        contribution(network, layer, h, ours["z"][..., h * width : (h + 1) * width]) for h in range(network.n_heads)
    ]
    total = torch.stack(contributions).sum(0)
    yield _compare(
        f"the sum of the heads of layer {layer}",
        _with_bias(total, block.out_projection),
        own["attention"],
        AT_A_SITE[network.dtype],
    )
    yield _compare(f"neurons({layer})", ours["neurons"], own["neurons"], AT_A_SITE[network.dtype])
    precise = torch.promote_types(network.dtype, torch.float32)
    written = ours["neurons"].to(precise) @ block.down_matrix.to(precise)
    yield _compare(
        f"what the neurons of layer {layer} write",
        _with_bias(written, block.down_projection),
        own["mlp"],
        AT_A_SITE[network.dtype],
    )
    yield from _rows(network, layer, own["read"].flatten(0, 1), own["neurons"].flatten(0, 1))
    yield _compare(f"resid({layer})", ours["resid"], own["leave"], AT_A_SITE[network.dtype])


def _rows(
    network: Network, layer: int, read: Float[Tensor, "n d_model"], active: Float[Tensor, "n neurons"]
) -> Iterator[Comparison]:
    """Whether neurons read what their rows say, whatever the activation function: one active neuron at each token.

    The gradient of a neuron lies in the span of its rows. A gated neuron is linear in what its up-row reads: along the
    part of that row which the gate does not see, the gradient times what the up-row reads is the neuron itself.
    """
    block, allowed = network.blocks[layer], OF_A_ROW[network.dtype]
    h = read.detach().clone().requires_grad_()
    chosen = active.abs().topk(min(len(h), network.d_mlp)).indices[range(len(h)), range(len(h))]
    values: list[Tensor] = []
    handle = block.down_projection.register_forward_pre_hook(lambda _, inputs: values.append(inputs[0]))
    try:
        with torch.enable_grad():
            block.mlp(h)
            neuron = values[0].gather(1, chosen[:, None])[:, 0]
            (gradient,) = torch.autograd.grad(neuron.sum(), h)
    finally:
        handle.remove()
    h, neuron = h.detach(), neuron.detach()
    precise = torch.promote_types(network.dtype, torch.float32)
    rows = {name: found[chosen].detach().to(precise) for name, found in block.projections.items()}
    gradient, up = gradient.to(precise), rows["up"]
    gate = normalize(rows["gate"]) if "gate" in rows else torch.zeros_like(up)
    alone = up - _along(up, gate)
    within = _along(gradient, gate) + _along(gradient, normalize(alone))
    yield _compare(f"what neurons({layer}) read", within, gradient, allowed)
    if "gate" in rows:
        reads = (up * h).sum(-1) + _up_bias(block, chosen)
        missing = (gradient * alone).sum(-1) * reads - neuron * (alone * alone).sum(-1)
        missing = missing / (up * up).sum(-1).clamp(min=1e-30)
        # Where a gate is steep, the neuron itself is only known as well as the rounding of its input lets it be.
        known = neuron.norm() + 4 * torch.finfo(network.dtype).eps / allowed * (gradient * h).norm()
        yield Comparison(f"the up-rows of neurons({layer})", float(missing.norm() / known.clamp(min=1e-30)), allowed)


def _along(x: Float[Tensor, "n d"], unit: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
    return (x * unit).sum(-1, keepdim=True) * unit


def _up_bias(block: Block, chosen: Tensor) -> Tensor | float:
    added = bias(block.up_projection)  # where gate and up are fused, the up-projection's is at the end
    return 0.0 if added is None else added[chosen - block.down_matrix.shape[0]].detach()


def _at_the_end(lab: Lab, ids: Tensor, logits: Float[Tensor, "examples vocabulary"]) -> Iterator[Comparison]:
    network = lab.network
    recording = lab.record(Prompts(("",) * EXAMPLES, ids, {"last": TOKENS - 1}, PREFIX))
    final = recording.span("resid", network.n_layers - 1, TOKENS - 1, TOKENS)[:, 0]
    with torch.no_grad():
        unedited = network.logits(final)
    yield _compare("the un-edited run", unedited, logits, AT_THE_END[network.dtype])
    conditions: list[list[Edit]] = []
    for layer in range(network.n_layers):
        sites: list[Site] = [resid(layer), mlp(layer), neurons(layer), head(layer, network.n_heads - 1)]
        sites += [] if network.parallel else [mid(layer)]
        conditions.append([swap(site.at(PREFIX), recording.value(site.at(PREFIX))) for site in sites])
    chosen = logits.topk(min(CHOSEN, logits.shape[-1])).indices.cpu()
    swapped = lab.sweep(recording, conditions, Read(logits=chosen)).logits
    assert swapped is not None
    for layer, found in enumerate(swapped):
        want = logits.gather(1, chosen.to(logits.device))
        yield _compare(f"a swap with itself in layer {layer}", found, want, AT_THE_END[network.dtype])


def _random_tokens(model: Any) -> Int[Tensor, "examples tokens"]:
    """Prompts that begin alike."""
    vocabulary = model.get_output_embeddings().weight.shape[0]
    ids = torch.randint(vocabulary, (EXAMPLES, TOKENS), generator=torch.Generator().manual_seed(SEED))
    ids[:, :PREFIX] = ids[0, :PREFIX]
    return ids


@contextmanager
def _watched(network: Network) -> Iterator[list[dict[str, Tensor]]]:
    """Each block's own activations, while the model runs as Hugging Face wrote it."""
    own: list[dict[str, Tensor]] = [{} for _ in network.blocks]
    handles = []

    def watch(module: nn.Module, seen: dict[str, Tensor], enters: str, leaves: str) -> None:
        def before(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            seen[enters] = args[0] if args else kwargs["hidden_states"]

        def after(_: nn.Module, __: Any, output: Any) -> None:
            seen[leaves] = output[0] if isinstance(output, tuple) else output

        handles.append(module.register_forward_pre_hook(before, with_kwargs=True))
        handles.append(module.register_forward_hook(after))

    for block, seen in zip(network.blocks, own, strict=True):
        watch(block.module, seen, "enter", "leave")
        watch(block.attention, seen, "normed", "attention")
        watch(block.out_projection, seen, "heads", "out")
        watch(block.mlp, seen, "read", "mlp")
        watch(block.down_projection, seen, "neurons", "down")
    try:
        yield own
    finally:
        for handle in handles:
            handle.remove()


def _with_bias(value: Tensor, module: nn.Module) -> Tensor:
    added = bias(module)
    return value if added is None else value + added


def _compare(what: str, found: Tensor, own: Tensor, allowed: float) -> Comparison:
    ours, truth = found.detach().double().cpu(), own.detach().double().cpu()
    same_shape = ours.shape == truth.shape
    error = float((ours - truth).norm() / truth.norm().clamp(min=1e-30)) if same_shape else float("inf")
    return Comparison(what, error, allowed)
