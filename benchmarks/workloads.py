"""What every tool is asked to compute, on which examples. Needs only torch and safetensors: every environment has them.

    trace        the clean residual leaving each block, written at each question token of the corrupted run, one cell
                 at a time (layers × tokens, both cases): PLD = logit[t(r)] − logit[t(b)]
    das          a rank-one subspace of the residual leaving a middle block at y1, fitted in 100 full-batch steps:
                 Q = qr(R), Adam, cross-entropy toward t(r) among {t(r), t(b)}
    attribution  the pre-MLP residual of a middle block is patched at y2; the gradient of the PLD with respect to every
                 neuron of that block's MLP and of the next one's, at y2 (both cases)
    heads        each attention head of a middle block swapped at y2 (both cases): PLD

Every tool also makes its own un-edited runs, and they count. All give tensors of the same shapes, which are compared.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

WORKLOADS = ("trace", "das", "attribution", "heads")
PARTS = ("clean", "corrupted", "answers")
RATE = 0.05


@dataclass(frozen=True)
class Case:
    """Clean and corrupted token ids, n × tokens, and the tokens t(r), t(b) of each example, n × 2."""

    clean: Tensor
    corrupted: Tensor
    answers: Tensor


@dataclass(frozen=True)
class Examples:
    """The input of one workload. `prefix` tokens are the same in every prompt; y1 and y2 are token indices."""

    cases: dict[str, Case]
    prefix: int
    y1: int
    y2: int
    layer: int
    steps: int
    start: Tensor

    @property
    def length(self) -> int:
        """Tokens in a prompt."""
        return int(next(iter(self.cases.values())).clean.shape[1])

    @property
    def tokens(self) -> range:
        """The question's tokens."""
        return range(self.prefix, self.length)

    def save(self, path: Path) -> str:
        """Write everything to one safetensors file; gives its digest."""
        tensors = {"start": self.start}
        for name, case in self.cases.items():
            tensors |= {f"{name}.{part}": getattr(case, part) for part in PARTS}
        numbers = {key: getattr(self, key) for key in ("prefix", "y1", "y2", "layer", "steps")}
        path.parent.mkdir(parents=True, exist_ok=True)
        save_file({key: tensor.contiguous() for key, tensor in tensors.items()}, path, {"numbers": json.dumps(numbers)})
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]

    @classmethod
    def load(cls, path: Path) -> "Examples":
        """Read what `save` wrote."""
        with safe_open(path, "pt") as file:
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118  not a dict
            numbers = json.loads(file.metadata()["numbers"])
        names = sorted({key.split(".")[0] for key in tensors if "." in key})
        cases = {name: Case(*(tensors[f"{name}.{part}"] for part in PARTS)) for name in names}
        return cls(cases=cases, start=tensors["start"], **numbers)


class Tool(Protocol):
    """A way to run the four workloads; made from a folder with Hugging Face weights."""

    def trace(self, examples: Examples) -> Tensor:
        """PLD, cases × layers × tokens × n."""
        ...

    def das(self, examples: Examples) -> Tensor:
        """The loss before every step."""
        ...

    def attribution(self, examples: Examples) -> Tensor:
        """Gradients, cases × 2 × n × neurons."""
        ...

    def heads(self, examples: Examples) -> Tensor:
        """PLD, cases × heads × n."""
        ...


def pld(chosen: Tensor) -> Tensor:
    """The logit difference, from the logits of t(r) and t(b)."""
    return chosen[..., 0] - chosen[..., 1]


def fit(chosen: Callable[[Tensor], Tensor], examples: Examples) -> Tensor:
    """The DAS loop, the same for every tool: `chosen(Q)` gives the logits of t(r), t(b) after the swap along Q."""
    R = examples.start.clone().requires_grad_()
    optimizer: Any = torch.optim.Adam([R], lr=RATE)
    losses = []
    for _ in range(examples.steps):
        optimizer.zero_grad()
        logits = chosen(torch.linalg.qr(R)[0])
        loss = torch.nn.functional.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.long))
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses)


def swapped(x: Tensor, source: Tensor, Q: Tensor) -> Tensor:
    """x + QQᵀ(source − x)."""
    return x + (source - x) @ Q @ Q.T
