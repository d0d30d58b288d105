"""What does a run folder hold? Its results, read without a model and without torch.

The folder is a contract (`numberline.results.folder` writes it): meta.json says which tables and tensors a result has.
Figures read tables as `Table`, which selects rows by the values of columns, and tensors as numpy arrays.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import safetensors.numpy
from numpy.typing import NDArray

from numberline.errors import NumberlineError

Array = NDArray[Any]
Row = dict[str, Any]


class CannotDrawError(NumberlineError):
    """A figure or table cannot be made from this run, and why."""


@dataclass(frozen=True)
class Table:
    """Rows of a stored table; `name` is for messages."""

    name: str
    rows: tuple[Row, ...]
    columns: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def where(self, **values: Any) -> "Table":
        """The rows whose columns have these values; a tuple means any of them."""
        self._check(values)
        chosen = [row for row in self.rows if all(_matches(row[key], value) for key, value in values.items())]
        said = ", ".join(f"{key}={value}" for key, value in values.items())
        return Table(f"{self.name} [{said}]" if said else self.name, tuple(chosen), self.columns)

    def one(self, **values: Any) -> Row:
        """The only row with these values."""
        found = self.where(**values)
        if len(found) != 1:
            raise CannotDrawError(f"{found.name} has {len(found)} rows where one was expected")
        return found.rows[0]

    def array(self, column: str) -> Array:
        """A column as an array."""
        self._check((column,))
        return np.asarray([row[column] for row in self.rows])

    def unique(self, column: str) -> list[Any]:
        """A column's values in the order in which they first appear."""
        self._check((column,))
        return list(dict.fromkeys(row[column] for row in self.rows))

    def has(self, *columns: str) -> bool:
        """Whether the table has these columns."""
        return set(columns) <= set(self.columns)

    def grid(self, down: str, across: str, value: str = "mean") -> tuple[list[Any], list[Any], Array]:
        """A column laid out over two others: their sorted values, and the matrix (nan where there is no row)."""
        self._check((down, across, value))
        rows, columns = sorted({row[down] for row in self.rows}), sorted({row[across] for row in self.rows})
        matrix = np.full((len(rows), len(columns)), np.nan)
        for row in self.rows:
            matrix[rows.index(row[down]), columns.index(row[across])] = _number(row[value])
        return rows, columns, matrix

    def _check(self, columns: Any) -> None:
        missing = [column for column in columns if column not in self.columns]
        if missing:
            raise CannotDrawError(
                f"{self.name} has no column {', '.join(map(repr, missing))}, only {', '.join(self.columns)}"
            )


def _matches(value: Any, wanted: Any) -> bool:
    return bool(value in wanted) if isinstance(wanted, tuple) else bool(value == wanted)


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)


@dataclass(frozen=True)
class StoredResult:
    """One experiment's result."""

    id: str
    path: Path
    meta: Mapping[str, Any]
    _read: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def n(self) -> int:
        """The number of examples that it rests on."""
        return int(self.meta["n"])

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of its tables."""
        return tuple(self.meta["tables"])

    @property
    def missing(self) -> str | None:
        """Why the experiment could not be done on this model, if it could not."""
        if "missing" not in self.tables:
            return None
        rows = self.table("missing").rows
        return str(rows[0]["reason"]) if rows else "the experiment could not be done on this model"

    def table(self, name: str) -> Table:
        """A stored table."""
        if name not in self.tables:
            raise CannotDrawError(f"{self.id} has no table {name!r}, only {', '.join(self.tables)}")
        if name not in self._read:
            found = pq.read_table(self.path / f"{name}.parquet")
            self._read[name] = Table(f"{self.id}/{name}", tuple(found.to_pylist()), tuple(found.column_names))
        table: Table = self._read[name]
        return table

    def tensor(self, name: str) -> Array:
        """A stored tensor as a numpy array."""
        if name not in self.meta["tensors"]:
            raise CannotDrawError(f"{self.id} has no tensor {name!r}, only {', '.join(self.meta['tensors']) or 'none'}")
        if "tensors.safetensors" not in self._read:
            self._read["tensors.safetensors"] = safetensors.numpy.load_file(self.path / "tensors.safetensors")
        tensor: Array = self._read["tensors.safetensors"][name]
        return tensor


@dataclass(frozen=True)
class Stored:
    """A run folder, read."""

    path: Path
    about: Mapping[str, Any]
    _results: dict[str, StoredResult | None] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def open(cls, path: Path) -> "Stored":
        """Read a run's description."""
        about = _json(path / "run.json")
        if about is None:
            raise NumberlineError(f"{path} holds no run (no run.json): give a folder that numberline run has made")
        return cls(path, about)

    def find(self, id: str) -> StoredResult | None:
        """A stored result, complete and of this run's configuration, or None."""
        if id not in self._results:
            self._results[id] = self._find(id)
        return self._results[id]

    def _find(self, id: str) -> StoredResult | None:
        place = self.path / "results" / id
        meta = _json(place / "meta.json")
        listed = self.about.get("experiments", {}).get(id)
        if meta is None or listed is None or listed.get("digest") != meta.get("digest"):
            return None
        return StoredResult(id, place, meta)

    def result(self, id: str) -> StoredResult:
        """A stored result that could be measured; says why where there is none."""
        found = self.find(id)
        if found is None:
            raise CannotDrawError(f"{id} was not run (numberline run … --only {id})")
        if found.missing is not None:
            raise CannotDrawError(f"{id} could not be measured on this model: {found.missing}")
        return found

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The ids of all results, in the order of run.json."""
        return tuple(id for id in self.about.get("experiments", {}) if self.find(id) is not None)


def _json(path: Path) -> dict[str, Any] | None:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise NumberlineError(f"{path} cannot be read ({error}): run it again, or choose another folder") from error
    return content if isinstance(content, dict) else None
