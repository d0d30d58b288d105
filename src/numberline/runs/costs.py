"""What does a run cost? The engine's work, counted by kind, as floating-point operations and bytes.

1. A `Shape` is what a config alone says of a model: it is built without memory (torch's meta device), and its matrices
   are counted.
2. A `Call` is one run of a block, or of a part of one, on some rows of some tokens. A product of a token with a matrix
   of p parameters is 2p operations; attention adds 4 · width of the heads for every key. With frozen weights a backward
   pass costs the products of its forward pass once more.
3. `Work` counts calls. `naive` counts beside it what full forward passes with hooks would do for the same numbers:
   every token, every block, for every condition and example.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

import torch

from numberline.errors import NumberlineError
from numberline.models.families import FAMILIES, ROWS
from numberline.models.network import Network

Part = Literal["block", "last", "attention", "heads", "mlp", "unembedding", "rows"]
"""A whole block; the model's last, whose MLP sees one token; its attention; from its heads on; its MLP; the unembedding
over the vocabulary, and two rows of it."""


@dataclass(frozen=True)
class Shape:
    """The sizes of a model; `attention` and `mlp` are the parameters of a block's matrices."""

    layers: int
    width: int
    heads: int
    heads_width: int
    kv_width: int
    neurons: int
    vocabulary: int
    attention: int
    mlp: int
    parameters: int
    itemsize: int

    @classmethod
    def of(cls, config: Any, dtype: torch.dtype, trusted: bool = False) -> "Shape":
        """What a config says; no weight is read or made."""
        from transformers import AutoModelForCausalLM

        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(config, dtype=dtype, trust_remote_code=trusted)
        network = network_of(model)
        block = network.blocks[0]
        mlp = sum(parameter.numel() for parameter in block.mlp.parameters() if parameter.dim() > 1)
        attention = sum(parameter.numel() for parameter in block.attention.parameters() if parameter.dim() > 1)
        return cls(
            layers=network.n_layers,
            width=network.d_model,
            heads=network.n_heads,
            heads_width=network.n_heads * network.head_dim,
            kv_width=network.kv_width,
            neurons=network.d_mlp,
            vocabulary=network.vocabulary,
            attention=attention,
            mlp=mlp,
            parameters=sum(parameter.numel() for parameter in model.parameters()),
            itemsize=dtype.itemsize,
        )

    @property
    def weights(self) -> int:
        """Bytes of all parameters."""
        return self.parameters * self.itemsize

    def recording(self, n: int, prefix: int, length: int, layers: int) -> int:
        """Bytes of a recording: residual, pre-MLP residual, keys and values, at every token of some layers."""
        tokens = prefix + n * (length - prefix)
        return tokens * self.itemsize * (layers * (2 * self.width + 2 * self.kv_width) + self.width)

    def graph(self, rows: int, tokens: int, blocks: int) -> int:
        """Bytes that a backward pass needs."""
        return rows * tokens * blocks * (5 * self.neurons + 16 * self.width) * self.itemsize


def network_of(model: Any) -> Network:
    """A model's parts by its own row, or by the first that has them all; weights that would prove it are not here."""
    if model.config.model_type in FAMILIES:
        return Network.of(model)
    for family in ROWS:
        try:
            return Network.of(model, family)
        except (NumberlineError, AttributeError):
            continue
    raise NumberlineError(
        f"the architecture '{model.config.model_type}' is not supported: use another model, or add a row to "
        "numberline/models/families.py"
    )


@dataclass(frozen=True)
class Call:
    """A part of a block, run once on `rows` rows of `tokens` tokens, which see `keys` keys."""

    part: Part
    rows: int
    tokens: int = 1
    keys: int = 0
    grad: bool = False

    def matrices(self, shape: Shape) -> int:
        """Parameters of the matrices that it multiplies with."""
        of = {
            "block": shape.attention + shape.mlp,
            "last": shape.attention + shape.mlp,
            "attention": shape.attention,
            "heads": shape.width * shape.heads_width + shape.mlp,
            "mlp": shape.mlp,
            "unembedding": shape.width * shape.vocabulary,
            "rows": 2 * shape.width,
        }
        return of[self.part]

    def operations(self, shape: Shape) -> float:
        """Of its forward pass, and of its backward pass if it has one."""
        each = 2.0 * self.matrices(shape) * self.tokens
        if self.part == "last":
            each = 2.0 * (shape.attention * self.tokens + shape.mlp)
        seen = 4.0 * shape.heads_width * self.tokens * self.keys
        forward = self.rows * (each + seen)
        return forward + (self.rows * (each + 2 * seen) if self.grad else 0)


@dataclass
class Work:
    """Calls by how often they are made, what full passes would do, and the most memory that was held."""

    shape: Shape
    calls: Counter[Call] = field(default_factory=Counter)
    naive: float = 0.0
    peak: int = 0

    @property
    def operations(self) -> float:
        """All of them."""
        return sum(call.operations(self.shape) * times for call, times in self.calls.items())

    def full_passes(self, rows: int, length: int, backward_from: int | None = None) -> None:
        """Count full forward passes, and backward passes down to a layer."""
        block = Call("block", rows, length, length // 2).operations(self.shape)
        logits = Call("unembedding", rows).operations(self.shape)
        self.naive += block * self.shape.layers + logits
        if backward_from is not None:
            self.naive += block * (self.shape.layers - 1 - backward_from) + logits

    def hold(self, size: int) -> None:
        """So many bytes are needed at once."""
        self.peak = max(self.peak, size)
