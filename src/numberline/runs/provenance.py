"""With what was a result made? Versions, machine and model, as `run.json` states them."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from numberline.engine.lab import Lab
from numberline.results.schema import Hardware, Model

PACKAGES = ("numberline", "torch", "transformers", "safetensors", "numpy", "pyarrow")


def versions() -> dict[str, str]:
    """Of Python and of the packages that decide the numbers."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # used from a source tree that is not installed
            found[package] = "not installed"
    return found


def hardware() -> Hardware:
    """The machine that a run is made on."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return Hardware(
        platform=platform.platform(),
        processor=_processor(),
        cores=usable,
        threads=torch.get_num_threads(),
        memory_gib=_memory(),
        accelerators=tuple(torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())),
    )


def describe(lab: Lab) -> Model:
    """The model: who it is and its shape."""
    network, loaded = lab.network, lab.loaded
    return Model(
        name=loaded.name,
        fingerprint=loaded.fingerprint,
        architecture=network.model.config.model_type,
        layers=network.n_layers,
        heads=network.n_heads,
        width=network.d_model,
        neurons=network.d_mlp,
        vocabulary=network.vocabulary,
        parameters=sum(parameter.numel() for parameter in network.model.parameters()),
        dtype=str(network.dtype).removeprefix("torch."),
        device=str(network.device),
    )


def _processor() -> str:
    """The processor's name, where the system tells it."""
    listing = Path("/proc/cpuinfo")
    if listing.is_file():
        for line in listing.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return None
