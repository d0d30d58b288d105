"""Where are a run's results, and how are they read back? The run folder, a contract that other programs read.

    run.json                        configuration, model, versions, hardware, the valid results and roles
    results/ID/meta.json            id, needs, digest of inputs, n, seconds, roles, what is missing, what is beside it
                                    with its digest, and with what it was made
    results/ID/NAME.parquet         tables
    results/ID/tensors.safetensors  tensors
    subspaces/NAME.safetensors      directions, with their provenance in the header
    work/ID/                        what is computed of an experiment that is not yet finished (`runs/journal.py`)

Every file is written whole. A result's meta.json is removed first and written last: a result without one does not
exist. No pickle is read or written. Tables, tensors and subspaces are read when they are first asked for, and a file
that is not what its digest says is refused:

    run = RunFolder.open("runs/tiny")
    run.table("k2.trace", "trace").where(case="y1").to_pandas()
"""

import contextlib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar

from numberline.errors import NumberlineError
from numberline.files import PARTIAL, check_links, make_folder, remove_leftovers, write_whole
from numberline.results import storage
from numberline.results.names import ID
from numberline.results.result import Lazy, Result
from numberline.results.roles import Role
from numberline.results.schema import FORMAT, About, Configuration, Made, Meta, Schema, read, write
from numberline.results.subspace import StoredSubspace
from numberline.results.table import NotMeasuredError, Table

RUN, META = "run.json", "meta.json"
Known = TypeVar("Known", bound=Schema)


class RunFolder:
    """A run's folder on disk: its one reader and writer."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        check_links(self.path)
        self._files: dict[Path, tuple[tuple[int, ...], Schema]] = {}
        self._results: dict[str, tuple[Meta, Result]] = {}

    @classmethod
    def open(cls, path: str | Path) -> "RunFolder":
        """A folder that holds a run."""
        folder = cls(path)
        _ = folder.about
        return folder

    @property
    def about(self) -> About:
        """What run.json says."""
        found = self.find_about()
        if found is None:
            raise NumberlineError(f"{self.path} holds no run (no {RUN}): give a folder that numberline run has made")
        return found

    def find_about(self) -> About | None:
        """What run.json says, or None where there is none yet."""
        return self._current(self.path / RUN, About)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all results, in the order of run.json."""
        return tuple(id for id in self.about.experiments if self.find(id) is not None)

    @property
    def results(self) -> Mapping[str, Result]:
        """All results by id, also those that could not be measured."""
        return {id: self.load(id) for id in self.ids}

    @property
    def roles(self) -> Mapping[str, Role]:
        """Every role that a result speaks of, found or not."""
        return {role.name: role for result in self.results.values() for role in result.roles}

    @property
    def configurations(self) -> list[Configuration]:
        """What each result says that it was made for, whatever run.json says."""
        found = []
        for place in sorted((self.path / "results").glob(f"*/{META}")):
            with contextlib.suppress(NumberlineError):
                meta = self._current(place, Meta)
                found += [meta.made.configuration] if meta is not None and meta.made is not None else []
        return found

    def result(self, id: str) -> Result:
        """A result that could be measured; says why where there is none."""
        found = self.find(id)
        if found is None:
            raise NotMeasuredError(f"{id} was not run (numberline run … --only {id})", not_run=id)
        if found.missing is not None:
            raise NotMeasuredError(f"{id} could not be measured on this model: {found.why}")
        return found

    def table(self, id: str, name: str) -> Table:
        """A table of a result."""
        return self.result(id).table(name)

    def find(self, id: str) -> Result | None:
        """A result, complete and of this run's configuration, or None."""
        about, meta = self.find_about(), self.meta(id)
        listed = about.experiments.get(id) if about is not None else None
        if meta is None or listed is None or listed.digest != meta.digest:
            return None
        if id not in self._results or self._results[id][0] is not meta:
            self._results[id] = (meta, self._stored(meta))
        return self._results[id][1]

    def has(self, id: str) -> bool:
        """Whether there is such a result, as far as one can tell at a glance."""
        try:
            return self.find(id) is not None
        except NumberlineError:
            return False

    def load(self, id: str) -> Result:
        """The same, where it must be there."""
        found = self.find(id)
        if found is None:
            raise NumberlineError(f"{self.path} has no result {id!r}: make it with numberline run --only {id}")
        return found

    def meta(self, id: str) -> Meta | None:
        """A stored result's description, or None if there is no such result, or not all of it."""
        place = self.path / "results" / id
        found = self._current(place / META, Meta) if ID.fullmatch(id) else None
        if found is None:
            return None
        if found.id != id:
            raise NumberlineError(f"{place} holds the result {found.id!r}: give the folder that name")
        return found if all(self._place(id, file).is_file() for file in storage.files(found)) else None

    def damaged(self, meta: Meta) -> Path | None:
        """A file of a result that is not what its digest says, if there is one."""
        places = {self._place(meta.id, file): meta.files.get(file) for file in storage.files(meta)}
        return next((place for place, digest in places.items() if storage.digest(place) != digest), None)

    def forget(self, id: str) -> None:
        """Have no result of this id: its files stay until they are written again."""
        if ID.fullmatch(id):
            (self.path / "results" / id / META).unlink(missing_ok=True)

    def describe(self, about: About) -> None:
        """Write run.json."""
        make_folder(self.path)
        write(self.path / RUN, about)

    def save(
        self,
        id: str,
        result: Result,
        digest: str,
        needs: Mapping[str, str],
        seconds: float,
        made: Made | None = None,
        peak: int | None = None,
    ) -> Meta:
        """Store a result in place of an earlier one."""
        contents = storage.contents(result)
        meta = Meta(
            format=FORMAT,
            id=id,
            digest=digest,
            needs=dict(needs),
            n=result.n,
            seconds=round(seconds, 3),
            peak_bytes=peak,
            files={file: storage.sha(content) for file, content in contents.items()},
            made=made,
            tables={name: table.num_rows for name, table in result.tables.items()},
            tensors={name: tensor.shape for name, tensor in result.tensors.items()},
            subspaces={name: subspace.rank for name, subspace in result.subspaces.items()},
            roles=result.roles,
            missing=result.missing,
            root=result.root,
        )
        self._check_subspaces(id, result)
        place = self.path / "results" / id
        before = read(place / META, Meta)
        make_folder(place)
        (place / META).unlink(missing_ok=True)
        for file, content in contents.items():
            make_folder(self._place(id, file).parent)
            write_whole(self._place(id, file), content)
        write(place / META, meta)
        self._remove_leftovers(meta, before.subspaces if before is not None else ())
        return meta

    def _current(self, path: Path, schema: type[Known]) -> Known | None:
        """A file as its schema, read again only when it has changed."""
        try:
            stat = path.stat()
        except OSError:
            return read(path, schema)
        stamp = (stat.st_mtime_ns, stat.st_ino, stat.st_size)
        known = self._files.get(path)
        if known is not None and known[0] == stamp and isinstance(known[1], schema):
            return known[1]
        found = read(path, schema)
        if found is not None:
            self._files[path] = (stamp, found)
        return found

    def _stored(self, meta: Meta) -> Result:
        """A result whose parts are read when they are asked for."""
        model = self.about.model.fingerprint

        @cache
        def whole(file: str) -> Path:
            place = self._place(meta.id, file)
            if storage.digest(place) != meta.files.get(file):
                raise storage.damaged(place, meta.id)
            return place

        return Result(
            tables=Lazy(meta.tables, lambda name: storage.read_table(whole(f"{name}.parquet"), meta.id)),
            n=meta.n,
            tensors=Lazy(meta.tensors, lambda name: storage.read_tensor(whole(storage.TENSORS), name, meta.id)),
            subspaces=Lazy(meta.subspaces, lambda name: StoredSubspace.load(whole(storage.subspace(name)), model)),
            roles=meta.roles,
            missing=meta.missing,
            root=meta.root,
            id=meta.id,
        )

    def _place(self, id: str, file: str) -> Path:
        """Where a file of a result is: all results share one folder of subspaces."""
        return self.path / file if file.startswith(f"{storage.SUBSPACES}/") else self.path / "results" / id / file

    def _check_subspaces(self, id: str, result: Result) -> None:
        """All results share one folder of subspaces: a name belongs to one of them, and to this run's model."""
        for other in sorted((self.path / "results").glob(f"*/{META}")) if result.subspaces else ():
            meta = self.meta(other.parent.name)
            taken = set(result.subspaces) & set(meta.subspaces) if meta is not None and meta.id != id else set()
            if taken and meta is not None:
                raise NumberlineError(f"{id} and {meta.id} both have a subspace {min(taken)!r}: rename one of them")
        for name, subspace in result.subspaces.items():
            if subspace.provenance.get("model") != self.about.model.fingerprint:
                raise NumberlineError(
                    f"the subspace {name!r} of {id} does not say that it was found in this model: "
                    "give it the provenance model=lab.loaded.fingerprint"
                )

    def _remove_leftovers(self, meta: Meta, subspaces: Iterable[str]) -> None:
        """Files of an earlier result of the same id, and halves that a killed process left."""
        kept, place = {META, *storage.files(meta)}, self.path / "results" / meta.id
        remove_leftovers(place)
        for file in place.iterdir():
            if file.name not in kept and file.suffix != PARTIAL and file.is_file():
                file.unlink(missing_ok=True)
        for name in set(subspaces) - set(meta.subspaces):
            (self.path / storage.subspace(name)).unlink(missing_ok=True)
