"""How is a compiled circuit hidden? Random rotations and permutations that leave what the model computes as it is.

The residual stream is rotated by a random orthogonal matrix (unit RMSNorm weights commute with it), each key/value
head's values are rotated, and key/value groups, heads within their group and neurons within their MLP are permuted.
The sizes of every planted model stand here too: a hiding is made for them.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

WIDTH = 128
HEADS = 8
GROUPS = 4
HEAD_DIM = WIDTH // HEADS
NEURONS = 256
PER_GROUP = HEADS // GROUPS


@dataclass(frozen=True)
class Hiding:
    """The random choices that hide the circuit."""

    rotation: Float[Tensor, "width width"]
    value_rotations: Float[Tensor, "block group head head"]
    groups: Any  # [block][group] → slot
    heads: Any  # [block][group][head] → slot within the group
    neurons: Any  # [block][neuron] → slot


def orthogonal(size: int, generator: torch.Generator) -> Tensor:
    """A random rotation, uniformly distributed."""
    q, r = torch.linalg.qr(torch.randn(size, size, generator=generator, dtype=torch.float64))
    return torch.as_tensor(q * r.diagonal().sign())


def no_hiding(blocks: int) -> Hiding:
    """The circuit in the open, for calibration."""
    identity = torch.eye(HEAD_DIM, dtype=torch.float64).expand(blocks, GROUPS, HEAD_DIM, HEAD_DIM)
    return Hiding(
        torch.eye(WIDTH, dtype=torch.float64),
        identity,
        [range(GROUPS)] * blocks,
        [[range(PER_GROUP)] * GROUPS] * blocks,
        [range(NEURONS)] * blocks,
    )


def random_hiding(blocks: int, generator: torch.Generator) -> Hiding:
    """Random rotations and permutations."""

    def shuffle(n: int) -> list[int]:
        return [int(i) for i in torch.randperm(n, generator=generator)]

    rotation = orthogonal(WIDTH, generator)
    values = torch.stack([torch.stack([orthogonal(HEAD_DIM, generator) for _ in range(GROUPS)]) for _ in range(blocks)])
    return Hiding(
        rotation,
        values,
        [shuffle(GROUPS) for _ in range(blocks)],
        [[shuffle(PER_GROUP) for _ in range(GROUPS)] for _ in range(blocks)],
        [shuffle(NEURONS) for _ in range(blocks)],
    )
