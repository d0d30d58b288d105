"""Do two run folders hold the same numbers, bit for bit? usage: python scripts/compare_runs.py A B

1. Take every result that either folder holds (results/ID with a meta.json).
2. Read its tables (parquet), tensors and subspaces (safetensors) from the files alone, so that folders of different
   versions of the package can be compared; roles and "could not be measured" count as tables, wherever a version puts
   them (their own parquet files, or fields of meta.json).
3. Compare column by column and tensor by tensor: type, shape, and every bit of every value.
4. Print what differs, with the largest difference; the exit code is 0 where nothing does, 1 where something does.

Digests, seconds and the provenance of subspaces are not numbers that were measured, and are not compared.
"""

import argparse
import json
import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import safetensors.numpy
from numpy.typing import NDArray

Columns = dict[str, list[Any]]


@dataclass(frozen=True)
class Stored:
    """One result as it lies on disk: columns by table, and arrays by name."""

    n: int
    tables: Mapping[str, Columns] = field(default_factory=dict)
    types: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Each column's type, by table; tables that come from meta.json have none."""
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Difference:
    """One thing that is not the same in both folders."""

    place: str
    what: str


def read(run: Path, id: str) -> Stored | None:
    """A result of a run folder of any version, or None where there is none."""
    place = run / "results" / id
    if not (place / "meta.json").is_file():
        return None
    meta = json.loads((place / "meta.json").read_text(encoding="utf-8"))
    read = {name: pq.read_table(place / f"{name}.parquet") for name in meta["tables"]}
    tables: dict[str, Columns] = {name: table.to_pydict() for name, table in read.items()}
    types = {name: {column.name: str(column.type) for column in table.schema} for name, table in read.items()}
    for name, column in (("roles", None), ("missing", "reason")):
        stated = meta.get(name) or tables.pop(name, None)
        types.pop(name, None)
        if stated:
            tables[name] = _stated(stated, column)
    arrays: dict[str, NDArray[Any]] = {}
    if meta["tensors"]:
        arrays |= safetensors.numpy.load_file(place / "tensors.safetensors")
    for name in meta["subspaces"]:
        found = safetensors.numpy.load_file(run / "subspaces" / f"{name}.safetensors")
        arrays |= {f"subspace {name}: {part}": array for part, array in found.items()}
    return Stored(int(meta["n"]), tables, types, arrays)


def _stated(stated: Any, column: str | None) -> Columns:
    """Roles or a reason as columns, from a table's columns, a list of rows, rows by name, or a sentence.

    JSON has no "not a number": there it is null, and so it is here.
    """
    if isinstance(stated, str):
        return {str(column): [stated]}
    if isinstance(stated, dict) and all(isinstance(values, list) for values in stated.values()):
        columns = stated
    else:
        rows = stated if isinstance(stated, list) else [{"name": name, **row} for name, row in stated.items()]
        columns = {key: [row.get(key) for row in rows] for key in (rows[0] if rows else {})}
    return {key: [None if _is_nan(value) else value for value in values] for key, values in columns.items()}


def differences(first: Path, second: Path) -> Iterator[Difference]:
    """Everything that is not the same in two run folders, result by result."""
    for id in sorted({path.parent.name for run in (first, second) for path in run.glob("results/*/meta.json")}):
        one, other = read(first, id), read(second, id)
        if one is None or other is None:
            yield Difference(id, f"only in {first if other is None else second}")
            continue
        if one.n != other.n:
            yield Difference(f"{id}: n", f"{one.n} and {other.n}")
        yield from _only_in_one(f"{id}: table", one.tables, other.tables)
        for name in _in_both(one.tables, other.tables):
            yield from _columns(f"{id}: {name}", one, other, name)
        yield from _only_in_one(f"{id}: tensor", one.arrays, other.arrays)
        for name in _in_both(one.arrays, other.arrays):
            what = _array_difference(one.arrays[name], other.arrays[name])
            if what:
                yield Difference(f"{id}: {name}", what)


def _columns(place: str, one: Stored, other: Stored, table: str) -> Iterator[Difference]:
    """What differs between the two tables of one name."""
    yield from _only_in_one(f"{place}: column", one.tables[table], other.tables[table])
    for column in _in_both(one.tables[table], other.tables[table]):
        types = {stored.types[table][column] for stored in (one, other) if table in stored.types}
        left, right = one.tables[table][column], other.tables[table][column]
        what = f"types {' and '.join(sorted(types))}" if len(types) > 1 else _list_difference(left, right)
        if what:
            yield Difference(f"{place}.{column}", what)


def _only_in_one(what: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[Difference]:
    for name in sorted(one.keys() ^ other.keys()):
        yield Difference(f"{what} {name}", f"only in the {'first' if name in one else 'second'}")


def _in_both(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    return [name for name in one if name in other]


def _list_difference(one: list[Any], other: list[Any]) -> str | None:
    """How two columns differ. The shortest text that reads back as a float names its bits, but for a nan's."""
    if len(one) != len(other):
        return f"{len(one)} and {len(other)} rows"
    apart = [row for row, (left, right) in enumerate(zip(one, other, strict=True)) if repr(left) != repr(right)]
    if not apart:
        return None
    numbers = [(one[row], other[row]) for row in apart if _is_number(one[row]) and _is_number(other[row])]
    said = f"{len(apart)} of {len(one)} rows, first row {apart[0]}: {one[apart[0]]!r} and {other[apart[0]]!r}"
    return f"{said}, largest difference {max(abs(a - b) for a, b in numbers):.3g}" if numbers else said


def _array_difference(one: NDArray[Any], other: NDArray[Any]) -> str | None:
    """How two arrays differ."""
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        return f"{one.dtype}{list(one.shape)} and {other.dtype}{list(other.shape)}"
    if one.tobytes() == other.tobytes():
        return None
    bits = [np.ascontiguousarray(array).view(f"V{array.itemsize}") for array in (one, other)]
    apart = int((bits[0] != bits[1]).sum())
    largest = np.nanmax(np.abs(one.astype(float) - other.astype(float)), initial=0)
    return f"{apart} of {one.size} values, largest difference {largest:.3g}"


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def main() -> None:
    """Compare two run folders, and say what differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    runs = parser.parse_args()
    for run in (runs.first, runs.second):
        if not any(run.glob("results/*/meta.json")):
            sys.exit(f"{run} holds no result: give a folder that numberline run has made")
    found = list(differences(runs.first, runs.second))
    for difference in found:
        print(f"{difference.place}: {difference.what}")
    compared = len(list(runs.first.glob("results/*/meta.json")))
    print(f"{len(found)} differences" if found else f"{compared} results, equal bit for bit")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
