"""What does a result look like on disk? Tables are parquet, tensors and subspaces safetensors, each with a digest."""

import hashlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import safetensors.numpy
from safetensors import SafetensorError, safe_open

from numberline.results.arrays import Array
from numberline.results.result import Result
from numberline.results.schema import DamagedError, Meta

TENSORS, SUBSPACES = "tensors.safetensors", "subspaces"


def files(meta: Meta) -> list[str]:
    """The files of a result beside meta.json: its own, and in the folder that all share its subspaces."""
    own = [f"{name}.parquet" for name in meta.tables] + ([TENSORS] if meta.tensors else [])
    return own + [subspace(name) for name in meta.subspaces]


def subspace(name: str) -> str:
    """The file of a subspace."""
    return f"{SUBSPACES}/{name}.safetensors"


def contents(result: Result) -> dict[str, bytes]:
    """What is to be written, by file."""
    found: dict[str, bytes] = {}
    for name, table in result.tables.items():
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink)
        found[f"{name}.parquet"] = sink.getvalue().to_pybytes()
    if result.tensors:
        found[TENSORS] = safetensors.numpy.save(dict(result.tensors))
    return found | {subspace(name): each.content for name, each in result.subspaces.items()}


def sha(content: bytes) -> str:
    """The digest of a file's content."""
    return hashlib.sha256(content).hexdigest()[:16]


def digest(path: Path) -> str | None:
    """A file's digest; None where it cannot be read."""
    try:
        return sha(path.read_bytes())
    except OSError:
        return None


def read_table(path: Path, id: str) -> pa.Table:
    """A table of a result."""
    try:
        return pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise damaged(path, id) from error


def read_tensor(path: Path, name: str, id: str) -> Array:
    """A tensor of a result."""
    try:
        with safe_open(path, "np") as file:
            found: Array = file.get_tensor(name)
    except (OSError, SafetensorError) as error:
        raise damaged(path, id) from error
    return found


def damaged(path: Path, id: str) -> DamagedError:
    """What is said of a file that is not as it was written."""
    return DamagedError(f"{path} is damaged: the command that made the run makes {id} again, and nothing else")
