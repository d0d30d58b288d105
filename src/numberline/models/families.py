"""Where each architecture keeps its parts: one row per family of Hugging Face models.

A decoder block reads the residual stream twice, through attention and through an MLP, and adds both results back:

    mid   = x   + after_attention(attention(before_attention(x)))
    x'    = mid + after_mlp(mlp(before_mlp(mid)))          (parallel blocks: the MLP reads x instead of mid)

A family says what these modules are called and which of the four norms exist. The modules are Hugging Face's own and
do all the computing; only the two additions are ours. `Network` resolves the names on a loaded model.

Adding a family: a row in FAMILIES keyed by the config's `model_type`, and a small configuration in the tests' oracle.
"""

from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from numberline.errors import NumberlineError


@dataclass(frozen=True)
class Family:
    """The names of an architecture's modules; a norm that does not exist is empty."""

    blocks: str = "model.layers"
    embedding: str = "model.embed_tokens"
    learned_positions: str = ""
    rotary: str = "model.rotary_emb"
    final_norm: str = "model.norm"
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


LLAMA = Family()
GEMMA = Family(
    after_attention="post_attention_layernorm",
    before_mlp="pre_feedforward_layernorm",
    after_mlp="post_feedforward_layernorm",
)
OLMO2 = Family(
    before_attention="",
    after_attention="post_attention_layernorm",
    before_mlp="",
    after_mlp="post_feedforward_layernorm",
)
GPT_NEOX = Family(
    blocks="gpt_neox.layers",
    embedding="gpt_neox.embed_in",
    rotary="gpt_neox.rotary_emb",
    final_norm="gpt_neox.final_layer_norm",
    attention="attention",
    out_projection="dense",
    gate_projection="",
    up_projection="dense_h_to_4h",
    down_projection="dense_4h_to_h",
)
GPT2 = Family(
    blocks="transformer.h",
    embedding="transformer.wte",
    learned_positions="transformer.wpe",
    rotary="",
    final_norm="transformer.ln_f",
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
    "gemma2": GEMMA,
    "gemma3_text": GEMMA,
    "olmo2": OLMO2,
    "gpt_neox": GPT_NEOX,
    "gpt2": GPT2,
}


@dataclass(frozen=True)
class Block:
    """One decoder block's modules, resolved."""

    attention: nn.Module
    out_projection: nn.Module
    mlp: nn.Module
    gate_projection: nn.Module | None
    up_projection: nn.Module
    down_projection: nn.Module
    before_attention: nn.Module
    after_attention: nn.Module
    before_mlp: nn.Module
    after_mlp: nn.Module
    parallel: bool
    device: torch.device

    @property
    def out_matrix(self) -> Float[Tensor, "heads_width d_model"]:
        """W_O as a map from the concatenated heads to the residual stream (rows h·head_dim … belong to head h)."""
        return matrix(self.out_projection)

    @property
    def down_matrix(self) -> Float[Tensor, "neurons d_model"]:
        """Each neuron's write direction, as a row."""
        return matrix(self.down_projection)

    @property
    def read_matrices(self) -> dict[str, Float[Tensor, "neurons d_model"]]:
        """Each neuron's read directions, as rows, with the norm's gain folded in: "up", and "gate" if it has one."""
        projections = {"gate": self.gate_projection, "up": self.up_projection}
        rows = {name: matrix(module).T.float() for name, module in projections.items() if module is not None}
        return {name: row * gain(self.before_mlp, row.shape[1], self.device) for name, row in rows.items()}


def matrix(module: nn.Module) -> Float[Tensor, "inputs outputs"]:
    """A linear module's weight as inputs × outputs: nn.Linear stores it transposed, GPT-2's Conv1D does not."""
    return weight(module) if isinstance(module, Conv1D) else weight(module).T


def gain(norm: nn.Module, width: int, device: torch.device) -> Float[Tensor, " width"]:
    """What a norm multiplies each coordinate by, apart from the common scale: measured, not looked up.

    Families store it in different ways (Gemma adds one to it). For x of mean zero, size one: norm(x) = x·gain + bias.
    """
    dtype = next((parameter.dtype for parameter in norm.parameters()), torch.float32)
    x = torch.ones(1, width, dtype=dtype, device=device)
    x[:, ::2] = -1.0
    with torch.no_grad():
        found: Tensor = (norm(x) - norm(-x)) / 2 * x
    return found[0].float()


def weight(module: nn.Module) -> Tensor:
    """A module's weight, which torch's types do not promise to be a tensor."""
    assert isinstance(module.weight, Tensor)
    return module.weight


@dataclass(frozen=True)
class Network:
    """A Hugging Face causal LM seen as embedding, blocks and unembedding."""

    model: Any
    family: Family
    blocks: tuple[Block, ...]
    embedding: nn.Module
    final_norm: nn.Module
    unembedding: nn.Module
    learned_positions: nn.Module | None
    rotary: nn.Module | None
    n_layers: int
    n_heads: int
    head_dim: int
    d_model: int
    d_mlp: int
    vocabulary: int
    parallel: bool
    dtype: torch.dtype
    softcap: float | None
    layer_types: tuple[str, ...] = field(default=())

    @classmethod
    def of(cls, model: Any) -> "Network":
        """Resolve a model's parts, or refuse its architecture by name."""
        config = model.config
        family = FAMILIES.get(config.model_type)
        if family is None:
            known = ", ".join(sorted(FAMILIES))
            raise NumberlineError(
                f"the architecture '{config.model_type}' is not supported: use one of {known}, "
                "or add a row to numberline/models/families.py"
            )
        parallel = config.model_type == "gpt_neox" and bool(config.use_parallel_residual)
        blocks = tuple(_block(family, module, parallel) for module in model.get_submodule(family.blocks))
        heads = config.num_attention_heads
        rotary = model.get_submodule(family.rotary) if family.rotary else None
        # A rotary embedding that differs by layer type (Gemma 3: local and global) is asked for each type by name.
        types = tuple(config.layer_types) if rotary is not None and hasattr(rotary, "layer_types") else ()
        return cls(
            model=model,
            family=family,
            blocks=blocks,
            embedding=model.get_submodule(family.embedding),
            final_norm=model.get_submodule(family.final_norm),
            unembedding=model.get_output_embeddings(),
            learned_positions=model.get_submodule(family.learned_positions) if family.learned_positions else None,
            rotary=rotary,
            n_layers=len(blocks),
            n_heads=heads,
            head_dim=blocks[0].out_matrix.shape[0] // heads,
            d_model=config.hidden_size,
            d_mlp=blocks[0].down_matrix.shape[0],
            vocabulary=model.get_output_embeddings().weight.shape[0],
            parallel=parallel,
            dtype=blocks[0].out_matrix.dtype,
            softcap=getattr(config, "final_logit_softcapping", None),
            layer_types=types,
        )

    @property
    def device(self) -> torch.device:
        """Where token ids go in."""
        return weight(self.embedding).device

    def embed(self, ids: Int[Tensor, "rows tokens"], start: int) -> Float[Tensor, "rows tokens d_model"]:
        """The residual stream entering block 0, for tokens at positions start, start+1, …"""
        hidden: Tensor = self.embedding(ids.to(self.device))
        if self.learned_positions is not None:
            positions = torch.arange(start, start + ids.shape[1], device=hidden.device)
            hidden = hidden + self.learned_positions(positions)
        return hidden

    def rotation(self, layer: int, like: Tensor, start: int, tokens: int) -> tuple[Tensor, Tensor] | None:
        """The rotary cosines and sines that this layer's attention wants at positions start, start+1, …"""
        if self.rotary is None:
            return None
        kind = (self.layer_types[layer],) if self.layer_types else ()
        cos, sin = self.rotary(like, torch.arange(start, start + tokens, device=like.device)[None], *kind)
        return cos, sin

    def logits(
        self, hidden: Float[Tensor, "rows d_model"], tokens: Int[Tensor, "rows chosen"] | None = None
    ) -> Float[Tensor, "rows logits"]:
        """Unembed final residuals: over the whole vocabulary, or for the chosen tokens of each row only."""
        normed: Tensor = self.final_norm(hidden.to(weight(self.final_norm).device))
        if tokens is None:
            logits: Tensor = self.unembedding(normed.to(weight(self.unembedding).device))
        else:
            rows, bias = weight(self.unembedding), getattr(self.unembedding, "bias", None)
            chosen = tokens.to(rows.device)
            logits = (rows[chosen] @ normed.to(rows.device)[:, :, None]).squeeze(-1)
            if bias is not None:
                logits = logits + bias[chosen]
        if self.softcap is not None:
            logits = torch.tanh(logits / self.softcap) * self.softcap
        return logits.float() if logits.dtype.itemsize < 4 else logits


def _block(family: Family, module: nn.Module, parallel: bool) -> Block:
    attention, mlp = module.get_submodule(family.attention), module.get_submodule(family.mlp)
    out = attention.get_submodule(family.out_projection)

    def norm(name: str) -> nn.Module:
        return module.get_submodule(name) if name else nn.Identity()

    return Block(
        attention=attention,
        out_projection=out,
        mlp=mlp,
        gate_projection=mlp.get_submodule(family.gate_projection) if family.gate_projection else None,
        up_projection=mlp.get_submodule(family.up_projection),
        down_projection=mlp.get_submodule(family.down_projection),
        before_attention=norm(family.before_attention),
        after_attention=norm(family.after_attention),
        before_mlp=norm(family.before_mlp),
        after_mlp=norm(family.after_mlp),
        parallel=parallel,
        device=weight(out).device,
    )
