"""Which share of a DAS fit is matrix products, and how near to the peak is it? python benchmarks/das.py

A random model of the widths of Qwen2.5-1.5B with few layers: every block of a fit is the same, so that few are enough.
Prints the rate beside the matmul peak of the same minute, and where a profiler saw the time.
"""

import argparse
import time
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile
from transformers import AutoTokenizer, Qwen2Config, Qwen2ForCausalLM

from machine import matmul_peak
from numberline.engine.loading import wrap
from numberline.engine.sites import resid
from numberline.methods import das
from numberline.methods.pairs import Pairs
from numberline.models.catalogue import BUILT_IN
from numberline.runs.costs import Call, Shape
from numberline.tasks.counterfactuals import perturb, pool
from numberline.tasks.pairs import record_pairs
from numberline.tasks.task import Task

PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm")


def main() -> None:
    """Measure, then profile."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=5)
    parser.add_argument("--examples", type=int, default=64)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    torch.manual_seed(52)
    widths = {"hidden_size": 1536, "num_attention_heads": 12, "num_key_value_heads": 2, "intermediate_size": 8960}
    config = Qwen2Config(**widths, num_hidden_layers=asked.layers, vocab_size=400, initializer_range=0.03)
    lab = wrap(Qwen2ForCausalLM(config).float(), AutoTokenizer.from_pretrained(BUILT_IN / "tiny"), "random")
    task, site = Task(), resid(0).at("y1")
    pairs = record_pairs(lab, task, perturb(task, pool(task).fitting[: asked.examples], "y1"))
    das.fit(pairs, site, steps=1)
    before, start = matmul_peak(), time.perf_counter()
    das.fit(pairs, site, steps=asked.steps)
    seconds, peak = time.perf_counter() - start, max(before, matmul_peak())
    rate = asked.steps * operations(config, pairs, asked.layers) / seconds
    print(f"{rate / 1e9:.0f} GFLOP/s, {rate / peak:.0%} of the peak of {peak / 1e9:.0f}")
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        das.fit(pairs, site, steps=2)
    taken = {each.key: each.self_cpu_time_total for each in seen.key_averages()}
    total = sum(taken.values())
    print(f"{sum(taken.get(name, 0) for name in PRODUCTS) / total:.0%} of the time in matrix products")
    for name, each in sorted(taken.items(), key=lambda item: -item[1])[:8]:
        print(f"{each / total:6.1%} {name}")


def operations(config: Any, pairs: Pairs, layers: int) -> float:
    """Of one step: forward and backward, from the site on."""
    shape, length = Shape.of(config, torch.float32), pairs.corrupted.length
    tokens = length - pairs.positions["y1"]
    call = Call("block", len(pairs), tokens, length - tokens // 2, grad=True)
    last = Call("last", len(pairs), tokens, length - tokens // 2, grad=True)
    return call.operations(shape) * (layers - 2) + last.operations(shape)


if __name__ == "__main__":
    main()
