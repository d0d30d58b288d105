"""What did an experiment find? Tidy tables, arrays, subspaces, roles; or why it could not be done on this model.

    Result.of({"recovery": rows}, n=len(examples), tensors={"scores": scores}, roles=[number_layer])

A result is the same whether an experiment has just made it or a folder holds it; then its tables and tensors are read
when they are first asked for.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pyarrow as pa

from numberline.errors import NumberlineError
from numberline.results.arrays import Array, as_array
from numberline.results.names import NAME
from numberline.results.roles import Role
from numberline.results.subspace import Based, StoredSubspace
from numberline.results.table import NotMeasuredError, Row, Table

Rows = Sequence[Mapping[str, Any]]
Columns = Mapping[str, Sequence[Any]]
Value = TypeVar("Value")


class Lazy(Mapping[str, Value]):
    """Named values, each read when it is first asked for."""

    def __init__(self, names: Iterable[str], read: Callable[[str], Value]) -> None:
        self._names = dict.fromkeys(names)
        self._read = read
        self._known: dict[str, Value] = {}

    def __getitem__(self, name: str) -> Value:
        if name not in self._known:
            if name not in self._names:
                raise KeyError(name)
            self._known[name] = self._read(name)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@dataclass(frozen=True, eq=False)
class Result:
    """Tidy tables, one row per condition and metric, and arrays; `n` is the number of examples that it rests on.

    `subspaces` are the directions found, with their provenance: a run keeps each under its name in one common folder.
    `missing` says why the experiment could not be done on this model, or not all of it. Where the reason is that an
    earlier result is missing, `root` is the experiment at which it began.
    """

    tables: Mapping[str, pa.Table]
    n: int
    tensors: Mapping[str, Array] = field(default_factory=dict)
    subspaces: Mapping[str, StoredSubspace] = field(default_factory=dict)
    roles: tuple[Role, ...] = ()
    missing: str | None = None
    root: str | None = None
    id: str = ""
    """The experiment, for messages."""
    _tables: dict[str, Table] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        for name in (*self.tables, *self.tensors, *self.subspaces):
            if not NAME.fullmatch(name):
                raise NumberlineError(f"a table, tensor or subspace cannot be called {name!r}: use a-z, 0-9 and _")

    @classmethod
    def of(
        cls,
        tables: Mapping[str, Rows | Columns | pa.Table],
        n: int,
        tensors: Mapping[str, Any] | None = None,
        subspaces: Mapping[str, Based] | None = None,
        roles: Iterable[Role] = (),
        missing: str | None = None,
    ) -> "Result":
        """A result from plain tables (lists of rows, or columns by name) and arrays of numpy or torch."""
        return cls(
            {name: _table(table) for name, table in tables.items()},
            n,
            {name: as_array(tensor) for name, tensor in (tensors or {}).items()},
            {name: StoredSubspace.of(subspace) for name, subspace in (subspaces or {}).items()},
            tuple(roles),
            missing,
        )

    @property
    def why(self) -> str:
        """Why it is missing, and through which earlier result; nothing where it is not."""
        return f"{self.root} is missing: {self.missing}" if self.root else self.missing or ""

    def table(self, name: str) -> Table:
        """A table."""
        if name not in self._tables:
            shown = f"{self.id}/{name}" if self.id else name
            self._tables[name] = Table.of(shown, self._named("table", self.tables, name))
        return self._tables[name]

    def rows(self, table: str) -> list[Row]:
        """A table as a list of rows."""
        return list(self.table(table))

    def tensor(self, name: str) -> Array:
        """An array."""
        return self._named("tensor", self.tensors, name)

    def subspace(self, name: str) -> StoredSubspace:
        """A subspace."""
        return self._named("subspace", self.subspaces, name)

    def role(self, name: str) -> Role | None:
        """What it says of a role, if it does."""
        return next((role for role in self.roles if role.name == name), None)

    def _named(self, what: str, named: Mapping[str, Value], name: str) -> Value:
        if name not in named:
            known = ", ".join(named) or "none"
            raise NotMeasuredError(f"{self.id or 'the result'} has no {what} {name!r}, only {known}")
        return named[name]


def _table(table: Rows | Columns | pa.Table) -> pa.Table:
    if isinstance(table, pa.Table):
        return table
    return pa.table(dict(table)) if isinstance(table, Mapping) else pa.Table.from_pylist(list(table))
