"""How fast is a machine? This one is measured in a second or two; an accelerator that is not here is declared.

1. Measured: one block of the very shape, with random weights, runs on few and on many tokens, forward, and once
   backward. Between the measured sizes time is interpolated; a part of a block takes its share of the operations.
2. Declared: what the maker says of an accelerator. A call takes as long as its operations at `EFFICIENCY` of the peak,
   or as its weights take to be read, whichever is longer, and a constant for its launches.
"""

import copy
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch

from numberline.engine.attention import Past, installed
from numberline.engine.blocks import attend, feed
from numberline.engine.recording import Keeper
from numberline.errors import NumberlineError
from numberline.runs.costs import Call, Shape, Work, network_of

TOKENS = (8, 64, 512)
"""Sizes of the measured batches, in tokens."""
EACH = 8
"""Tokens in a row of them."""
ROUNDS, PATIENCE = 9, 0.4
"""How often a size is measured, and the seconds after which it is not again."""
EFFICIENCY = 0.5
"""The share of an accelerator's peak that large products reach here."""
LAUNCH = 4e-4
"""Seconds that the launches of a block's kernels take on an accelerator."""


@runtime_checkable
class Speed(Protocol):
    """Turns calls into seconds."""

    def seconds(self, call: Call, shape: Shape) -> float:
        """Of one call."""
        ...


@dataclass(frozen=True)
class Accelerator:
    """An accelerator as declared: operations a second (half precision, and fp32 in TF32's absence), bytes a second."""

    half: float
    single: float
    bandwidth: int
    memory: int

    def seconds(self, call: Call, shape: Shape) -> float:
        """The longer of computing and reading, and the launches."""
        peak = self.half if shape.itemsize == 2 else self.single
        times = 2 if call.grad else 1
        read = times * call.matrices(shape) * shape.itemsize / self.bandwidth
        return max(call.operations(shape) / (EFFICIENCY * peak), read) + times * LAUNCH


GB = 10**9
ACCELERATORS: Mapping[str, Accelerator] = {
    "a100-40gb": Accelerator(312e12, 19.5e12, 1555 * GB, 40 * GB),
    "a100-80gb": Accelerator(312e12, 19.5e12, 2039 * GB, 80 * GB),
    "h100-80gb": Accelerator(989e12, 67e12, 3350 * GB, 80 * GB),
    "l4-24gb": Accelerator(121e12, 30.3e12, 300 * GB, 24 * GB),
    "t4-16gb": Accelerator(65e12, 8.1e12, 320 * GB, 16 * GB),
    "rtx4090-24gb": Accelerator(165e12, 82.6e12, 1008 * GB, 24 * GB),
}
"""What the makers say: dense products, without sparsity."""


def accelerator(name: str) -> Accelerator:
    """By name, or a refusal that lists them."""
    if name not in ACCELERATORS:
        raise NumberlineError(f"there is no accelerator '{name}' in the table: choose from {', '.join(ACCELERATORS)}")
    return ACCELERATORS[name]


@dataclass(frozen=True)
class Measured:
    """Seconds of a whole block at some numbers of tokens, forward, and forward and backward together."""

    tokens: tuple[int, ...]
    forward: tuple[float, ...]
    both: tuple[float, ...]

    def seconds(self, call: Call, shape: Shape) -> float:
        """A call's share of a block on as many tokens."""
        tokens = call.rows * call.tokens
        whole = Call("block", call.rows, call.tokens, call.keys, call.grad).operations(shape)
        return self._block(tokens, self.both if call.grad else self.forward) * call.operations(shape) / whole

    def _block(self, tokens: int, measured: tuple[float, ...]) -> float:
        if tokens <= self.tokens[-1]:
            return float(np.interp(tokens, self.tokens, measured))
        return measured[-1] * tokens / self.tokens[-1]


def measure(config: Any, dtype: torch.dtype, device: str, clock: Callable[[], float] = time.perf_counter) -> Measured:
    """Time one block of a config's shape on this machine."""
    from transformers import AutoModelForCausalLM

    small = copy.deepcopy(config)
    text = small.get_text_config()
    text.num_hidden_layers, text.vocab_size, text.pad_token_id = 1, 64, None
    if getattr(text, "layer_types", None):
        text.layer_types = text.layer_types[:1]
    model = AutoModelForCausalLM.from_config(small, dtype=dtype).to(device)
    network = network_of(model.eval().requires_grad_(False))

    def run(tokens: int, grad: bool) -> None:
        x = torch.randn(tokens // EACH, EACH, network.d_model, dtype=dtype, device=device, requires_grad=grad)
        tap = Keeper(set())
        out = feed(network, 0, x, attend(network, 0, x, tap, Past(0, EACH)), tap)
        if grad:
            out.sum().backward()
        elif device != "cpu":
            out.sum().item()

    with installed(model):
        with torch.no_grad():
            forward = tuple(_typical(partial(run, tokens, False), clock) for tokens in TOKENS)
        both = tuple(_typical(partial(run, tokens, True), clock) for tokens in TOKENS)
    return Measured(TOKENS, forward, both)


def _typical(run: Callable[[], None], clock: Callable[[], float]) -> float:
    """The median of a few runs: neighbours on the machine will be there during the run too."""
    taken: list[float] = []
    run()
    while len(taken) < ROUNDS and sum(taken) < PATIENCE:
        start = clock()
        run()
        taken.append(clock() - start)
    return float(np.median(taken))


def seconds(work: Work, speed: Speed) -> float:
    """Of all calls."""
    return sum(speed.seconds(call, work.shape) * times for call, times in work.calls.items())
