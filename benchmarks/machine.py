"""What is this machine, and how fast can it multiply matrices?"""

import os
import platform
import time
from pathlib import Path

import torch

SHAPES = ((2048, 896, 4864), (2048, 4864, 896))
"""Rows, inputs, outputs: the 24-layer model's MLP, on a batch that is large enough to be limited by the cores alone."""
ROUNDS = 8


def describe() -> dict[str, str | int | float]:
    """The machine in words."""
    name, memory = platform.processor() or platform.machine(), 0.0
    try:
        info = Path("/proc/cpuinfo").read_text()
        name = next(line.split(":")[1].strip() for line in info.splitlines() if line.startswith("model name"))
        kilobytes = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemTotal"))
        memory = int(kilobytes.split()[1]) / 2**20
    except (OSError, StopIteration):
        pass
    return {
        "processor": name,
        "cores": os.cpu_count() or 1,
        "threads": torch.get_num_threads(),
        "capability": torch.backends.cpu.get_cpu_capability(),
        "memory_gib": round(memory, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def matmul_peak() -> float:
    """fp32 operations a second: the fastest of some products of the model's shapes, as torch's own linear layer."""
    best = 0.0
    for rows, inputs, outputs in SHAPES:
        x, weight = torch.randn(rows, inputs), torch.randn(outputs, inputs)
        for _ in range(ROUNDS):
            start = time.perf_counter()
            torch.nn.functional.linear(x, weight)
            best = max(best, 2 * rows * inputs * outputs / (time.perf_counter() - start))
    return best


def machine_seconds() -> float:
    """CPU seconds that all processes together have used (Linux; elsewhere 0)."""
    try:
        fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    except OSError:
        return 0.0
    user, nice, system = (int(field) for field in fields[:3])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")
