"""How fast is the engine? It runs beside plain hooks and three other tools, on the same examples, results compared.

usage: python benchmarks/run.py [--models tiny,large] [--tools …] [--workloads …] [--folder .bench] [--resume]

1. The models, the examples and an environment for each other tool are made in .bench, if they are not there.
2. Every (model, workload, tool) runs in a process of its own, one after the other (see worker.py).
3. Its result is compared with plain hooks': the largest difference is printed next to how much there was to find.
4. The machine's matmul peak is measured before and after each; the operations (operations.py) over the time are given
   as a part of the larger of the two.
The table goes to the terminal and, with every measurement, to .bench/results.json.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("GOMP_SPINCOUNT", "10000")

from safetensors.torch import load_file
from torch import Tensor

import operations
import prepare
import table
import tools
from machine import describe, machine_seconds, matmul_peak
from workloads import WORKLOADS, Examples

HERE = Path(__file__).parent
PATIENCE = 3600
Record = dict[str, Any]


def main(arguments: list[str] | None = None) -> None:
    """Measure everything that was asked for and print the table."""
    parser = argparse.ArgumentParser(description="The engine's speed beside other tools'.")
    parser.add_argument("--models", default="tiny,large", help=f"of {', '.join(prepare.MODELS)}")
    parser.add_argument("--tools", default=",".join(tools.NAMES), help=f"of {', '.join(tools.NAMES)}")
    parser.add_argument("--workloads", default=",".join(WORKLOADS), help=f"of {', '.join(WORKLOADS)}")
    parser.add_argument("--folder", type=Path, default=HERE.parent / ".bench", help="models, environments, results")
    parser.add_argument("--examples", type=int, help="examples of each case, instead of the number in prepare.py")
    parser.add_argument("--steps", type=int, help="steps of the DAS fit, instead of 100")
    parser.add_argument("--results", type=Path, help="where the measurements go, instead of FOLDER/results.json")
    parser.add_argument(
        "--quiet", type=float, default=1.0, help="wait until others use less than this share of the cores"
    )
    parser.add_argument("--resume", action="store_true", help="keep what was measured before on the same examples")
    asked = parser.parse_args(arguments)
    folder: Path = asked.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    results: Path = asked.results or folder / "results.json"
    before = json.loads(results.read_text()) if asked.resume and results.exists() else {"peaks": [], "runs": []}
    peaks: list[float] = before["peaks"]
    records: list[Record] = before["runs"]
    for name in asked.models.split(","):
        try:
            model = prepare.model(name, folder)
        except FileNotFoundError as error:
            print(f"{name}: not measured, {error}", file=sys.stderr)
            continue
        for workload in asked.workloads.split(","):
            examples = prepare.examples(name, workload, model, asked.examples, asked.steps)
            digest = examples.save(folder / "examples" / f"{name}-{workload}.safetensors")
            earlier = [run for run in records if (run["model"], run["workload"]) == (name, workload)]
            records = [run for run in records if run not in earlier]
            found = {run["tool"]: run for run in earlier if run["examples"] == digest}
            for tool in asked.tools.split(","):
                if tool in found and found[tool].get("neighbours", 0.0) <= asked.quiet:
                    continue
                wait_for_quiet(asked.quiet)
                n, before_it = len(examples.cases["y1"].clean), matmul_peak()
                new = measure(folder, name, model, workload, tool, n)
                # A processor's clock rises and falls: a run is compared with the peak beside it.
                peaks += [before_it, matmul_peak()]
                found[tool] = new | {"examples": digest, "n": n, "peak": max(peaks[-2:])}
                compare(folder, found)
                count(list(found.values()), model, examples)
                result = {"matmul_peak": max(peaks), "peaks": peaks, "runs": in_order(records + list(found.values()))}
                results.write_text(json.dumps({"machine": describe()} | result, indent=1))
            records += found.values()
    if results.exists():
        print(table.markdown(json.loads(results.read_text())))


def in_order(records: list[Record]) -> list[Record]:
    """As the table shows them."""
    order = list(prepare.MODELS), list(WORKLOADS), list(tools.NAMES)
    return sorted(
        records,
        key=lambda run: [
            names.index(run[key]) for names, key in zip(order, ("model", "workload", "tool"), strict=True)
        ],
    )


def wait_for_quiet(share: float) -> None:
    """Wait until all other processes together use less than a share of the machine for five seconds."""
    while share < 1:
        busy, start = machine_seconds(), time.monotonic()
        time.sleep(5)
        if (machine_seconds() - busy) / ((time.monotonic() - start) * (os.cpu_count() or 1)) <= share:
            return


def measure(folder: Path, name: str, model: Path, workload: str, tool: str, n: int) -> Record:
    """Run one tool on one workload in its own process; what went wrong is part of the record."""
    record: Record = {"model": name, "workload": workload, "tool": tool}
    out = folder / "out" / f"{name}-{workload}-{n}-{tool}"
    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        python = prepare.interpreter(tool, folder)
    except subprocess.CalledProcessError as error:
        return record | {"failed": f"could not be installed: {last_line(error.stderr)}"}
    record["versions"] = prepare.versions(python)
    print(f"{name} {workload} {tool} … ", end="", file=sys.stderr, flush=True)
    source = folder / "examples" / f"{name}-{workload}.safetensors"
    command = [str(python), str(HERE / "worker.py"), tool, workload, str(model), str(source), str(out)]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        record["failed"] = f"stopped after {PATIENCE} s"
    except subprocess.CalledProcessError as error:
        out.with_suffix(".log").write_text(error.stdout + error.stderr)
        record["failed"] = last_line(error.stderr)
    else:
        record |= json.loads(Path(f"{out}.json").read_text())
        record["result"] = f"out/{out.name}.safetensors"
    print(record.get("failed", f"{record.get('seconds', 0):.2f} s"), file=sys.stderr, flush=True)
    return record


def last_line(text: str) -> str:
    """The sentence at the end of a traceback."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no message"


def compare(folder: Path, found: dict[str, Record]) -> None:
    """Each result against plain hooks' (the first tool that has one), and how much there was to find."""
    results = {tool: load_file(folder / run["result"])["result"] for tool, run in found.items() if "result" in run}
    if not results:
        return
    reference = results.get("plain", next(iter(results.values())))
    for tool, result in results.items():
        record = found[tool]
        record["effect"] = effect(record["workload"], reference)
        same = result.shape == reference.shape
        record["difference"] = float((result - reference).abs().max()) if same else None
        if not same:
            record["failed"] = f"its result has shape {tuple(result.shape)}, not {tuple(reference.shape)}"


def effect(workload: str, result: Tensor) -> float:
    """How far the cells, the heads or the steps lie apart for one example; the largest gradient."""
    if workload == "attribution":
        return float(result.abs().max())
    sweep = result[None, :, None] if workload == "das" else result.flatten(1, -2)
    return float((sweep.amax(1) - sweep.amin(1)).max())


def count(found: list[Record], model: Path, examples: Examples) -> None:
    """Write the operations that plain hooks and the engine need into their records."""
    shape = operations.Shape.of(model)
    for record in found:
        tool, workload = record["tool"], record["workload"]
        if tool in ("plain", "plain-last"):
            record["operations"] = operations.plain(shape, examples, workload, tool == "plain-last").total
        elif tool == "engine":
            record["operations"] = operations.engine(shape, examples, workload).total


if __name__ == "__main__":
    main()
