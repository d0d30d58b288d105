"""Does a run cost what was planned? python benchmarks/plan.py tiny --size quick --only 'k2.*'

Plans, then runs the same experiments, and prints both as a table of docs/plan.md. `--cpu` compares the seconds of the
processor, of one thread: what others do on the machine meanwhile does not count.
"""

import argparse
import resource
import time
from dataclasses import replace

import torch

from numberline.engine.loading import load
from numberline.experiments.registry import select
from numberline.results.formatting import duration, size
from numberline.results.result import Result
from numberline.runs.plan import plan
from numberline.runs.run import Settings


def main() -> None:
    """Plan, run, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--size", default="quick")
    parser.add_argument("--only", action="append")
    parser.add_argument("--cpu", action="store_true")
    asked = parser.parse_args()
    if asked.cpu:
        torch.set_num_threads(1)
    clock = time.process_time if asked.cpu else time.perf_counter
    settings, patterns = Settings(asked.size), asked.only or ["*"]
    planned = {cost.id: cost for cost in plan(asked.model, settings, patterns, clock=clock).costs}
    lab, known = load(asked.model), dict[str, Result]()
    heads = "experiment", "planned", "measured", "measured / planned", "memory planned", "largest so far"
    print(f"| {' | '.join(heads)} |\n|---|--:|--:|--:|--:|--:|")
    total = 0.0
    for experiment in select(patterns):
        began = clock()
        known[experiment.id] = experiment(
            lab, replace(settings.context, needs={id: known[id] for id in experiment.needs})
        )
        taken, cost = clock() - began, planned[experiment.id]
        total += taken
        largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        cells = [experiment.id, duration(cost.seconds), duration(taken), f"{taken / cost.seconds:.2f}"]
        print(f"| {' | '.join([*cells, size(cost.memory), size(largest)])} |", flush=True)
    whole = sum(cost.seconds for cost in planned.values())
    print(f"| **all** | {duration(whole)} | {duration(total)} | {total / whole:.2f} | | |")


if __name__ == "__main__":
    main()
