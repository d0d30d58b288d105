"""The run folder: what is stored comes back, what is valid is kept, what was stopped goes on."""

import json
import os
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from numberline.engine.lab import Lab
from numberline.engine.subspace import Subspace
from numberline.errors import NumberlineError
from numberline.experiments.common.experiment import Context, Experiment, MissingError, Result, experiment
from numberline.experiments.registry import EXPERIMENTS, index, select
from numberline.files import write_whole
from numberline.results.folder import RunFolder
from numberline.runs import peak
from numberline.runs.run import Settings
from runs_bench import Bench, direction, small_lab


@pytest.fixture(scope="module")
def lab() -> Lab:
    return small_lab()


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_results_come_back_as_they_were(bench, lab, tmp_path):
    folder = bench.run(lab, tmp_path / "run")
    first = folder.load("demo.first")
    assert first.rows("scores") == [{"case": "y1", "mean": 5.2, "n": 3}, {"case": "y2", "mean": 0.5, "n": 3}]
    assert np.array_equal(first.tensor("scores"), np.arange(6.0).reshape(2, 3).T)
    assert (first.role("number_layer").value, first.missing) == ((0,), None)
    assert folder.load("demo.second").rows("total") == [{"total": 5.7}] * 2
    assert pq.read_table(tmp_path / "run/results/demo.first/scores.parquet").num_rows == 2
    assert not list((tmp_path / "run").rglob("*.partial"))


def test_the_folder_says_how_it_was_made(bench, lab, tmp_path):
    bench.run(lab, tmp_path, settings=Settings("quick", seed=7))
    about = json.loads((tmp_path / "run.json").read_text())
    chosen = {
        "model": "small",
        "size": "quick",
        "seed": 7,
        "task": "max",
        "roles": {},
        "examples": None,
        "prompt": "paper",
        "solved": False,
    }
    loaded = {"dtype": "float32", "device": "cpu", "revision": None}
    assert about["configuration"] == {**chosen, **loaded}
    assert about["model"]["fingerprint"] == lab.loaded.fingerprint
    assert about["model"]["layers"] == 1
    assert {"python", "torch", "transformers"} <= set(about["versions"])
    assert about["hardware"]["cores"] >= 1
    assert set(about["experiments"]) == {"demo.first", "demo.second"}
    assert about["roles"]["number_layer"]["experiment"] == "demo.first"
    assert about["roles"]["number_layer"]["value"] == [0]
    meta = json.loads((tmp_path / "results/demo.second/meta.json").read_text())
    assert meta["needs"] == {"demo.first": about["experiments"]["demo.first"]["digest"]}
    assert (meta["id"], meta["n"], meta["tables"]) == ("demo.second", 1, {"total": 2})
    assert {name: meta["made"][name] for name in ("configuration", "versions", "hardware")} == {
        name: about[name] for name in ("configuration", "versions", "hardware")
    }
    assert meta["seconds"] == about["experiments"]["demo.second"]["seconds"] >= 0
    assert meta["peak_bytes"] == about["experiments"]["demo.second"]["peak_bytes"] > 10**8


def test_the_peak_of_memory_is_of_one_experiment():
    cpu = torch.device("cpu")
    before = peak.largest(cpu)
    block = torch.ones(before // 4)  # as much again as the process has
    large = peak.largest(cpu)
    assert large > 1.5 * before
    del block
    peak.reset(cpu)
    if os.access("/proc/self/clear_refs", os.W_OK):  # elsewhere the peak is that since the process began
        assert peak.largest(cpu) < 0.8 * large


def test_needs_run_first_and_progress_is_told(bench, lab, tmp_path):
    bench.run(lab, tmp_path, "demo.second")
    assert bench.computed == ["demo.first", "demo.second"]
    assert bench.said[:3] == [("started", "demo.first"), ("progress", 1, 2), ("finished", "demo.first", False)]


def test_a_valid_result_is_not_computed_again(bench, lab, tmp_path):
    bench.run(lab, tmp_path)
    bench.run(lab, tmp_path)
    assert bench.computed == ["demo.first", "demo.second"]
    assert bench.said[-2:] == [("finished", "demo.first", True), ("finished", "demo.second", True)]


def test_a_stopped_run_goes_on_where_it_was(bench, lab, tmp_path):
    def stop() -> None:
        raise KeyboardInterrupt

    bench.stop = stop
    with pytest.raises(KeyboardInterrupt):
        bench.run(lab, tmp_path)
    assert set(json.loads((tmp_path / "run.json").read_text())["experiments"]) == {"demo.first"}
    bench.stop = lambda: None
    folder = bench.run(lab, tmp_path)
    assert bench.computed == ["demo.first", "demo.second", "demo.second"]
    whole = Bench()
    again = whole.run(lab, tmp_path / "whole").load("demo.second")
    assert dict(folder.load("demo.second").tables) == dict(again.tables)


def test_subspaces_are_kept_with_their_provenance(bench, lab, tmp_path):
    bench.found = {"u": direction(lab.loaded.fingerprint), "v": direction(lab.loaded.fingerprint)}
    back = bench.run(lab, tmp_path).load("demo.first").subspaces
    assert torch.equal(Subspace.of(back["u"]).basis, bench.found["u"].basis)
    assert back["u"].provenance == {"model": lab.loaded.fingerprint, "method": "test"}
    (tmp_path / "subspaces/v.safetensors").unlink()
    del bench.found["u"]
    bench.run(lab, tmp_path)  # a missing direction is found again, and one that is no longer found goes
    assert [path.name for path in (tmp_path / "subspaces").iterdir()] == ["v.safetensors"]


def test_a_subspace_of_another_model_or_another_result_is_refused(bench, lab, tmp_path):
    bench.found = {"u": direction("another")}
    with pytest.raises(NumberlineError, match="does not say that it was found in this model"):
        bench.run(lab, tmp_path)
    bench.found = {"u": direction(lab.loaded.fingerprint)}
    folder = bench.run(lab, tmp_path)
    twice = Result.of({}, n=0, subspaces=bench.found)
    with pytest.raises(NumberlineError, match="both have a subspace 'u'"):
        folder.save("demo.third", twice, "", {}, 0.0)


def test_roles_that_the_user_chose_belong_to_the_run(bench, lab, tmp_path):
    chosen = Settings(roles={"number_layer": (0,)})
    bench.run(lab, tmp_path, settings=chosen)
    bench.run(lab, tmp_path, settings=chosen)
    assert bench.computed == ["demo.first", "demo.second"]
    assert chosen.context.roles == {"number_layer": (0,)}
    with pytest.raises(NumberlineError, match="number_layer"):
        bench.run(lab, tmp_path)


def test_what_cannot_be_measured_is_a_result_too(lab, tmp_path, bench):
    @experiment("demo.none")
    def none(lab: Lab, context: Context) -> Result:
        """Is it there?"""
        raise MissingError("no such head")

    @experiment("demo.then", needs=("demo.none",))
    def then(lab: Lab, context: Context) -> Result:
        """And then?"""
        return Result.of({"rows": context.need("demo.none").rows("rows")}, n=1)

    bench.experiments = index(none, then)
    folder = bench.run(lab, tmp_path)
    first, second = folder.load("demo.none"), folder.load("demo.then")
    assert (first.missing, first.root, first.why) == ("no such head", None, "no such head")
    assert (second.missing, second.root) == ("no such head", "demo.none")
    assert second.why == "demo.none is missing: no such head"
    assert list(second.tables) == []


def test_a_meter_counts(bench):
    seen = []
    count = Context(progress=lambda *at: seen.append(at)).meter(5)
    count(2)
    count(3)
    assert seen == [(2, 5), (5, 5)]


@pytest.mark.parametrize("missing", ["meta.json", "scores.parquet", "tensors.safetensors"])
def test_a_result_with_a_missing_file_is_computed_again(bench, lab, tmp_path, missing):
    bench.run(lab, tmp_path)
    (tmp_path / "results/demo.first" / missing).unlink()
    bench.run(lab, tmp_path)
    assert bench.computed == ["demo.first", "demo.second", "demo.first"]


def test_another_model_of_the_same_name_is_computed_again(bench, lab, tmp_path):
    bench.run(lab, tmp_path)
    changed = Lab.of(replace(lab.loaded, fingerprint="another"))
    bench.run(changed, tmp_path, "demo.first")
    assert bench.computed == ["demo.first", "demo.second", "demo.first"]
    # What was not computed again is no longer listed as valid.
    assert set(json.loads((tmp_path / "run.json").read_text())["experiments"]) == {"demo.first"}


def test_leftovers_of_an_earlier_result_are_removed(bench, lab, tmp_path):
    bench.run(lab, tmp_path)
    place = tmp_path / "results/demo.first"
    (place / "old.parquet").write_bytes(b"")
    (place / "meta.json").unlink()
    bench.run(lab, tmp_path)
    assert sorted(path.name for path in place.iterdir()) == ["meta.json", "scores.parquet", "tensors.safetensors"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (Settings(seed=1), "seed 52, task max, prompt paper, and this one"),
        (Settings("quick"), "size paper"),
        (Settings(task="min"), "max"),
    ],
)
def test_a_folder_of_another_run_is_refused(bench, lab, tmp_path, settings, words):
    bench.run(lab, tmp_path)
    with pytest.raises(NumberlineError, match=words):
        bench.run(lab, tmp_path, settings=settings)


def test_folders_that_cannot_be_used_are_refused(bench, lab, tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(NumberlineError, match="holds no run"):
        bench.run(lab, tmp_path)
    with pytest.raises(NumberlineError, match="is a file"):
        bench.run(lab, tmp_path / "file")
    with pytest.raises(NumberlineError, match="is a file"):
        bench.run(lab, tmp_path / "file" / "run")
    (tmp_path / "run").mkdir()
    (tmp_path / "run/run.json").write_text("{not json")  # and no result that says whose it is
    with pytest.raises(NumberlineError, match=r"run\.json cannot be read"):
        bench.run(lab, tmp_path / "run")
    with pytest.raises(NumberlineError, match=r"no result 'demo\.first'"):
        RunFolder(tmp_path / "empty").load("demo.first")
    assert bench.computed == []


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_whole(path, b"old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", fail)
        with pytest.raises(NumberlineError, match="No space left"):
            write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"


def test_selection(bench):
    assert [e.id for e in select(["demo.second"], bench.experiments)] == ["demo.first", "demo.second"]
    assert [e.id for e in select(["demo.first"], bench.experiments)] == ["demo.first"]
    with pytest.raises(NumberlineError, match="'nothing'"):
        select(["demo.first", "nothing"], bench.experiments)
    with pytest.raises(NumberlineError, match="declared twice"):
        index(*bench.experiments.values(), *bench.experiments.values())
    circle = index(
        Experiment("a", lambda *_: Result({}, 0), needs=("b",)), Experiment("b", lambda *_: Result({}, 0), needs=("a",))
    )
    with pytest.raises(NumberlineError, match="circle"):
        select(["a"], circle)
    with pytest.raises(NumberlineError, match="'b' is needed"):
        select(["a"], {"a": circle["a"]})


def test_every_registered_experiment_is_complete():
    assert {e.id for e in select()} == set(EXPERIMENTS)
    for id, found in EXPERIMENTS.items():
        assert id == found.id
        assert found.question.endswith("?"), f"{id} asks no question"


def test_names_that_would_leave_the_folder_are_refused():
    with pytest.raises(NumberlineError, match="cannot be called"):
        Result.of({"../up": []}, n=0)
    with pytest.raises(NumberlineError, match="cannot have the id"):
        Experiment("../up", lambda *_: Result({}, 0))
