"""Attention of new tokens over a past that is shared, without copying what is shared.

Registered with Hugging Face's attention interface, so that a model's own attention module projects, norms and rotates,
and calls this function only for softmax(QKᵀ)V. The keys of a new token come in three parts:

1. the prefix: one copy for the whole batch, so its scores are one matrix product per key/value head, batch folded in;
2. the past: recorded keys of this example's earlier tokens, which many edited rows of one example share;
3. the new tokens' own keys.

Scores of the parts are concatenated, masked (causal, sliding window), and go through one softmax in fp32 or better.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from transformers import AttentionInterface

NAME = "numberline"


@dataclass
class Past:
    """What new tokens attend to besides themselves, and what to keep of this call.

    `rows` maps the batch's rows to the examples of `keys` (None: they are the same); `start` is the first new token's
    position, `length` that of the whole prompt, for attention weights that are to be kept.
    """

    start: int
    length: int = 0
    prefix_keys: Float[Tensor, "kv_heads prefix head_dim"] | None = None
    prefix_values: Float[Tensor, "kv_heads prefix head_dim"] | None = None
    keys: Float[Tensor, "examples kv_heads past head_dim"] | None = None
    values: Float[Tensor, "examples kv_heads past head_dim"] | None = None
    rows: Int[Tensor, " rows"] | None = None
    want_keys: bool = False
    want_weights: bool = False
    kept: dict[str, Tensor] = field(default_factory=dict)

    @property
    def pattern(self) -> Float[Tensor, "rows new heads_tokens"]:
        """Attention weights as one row per new token: every head's weights over all tokens, concatenated."""
        weights = self.kept["weights"].transpose(1, 2)
        return torch.nn.functional.pad(weights, (0, self.length - weights.shape[-1])).flatten(2)

    def with_new(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """The past's keys and values followed by the new ones, for each row."""
        if self.keys is None or self.values is None:
            return key, value
        past_key, past_value = self.keys, self.values
        if self.rows is not None:
            past_key, past_value = past_key[self.rows], past_value[self.rows]
        return torch.cat([past_key.to(key.dtype), key], 2), torch.cat([past_value.to(value.dtype), value], 2)


@lru_cache(maxsize=64)
def _mask(
    start: int, new: int, seen: int, window: int | None, dtype: torch.dtype, device: torch.device
) -> Float[Tensor, "new seen"] | None:
    """0 where a new token may look, -inf where it may not; None when all may look everywhere.

    The `seen` keys end with the `new` tokens, which are at positions start, start+1, …
    """
    if new == 1 and (window is None or seen <= window):
        return None
    query = torch.arange(start, start + new)
    key = torch.arange(start + new - seen, start + new)
    hidden = key[None] > query[:, None]
    if window is not None:
        hidden |= key[None] <= query[:, None] - window
    return torch.zeros(new, seen, dtype=dtype).masked_fill_(hidden, float("-inf")).to(device)


def attention(
    module: nn.Module,  # noqa: ARG001  the interface passes it
    query: Float[Tensor, "rows heads new head_dim"],
    key: Float[Tensor, "rows kv_heads new head_dim"],
    value: Float[Tensor, "rows kv_heads new head_dim"],
    attention_mask: Tensor | None,  # noqa: ARG001  the interface passes it; ours comes from positions
    scaling: float,
    numberline: Past,
    softcap: float | None = None,
    sliding_window: int | None = None,
    **_: Any,
) -> tuple[Float[Tensor, "rows new heads head_dim"], None]:
    """softmax(scaling · QKᵀ) V over prefix, past and new tokens."""
    past = numberline
    if past.want_keys:
        past.kept["keys"], past.kept["values"] = key, value
    rows, heads, new, width = query.shape
    groups = key.shape[1]
    key, value = past.with_new(key, value)
    # Query heads that share a key/value head are rows of one product.
    query = (query * scaling).reshape(rows, groups, (heads // groups) * new, width)
    scores = query @ key.transpose(2, 3)
    shared = 0
    if past.prefix_keys is not None and past.prefix_values is not None:
        shared = past.prefix_keys.shape[1]
        folded = query.transpose(0, 1).reshape(groups, -1, width) @ past.prefix_keys.transpose(1, 2).to(query.dtype)
        folded = folded.view(groups, rows, -1, shared).transpose(0, 1)
        scores = torch.cat([folded, scores], dim=-1)
    if softcap is not None:
        scores = torch.tanh(scores / softcap) * softcap
    mask = _mask(past.start, new, scores.shape[-1], sliding_window, scores.dtype, scores.device)
    if mask is not None:
        scores = (scores.view(rows, groups, -1, new, scores.shape[-1]) + mask).view_as(scores)
    weights = torch.softmax(scores, -1, dtype=torch.promote_types(scores.dtype, torch.float32)).to(query.dtype)
    if past.want_weights:
        past.kept["weights"] = weights.view(rows, heads, new, -1)
    out = weights[..., shared:] @ value
    if shared and past.prefix_values is not None:
        folded = weights[..., :shared].transpose(0, 1).reshape(groups, -1, shared)
        mixed = folded @ past.prefix_values.to(query.dtype)
        out = out + mixed.view(groups, rows, -1, width).transpose(0, 1)
    return out.reshape(rows, heads, new, width).transpose(1, 2).contiguous(), None


AttentionInterface.register(NAME, attention)


@contextmanager
def installed(model: Any) -> Iterator[None]:
    """Use this attention inside the block, and the model's own before and after."""
    configs = [model.config, *(c for c in (getattr(model.config, "text_config", None),) if c is not None)]
    before = [config._attn_implementation for config in configs]
    try:
        for config in configs:
            config._attn_implementation = NAME
        yield
    finally:
        for config, name in zip(configs, before, strict=True):
            config._attn_implementation = name
