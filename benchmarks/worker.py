"""One tool, one workload, one process: python benchmarks/worker.py TOOL WORKLOAD MODEL EXAMPLES OUT

Loads the model and warms up with one step of one DAS fit (not timed), then times the workload; a run of less than 20
seconds is timed up to three times and the fastest counts. The result goes to OUT.safetensors, measurements to OUT.json.
"""

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("GOMP_SPINCOUNT", "10000")

import torch
from safetensors.torch import save_file
from torch import Tensor

import tools
from machine import machine_seconds
from workloads import Case, Examples

QUICK, TIMES = 20.0, 3


def measure(tool: str, workload: str, model: Path, examples: Examples) -> tuple[Tensor, dict[str, Any]]:
    """Run a workload and say how long it took and what it needed."""
    loaded = tools.load(tool, model)
    loaded.das(small(examples))
    run: Callable[[Examples], Tensor] = getattr(loaded, workload)
    reset = reset_peak()
    seconds: list[float] = []
    cpu: list[float] = []
    busy = machine_seconds()
    began = time.perf_counter(), time.process_time()
    while len(seconds) < TIMES and sum(seconds) < QUICK:
        start, start_cpu = time.perf_counter(), time.process_time()
        result = run(examples)
        seconds.append(time.perf_counter() - start)
        cpu.append(time.process_time() - start_cpu)
    own = time.process_time() - began[1]
    wall = time.perf_counter() - began[0]
    best = seconds.index(min(seconds))
    return result, {
        "seconds": seconds[best],
        "cpu_seconds": cpu[best],
        "times": len(seconds),
        "peak_bytes": peak_bytes(),
        "peak_since_loading": reset,
        "threads": torch.get_num_threads(),
        "neighbours": max(machine_seconds() - busy - own, 0.0) / (wall * (os.cpu_count() or 1)),
    }


def small(examples: Examples) -> Examples:
    """One example and one step: enough to load code and touch every weight."""
    case = examples.cases["y1"]
    return replace(examples, cases={"y1": Case(case.clean[:1], case.corrupted[:1], case.answers[:1])}, steps=1)


def reset_peak() -> bool:
    """Forget the peak of loading the model, where the system allows it (Linux)."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def peak_bytes() -> int:
    """The largest resident memory of this process since `reset_peak`."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def main() -> None:
    """Read the command line, measure, write."""
    tool, workload, model, examples, out = sys.argv[1:]
    result, measured = measure(tool, workload, Path(model), Examples.load(Path(examples)))
    save_file({"result": result.detach().contiguous()}, out + ".safetensors")
    Path(out + ".json").write_text(json.dumps(measured))


if __name__ == "__main__":
    main()
