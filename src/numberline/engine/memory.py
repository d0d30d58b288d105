"""How many rows go through a block at once: found, not configured.

A block is run on slices of the batch. A slice is sized so that the widest activation of a block fits a budget: on a CPU
one that stays near the caches while the matrix products are still large, on an accelerator a share of the free memory.
So are the rows that are under way at once, and those that keep their activations for a gradient. When memory runs out,
whatever ran is halved and runs again, so the answer never depends on the size.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import torch

from numberline.errors import NumberlineError

T = TypeVar("T")

CPU_SLICE = 96 * 2**20
"""Bytes of the widest activations of a slice on a CPU: measured, see docs/engine.md."""
CPU_WAVE = 2**30
"""Bytes of residual stream that edited rows may hold at once on a CPU."""
CPU_WORK, ACCELERATOR_WORK = 3e12, 1e15
"""Operations of one wave: about half a minute on two slow cores, or on a slow accelerator. It is computed in one go, so
that what stops the process costs no more than that."""
SHARE = 0.25
"""The share of an accelerator's free memory for each of the two."""
MESSAGES = ("can't allocate memory", "not enough memory", "out of memory", "CUBLAS_STATUS_ALLOC_FAILED")
"""How devices say that there is no more memory: Linux's and Windows' allocators, Apple's (MPS), CUDA's libraries."""


class NoMemoryError(NumberlineError):
    """Not even one row fits."""


@dataclass
class Memory:
    """Turns tokens per row into rows per slice, and halves on out-of-memory."""

    d_model: int
    d_mlp: int
    itemsize: int
    device: torch.device
    shrink: int = 1

    def slices(self, rows: int, tokens: int) -> int:
        """How many of these rows, of `tokens` tokens each, go through a block at once: slices of about one size."""
        most = self._fit(CPU_SLICE, max(tokens, 1) * (3 * self.d_mlp + 8 * self.d_model) * self.itemsize)
        return -(-rows // -(-rows // most)) if rows else 1

    def wave(self, tokens: int, blocks: int) -> int:
        """How many rows of `tokens` tokens may be under way at once, through `blocks` blocks: by room and by work."""
        room = self._fit(CPU_WAVE, max(tokens, 1) * 4 * self.d_model * self.itemsize)
        work = CPU_WORK if self.device.type == "cpu" else ACCELERATOR_WORK
        # Two for each weight and token; conditions join on the way, half of the blocks through on average.
        each = max(tokens, 1) * max(blocks, 1) * self.d_model * (3 * self.d_mlp + 4 * self.d_model)
        return max(min(room, int(work // each)), 1)

    def graph(self, tokens: int, blocks: int) -> int:
        """How many rows of `tokens` tokens may keep their activations through `blocks` blocks for a gradient."""
        each = max(tokens, 1) * max(blocks, 1) * (5 * self.d_mlp + 16 * self.d_model) * self.itemsize
        return self._fit(2 * CPU_WAVE, each)

    def over(self, rows: int, tokens: int, run: Callable[[slice], T]) -> list[T]:
        """Run a function over slices of rows that go through a block."""
        return self.halving(rows, lambda: self.slices(rows, tokens), run)

    def halving(self, rows: int, most: Callable[[], int], run: Callable[[slice], T]) -> list[T]:
        """Run a function over slices of `most()` rows; one that memory has no room for, and what follows, is halved."""
        found: list[T] = []
        start, step = 0, most()
        while start < rows:
            piece = slice(start, min(start + step, rows))
            try:
                found.append(run(piece))
                start = piece.stop
                continue
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                if piece.stop - piece.start <= 1:
                    raise NoMemoryError(
                        f"one prompt does not fit the memory of {self.device}: use a smaller model, a half-precision "
                        "dtype, or spread the model over devices with device_map"
                    ) from error
            # After the error is gone, and with it what its traceback held.
            while step >= piece.stop - piece.start:
                self.shrink *= 2
                step = most()
            if self.device.type == "cuda":
                torch.cuda.empty_cache()
        return found

    def _fit(self, cpu: int, each: int) -> int:
        budget: float = cpu
        if self.device.type == "cuda":
            kept = torch.cuda.memory_reserved(self.device) - torch.cuda.memory_allocated(self.device)
            budget = (torch.cuda.mem_get_info(self.device)[0] + kept) * SHARE  # torch keeps what it has freed
        elif self.device.type == "mps":
            budget = (torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory()) * SHARE
        return max(int(budget // each) // self.shrink, 1)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that there is no more memory, on whichever device."""
    known = isinstance(error, (torch.OutOfMemoryError, MemoryError, NoMemoryError))
    return known or (isinstance(error, RuntimeError) and any(message in str(error) for message in MESSAGES))
