"""How does a model come into memory? By name: a built-in one, a folder, or a Hugging Face Hub id.

Nothing about it is changed. What its parts are, and that they are what they are said to be, is found out afterwards
(`numberline.engine.loading`).
"""

from typing import Any

import torch

from numberline.errors import NumberlineError
from numberline.models.catalogue import BUILT_IN, COMPILED, TRAINED

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16, "float64": torch.float64}


def read(
    name: str = "tiny",
    device: str | None = None,
    dtype: str = "float32",
    device_map: str | dict[str, str] | None = None,
) -> tuple[Any, Any]:
    """A Hugging Face model and its tokenizer. `device_map` spreads it over devices; else it goes to `device`."""
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    if dtype not in DTYPES:
        raise NumberlineError(f"there is no dtype '{dtype}': choose from {', '.join(DTYPES)}")
    if name in COMPILED:
        from numberline.models.planted import planted

        tokenizer = AutoTokenizer.from_pretrained(BUILT_IN / "tiny")
        return planted()[0].to(device or default_device(), DTYPES[dtype]), tokenizer
    source = str(BUILT_IN / name) if name in TRAINED else name
    try:
        config = AutoConfig.from_pretrained(source)
        if config.is_encoder_decoder:  # refused before any weights are downloaded or read
            raise NumberlineError(
                f"'{name}' ({config.model_type}) is an encoder with a decoder: numberline works on decoder-only "
                "language models, so choose one of these"
            )
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
    return model, tokenizer


def default_device() -> str:
    """The best device of this machine."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"
