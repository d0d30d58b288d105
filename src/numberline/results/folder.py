"""Where are a run's results, and how are they read back? The run folder, a contract that other programs read.

    run.json                        configuration, model, versions, hardware, and the valid results with their seconds
    results/ID/meta.json            id, needs, digest of inputs, n, seconds, and what the other files hold
    results/ID/NAME.parquet         tables
    results/ID/tensors.safetensors  tensors
    subspaces/NAME.safetensors      directions, with their provenance in the header

Every file is written whole. A result's meta.json is removed first and written last: a result without one does not
exist. No pickle is read or written.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import safetensors.torch
from torch import Tensor

from numberline.engine.subspace import Subspace
from numberline.errors import NumberlineError
from numberline.experiments.common.experiment import Result
from numberline.files import make_folder, write_whole

RUN, META, TENSORS = "run.json", "meta.json", "tensors.safetensors"


@dataclass(frozen=True)
class Meta:
    """What is known of a stored result without reading it."""

    id: str
    digest: str
    needs: Mapping[str, str]
    n: int
    seconds: float
    tables: Mapping[str, int] = field(default_factory=dict)
    """Each table's number of rows."""
    tensors: Mapping[str, list[int]] = field(default_factory=dict)
    """Each tensor's shape."""
    subspaces: Mapping[str, int] = field(default_factory=dict)
    """Each subspace's rank."""


@dataclass(frozen=True)
class RunFolder:
    """A run's folder on disk."""

    path: Path

    def about(self) -> dict[str, Any] | None:
        """What run.json says, or None where there is none yet."""
        return _read_json(self.path / RUN)

    def describe(self, about: Mapping[str, Any]) -> None:
        """Write run.json."""
        make_folder(self.path)
        write_whole(self.path / RUN, _json(about))

    def meta(self, id: str) -> Meta | None:
        """A stored result's description, or None if there is no such result, or not all of it."""
        found = _read_json(self.path / "results" / id / META)
        if found is None or set(found) != {entry.name for entry in fields(Meta)}:
            return None
        meta = Meta(**found)
        files = [self.path / "results" / id / file for file in _files(meta)]
        files += [self._subspace(name) for name in meta.subspaces]
        return meta if all(file.is_file() for file in files) else None

    def save(self, id: str, result: Result, digest: str, needs: Mapping[str, str], seconds: float) -> Meta:
        """Store a result in place of an earlier one."""
        meta = Meta(
            id=id,
            digest=digest,
            needs=dict(needs),
            n=result.n,
            seconds=round(seconds, 3),
            tables={name: table.num_rows for name, table in result.tables.items()},
            tensors={name: list(tensor.shape) for name, tensor in result.tensors.items()},
            subspaces={name: subspace.rank for name, subspace in result.subspaces.items()},
        )
        self._check_subspaces(id, result)
        place = self.path / "results" / id
        before = _read_json(place / META) or {}
        make_folder(place)
        (place / META).unlink(missing_ok=True)
        for name, table in result.tables.items():
            sink = pa.BufferOutputStream()
            pq.write_table(table, sink)
            write_whole(place / f"{name}.parquet", sink.getvalue().to_pybytes())
        if result.tensors:
            tensors = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in result.tensors.items()}
            write_whole(place / TENSORS, safetensors.torch.save(tensors))
        for name, subspace in result.subspaces.items():
            make_folder(self.path / "subspaces")
            subspace.save(self._subspace(name))
        write_whole(place / META, _json(asdict(meta)))
        self._remove_leftovers(meta, before.get("subspaces", ()))
        return meta

    def load(self, id: str) -> Result:
        """Read a stored result back."""
        meta, place = self.meta(id), self.path / "results" / id
        if meta is None:
            raise NumberlineError(f"{self.path} has no result {id!r}: make it with numberline run --only {id}")
        tables = {name: pq.read_table(place / f"{name}.parquet") for name in meta.tables}
        tensors: dict[str, Tensor] = safetensors.torch.load_file(place / TENSORS) if meta.tensors else {}
        subspaces = {name: Subspace.load(self._subspace(name), self._fingerprint()) for name in meta.subspaces}
        return Result(tables, meta.n, tensors, subspaces)

    def valid_tables(self) -> dict[str, Result]:
        """The tables, without tensors, of every result that run.json lists as valid."""
        found: dict[str, Result] = {}
        for id, entry in (self.about() or {}).get("experiments", {}).items():
            meta = self.meta(id)
            if meta is not None and meta.digest == entry.get("digest"):
                place = self.path / "results" / id
                found[id] = Result({name: pq.read_table(place / f"{name}.parquet") for name in meta.tables}, meta.n)
        return found

    def _subspace(self, name: str) -> Path:
        return self.path / "subspaces" / f"{name}.safetensors"

    def _fingerprint(self) -> str:
        """The model of this run."""
        return str((self.about() or {}).get("model", {}).get("fingerprint"))

    def _check_subspaces(self, id: str, result: Result) -> None:
        """All results share one folder of subspaces: a name belongs to one of them, and to this run's model."""
        for other in sorted((self.path / "results").glob(f"*/{META}")) if result.subspaces else ():
            meta = self.meta(other.parent.name)
            taken = set(result.subspaces) & set(meta.subspaces) if meta is not None and meta.id != id else set()
            if taken and meta is not None:
                raise NumberlineError(f"{id} and {meta.id} both have a subspace {min(taken)!r}: rename one of them")
        for name, subspace in result.subspaces.items():
            if subspace.provenance.get("model") != self._fingerprint():
                raise NumberlineError(
                    f"the subspace {name!r} of {id} does not say that it was found in this model: "
                    "give it the provenance model=lab.loaded.fingerprint"
                )

    def _remove_leftovers(self, meta: Meta, subspaces: Iterable[str]) -> None:
        """Files of an earlier result of the same id, and halves that a killed process left."""
        kept = {META, *_files(meta)}
        for file in (self.path / "results" / meta.id).iterdir():
            if file.name not in kept:
                file.unlink(missing_ok=True)
        for name in set(subspaces) - set(meta.subspaces):
            self._subspace(name).unlink(missing_ok=True)


def _files(meta: Meta) -> list[str]:
    """The files of a result's own folder beside meta.json."""
    return [f"{name}.parquet" for name in meta.tables] + ([TENSORS] if meta.tensors else [])


def _json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise NumberlineError(f"{path} cannot be read ({error}): delete it, or choose another folder") from error
    if not isinstance(content, dict):
        raise NumberlineError(f"{path} is not a run's file: delete it, or choose another folder")
    return content
