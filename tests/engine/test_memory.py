"""The same numbers in little memory: a process whose address space is limited computes what one with room does.

The limit is the operating system's, so that what fails is a real allocation, inside whatever ran just then.
"""

import resource
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from numberline.engine.memory import Memory, NoMemoryError, is_out_of_memory

ROOM = 40 * 2**20
"""Bytes beyond what the process has: a fraction of what the batches below take at once."""


def test_a_limited_process_finds_the_same():
    limited = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=False)
    assert limited.returncode == 0, limited.stderr
    assert limited.stdout.split() == ["sweep", "decode", "activations", "das", "attribution"]


def measure() -> None:
    """In a process of its own: everything with little room, then everything again with enough."""
    from transformers import AutoTokenizer, Qwen2Config, Qwen2ForCausalLM

    from numberline.engine.edits import swap
    from numberline.engine.lab import Lab, Read
    from numberline.engine.loading import wrap
    from numberline.engine.sites import head, mid, neurons, resid
    from numberline.methods import attribution, das
    from numberline.methods.pairs import record
    from numberline.models.catalogue import BUILT_IN
    from numberline.tasks.layout import encode
    from numberline.tasks.task import Task

    torch.set_num_threads(1)
    torch.manual_seed(52)
    shape = {"num_hidden_layers": 3, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2}
    config = Qwen2Config(**shape, intermediate_size=4096, vocab_size=306, initializer_range=0.1)
    tokenizer = AutoTokenizer.from_pretrained(BUILT_IN / "tiny")
    loaded = wrap(Qwen2ForCausalLM(config), tokenizer, "narrow").loaded
    rows = [(x, y) for x in range(10, 25) for y in range(50, 54)]
    clean, corrupted = (encode(tokenizer, Task(), each) for each in (rows, [(y + 40, y) for _, y in rows]))

    def everything(lab: Lab) -> dict[str, torch.Tensor]:
        pairs = record(lab, clean, corrupted, corrupted.ids[:, [29, 33]])
        places = [site.at(token) for site in (resid(0), head(1, 1), mid(1)) for token in ("y1", "y2")]
        swept = lab.sweep(pairs.corrupted, [[swap(site, pairs.clean)] for site in places], Read(logits=pairs.answers))
        decoded = lab.decode(pairs.corrupted, [[], [swap(resid(0).at("y1"), pairs.clean)]], 2)
        (seen,) = lab.activations(clean, [neurons(2).at("y2")])
        ((fit,),) = das.fit_cases([pairs], resid(0).at("y1"), steps=2)
        scores = attribution.attribute(
            pairs, lambda part: [swap(resid(0).at("y2"), part.clean)], (1, 2), "y2"
        )  # fmt: skip
        assert swept.logits is not None
        return {
            "sweep": swept.logits,
            "decode": decoded,
            "activations": seen,
            "das": torch.cat([fit.losses, fit.subspace.basis[:, 0]]),
            "attribution": scores,
        }

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    lab = Lab.of(loaded)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + ROOM, resource.RLIM_INFINITY))
    with_little = everything(lab)
    assert lab.memory.shrink > 1, "nothing ran out of memory, so nothing was tested"
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    with_room = everything(Lab.of(loaded))
    for name, values in with_room.items():
        assert (with_little[name] - values).abs().max() <= 1e-5 * max(1.0, float(values.abs().max())), name
        print(name)


def test_every_device_says_it_in_its_own_words():
    for message in (
        "MPS backend out of memory (MPS allocated: 8.00 GB, other allocations: 1.00 GB, max allowed: 9.07 GB)",
        "DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes. Error code 12",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    ):
        assert is_out_of_memory(RuntimeError(message))
    assert not is_out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    assert not is_out_of_memory(ValueError("out of memory"))


def test_what_was_done_is_not_done_again():
    memory, done = Memory(32, 48, 8, torch.device("cpu")), []

    def run(rows: slice) -> None:
        if rows.stop > 60 and rows.stop - rows.start > 10:
            raise torch.OutOfMemoryError("no room")
        done.extend(range(rows.start, rows.stop))

    memory.halving(100, lambda: max(50 // memory.shrink, 1), run)
    assert done == list(range(100))

    def inner(rows: slice) -> None:
        """One row of an inner loop that fits only when the outer one takes few."""
        memory.halving(2, lambda: max(2 // memory.shrink, 1), lambda _: outer_fits(rows))

    def outer_fits(rows: slice) -> None:
        if rows.stop - rows.start > 1:
            raise torch.OutOfMemoryError("no room")

    memory.shrink = 1
    memory.halving(4, lambda: max(4 // memory.shrink, 1), inner)
    with pytest.raises(NoMemoryError, match="one prompt does not fit"):
        memory.halving(3, lambda: 1, lambda _: (_ for _ in ()).throw(MemoryError))


if __name__ == "__main__":
    measure()
