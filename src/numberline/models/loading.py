"""How does a model come into memory? By name: a built-in one, a folder, a GGUF file, or a Hugging Face Hub id.

1. What can be refused without reading weights is refused first: dtype, device, a folder without weights, an encoder
   with a decoder, a tokenizer that cannot say where its tokens are, too little memory.
2. Weights are read from safetensors only (a pickle is never opened), and code that comes with a model runs only when
   it is trusted in so many words; nothing is asked on the terminal.
3. What the config asks for and what the weights hold must be the same.

Nothing about the model is changed. What its parts are, and that they are what they are said to be, is found out
afterwards (`numberline.engine.loading`).
"""

import re
from pathlib import Path
from typing import Any

import torch

from numberline.errors import NumberlineError
from numberline.models.catalogue import BUILT_IN, COMPILED, TRAINED
from numberline.models.free_memory import check_memory
from numberline.models.gguf import dequantised, gguf_in
from numberline.models.refusals import refusals

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16, "float64": torch.float64}
SAMPLE = "The maximum of 60 and 10 is "
"""A text that any tokenizer of a language model gives tokens for."""


def read(
    name: str = "tiny",
    device: str | None = None,
    dtype: str = "float32",
    device_map: str | dict[str, str] | None = None,
    revision: str | None = None,
    trust_remote_code: bool = False,
) -> tuple[Any, Any]:
    """A Hugging Face model and its tokenizer. `device_map` spreads it over devices; else it goes to `device`."""
    if dtype not in DTYPES:
        raise NumberlineError(f"there is no dtype '{dtype}': choose from {', '.join(DTYPES)}")
    place = _checked_device(device) if device else default_device()
    if name in COMPILED:
        from transformers import AutoTokenizer

        from numberline.models.planted import planted

        return planted()[0].to(place, DTYPES[dtype]), AutoTokenizer.from_pretrained(BUILT_IN / "tiny")
    source = _source(name)
    if revision is not None and isinstance(source, Path):
        raise NumberlineError(f"'{name}' is on this machine and has no revisions: leave '{revision}' out")
    with refusals(name, source, revision):
        return _from_pretrained(
            name, source, place, DTYPES[dtype], device_map, {"revision": revision or "main"}, trust_remote_code
        )


def default_device() -> str:
    """The best device of this machine."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _from_pretrained(
    name: str,
    source: Path | str,
    device: str,
    dtype: torch.dtype,
    device_map: str | dict[str, str] | None,
    version: dict[str, str],
    trusted: bool,
) -> tuple[Any, Any]:
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    config = AutoConfig.from_pretrained(source, trust_remote_code=trusted, **version)
    if config.is_encoder_decoder:
        raise NumberlineError(
            f"'{name}' ({config.model_type}) is an encoder with a decoder: numberline works on decoder-only language "
            "models, so choose one of these"
        )
    tokenizer = AutoTokenizer.from_pretrained(source, trust_remote_code=trusted, **version)
    _check_tokenizer(name, tokenizer, config.get_text_config().vocab_size)
    if device_map is None:
        check_memory(name, config, dtype, device, trusted)
    model, loading = AutoModelForCausalLM.from_pretrained(
        source,
        config=config,
        dtype=dtype,
        device_map=device_map,
        use_safetensors=True,
        trust_remote_code=trusted,
        ignore_mismatched_sizes=True,  # they are refused below, by name
        output_loading_info=True,
        **version,
    )
    _check_complete(name, model, loading)
    return (model if device_map is not None else model.to(device)), tokenizer


def _source(name: str) -> Path | str:
    """Where the model is: a folder of this machine, or a Hub id."""
    if name in TRAINED:
        return BUILT_IN / name
    path = Path(name).expanduser()
    if path.suffix == ".gguf" and path.is_file():
        return dequantised(path)
    if path.is_file():
        raise NumberlineError(
            f"'{name}' is a file: give the folder that holds config.json and weights, or a .gguf file"
        )
    if not path.is_dir():
        if path.suffix == ".gguf" or name.startswith((".", "/", "~")):
            raise NumberlineError(f"there is no file or folder '{name}': check the path")
        return name
    if any(path.glob("*.safetensors")):
        if not (path / "config.json").is_file():
            raise NumberlineError(
                f"the folder '{name}' has weights but no config.json, which says what they are: add it"
            )
        return path
    quantised = gguf_in(path)
    if quantised is not None:
        return dequantised(quantised)
    pickles = [file.name for file in sorted(path.glob("*.bin")) + sorted(path.glob("*.pt*"))]
    why = f", and {pickles[0]} is a pickle, which is never read" if pickles else ""
    raise NumberlineError(
        f"the folder '{name}' holds no weights (*.safetensors or one *.gguf){why}: save the model there with "
        "model.save_pretrained"
    )


def _checked_device(device: str) -> str:
    """A device that is there, or a refusal that says which are."""
    try:
        torch.ones(1, device=device).cpu()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        there = ["cpu", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]
        there += ["mps"] if torch.backends.mps.is_available() else []
        raise NumberlineError(f"there is no device '{device}' here: choose from {', '.join(there)}") from error
    return device


def _check_tokenizer(name: str, tokenizer: Any, vocabulary: int) -> None:
    """Refuse a tokenizer that cannot say where its tokens are, knows no text, or is another model's."""
    if not tokenizer.is_fast:
        raise NumberlineError(
            f"'{name}' has no fast tokenizer ({type(tokenizer).__name__}), which alone says where in a text a token "
            "is: convert it to a tokenizer.json first"
        )
    ids = tokenizer(SAMPLE, add_special_tokens=False)["input_ids"]
    if not ids or set(ids) == {tokenizer.unk_token_id}:
        raise NumberlineError(f"the tokenizer of '{name}' gives no tokens for {SAMPLE!r}: are its files complete?")
    if max(ids) >= vocabulary:
        raise NumberlineError(
            f"the tokenizer of '{name}' gives the token {max(ids)}, but the model knows only {vocabulary}: they do not "
            "belong together"
        )


def _check_complete(name: str, model: Any, loading: dict[str, Any]) -> None:
    """Refuse weights that are not those that the config asks for."""

    def shape(key: str) -> str:
        return re.sub(r"\.\d+\.", ".#.", key)

    known = {shape(key) for key in model.state_dict()}
    missing = sorted(loading["missing_keys"])
    misshapen = sorted((str(key), tuple(there), tuple(asked)) for key, there, asked in loading["mismatched_keys"])
    beyond = sorted(
        key for key in loading["unexpected_keys"] if shape(key) in known
    )  # blocks that the config leaves out
    why = ""
    if misshapen:
        key, there, asked = misshapen[0]
        why = f"{key} has the shape {there}, and the config asks for {asked}"
    elif missing or beyond:
        key, which = (missing[0], "asks for, is not there") if missing else (beyond[0], "does not ask for, is there")
        why = f"{key}, which the config {which}"
    if why:
        count = len(missing) + len(misshapen) + len(beyond)
        raise NumberlineError(
            f"the config of '{name}' disagrees with its weights in {count} tensors ({why}): they do not belong together"
        )
