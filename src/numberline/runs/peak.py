"""How much memory did an experiment need? The largest of the process while it ran; on CUDA, of the device."""

import contextlib
from pathlib import Path

import psutil
import torch

PROCESS = Path("/proc/self")
"""What Linux says of this process."""


def reset(device: torch.device) -> None:
    """From here on."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    with contextlib.suppress(OSError):  # elsewhere, and in some containers, the peak is that since the process began
        (PROCESS / "clear_refs").write_text("5")


def largest(device: torch.device) -> int:
    """Bytes that were needed at once since the reset."""
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    with contextlib.suppress(OSError, StopIteration):
        lines = (PROCESS / "status").read_text().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
    held = psutil.Process().memory_info()  # Windows knows the peak, others what is held at the end
    return int(getattr(held, "peak_wset", held.rss))
