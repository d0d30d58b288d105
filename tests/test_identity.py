"""A run is what it says it is: damage is noticed, and another dtype, device or revision is another run."""

import json
import traceback
from pathlib import Path

import pytest
import torch

from numberline.engine.lab import Lab
from numberline.errors import NumberlineError
from numberline.models.loaded import wrap
from numberline.results.folder import RunFolder
from numberline.runs import provenance
from numberline.runs.identity import ModelChoice, folder_name
from numberline.runs.run import Settings
from runs_bench import Bench, direction, small_lab


@pytest.fixture(scope="module")
def lab() -> Lab:
    return small_lab()


@pytest.fixture
def bench() -> Bench:
    return Bench()


def spoil(path: Path) -> None:
    """Change one byte, and nothing that the file system tells."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def complaint(path: Path) -> str:
    """What is said to who reads everything of demo.first; shapes are checked, too, so that it may come early."""
    try:
        result = RunFolder(path).load("demo.first")
        _ = (result.tables["scores"], result.tensor("scores"), result.subspace("u"))
    except Exception as error:
        return "".join(traceback.format_exception(error))
    return ""


@pytest.mark.parametrize(
    "file", ["meta.json", "scores.parquet", "tensors.safetensors", "../../subspaces/u.safetensors"]
)
def test_a_damaged_file_is_said_and_made_again(bench, lab, tmp_path, file):
    bench.found = {"u": direction(lab.loaded.fingerprint)}
    bench.run(lab, tmp_path)
    path = (tmp_path / "results/demo.first" / file).resolve()
    whole = path.read_bytes()
    if file == "meta.json":
        path.write_bytes(whole[:-20])
    else:
        spoil(path)
        assert "is damaged: the command that made the run makes demo.first again" in complaint(tmp_path)
    bench.run(lab, tmp_path)
    assert ("warned", f"{path} is damaged: demo.first is made again") in bench.said
    assert bench.computed == ["demo.first", "demo.second", "demo.first"]
    if file != "meta.json":
        assert path.read_bytes() == whole


def test_a_damaged_run_json_is_made_again_where_the_results_say_whose_they_are(bench, lab, tmp_path):
    bench.run(lab, tmp_path)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(NumberlineError, match=r"run\.json cannot be read"):
        bench.run(lab, tmp_path, settings=Settings(seed=3))
    bench.run(lab, tmp_path)
    assert bench.computed == ["demo.first", "demo.second"]
    assert set(json.loads((tmp_path / "run.json").read_text())["experiments"]) == {"demo.first", "demo.second"}


def test_another_dtype_is_another_run(bench, lab, tmp_path):
    bench.run(lab, tmp_path)
    network = lab.network.model.to(torch.bfloat16)
    half = Lab.of(wrap(network, lab.tokenizer, "small"))
    with pytest.raises(NumberlineError, match=r"dtype float32, .* and this one is model small, dtype bfloat16"):
        bench.run(half, tmp_path)
    network.to(torch.float32)


def test_each_result_keeps_what_it_was_made_with(bench, lab, tmp_path, monkeypatch):
    bench.run(lab, tmp_path, "demo.first")
    monkeypatch.setattr(provenance, "versions", lambda: {"torch": "9.9"})
    folder = bench.run(lab, tmp_path)
    made = {id: folder.meta(id).made.versions.get("torch") for id in bench.experiments}
    assert made == {"demo.first": torch.__version__, "demo.second": "9.9"}
    assert bench.computed == ["demo.first", "demo.second"]


def test_folder_names():
    def name(model: str, settings: Settings | None = None, **loaded: str) -> str:
        return str(folder_name(ModelChoice(model, **loaded), settings or Settings()))

    assert name("tiny") == "runs/tiny"
    assert name("Qwen/Qwen2.5-0.5B", Settings("quick", 3, "min")) == "runs/Qwen2.5-0.5B-min-quick-seed3"
    assert name("./models/mine/") == "runs/mine"
    assert name("a/b", dtype="bfloat16", device="cuda", revision="refs/pr/1") == "runs/b-refs_pr_1-bfloat16-cuda"
