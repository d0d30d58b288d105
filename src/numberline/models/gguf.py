"""How is a quantised GGUF file used? Dequantised once, and kept beside it as the plain weights that it stands for.

1. The digest of the whole file names the folder: FILE.gguf becomes FILE.gguf.DIGEST, so that another file of the same
   name is never taken for it.
2. transformers dequantises it (it knows the formats and the architectures) to float32, which holds every value exactly.
3. Config, weights and tokenizer are written under a temporary name, which is then renamed: a folder that is there is
   whole, and the next load reads it like any other.
"""

import hashlib
import logging
import os
import shutil
from importlib.util import find_spec
from pathlib import Path

import torch

from numberline.errors import NumberlineError
from numberline.files import partial_name, remove_leftovers
from numberline.models.free_memory import check_memory
from numberline.models.refusals import refusals

DAMAGED = "{name} is damaged, or no GGUF file ({reason}): download or copy it again"

logger = logging.getLogger("numberline")


def gguf_in(folder: Path) -> Path | None:
    """The GGUF file of a folder; several are refused by name."""
    found = sorted(folder.glob("*.gguf"))
    if len(found) > 1:
        raise NumberlineError(
            f"the folder '{folder}' holds {len(found)} GGUF files: give one of them, for example {found[0]}"
        )
    return found[0] if found else None


def dequantised(file: Path) -> Path:
    """The folder with the plain weights of a GGUF file; made unless it is there."""
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()[:16]
    kept = file.with_name(f"{file.name}.{digest}")
    if kept.is_dir():
        return kept
    if find_spec("gguf") is None:
        raise NumberlineError(f"reading {file} needs the package gguf: pip install 'numberline[gguf]'")
    remove_leftovers(kept.parent, kept.name)
    partial = partial_name(kept)
    try:
        _convert(file, partial)
        partial.rename(kept)
    except OSError as error:
        if not kept.is_dir():  # else another process was first, and that one is used
            raise NumberlineError(
                f"the plain weights of {file} cannot be kept beside it ({error.strerror or error}): copy it to a "
                "folder that may be written to and has room for four bytes for each parameter"
            ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return kept


def _convert(file: Path, folder: Path) -> None:
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    with refusals(str(file), file.parent, otherwise=DAMAGED):
        config = AutoConfig.from_pretrained(file.parent, gguf_file=file.name)
        check_memory(str(file), config, torch.float32, "cpu")
        logger.warning("%s is dequantised now, once: its plain weights are kept beside it.", file)
        tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
        model = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32)
    # It is an ordinary model now; transformers would refuse to save one that was quantised.
    model.config.__dict__.pop("quantization_config", None)
    model.is_quantized, model.hf_quantizer, model.quantization_method = False, None, None
    folder.mkdir()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    for path in folder.iterdir():
        with path.open("rb") as written:
            os.fsync(written.fileno())
