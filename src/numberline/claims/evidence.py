"""What does a stored result say? Values with intervals, pulled from the tables of a run, and why one is not there.

A claim reads results through `Evidence`. What two patches do to the same examples is compared in scored.py. A
result that was not run, or that says what was missing on this model, raises
`NotMeasuredError` with the reason. Tables of a result that is missing in part are still evidence.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numberline.claims.quantity import Quantity, Row, largest, smallest
from numberline.claims.scored import Scored
from numberline.results.language import PAPER, Language
from numberline.results.result import Result
from numberline.results.table import NotMeasuredError, Table

__all__ = ["Evidence", "NotMeasuredError", "Quantity", "Row", "largest", "smallest"]


@dataclass(frozen=True)
class Evidence:
    """The results of a run, by id, and the words of its concept."""

    results: Mapping[str, Result]
    language: Language = PAPER

    def rows(self, id: str, table: str, **where: Any) -> Table:
        """The rows of a table whose columns have these values; raises where there is none."""
        result = self._result(id)
        if table not in result.tables:
            self._check_there(id, result)
        found = result.table(table)
        found = found.where(**where) if len(found) else found  # an empty table has no columns either
        if not len(found):
            raise NotMeasuredError(f"{found.name} has no row")
        return found

    def one(self, id: str, table: str, **where: Any) -> Quantity:
        """The score of one row."""
        return Quantity.of(self.rows(id, table, **where).one())

    def patch(self, id: str, metric: str, **where: Any) -> Quantity:
        """A patch's score on the evaluation examples."""
        return self.one(id, "patches", examples="evaluation", metric=metric, **where)

    def scored(self, id: str, table: str, **where: Any) -> Scored:
        """The per-example scores beside a table."""
        result, name = self._result(id), f"{table}_scored"
        if name not in result.tables:
            self._check_there(id, result)
            raise NotMeasuredError(f"{id} has no table {name!r}")
        return Scored(f"{id}/{name}", result.tables[name]).where(**where)

    def role(self, name: str, id: str) -> tuple[int, ...]:
        """A role's value, from the result that finds it."""
        result = self._result(id)
        role = result.role(name)
        if role is None:
            self._check_there(id, result)
            raise NotMeasuredError(f"{id} says nothing of the role {name}")
        if not role.found:
            raise NotMeasuredError(f"the role {name} was not found: {role.why}")
        return role.value

    def _result(self, id: str) -> Result:
        if id not in self.results:
            raise NotMeasuredError(f"{id} was not run", not_run=id)
        return self.results[id]

    def _check_there(self, id: str, result: Result) -> None:
        if result.missing is not None:
            raise NotMeasuredError(f"{id} could not be measured: {result.why}")
