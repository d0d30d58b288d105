"""Tables and results: rows are chosen by columns, and what is not there is said by name."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
import torch

from numberline.engine.subspace import Subspace
from numberline.errors import NumberlineError
from numberline.results.result import Result
from numberline.results.subspace import StoredSubspace
from numberline.results.table import NoColumnError, NotMeasuredError, Table

ROWS = [{"case": case, "layer": layer, "mean": 10.0 * layer + len(case)} for layer in (2, 0) for case in ("y1", "y22")]


@pytest.fixture
def table() -> Table:
    return Table.of("k2.x/rows", pa.Table.from_pylist(ROWS))


def test_rows_are_chosen_by_the_values_of_columns(table):
    assert [row["mean"] for row in table.where(case="y1")] == [22.0, 2.0]
    assert len(table.where(layer=(0, 2), case="y22")) == 2
    assert table.one(case="y22", layer=0)["mean"] == 3.0
    assert table.unique("layer") == [2, 0]
    assert table.array("mean").tolist() == [22.0, 23.0, 2.0, 3.0]
    assert table.has("case", "mean")
    assert not table.has("nope")


def test_a_grid_has_nan_where_there_is_no_row(table):
    layers, cases, matrix = Table(table.name, table.rows[:3], table.columns).grid("layer", "case")
    assert (layers, cases) == ([0, 2], ["y1", "y22"])
    assert np.array_equal(matrix, [[2.0, np.nan], [22.0, 23.0]], equal_nan=True)


def test_a_frame_has_the_types_of_the_table(table):
    frame = table.where(case="y1").to_pandas()
    assert list(frame.columns) == ["case", "layer", "mean"]
    assert frame["mean"].tolist() == [22.0, 2.0]
    empty = table.where(case="none").to_pandas()
    assert (len(empty), empty["layer"].dtype) == (0, "int64")


def test_without_pandas_a_sentence_says_what_to_install():
    code = (
        "import sys\nclass Without:\n    def find_spec(self, name, *_):\n"
        "        if name == 'pandas': raise ImportError\n"
        "sys.meta_path.insert(0, Without())\nimport pyarrow as pa\nfrom numberline.results.table import Table\n"
        "Table.of('x', pa.table({'a': [1]})).to_pandas()"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert "NumberlineError: pandas is not installed: install it with pip install pandas" in found.stderr


def test_a_column_that_is_not_there_is_named_with_its_table(table):
    said = "k2.x/rows has no column 'nope', only case, layer, mean"
    for ask in (lambda: table.where(nope=1), lambda: table.array("nope"), lambda: table.rows[0]["nope"]):
        with pytest.raises(NoColumnError) as error:
            ask()
        assert str(error.value) == said
    assert table.rows[0].get("nope") is None
    with pytest.raises(NotMeasuredError, match="has 2 rows where one was expected"):
        table.one(case="y1")


def test_a_result_holds_arrays_of_numpy_whoever_made_them():
    turned = torch.arange(6.0).reshape(2, 3).T.requires_grad_()
    half = torch.tensor([1.5, -2.0], dtype=torch.bfloat16)
    result = Result.of({}, 0, {"turned": turned, "half": half, "one": np.float64(3.0), "mask": torch.tensor([True])})
    assert np.array_equal(result.tensor("turned"), np.arange(6.0).reshape(2, 3).T)
    assert result.tensor("turned").flags.c_contiguous
    assert (result.tensor("half").tolist(), result.tensor("half").dtype) == ([1.5, -2.0], np.float32)
    assert (result.tensor("one").shape, result.tensor("mask").dtype) == ((), bool)
    with pytest.raises(NotMeasuredError, match="the result has no tensor 'nope', only turned, half, one, mask"):
        result.tensor("nope")
    with pytest.raises(NotMeasuredError, match="no table 'nope', only none"):
        result.rows("nope")


def test_a_subspace_is_kept_with_its_provenance(tmp_path):
    space = Subspace.spanned_by(torch.tensor([3.0, 4.0, 0.0]), model="abc", site="resid(1)")
    kept = Result.of({}, 0, subspaces={"u": space}).subspace("u")
    kept.save(str(tmp_path / "u.safetensors"))
    again = StoredSubspace.load(tmp_path / "u.safetensors", model="abc")
    assert again.provenance == {"model": "abc", "site": "resid(1)"}
    assert torch.equal(Subspace.of(again).basis, space.basis)
    with pytest.raises(NumberlineError, match="found in the model abc, not in this one"):
        StoredSubspace.load(tmp_path / "u.safetensors", model="xyz")
    (tmp_path / "u.safetensors").write_bytes(b"not one")
    with pytest.raises(NumberlineError, match="is not a subspace"):
        StoredSubspace.load(tmp_path / "u.safetensors", model="abc")


@pytest.mark.parametrize("module", ["results.folder", "claims", "claims.paper_comparison", "report.page"])
def test_reading_a_run_needs_no_torch(module):
    code = f"import sys, numberline.{module}; print({{'torch', 'transformers', 'pandas'}} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert found.stdout.strip() == "set()"
