"""What are the parts of this very model? A row of `numberline.models.families`, resolved on a loaded model.

1. Hugging Face says where the decoder, the embedding and the unembedding are; the row names the rest.
2. Sizes are taken from the weights, multipliers from the config.
3. A part that the row names and the model does not have is a refusal with its name.
"""

import inspect
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from numberline.errors import NumberlineError
from numberline.models.families import FAMILIES, Family
from numberline.models.placement import bias, home, weight


class Multiplied(nn.Module):
    """Multiplies by a number: what a block adds to the residual stream, where an architecture scales it."""

    def __init__(self, by: float) -> None:
        super().__init__()
        self.by = by

    def forward(self, x: Float[Tensor, "*n d"]) -> Float[Tensor, "*n d"]:
        """The product."""
        return x * self.by


@dataclass(frozen=True)
class Block:
    """One decoder block's modules, resolved. Gate and up are one module where the projection is fused."""

    module: nn.Module
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
    def projections(self) -> dict[str, Float[Tensor, "neurons d_model"]]:
        """What each neuron reads of the MLP's input, as rows: "up", and "gate" if it has one."""
        up = matrix(self.up_projection).T
        if self.gate_projection is self.up_projection:
            gate, up = up.chunk(2)
            return {"gate": gate, "up": up}
        return {"up": up} if self.gate_projection is None else {"gate": matrix(self.gate_projection).T, "up": up}

    @property
    def read_matrices(self) -> dict[str, Float[Tensor, "neurons d_model"]]:
        """Each neuron's read directions in the residual stream, as rows: its projections with the norm's gain."""
        rows = {name: found.float() for name, found in self.projections.items()}
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
    embedding_multiplier: float
    logit_multiplier: float
    softcap: float | None
    layer_types: tuple[str, ...]
    """Each layer's type, where the rotary embedding asks for it."""

    @classmethod
    def of(cls, model: Any, family: Family | None = None) -> "Network":
        """Resolve a model's parts by a row, which is the one of its `model_type` unless given."""
        family = family or known_family(model.config)
        decoder, config = model.get_decoder(), model.config.get_text_config()

        def number(name: str) -> float:
            value = getattr(config, name, None) if name else None
            return 1.0 if value is None else float(value)

        parallel = (
            bool(getattr(config, family.parallel, False)) if isinstance(family.parallel, str) else family.parallel
        )
        scale = number(family.residual_multiplier)
        blocks = tuple(_block(family, module, parallel, scale) for module in _part(decoder, family.blocks).children())
        rotary = _part(decoder, family.rotary) if family.rotary else None
        by_type = rotary is not None and "layer_type" in inspect.signature(rotary.forward).parameters
        unembedding = model.get_output_embeddings()
        heads_width, d_mlp = _same_in_all(blocks)
        return cls(
            model=model,
            family=family,
            blocks=blocks,
            embedding=model.get_input_embeddings(),
            final_norm=_part(decoder, family.final_norm),
            unembedding=unembedding,
            learned_positions=_part(decoder, family.learned_positions) if family.learned_positions else None,
            rotary=rotary,
            n_layers=len(blocks),
            n_heads=config.num_attention_heads,
            head_dim=heads_width // config.num_attention_heads,
            d_model=config.hidden_size,
            d_mlp=d_mlp,
            vocabulary=weight(unembedding).shape[0],
            parallel=parallel,
            dtype=blocks[0].out_matrix.dtype,
            embedding_multiplier=number(family.embedding_multiplier),
            logit_multiplier=number(family.logit_multiplier) / number(family.logit_divisor),
            softcap=getattr(config, family.softcap, None) if family.softcap else None,
            layer_types=tuple(getattr(config, family.layer_types)) if by_type else (),
        )

    @property
    def device(self) -> torch.device:
        """Where token ids go in."""
        return home(self.embedding)

    @property
    def last_device(self) -> torch.device:
        """Where the last block leaves its result: a norm without weights is there too."""
        return home(self.final_norm) if any(True for _ in self.final_norm.parameters()) else self.blocks[-1].device

    @property
    def kv_width(self) -> int:
        """The width of a token's keys, and of its values: key/value heads may be fewer than heads."""
        config = self.model.config.get_text_config()
        return (getattr(config, "num_key_value_heads", None) or self.n_heads) * self.head_dim

    def embed(self, ids: Int[Tensor, "rows tokens"], start: int) -> Float[Tensor, "rows tokens d_model"]:
        """The residual stream entering block 0, for tokens at positions start, start+1, …"""
        hidden: Tensor = self.embedding(ids.to(self.device))
        if self.learned_positions is not None:
            positions = torch.arange(start, start + ids.shape[1], device=hidden.device)
            hidden = hidden + self.learned_positions(positions)
        return hidden if self.embedding_multiplier == 1.0 else hidden * self.embedding_multiplier

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
        """Unembed final residuals: over the whole vocabulary, or for the chosen tokens of each row only, in fp32."""
        normed: Tensor = self.final_norm(hidden.to(self.last_device))
        if tokens is None:
            logits: Tensor = self.unembedding(normed.to(home(self.unembedding)))
        else:
            rows, added = weight(self.unembedding), bias(self.unembedding)
            chosen, precise = tokens.to(rows.device), torch.promote_types(normed.dtype, torch.float32)
            logits = (rows[chosen].to(precise) @ normed.to(rows.device, precise)[:, :, None]).squeeze(-1)
            if added is not None:
                logits = logits + added[chosen].to(precise)
        if self.logit_multiplier != 1.0:
            logits = logits * self.logit_multiplier
        if self.softcap is not None:
            logits = torch.tanh(logits / self.softcap) * self.softcap
        return logits.float() if logits.dtype.itemsize < 4 else logits


def known_family(config: Any) -> Family:
    """The row of a config's `model_type`, or a refusal that names it."""
    if config.model_type not in FAMILIES:
        raise NumberlineError(
            f"the architecture '{config.model_type}' is not supported: use one of {', '.join(sorted(FAMILIES))}, or "
            "add a row to numberline/models/families.py"
        )
    return FAMILIES[config.model_type]


def _part(module: nn.Module, name: str) -> nn.Module:
    """A part by its name, or a refusal that says which is not there."""
    try:
        return module.get_submodule(name)
    except AttributeError:
        raise NumberlineError(f"{type(module).__name__} has no {name}") from None


def _same_in_all(blocks: tuple[Block, ...]) -> tuple[int, int]:
    """The width of the concatenated heads and the number of neurons, which every block must share."""
    widths = {(block.out_matrix.shape[0], block.down_matrix.shape[0]) for block in blocks}
    if len(widths) != 1:
        raise NumberlineError(f"its blocks have {len(widths)} different widths")
    return widths.pop()


def _block(family: Family, module: nn.Module, parallel: bool, scale: float) -> Block:
    attention, mlp = _part(module, family.attention), _part(module, family.mlp)
    out = _part(attention, family.out_projection)

    def norm(name: str, scale: float = 1.0) -> nn.Module:
        found = _part(module, name) if name else nn.Identity()
        return found if scale == 1.0 else nn.Sequential(found, Multiplied(scale))

    return Block(
        module=module,
        attention=attention,
        out_projection=out,
        mlp=mlp,
        gate_projection=_part(mlp, family.gate_projection) if family.gate_projection else None,
        up_projection=_part(mlp, family.up_projection),
        down_projection=_part(mlp, family.down_projection),
        before_attention=norm(family.before_attention),
        after_attention=norm(family.after_attention, scale),
        before_mlp=norm(family.before_mlp),
        after_mlp=norm(family.after_mlp, scale),
        parallel=parallel,
        device=home(out),
    )
