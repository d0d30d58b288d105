"""Every architecture that is tested: a small configuration, and where its parts are, for the oracle.

A new one is a line of CONFIGS, and one of NAMES where its modules are not called as Llama's are.
"""

from dataclasses import dataclass, replace

SMALL = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}
GROUPED = {**SMALL, "num_key_value_heads": 2}
# Every peculiarity is switched on: biases, windows shorter than the prompt, soft-capping, layers without rotation.
CONFIGS = {
    "qwen2": {**GROUPED, "use_sliding_window": True, "sliding_window": 9, "max_window_layers": 2},
    "llama": {**GROUPED, "attention_bias": True, "mlp_bias": True},
    "mistral": {**GROUPED, "sliding_window": 11, "head_dim": 12},
    "smollm3": {**GROUPED, "no_rope_layers": [1, 0, 1]},
    "qwen3": {**GROUPED, "head_dim": 16},
    "gemma2": {
        **GROUPED, "head_dim": 16, "sliding_window": 10, "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0,
    },
    "gemma3_text": {
        **GROUPED, "head_dim": 16, "sliding_window": 10,
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
    },
    "olmo2": GROUPED,
    "phi3": {**GROUPED, "sliding_window": 11},
    "granite": {
        **GROUPED, "embedding_multiplier": 3.0, "attention_multiplier": 0.3, "residual_multiplier": 0.6,
        "logits_scaling": 4.0, "mlp_bias": True,
    },
    "cohere": {**GROUPED, "use_qk_norm": True, "logit_scale": 0.3, "attention_bias": True},
    "cohere2": {**GROUPED, "sliding_window": 10, "logit_scale": 0.3},
    "arcee": {**GROUPED, "mlp_bias": True},
    "starcoder2": {**GROUPED, "sliding_window": 9},
    "phi": {**GROUPED, "qk_layernorm": True, "partial_rotary_factor": 0.5},
    "gpt_neox": {**SMALL, "use_parallel_residual": True},
    "gpt_neox-sequential": {**SMALL, "use_parallel_residual": False},
    "gpt2": {"n_embd": 32, "n_layer": 3, "n_head": 4, "n_inner": 48, "scale_attn_by_inverse_layer_idx": True},
}  # fmt: skip

# Architectures that have no row of their own, and the row that each is proven to have.
UNKNOWN = {
    "olmo": ("llama", {**GROUPED, "clip_qkv": 0.7}),
    "helium": ("llama", {**GROUPED, "head_dim": 8}),
    "stablelm": ("llama", {**GROUPED, "use_qkv_bias": True, "qk_layernorm": True}),
    "stablelm-parallel": ("cohere", {**GROUPED, "use_parallel_residual": True}),
    "glm": ("phi3", {**GROUPED, "head_dim": 8, "attention_bias": True}),
    "olmo3": ("olmo2", {**GROUPED, "sliding_window": 9}),
    "exaone4": ("olmo2", {**GROUPED, "sliding_window": 9, "sliding_window_pattern": 2}),
    "nemotron": ("ungated", {**GROUPED, "head_dim": 8}),
}


@dataclass(frozen=True)
class Names:
    blocks: str
    attention_out: str  # the attention's output projection
    mlp_down: str  # the MLP's down-projection
    attention_write: str  # the module whose output is added to the residual stream after attention
    mlp_write: str  # … and after the MLP


LLAMA = Names("model.layers", "self_attn.o_proj", "mlp.down_proj", "self_attn.o_proj", "mlp")
SANDWICH = replace(LLAMA, attention_write="post_attention_layernorm", mlp_write="post_feedforward_layernorm")
NEOX = Names("gpt_neox.layers", "attention.dense", "mlp.dense_4h_to_h", "attention.dense", "mlp")
GPT2 = Names("transformer.h", "attn.c_proj", "mlp.c_proj", "attn.c_proj", "mlp")
STARCODER = Names("model.layers", "self_attn.o_proj", "mlp.c_proj", "self_attn.o_proj", "mlp")
PHI = Names("model.layers", "self_attn.dense", "mlp.fc2", "self_attn.dense", "mlp")
NAMES = {
    "gemma2": SANDWICH, "gemma3_text": SANDWICH, "olmo2": SANDWICH, "gpt_neox": NEOX, "gpt2": GPT2,
    "starcoder2": STARCODER, "phi": PHI, "olmo3": SANDWICH, "exaone4": SANDWICH,
}  # fmt: skip
