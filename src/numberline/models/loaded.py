"""What is a loaded model? The parts that the engine works on, a tokenizer, a name, and an identity of the weights.

The engine knows this and not how a model came into memory: loading, and the compiled model, are no part of an
experiment, and a change there leaves the stored results valid (the identity says whether the weights are the same).
"""

import hashlib
from dataclasses import dataclass
from typing import Any

from numberline.models.network import Network


@dataclass(frozen=True, eq=False)
class Loaded:
    """A model, its tokenizer, and who it is."""

    name: str
    network: Network
    tokenizer: Any
    fingerprint: str


def wrap(model: Any, tokenizer: Any, name: str) -> Loaded:
    """Use a model that is already in memory."""
    model.eval().requires_grad_(False)
    return Loaded(name, Network.of(model), tokenizer, fingerprint(model))


def fingerprint(model: Any) -> str:
    """A short identity of a model's weights: every tensor's name and shape, and a sample of its values in fp32."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        flat = tensor.detach().flatten()
        sample = flat[:: max(flat.numel() // 4096, 1)].float().cpu()
        digest.update(f"{name} {tuple(tensor.shape)}".encode())
        digest.update(sample.numpy().tobytes())
    return digest.hexdigest()[:16]
