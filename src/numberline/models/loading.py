"""Load a model by name: a built-in one, a folder, or a Hugging Face Hub id.

Weights are frozen and the model is put in evaluation mode; nothing else about it is changed. On load the map from its
architecture to sites is checked against the model's own forward pass (`numberline.engine.parity`).
"""

import torch

from numberline.errors import NumberlineError
from numberline.models.catalogue import BUILT_IN, COMPILED, TRAINED
from numberline.models.loaded import Loaded, wrap
from numberline.models.network import known_family

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16, "float64": torch.float64}


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
    if name in COMPILED:
        from numberline.models.planted import planted

        tokenizer = AutoTokenizer.from_pretrained(BUILT_IN / "tiny")
        return wrap(planted()[0].to(device or default_device(), DTYPES[dtype]), tokenizer, name)
    source = str(BUILT_IN / name) if name in TRAINED else name
    try:
        config = AutoConfig.from_pretrained(source)
        known_family(config)  # refused before downloading or reading any weights
        tokenizer = AutoTokenizer.from_pretrained(source)
        model = AutoModelForCausalLM.from_pretrained(source, dtype=DTYPES[dtype], device_map=device_map)
    except (OSError, ValueError) as error:
        known = ", ".join((*TRAINED, *COMPILED))
        raise NumberlineError(
            f"no model could be loaded from '{name}': give a built-in name ({known}), a folder with Hugging Face "
            f"weights, or a Hub id that this machine can reach ({str(error).splitlines()[0]})"
        ) from error
    if device_map is None:
        model = model.to(device or default_device())
    return wrap(model, tokenizer, name)


def default_device() -> str:
    """The best device of this machine."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"
