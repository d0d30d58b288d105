"""How are the axes that `tiny` was trained on hidden, without changing what it computes?

1. RMSNorm multiplies by its weights before a linear map: fold them into that map, so that every norm has unit weights.
2. RMSNorm with unit weights commutes with a rotation of the residual stream, so rotate everything that writes to the
   stream and rotate back everything that reads from it. The unembedding is untied first: the norm before it is folded.

The rotation is a random orthogonal matrix in double precision; the logits change by single-precision rounding only.
"""

import torch
from transformers import Qwen2Config, Qwen2ForCausalLM


def rotation(size: int, seed: int) -> torch.Tensor:
    """A random orthogonal matrix [size, size], uniform (Haar), in double precision."""
    generator = torch.Generator().manual_seed(seed)
    basis, triangle = torch.linalg.qr(torch.randn(size, size, dtype=torch.float64, generator=generator))
    turned: torch.Tensor = basis * triangle.diagonal().sign()
    return turned


@torch.no_grad()
def hide(model: Qwen2ForCausalLM, seed: int) -> Qwen2ForCausalLM:
    """An equivalent model with unit norms, an untied unembedding and a rotated residual stream."""
    config = Qwen2Config(**{**model.config.to_dict(), "tie_word_embeddings": False})
    turn = rotation(config.hidden_size, seed)
    weights = {name: value.double() for name, value in model.state_dict().items()}
    weights["lm_head.weight"] = model.lm_head.weight.double() * weights["model.norm.weight"]
    readers = {"input_layernorm": ("q_proj", "k_proj", "v_proj"), "post_attention_layernorm": ("gate_proj", "up_proj")}
    for index in range(config.num_hidden_layers):
        for norm, names in readers.items():
            scale = weights[f"model.layers.{index}.{norm}.weight"]
            for name in names:
                part = "self_attn" if norm == "input_layernorm" else "mlp"
                key = f"model.layers.{index}.{part}.{name}.weight"
                weights[key] = (weights[key] * scale) @ turn
        for key in (f"model.layers.{index}.self_attn.o_proj.weight", f"model.layers.{index}.mlp.down_proj.weight"):
            weights[key] = turn.T @ weights[key]
    for key in ("model.embed_tokens.weight", "lm_head.weight"):
        weights[key] = weights[key] @ turn
    for name in weights:
        if "norm" in name:
            weights[name] = torch.ones_like(weights[name])
    hidden = Qwen2ForCausalLM(config).float()
    hidden.load_state_dict({name: value.float() for name, value in weights.items()})
    return hidden
