"""Is there room for a model? Asked before its weights are read: a system that runs out kills without a sentence.

1. The model is built without memory (torch's meta device), and its parameters are counted.
2. What is free is what the system, the container and the device say, whichever is least.
"""

import contextlib
from pathlib import Path
from typing import Any

import psutil
import torch

from numberline.errors import NumberlineError

CGROUP = Path("/sys/fs/cgroup")
"""Where Linux says what a container or a job may use."""


def check_memory(name: str, config: Any, dtype: torch.dtype, device: str, trusted: bool = False) -> None:
    """Refuse a model that does not fit, with how much it needs."""
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, dtype=dtype, trust_remote_code=trusted)
    needed, free = sum(parameter.nbytes for parameter in model.parameters()), free_bytes(torch.device(device))
    if needed > free:
        half = f", --dtype bfloat16 ({_size(needed // dtype.itemsize * 2)})" if dtype.itemsize > 2 else ""
        raise NumberlineError(
            f"'{name}' needs {_size(needed)} of memory in {str(dtype).removeprefix('torch.')}, and {_size(free)} are "
            f"free on {device}: use a smaller model{half}, or --device-map auto"
        )


def _size(n: int) -> str:
    return f"{n / 1e9:.1f} GB" if n >= 1e9 else f"{n / 1e6:.0f} MB"


def free_bytes(device: torch.device) -> int:
    """Bytes that a device can still take."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    free = psutil.virtual_memory().available
    with contextlib.suppress(OSError, ValueError):  # no container, or one without a limit ("max")
        limit, used = (int((CGROUP / f"memory.{what}").read_text()) for what in ("max", "current"))
        free = min(free, limit - used)
    return int(free)
