"""The benchmark measures what it says: engine and plain hooks agree on every workload, and operations are counted."""

import importlib
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

WORKLOADS = ("trace", "das", "attribution", "heads")
MODULES = ("operations", "picture", "prepare", "run", "table", "tools")


class Products(TorchDispatchMode):
    """Counts the operations of products with weights, forward and backward; attention's are batched, and not here."""

    operations = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func in (torch.ops.aten.mm.default, torch.ops.aten.addmm.default):
            (rows, inputs), (_, outputs) = args[-2].shape, args[-1].shape
            self.operations += 2 * rows * inputs * outputs
        return func(*args, **(kwargs or {}))


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """The benchmark's modules, a toy model, its examples, and plain hooks and the engine on it."""
    folder = tmp_path_factory.mktemp("bench")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")
        modules = {name: importlib.import_module(name) for name in MODULES}
        model = modules["prepare"].model("toy", folder)
        examples = {workload: modules["prepare"].examples("toy", workload, model) for workload in WORKLOADS}
        names = ("plain", "plain-last", "plain-prefix", "engine")
        loaded = {name: modules["tools"].load(name, model) for name in names}
        yield SimpleNamespace(**modules, folder=folder, model=model, examples=examples, loaded=loaded)


@pytest.fixture(scope="module")
def counted(bench):
    """Every workload by plain hooks and by the engine: its result, and the operations of its matrix products."""
    found = {}
    for workload in WORKLOADS:
        for tool in ("plain", "engine"):
            with Products() as products:
                result = getattr(bench.loaded[tool], workload)(bench.examples[workload])
            found[workload, tool] = result, products.operations
    return found


@pytest.mark.parametrize("workload", WORKLOADS)
def test_all_agree_and_there_is_something_to_find(bench, counted, workload):
    want, _ = counted[workload, "plain"]
    got, _ = counted[workload, "engine"]
    assert bench.run.effect(workload, want) > 1e-4
    assert got.shape == want.shape
    assert (got - want).abs().max() < 0.03 * bench.run.effect(workload, want)
    assert (got - want).abs().max() < 1e-5


@pytest.mark.parametrize("tool", ["plain-last", "plain-prefix"])
def test_the_better_plain_runs_agree_too(bench, counted, tool):
    for workload in ("das", "attribution", "heads"):
        got = getattr(bench.loaded[tool], workload)(bench.examples[workload])
        assert (got - counted[workload, "plain"][0]).abs().max() < 1e-5


@pytest.mark.parametrize("workload", WORKLOADS)
def test_operations_are_those_of_a_real_run(bench, counted, workload):
    shape, examples = bench.operations.Shape.of(bench.model), bench.examples[workload]
    plain = bench.operations.plain(shape, examples, workload, last_only=False)
    assert counted[workload, "plain"][1] == pytest.approx(plain.blocks + plain.unembedding, rel=0.01)
    engine = bench.operations.engine(shape, examples, workload)
    # The engine may do a little more than the law asks for, never less.
    assert 0.999 < counted[workload, "engine"][1] / engine.blocks < 1.1


def test_examples_are_read_as_they_were_written(bench):
    examples = bench.examples["das"]
    examples.save(bench.folder / "examples.safetensors")
    again = type(examples).load(bench.folder / "examples.safetensors")
    assert (again.prefix, again.y1, again.y2, again.layer, again.steps) == (28, 29, 33, 2, 3)
    assert torch.equal(again.cases["y2"].corrupted, examples.cases["y2"].corrupted)
    assert torch.equal(again.start, examples.start)


def test_the_table_says_what_failed(bench):
    ran = {"seconds": 2.0, "cpu_seconds": 3.5, "operations": 4e9, "peak_bytes": 2**30, "neighbours": 0.0}
    ran |= {"difference": 1e-6, "effect": 0.5}
    runs = [
        {"model": "toy", "workload": "trace", "tool": "plain", **ran, "operations": 9e10, "seconds": 50.0},
        {"model": "toy", "workload": "trace", "tool": "engine", **ran},
        {"model": "toy", "workload": "trace", "tool": "pyvene", "failed": "could not be installed: no wheel"},
    ]
    about = {"processor": "P", "cores": 2, "threads": 2, "capability": "", "memory_gib": 8, "system": "", "torch": "2"}
    text = bench.table.markdown(json.loads(json.dumps({"machine": about, "matmul_peak": 4e9, "runs": runs})))
    assert "| causal trace | **numberline** | 2 | 25.0× | 3.5 | 1.00 GiB | 1e-06 of 0.5 |" in text
    assert "| causal trace | pyvene | could not be installed: no wheel |" in text
    assert "| causal trace | 4 G | 22.5× | 2 | 25.0× |  | 50% |" in text


def test_the_picture_in_the_documentation_is_the_one_that_is_drawn(bench):
    assert (Path(__file__).parents[1] / "docs/engine-law.svg").read_text() == bench.picture.svg()
