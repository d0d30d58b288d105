"""Where does each architecture keep its parts, and by what does it multiply? One row per family of Hugging Face models.

A decoder block reads the residual stream twice, through attention and through an MLP, and adds both results back:

    mid   = x   + r · after_attention(attention(before_attention(x)))
    x'    = mid + r · after_mlp(mlp(before_mlp(mid)))          (parallel blocks: the MLP reads x instead of mid)

A row says what these modules are called, which of the four norms exist, whether the halves are parallel, and which
numbers of the model's config multiply embeddings, what is added (r) and logits. `numberline.models.network` resolves a
row on a loaded model; the modules are Hugging Face's own and do all the computing, only the two additions are ours.

Adding a family: a row keyed by the config's `model_type`, and a small configuration in tests/engine/architectures.py. A
model whose type has no row is tried with every row here, in order, and accepted when one is proven on it
(`numberline.engine.loading`).
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Family:
    """One layout of a decoder. Names of modules are relative to the decoder or to a block; one that is not there is ''.

    The same name for gate and up is one projection that gives both, the gate's half first. A number that multiplies is
    the name of an attribute of the config; one that the config does not have, or that is not named, is left out.
    """

    name: str
    blocks: str = "layers"
    learned_positions: str = ""
    rotary: str = "rotary_emb"
    layer_types: str = "layer_types"
    """The attribute of the config with each layer's type, for a rotary embedding that differs by type (Gemma 3)."""
    final_norm: str = "norm"
    attention: str = "self_attn"
    out_projection: str = "o_proj"
    mlp: str = "mlp"
    gate_projection: str = "gate_proj"
    up_projection: str = "up_proj"
    down_projection: str = "down_proj"
    before_attention: str = "input_layernorm"
    after_attention: str = ""
    before_mlp: str = "post_attention_layernorm"
    after_mlp: str = ""
    parallel: bool | str = False
    """Whether the MLP reads what entered the block: always, never, or as an attribute of the config says."""
    embedding_multiplier: str = ""
    residual_multiplier: str = ""
    logit_multiplier: str = ""
    logit_divisor: str = ""
    softcap: str = ""


LLAMA = Family("llama")
GRANITE = replace(
    LLAMA,
    name="granite",
    embedding_multiplier="embedding_multiplier",
    residual_multiplier="residual_multiplier",
    logit_divisor="logits_scaling",
)
PHI3 = replace(LLAMA, name="phi3", gate_projection="gate_up_proj", up_projection="gate_up_proj")
COHERE = replace(LLAMA, name="cohere", parallel=True, before_mlp="input_layernorm", logit_multiplier="logit_scale")
GEMMA = replace(
    LLAMA,
    name="gemma",
    after_attention="post_attention_layernorm",
    before_mlp="pre_feedforward_layernorm",
    after_mlp="post_feedforward_layernorm",
    softcap="final_logit_softcapping",
)
OLMO2 = replace(
    LLAMA,
    name="olmo2",
    before_attention="",
    after_attention="post_attention_layernorm",
    before_mlp="",
    after_mlp="post_feedforward_layernorm",
)
UNGATED = replace(LLAMA, name="ungated", gate_projection="")
STARCODER = replace(UNGATED, name="starcoder", up_projection="c_fc", down_projection="c_proj")
PHI = replace(
    COHERE,
    name="phi",
    final_norm="final_layernorm",
    out_projection="dense",
    gate_projection="",
    up_projection="fc1",
    down_projection="fc2",
)
GPT_NEOX = Family(
    "gpt_neox",
    final_norm="final_layer_norm",
    attention="attention",
    out_projection="dense",
    gate_projection="",
    up_projection="dense_h_to_4h",
    down_projection="dense_4h_to_h",
    parallel="use_parallel_residual",
)
GPT2 = Family(
    "gpt2",
    blocks="h",
    learned_positions="wpe",
    rotary="",
    final_norm="ln_f",
    attention="attn",
    out_projection="c_proj",
    gate_projection="",
    up_projection="c_fc",
    down_projection="c_proj",
    before_attention="ln_1",
    before_mlp="ln_2",
)

FAMILIES: dict[str, Family] = {
    "qwen2": LLAMA,
    "llama": LLAMA,
    "mistral": LLAMA,
    "smollm3": LLAMA,
    "qwen3": LLAMA,
    "granite": GRANITE,
    "phi3": PHI3,
    "cohere": COHERE,
    "cohere2": COHERE,
    "gemma2": GEMMA,
    "gemma3_text": GEMMA,
    "gemma3": GEMMA,
    "olmo2": OLMO2,
    "arcee": UNGATED,
    "starcoder2": STARCODER,
    "phi": PHI,
    "gpt_neox": GPT_NEOX,
    "gpt2": GPT2,
}
"""The row of each `model_type` that is known."""

ROWS: tuple[Family, ...] = tuple(dict.fromkeys(FAMILIES.values()))
"""The rows, in the order in which an unknown architecture is tried with them."""
