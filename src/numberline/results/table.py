"""How is a table of a result read? Rows are chosen by the values of columns, and come as rows, arrays, a grid, a frame.

    trace = run.table("k2.trace", "trace").where(case="y1", metric="pooled")
    layers, tokens, recovery = trace.grid("layer", "token")
    frame = trace.to_pandas()

What is asked for and is not there (a row, a column, a whole result) is a `NotMeasuredError`, which says what and why.
It is the only exception that claims and figures take as an answer; every other one is a mistake in the code.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from numberline.errors import NumberlineError
from numberline.results.arrays import Array

Row = dict[str, Any]


class NotMeasuredError(NumberlineError):
    """What was asked of a run is not among its results, and why; `not_run` is the experiment that was not run."""

    def __init__(self, why: str, not_run: str | None = None) -> None:
        super().__init__(why)
        self.not_run = not_run


class NoColumnError(NotMeasuredError):
    """A table does not have a column that was asked for."""

    def __init__(self, table: str, columns: Iterable[str], known: Iterable[str]) -> None:
        super().__init__(f"{table} has no column {', '.join(map(repr, columns))}, only {', '.join(known)}")


class TableRow(Row):
    """A row that says, where it is asked for a column that it does not have, which table it is of."""

    def __init__(self, table: str, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.table = table

    def __missing__(self, column: str) -> Any:
        raise NoColumnError(self.table, (column,), self)


@dataclass(frozen=True)
class Table:
    """Rows of a stored table; `name` is for messages, `schema` the types of its columns where they are known."""

    name: str
    rows: tuple[Row, ...]
    columns: tuple[str, ...]
    schema: pa.Schema | None = None

    @classmethod
    def of(cls, name: str, table: pa.Table) -> "Table":
        """The rows of an arrow table."""
        rows = tuple(TableRow(name, row) for row in table.to_pylist())
        return cls(name, rows, tuple(table.column_names), table.schema)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def where(self, **values: Any) -> "Table":
        """The rows whose columns have these values; a tuple means any of them."""
        self._check(values)
        chosen = [row for row in self.rows if all(_matches(row[key], value) for key, value in values.items())]
        said = ", ".join(f"{key}={value}" for key, value in values.items())
        return Table(f"{self.name} [{said}]" if said else self.name, tuple(chosen), self.columns, self.schema)

    def one(self, **values: Any) -> Row:
        """The only row with these values."""
        found = self.where(**values)
        if len(found) != 1:
            raise NotMeasuredError(f"{found.name} has {len(found)} rows where one was expected")
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

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame."""
        try:
            return pa.Table.from_pylist(list(self.rows), self.schema).to_pandas()
        except ImportError as error:
            raise NumberlineError("pandas is not installed: install it with pip install pandas") from error

    def _check(self, columns: Iterable[str]) -> None:
        missing = [column for column in columns if column not in self.columns]
        if missing:
            raise NoColumnError(self.name, missing, self.columns)


def _matches(value: Any, wanted: Any) -> bool:
    return bool(value in wanted) if isinstance(wanted, tuple) else bool(value == wanted)


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)
