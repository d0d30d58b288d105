"""How many floating-point operations does a workload need? Counted from the model's shape, not measured.

A matrix product of a token with a weight of p parameters is 2p operations. So one token in one block costs twice the
block's parameters, plus 4 · heads · head width for every key it attends to; a row of the unembedding costs twice the
model's width. Weights are frozen, so a backward pass costs the products of the forward pass once more (the gradients of
their inputs), and attention's twice. Norms, activations and softmax are not counted: they are what keeps a run from the
peak.

`plain` counts what a full run of every cell does; `engine` what the law leaves over: the prefix once, then only tokens
from the edited one on, in blocks after the edited one; in the last block queries, output and MLP at the last token.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from workloads import Examples


@dataclass(frozen=True)
class Count:
    """Operations by part."""

    blocks: float = 0
    attention: float = 0
    unembedding: float = 0

    @property
    def total(self) -> float:
        """All of them."""
        return self.blocks + self.attention + self.unembedding

    def __add__(self, other: "Count") -> "Count":
        return Count(self.blocks + other.blocks, self.attention + other.attention, self.unembedding + other.unembedding)

    def __mul__(self, times: float) -> "Count":
        return Count(self.blocks * times, self.attention * times, self.unembedding * times)

    @property
    def backward(self) -> "Count":
        """The backward pass through this forward pass."""
        return Count(self.blocks, 2 * self.attention, self.unembedding)


@dataclass(frozen=True)
class Shape:
    """The sizes of a Qwen2 model."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    neurons: int
    vocabulary: int

    @classmethod
    def of(cls, folder: Path) -> "Shape":
        """Read a model's configuration."""
        config = json.loads((folder / "config.json").read_text())
        names = ("num_hidden_layers", "hidden_size", "num_attention_heads", "num_key_value_heads")
        return cls(*(config[name] for name in (*names, "intermediate_size", "vocab_size")))

    @property
    def keys_and_values(self) -> int:
        """Parameters of the key and value projections of a block."""
        return 2 * self.width * self.width // self.heads * self.kv_heads

    @property
    def rest(self) -> int:
        """The other parameters of a block's matrices: queries, output, MLP."""
        return 2 * self.width * self.width + 3 * self.width * self.neurons

    def run(self, first: int, length: int, blocks: int) -> Count:
        """Tokens first … length-1 through some blocks."""
        keys = sum(range(first + 1, length + 1))
        tokens = length - first
        return Count(2 * (self.keys_and_values + self.rest) * tokens, 4 * self.width * keys) * blocks

    def suffix(self, first: int, length: int, blocks: int) -> Count:
        """The same up to the end of the model, where the last block's output is wanted at the last token only."""
        if blocks == 0:
            return Count()
        last = Count(2 * (self.keys_and_values * (length - first) + self.rest), 4 * self.width * length)
        return self.run(first, length, blocks - 1) + last

    def unembed(self, rows: int) -> Count:
        """Logits: how many rows of the unembedding, for one residual."""
        return Count(unembedding=2 * self.width * rows)


def plain(shape: Shape, examples: Examples, workload: str, last_only: bool) -> Count:
    """Full runs with hooks."""
    length, after = examples.length, shape.layers - 1 - examples.layer
    logits = shape.unembed(shape.vocabulary) * (1 if last_only else length)
    forward = shape.run(0, length, shape.layers) + logits
    sizes = [len(case.clean) for case in examples.cases.values()]
    if workload == "trace":
        return forward * sum(sizes) * (1 + shape.layers * len(examples.tokens))
    if workload == "heads":
        return forward * sum(sizes) * (1 + shape.heads)
    if workload == "das":
        step = forward + (shape.run(0, length, after) + logits).backward
        return (forward + step * examples.steps) * len(examples.cases["y1"].clean)
    # The gradient reaches the first MLP's neurons through its down-projection.
    down = Count(2 * shape.width * shape.neurons) * length
    return (forward * 2 + (shape.run(0, length, after) + down + logits).backward) * sum(sizes)


def engine(shape: Shape, examples: Examples, workload: str) -> Count:
    """What the law leaves over."""
    length, prefix, layer, two = examples.length, examples.prefix, examples.layer, shape.unembed(2)
    after = shape.layers - 1 - layer
    total = Count()
    for name, case in examples.cases.items():
        n = len(case.clean)
        source = shape.layers if workload == "trace" else layer + 1  # blocks of the clean run that are read
        recordings = shape.run(0, prefix, shape.layers)
        recordings += (shape.run(prefix, length, shape.layers) + shape.run(prefix, length, source)) * n
        if workload == "trace":
            for token in examples.tokens:
                if not bool((case.clean[:, : token + 1] != case.corrupted[:, : token + 1]).any()):
                    continue  # the prompts are the same up to this token, so the swap changes nothing
                for after_cell in range(shape.layers):
                    total += shape.suffix(token, length, after_cell) * n
            total += recordings + two * (n * shape.layers * len(examples.tokens))
        elif workload == "das" and name == "y1":
            step = shape.suffix(examples.y1, length, after) + two
            total += recordings + (step + step.backward) * (n * examples.steps)
        elif workload == "attribution":
            down = Count(2 * shape.width * shape.neurons)
            later = shape.suffix(examples.y2, length, after) + two
            mlp = Count(6 * shape.width * shape.neurons)
            total += recordings + (mlp + later + (later + down).backward) * n
        elif workload == "heads":
            # In the edited block, y2 alone: the heads again from the residual (twice), output projection and MLP.
            again = Count(2 * (shape.keys_and_values + 2 * shape.width**2), 4 * shape.width * (examples.y2 + 1)) * 2
            here = Count(2 * (shape.rest - shape.width**2))
            total += recordings + (again + (here + shape.suffix(examples.y2, length, after) + two) * shape.heads) * n
    return total
