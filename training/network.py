"""How does training run a Qwen2 model fast on two CPU cores, and reach into its residual stream?

1. The tokens that all prompts share run once, in a batch of one; every block keeps their keys and values.
2. Only the question and the answer's digits run per prompt. Their queries meet the prefix in one product for the batch.
3. At each site (the residual leaving a block, or between its attention and its MLP) a `tap` sees the residual stream
   and may return a changed one. Interchange interventions and the squared losses are taps.

The weights live in Hugging Face's own `Qwen2ForCausalLM`; a test compares this run with its forward pass.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, rms_norm
from transformers import Qwen2Config, Qwen2ForCausalLM

Tap = Callable[[str, Tensor], Tensor]

CONFIG = {
    "vocab_size": 306,
    "hidden_size": 128,
    "intermediate_size": 384,
    "num_hidden_layers": 6,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "tie_word_embeddings": True,
    "initializer_range": 0.05,
    "bos_token_id": None,
    "eos_token_id": 0,
    "pad_token_id": 0,
}


def new_model(seed: int) -> Qwen2ForCausalLM:
    """A freshly initialized model of the built-in size."""
    torch.manual_seed(seed)
    return Qwen2ForCausalLM(Qwen2Config(**CONFIG)).float()


def rotary(start: int, length: int, size: int, theta: float) -> tuple[Tensor, Tensor]:
    """Cosines and sines [length, size] of the rotary position embedding for positions from `start`."""
    frequency = 1.0 / theta ** (torch.arange(0, size, 2).float() / size)
    angle = torch.outer(torch.arange(start, start + length).float(), frequency)
    both = torch.cat([angle, angle], -1)
    return both.cos(), both.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Apply the rotary embedding to x [..., position, head, size]."""
    half = x.shape[-1] // 2
    turned = torch.cat([-x[..., half:], x[..., :half]], -1)
    return x * cos[:, None] + turned * sin[:, None]


def norm(x: Tensor, layer: nn.Module) -> Tensor:
    """RMSNorm as Qwen2 computes it."""
    return rms_norm(x, (x.shape[-1],), layer.weight, layer.variance_epsilon)  # type: ignore[arg-type]


class Runner:
    """Runs one model on many prompts that share a prefix."""

    def __init__(self, model: Qwen2ForCausalLM) -> None:
        self.model = model
        config = model.config
        self.heads = config.num_attention_heads
        self.groups = config.num_key_value_heads
        self.size = config.hidden_size // self.heads
        self.theta = float(config.rope_parameters["rope_theta"])

    def __call__(
        self, prefix: Tensor, ids: Tensor, last: int, tap: Tap | None = None, resume: tuple[str, Tensor] | None = None
    ) -> Tensor:
        """The final, normalized residual stream [n, from `last` on, d] of ids [n, tokens] after the prefix [prefix].

        With `resume`, a site and the residual stream there, nothing before that site is run for the ids.
        """
        body = self.model.model
        start, length = len(prefix), ids.shape[1]
        before = rotary(0, start, self.size, self.theta)
        after = rotary(start, length, self.size, self.theta)
        shared, x = body.embed_tokens(prefix[None]), body.embed_tokens(ids)
        for index, layer in enumerate(body.layers):
            attention = layer.self_attn
            normed = norm(shared, layer.input_layernorm)
            queries, keys, values = self.project(attention, normed, before)
            if index < len(body.layers) - 1:
                shared = shared + attention.o_proj(self.attend(queries, keys, values, None))
                shared = shared + layer.mlp(norm(shared, layer.post_attention_layernorm))
            if resume and f"resid{index}" == resume[0]:
                x = resume[1]
            if resume and index <= int(resume[0][-1]) and resume[0] != f"mid{index}":
                continue
            attended = self.attend(*self.project(attention, norm(x, layer.input_layernorm), after), (keys, values))
            if index == len(body.layers) - 1:  # nothing reads the other tokens after the last block's keys and values
                attended, x = attended[:, last:], x[:, last:]
            x = x + attention.o_proj(attended)
            x = resume[1] if resume and resume[0] == f"mid{index}" else x
            x = tap(f"mid{index}", x) if tap else x
            x = x + layer.mlp(norm(x, layer.post_attention_layernorm))
            x = tap(f"resid{index}", x) if tap else x
        return norm(x, body.norm)

    def project(self, attention: nn.Module, x: Tensor, place: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Queries [n, group, head·token, size], keys and values [n, group, token, size]."""
        n, length, _ = x.shape
        queries = rotate(attention.q_proj(x).view(n, length, self.heads, self.size), *place)  # type: ignore[operator]
        keys = rotate(attention.k_proj(x).view(n, length, self.groups, self.size), *place)  # type: ignore[operator]
        values = attention.v_proj(x).view(n, length, self.groups, self.size)  # type: ignore[operator]
        queries = queries.view(n, length, self.groups, -1, self.size).permute(0, 2, 3, 1, 4)
        return queries.reshape(n, self.groups, -1, self.size), keys.transpose(1, 2), values.transpose(1, 2)

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, shared: tuple[Tensor, Tensor] | None) -> Tensor:
        """Causal attention [n, token, d] over the own tokens and, if given, all tokens of a shared prefix."""
        n, length = queries.shape[0], keys.shape[2]
        mask = torch.full((length, length), -torch.inf).triu(1).repeat(self.heads // self.groups, 1)
        scores = queries @ keys.transpose(-1, -2) / math.sqrt(self.size) + mask
        if shared is None:
            out = scores.softmax(-1) @ values
        else:
            # One product per key-value group for the whole batch: the prefix's keys are the same for every prompt.
            flat = queries.transpose(0, 1).reshape(self.groups, -1, self.size)
            early = (flat @ shared[0][0].transpose(-1, -2)) / math.sqrt(self.size)
            early = early.view(self.groups, n, -1, early.shape[-1]).transpose(0, 1)
            weights = torch.cat([early, scores], -1).softmax(-1)
            head = weights[..., : early.shape[-1]].transpose(0, 1).reshape(self.groups, -1, early.shape[-1])
            out = (head @ shared[1][0]).view(self.groups, n, -1, self.size).transpose(0, 1)
            out = out + weights[..., early.shape[-1] :] @ values
        out = out.view(n, self.groups, self.heads // self.groups, length, self.size)
        return out.permute(0, 3, 1, 2, 4).reshape(n, length, -1)

    def logits(
        self, prefix: Tensor, ids: Tensor, last: int, tap: Tap | None = None, resume: tuple[str, Tensor] | None = None
    ) -> Tensor:
        """Next-token logits [n, digits + 1, vocabulary] from the question's last token on."""
        return linear(self(prefix, ids, last, tap, resume), self.model.lm_head.weight)
