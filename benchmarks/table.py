"""The measurements as Markdown: python benchmarks/table.py .bench/results.json prints a run's table again."""

import json
import sys
from pathlib import Path
from typing import Any

Record = dict[str, Any]
TITLES = {
    "trace": "causal trace",
    "das": "DAS fit",
    "attribution": "neuron attribution",
    "heads": "head sweep",
}
NAMES = {
    "plain": "plain hooks",
    "plain-last": "plain hooks, last logits",
    "plain-prefix": "plain hooks, last logits, prefix cached by hand",
    "engine": "**numberline**",
    "pyvene": "pyvene",
    "nnsight": "nnsight (skip)",
    "nnsight-prefix": "nnsight (skip), prefix cached by hand",
    "transformerlens": "TransformerLens 4",
    "transformerlens-prefix": "TransformerLens 4, prefix cached by hand",
    "hookedtransformer": "TransformerLens 3 (start_at_layer)",
    "hookedtransformer-prefix": "TransformerLens 3 (start_at_layer), prefix cached by hand",
}


def markdown(result: Record) -> str:
    """Everything: the machine, a table for each model, and the engine's share of the peak."""
    parts = [machine(result)]
    for model in dict.fromkeys(run["model"] for run in result["runs"]):
        runs = [run for run in result["runs"] if run["model"] == model]
        parts += [f"### {model}", seconds(runs), engine(runs, result["matmul_peak"])]
    parts.append(footnotes(result["runs"]))
    return "\n\n".join(part for part in parts if part) + "\n"


def machine(result: Record) -> str:
    """One sentence about the machine."""
    about = result["machine"]
    return (
        f"{about['processor']}, {about['cores']} cores ({about['threads']} threads, {about['capability']}), "
        f"{about['memory_gib']} GiB, {about['system']}, torch {about['torch']}; "
        f"fp32 matmul peak {result['matmul_peak'] / 1e9:.0f} GFLOP/s"
    )


def seconds(runs: list[Record]) -> str:
    """Every tool on every workload."""
    lines = [
        "| workload | tool | seconds | plain hooks take | CPU seconds | peak memory | largest difference |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for workload in dict.fromkeys(run["workload"] for run in runs):
        mine = [run for run in runs if run["workload"] == workload]
        reference = next((run for run in mine if run["tool"] == "plain" and "seconds" in run), None)
        for run in mine:
            cells = [TITLES[workload], NAMES[run["tool"]]]
            if "failed" in run:
                cells += [run["failed"].replace("|", "/"), "", "", "", ""]
            else:
                cells.append(number(run["seconds"]))
                cells.append(f"{reference['seconds'] / run['seconds']:.1f}×" if reference else "")
                cells.append(number(run["cpu_seconds"]))
                cells.append(f"{run['peak_bytes'] / 2**30:.2f} GiB")
                cells.append(f"{run['difference']:.1g} of {run['effect']:.2g}")
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def engine(runs: list[Record], peak: float) -> str:
    """The engine against what the operations allow."""
    heads = "operations", "plain hooks do", "seconds", "plain hooks take", "with last logits", "of the peak"
    lines = [
        f"| workload | {' | '.join(heads)} | plain hooks, of the peak | memory |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for workload in dict.fromkeys(run["workload"] for run in runs):
        mine = {run["tool"]: run for run in runs if run["workload"] == workload and "seconds" in run}
        if not {"plain", "engine"} <= mine.keys():
            continue
        ours, plain, last = mine["engine"], mine["plain"], mine.get("plain-last")
        cells = [
            TITLES[workload],
            f"{ours['operations'] / 1e9:.3g} G",
            f"{plain['operations'] / ours['operations']:.1f}×",
            number(ours["seconds"]),
            f"{plain['seconds'] / ours['seconds']:.1f}×",
            f"{last['seconds'] / ours['seconds']:.1f}×" if last else "",
            f"{ours['operations'] / ours['seconds'] / ours.get('peak', peak):.0%}",
            f"{plain['operations'] / plain['seconds'] / plain.get('peak', peak):.0%}",
            f"{ours['peak_bytes'] / plain['peak_bytes']:.2f}×",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) if len(lines) > 2 else ""


def footnotes(runs: list[Record]) -> str:
    """Versions, and how quiet the machine was."""
    versions: dict[str, str] = {}
    for run in runs:
        versions |= {name: version for name, version in run.get("versions", {}).items() if name != "numpy"}
    loud = max((run["neighbours"] for run in runs if "neighbours" in run), default=0.0)
    named = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    return f"Versions: {named}. Other processes used at most {loud:.0%} of the machine during any of the runs."


def number(value: float) -> str:
    """Three digits."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    print(markdown(json.loads(Path(sys.argv[1]).read_text())), end="")
