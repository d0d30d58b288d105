"""The script that compares two run folders sees every bit that differs, and reads the folders of earlier versions."""

import importlib.util
import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import safetensors.numpy

SCRIPT = Path(__file__).parents[1] / "scripts/compare_runs.py"
TABLE = {"layer": [0, 1, 2], "mean": [0.1, 0.2, math.nan]}
ROLE = {"name": "number_layer", "value": [1], "score": 2.25, "margin": math.nan, "found": True, "why": "it is there"}
READ = {**ROLE, "margin": None}
TENSOR = np.array([[1.0, -0.0], [math.nan, 2.0]], dtype=np.float32)


@pytest.fixture(scope="module")
def compare():
    spec = importlib.util.spec_from_file_location("compare_runs", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["compare_runs"] = module
    spec.loader.exec_module(module)
    return module


def write(run, id="k2.trace", tables=None, tensor=TENSOR, basis=TENSOR, n=64, **fields):
    """A result as the package writes it, with roles and a reason in tables of their own or in `fields`."""
    tables = {"trace": TABLE} if tables is None else tables
    place = run / "results" / id
    place.mkdir(parents=True)
    (run / "subspaces").mkdir(exist_ok=True)
    for name, columns in tables.items():
        rows = pa.Table.from_pylist(columns) if isinstance(columns, list) else pa.table(columns)
        pq.write_table(rows, place / f"{name}.parquet")
    safetensors.numpy.save_file({"field": tensor}, place / "tensors.safetensors")
    safetensors.numpy.save_file({"basis": basis}, run / "subspaces/u.safetensors")
    meta = {"id": id, "n": n, "tables": dict.fromkeys(tables, 3), "tensors": {"field": [2, 2]}, "subspaces": {"u": 1}}
    (place / "meta.json").write_text(json.dumps(meta | fields))
    return run


def found(compare, *runs):
    return {difference.place: difference.what for difference in compare.differences(*runs)}


def test_equal_folders_are_equal_though_they_hold_nan(compare, tmp_path):
    assert found(compare, write(tmp_path / "a"), write(tmp_path / "b", seconds=3.0, digest="other")) == {}


@pytest.mark.parametrize("stated", [[READ], {"number_layer": READ}], ids=["rows", "by name"])
def test_roles_and_reasons_are_the_same_in_tables_and_in_fields(compare, tmp_path, stated):
    old = write(tmp_path / "old", tables={"trace": TABLE, "roles": [ROLE]})
    new = write(tmp_path / "new", roles=stated, missing=None)
    assert found(compare, old, new) == {}
    write(old, "k2.flag", tables={"missing": [{"reason": "no flag"}]})
    write(new, "k2.flag", tables={}, missing="no flag", roles=[])
    assert found(compare, old, new) == {}


def test_another_role_or_reason_is_seen(compare, tmp_path):
    old = write(tmp_path / "old", tables={"trace": TABLE, "roles": [ROLE]})
    new = write(tmp_path / "new", roles=[{**READ, "value": [2]}])
    assert list(found(compare, old, new)) == ["k2.trace: roles.value"]
    write(old, "k2.flag", tables={"missing": [{"reason": "no flag"}]})
    write(new, "k2.flag", tables={}, missing="no head")
    assert set(found(compare, old, new)) == {"k2.trace: roles.value", "k2.flag: missing.reason"}


CHANGED = {
    "a value": ({"tables": {"trace": {**TABLE, "mean": [0.1, 0.2 + 1e-16, math.nan]}}}, "k2.trace: trace.mean"),
    "a zero's sign": ({"tensor": np.abs(TENSOR)}, "k2.trace: field"),
    "a subspace": ({"basis": TENSOR + np.float32(1e-7)}, "k2.trace: subspace u: basis"),
    "a dtype": ({"tensor": TENSOR.astype(np.float64)}, "k2.trace: field"),
    "a type": ({"tables": {"trace": {**TABLE, "layer": [0.0, 1.0, 2.0]}}}, "k2.trace: trace.layer"),
    "rows": ({"tables": {"trace": {name: column[:2] for name, column in TABLE.items()}}}, "k2.trace: trace.layer"),
    "a column": ({"tables": {"trace": {"layer": TABLE["layer"]}}}, "k2.trace: trace: column mean"),
    "a table": ({"tables": {"trace": TABLE, "more": TABLE}}, "k2.trace: table more"),
    "n": ({"n": 65}, "k2.trace: n"),
}


@pytest.mark.parametrize(("changed", "place"), CHANGED.values(), ids=CHANGED)
def test_every_difference_is_seen(compare, tmp_path, changed, place):
    assert place in found(compare, write(tmp_path / "a"), write(tmp_path / "b", **changed))


def test_the_command_says_what_differs_and_how_much(tmp_path):
    first, second = write(tmp_path / "a"), write(tmp_path / "b", tensor=TENSOR + np.float32(0.5))
    write(first, "k2.more")

    def run(*folders):
        return subprocess.run([sys.executable, SCRIPT, *folders], capture_output=True, text=True, check=False)

    same, other = run(first, first), run(first, second)
    assert (same.returncode, same.stdout) == (0, "2 results, equal bit for bit\n")
    assert other.returncode == 1
    assert "k2.trace: field: 3 of 4 values, largest difference 0.5" in other.stdout
    assert f"k2.more: only in {first}" in other.stdout
    assert run(first, tmp_path / "none").returncode == 1
