"""Load a model by name: a built-in one, a folder, or a Hugging Face Hub id.

Weights are frozen and the model is put in evaluation mode; nothing else about it is changed. On load the map from its
architecture to sites is checked against the model's own forward pass (`numberline.engine.parity`).
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from numberline.errors import NumberlineError
from numberline.models.families import FAMILIES, Network

BUILT_IN = Path(__file__).parent / "builtin"
TRAINED = ("tiny", "direct")
"""The trained built-in models: folders inside the package."""
COMPILED = "planted"
"""The compiled built-in model: made on the spot, see `numberline.models.planted`."""

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16, "float64": torch.float64}


@dataclass(frozen=True, eq=False)
class Loaded:
    """A model, its tokenizer, and who it is."""

    name: str
    network: Network
    tokenizer: Any
    fingerprint: str


def load(
    name: str = "tiny",
    device: str | None = None,
    dtype: str = "float32",
    device_map: str | dict[str, str] | None = None,
) -> Loaded:
    """Load a model. `device_map` spreads it over devices with accelerate; else it goes to `device`."""
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    if dtype not in DTYPES:
        raise NumberlineError(f"there is no dtype '{dtype}': choose from {', '.join(DTYPES)}")
    if name == COMPILED:
        from numberline.models.planted import planted

        tokenizer = AutoTokenizer.from_pretrained(BUILT_IN / TRAINED[0])
        return wrap(planted()[0].to(device or default_device(), DTYPES[dtype]), tokenizer, name)
    source = str(BUILT_IN / name) if name in TRAINED else name
    try:
        config = AutoConfig.from_pretrained(source)
        if config.model_type not in FAMILIES:
            # Refuse before downloading or reading any weights.
            raise NumberlineError(
                f"the architecture '{config.model_type}' of {name} is not supported: use one of "
                f"{', '.join(sorted(FAMILIES))}, or add a row to numberline/models/families.py"
            )
        tokenizer = AutoTokenizer.from_pretrained(source)
        model = AutoModelForCausalLM.from_pretrained(source, dtype=DTYPES[dtype], device_map=device_map)
    except (OSError, ValueError) as error:
        known = ", ".join((*TRAINED, COMPILED))
        raise NumberlineError(
            f"no model could be loaded from '{name}': give a built-in name ({known}), a folder with Hugging Face "
            f"weights, or a Hub id that this machine can reach ({str(error).splitlines()[0]})"
        ) from error
    if device_map is None:
        model = model.to(device or default_device())
    return wrap(model, tokenizer, name)


def wrap(model: Any, tokenizer: Any, name: str) -> Loaded:
    """Use a model that is already in memory."""
    model.eval().requires_grad_(False)
    return Loaded(name, Network.of(model), tokenizer, fingerprint(model))


def default_device() -> str:
    """The best device of this machine."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def fingerprint(model: Any) -> str:
    """A short identity of a model's weights: every tensor's name and shape, and a sample of its values in fp32."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        flat = tensor.detach().flatten()
        sample = flat[:: max(flat.numel() // 4096, 1)].float().cpu()
        digest.update(f"{name} {tuple(tensor.shape)}".encode())
        digest.update(sample.numpy().tobytes())
    return digest.hexdigest()[:16]
