"""What is a loaded model? The parts that the engine works on, a tokenizer, a name, and an identity.

The engine knows this and not how a model came into memory: loading, and the compiled model, are no part of an
experiment, and a change there leaves the stored results valid (the identity says whether the weights are the same).
"""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import torch
from accelerate.utils import align_module_device
from torch import Tensor

from numberline.models.network import Network

ELSEWHERE = (
    "_name_or_path", "_model_name_or_path", "transformers_version", "dtype", "architectures", "quantization_config",
)  # fmt: skip
"""Entries of a config that decide no number: where it came from, and the dtype, which the weights have."""


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model, its tokenizer, and who it is."""

    name: str
    network: Network
    tokenizer: Any
    fingerprint: str
    revision: str | None = None
    """Of a model from the Hub, where one was asked for."""


def wrap(model: Any, tokenizer: Any, name: str) -> LoadedModel:
    """Use a model that is already in memory, as its row says, without the self-check."""
    model.eval().requires_grad_(False)
    return LoadedModel(name, Network.of(model), tokenizer, fingerprint(model, tokenizer))


def fingerprint(model: Any, tokenizer: Any = None) -> str:
    """A short identity of a model: of every weight as it is in memory, of its config, and of its tokenizer.

    One changed value, one changed setting or one changed token is another model. So is the same model in another dtype,
    because rounding moves every number that is computed with it; what a result holds of a model names the dtype too.
    """
    digest = hashlib.sha256()
    for part in (_config(model.config), _tokenizer(tokenizer)):
        digest.update(json.dumps(part, sort_keys=True, default=str).encode())
    kept = model.state_dict().keys()  # buffers that are computed from the config are no part of it
    with ThreadPoolExecutor(max(torch.get_num_threads(), 1)) as pool:  # hashing lets other threads run
        for name, module in model.named_modules():
            with align_module_device(module):  # weights that are kept on disk come into memory, and go
                own = (*module.named_parameters(name, recurse=False), *module.named_buffers(name, recurse=False))
                for found in pool.map(_bytes, (part for part in own if part[0] in kept)):
                    digest.update(found)
    return digest.hexdigest()[:16]


def _bytes(named: tuple[str, Tensor]) -> bytes:
    """The digest of a tensor: its name, shape and dtype, and the bytes of its values as they are stored."""
    name, tensor = named
    values = tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy()
    about = f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode()
    return hashlib.sha256(about).digest() + hashlib.sha256(values.data).digest()


def _config(config: Any) -> dict[str, Any]:
    """The settings that are not the defaults, without those that say where a model came from."""
    settings: dict[str, Any] = config.to_diff_dict()
    return {key: value for key, value in settings.items() if key not in ELSEWHERE}


def _tokenizer(tokenizer: Any) -> dict[str, Any]:
    """What a fast tokenizer does to a text, without what its last call left behind."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return {}
    rules = {key: value for key, value in json.loads(backend.to_str()).items() if key not in ("padding", "truncation")}
    return {"rules": rules, "special": tokenizer.special_tokens_map, "chat": tokenizer.chat_template}
