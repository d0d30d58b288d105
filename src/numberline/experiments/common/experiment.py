"""What is an experiment? A question with an id, its needs, and a function from a Lab and earlier results to a Result.

    @experiment("k2.trace", needs=("behaviour.pairs",))
    def trace(lab: Lab, context: Context) -> Result:
        \"""Where is each operand held, layer by layer?\"""
        …
        return Result.of({"recovery": rows}, tensors={"scores": scores}, n=len(examples))

An experiment draws every population from `context.sizes` and `context.seed` and reads earlier results from
`context.needs`, so that its id, its code, the model and the context say everything about its result.

What cannot be measured on this model and task (a role that was not found, too few values) is said so: the
experiment raises `MissingError`, and its result is one table, `missing`, with the reason.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from torch import Tensor

from numberline.engine.lab import Lab
from numberline.engine.subspace import Subspace
from numberline.errors import NumberlineError, TooFewError
from numberline.seed import SEED
from numberline.tasks.concept import Concept
from numberline.tasks.concepts.whole_numbers import MAX
from numberline.tasks.sizes import PAPER, Sizes

Rows = Sequence[Mapping[str, Any]]
Columns = Mapping[str, Sequence[Any]]

NAME = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*")
ID = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)*")


@dataclass(frozen=True, eq=False)
class Result:
    """Tidy tables, one row per condition and metric, and tensors; `n` is the number of examples that it rests on.

    `subspaces` are the directions found, with their provenance: a run keeps each under its name in one common folder.
    """

    tables: Mapping[str, pa.Table]
    n: int
    tensors: Mapping[str, Tensor] = field(default_factory=dict)
    subspaces: Mapping[str, Subspace] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in (*self.tables, *self.tensors, *self.subspaces):
            if not NAME.fullmatch(name):
                raise NumberlineError(f"a table, tensor or subspace cannot be called {name!r}: use a-z, 0-9 and _")

    @classmethod
    def of(
        cls,
        tables: Mapping[str, Rows | Columns | pa.Table],
        n: int,
        tensors: Mapping[str, Tensor] | None = None,
        subspaces: Mapping[str, Subspace] | None = None,
    ) -> "Result":
        """A result from plain tables: lists of rows, or columns by name."""
        return cls({name: _table(table) for name, table in tables.items()}, n, tensors or {}, subspaces or {})

    def rows(self, table: str) -> list[dict[str, Any]]:
        """A table as a list of rows."""
        if table not in self.tables:
            raise NumberlineError(f"the result has no table {table!r}: it has {', '.join(self.tables) or 'none'}")
        rows: list[dict[str, Any]] = self.tables[table].to_pylist()
        return rows


def _table(table: Rows | Columns | pa.Table) -> pa.Table:
    if isinstance(table, pa.Table):
        return table
    return pa.table(dict(table)) if isinstance(table, Mapping) else pa.Table.from_pylist(list(table))


class MissingError(NumberlineError):
    """An experiment cannot be done on this model, and why."""


@dataclass(frozen=True)
class Context:
    """What an experiment is given beside the model. `progress` is told (done, total) in units of its own.

    `roles` are the user's own choices of sites ({"number_layer": 13}), which stand above what a run finds.
    """

    sizes: Sizes = PAPER
    seed: int = SEED
    concept: Concept = MAX
    needs: Mapping[str, Result] = field(default_factory=dict)
    progress: Callable[[int, int], object] = lambda *_: None
    roles: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def need(self, id: str) -> Result:
        """An earlier result; where it is missing itself, so is what builds on it."""
        if id not in self.needs:
            raise NumberlineError(f"the result {id!r} was not given: name it among the experiment's needs")
        result = self.needs[id]
        if "missing" in result.tables:
            raise MissingError(f"{id} is missing: {result.rows('missing')[0]['reason']}")
        return result

    def meter(self, total: int) -> Callable[[int], None]:
        """A counter that reports progress: call it with how much more was done."""
        done = 0

        def advance(more: int) -> None:
            nonlocal done
            done += more
            self.progress(min(done, total), total)

        return advance


@dataclass(frozen=True)
class Experiment:
    """A question that a run can answer; what is drawn from it says so itself."""

    id: str
    function: Callable[[Lab, Context], Result]
    needs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not ID.fullmatch(self.id):
            raise NumberlineError(f"an experiment cannot have the id {self.id!r}: use a-z, 0-9, _ and dots")

    @property
    def question(self) -> str:
        """The question it answers: the first line of its docstring."""
        return (self.function.__doc__ or self.id).strip().splitlines()[0]

    def __call__(self, lab: Lab, context: Context) -> Result:
        """Answer it, or say what is missing."""
        try:
            return self.function(lab, context)
        except (MissingError, TooFewError) as missing:
            return Result.of({"missing": [{"reason": str(missing)}]}, n=0)


def experiment(id: str, needs: Sequence[str] = ()) -> Callable[[Callable[[Lab, Context], Result]], Experiment]:
    """Make an experiment of a function."""
    return lambda function: Experiment(id, function, tuple(needs))
