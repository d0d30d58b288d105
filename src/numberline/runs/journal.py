"""How much does a run lose that is killed within an experiment? The work of half a minute.

1. While an experiment is computed, its lab keeps a journal (`engine/journal.py`): a sweep, a fit, a recording is a
   chapter, and what is computed in one go a piece of it.
2. Pieces wait in memory until a while has passed since the last were written. Then they become one file of work/ID,
   written whole, with the digest of its content in its name. An experiment that takes less than that writes nothing.
3. The same experiment, begun again, comes to the same chapters in the same order, and takes from the files what is
   there, bit for bit. A piece is known by its chapter's number, by what decides that chapter, and by its own name.
4. Files of other inputs, of another version or machine, and damaged ones (their digest says so) are deleted, and their
   pieces made again. When the experiment's result is stored, the files go.

What is made as fast as a disk writes it is not kept: the recordings of a small model are computed again at once.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import safetensors.torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from numberline.engine.edits import Edit
from numberline.engine.journal import Chapter, Journal, Piece
from numberline.engine.recording import Recording
from numberline.errors import NumberlineError
from numberline.files import make_folder, write_whole

FOLDER = "work"
EVERY = 20.0
"""Seconds of work after which pieces are written; the tests, which have no time, say less (NUMBERLINE_KEEP_EVERY)."""
RATE = 32e6
"""Bytes a second: a piece that is made faster than this is not worth a file."""
FILE = re.compile(r"(?P<key>[0-9a-f]{16})-(?P<number>\d{6})-(?P<digest>[0-9a-f]{16})\.safetensors")
BETWEEN = " / "


@dataclass(eq=False)
class KeptJournal(Journal):
    """The journal of one experiment. `key` is the digest of all that decides its numbers."""

    place: Path
    key: str
    say: Callable[[str], object]
    every: float = field(default_factory=lambda: float(os.environ.get("NUMBERLINE_KEEP_EVERY", EVERY)))
    spent: float = 0.0
    """Seconds of work in earlier processes, as far as it was kept."""
    _kept: dict[str, tuple[Path, list[str]]] = field(default_factory=dict)
    """By piece: its file, and its tensors' names there."""
    _waiting: dict[str, Piece] = field(default_factory=dict)
    _chapters: int = 0
    _files: int = 0
    _off: bool = False

    def __post_init__(self) -> None:
        self.begun = self.written = time.monotonic()
        self._open: tuple[Path | None, Any] = (None, None)
        for path in sorted(self.place.iterdir()) if self.place.is_dir() else ():
            self._find(path)

    def chapter(self, *decides: object) -> Chapter:
        """Begin the next computation."""
        self._chapters += 1
        digest = hashlib.sha256("\n".join(_said(decides, {})).encode()).hexdigest()[:16]
        return KeptChapter(self, f"{self._chapters} {digest}")

    @property
    def seconds(self) -> float:
        """The work done so far, in this process and in earlier ones."""
        return self.spent + time.monotonic() - self.begun

    def take(self, name: str) -> Piece | None:
        """A piece that was kept, where its tensors were; None where it was not."""
        if name not in self._kept:
            return None
        path, parts = self._kept[name]
        if self._open[0] != path:
            self._open = path, safe_open(path, "pt")
        file = self._open[1]
        devices = json.loads(file.metadata()["devices"])
        tensors = {part: file.get_tensor(name + BETWEEN + part) for part in parts}
        return {part: tensor.to(devices.get(name + BETWEEN + part, "cpu")) for part, tensor in tensors.items()}

    def put(self, name: str, piece: Piece, seconds: float) -> None:
        """Keep a piece that was made; from time to time, write what waits."""
        if self._off:
            return
        if sum(tensor.nbytes for tensor in piece.values()) <= RATE * seconds:
            # A copy, for the rest of the computation may go on with the tensors themselves.
            self._waiting[name] = {part: tensor.detach().clone() for part, tensor in piece.items()}
        if self._waiting and time.monotonic() - self.written >= self.every:
            self.write()

    def write(self) -> None:
        """Write all pieces that wait. Where that cannot be done, the experiment goes on without."""
        if not self._waiting:
            return
        named = {name + BETWEEN + part: x for name, piece in self._waiting.items() for part, x in piece.items()}
        devices = {name: str(tensor.device) for name, tensor in named.items() if tensor.device.type != "cpu"}
        about = {"devices": json.dumps(devices), "seconds": str(self.seconds)}
        content = safetensors.torch.save({name: x.cpu().contiguous() for name, x in named.items()}, about)
        digest = hashlib.sha256(content).hexdigest()[:16]
        try:
            make_folder(self.place)
            write_whole(self.place / f"{self.key}-{self._files:06}-{digest}.safetensors", content)
        except NumberlineError as error:
            self._off = True
            self.say(f"{error}; until then, what stops {self.place.name} loses all of it")
        self._files += 1
        self._waiting.clear()
        self.written = time.monotonic()

    def close(self) -> None:
        """The experiment is done: nothing of it has to be kept."""
        self._waiting.clear()
        self._kept.clear()
        self._open = None, None
        shutil.rmtree(self.place, ignore_errors=True)
        with contextlib.suppress(OSError):  # there may be others
            self.place.parent.rmdir()

    def _find(self, path: Path) -> None:
        """Take note of a file's pieces, or delete it."""
        named = FILE.fullmatch(path.name)
        whole = False
        if named is not None and named["key"] == self.key:
            try:
                whole = hashlib.sha256(path.read_bytes()).hexdigest()[:16] == named["digest"]
                if whole:
                    self._note(path)
                    self._files = int(named["number"]) + 1
            except (OSError, SafetensorError):
                whole = False
            if not whole:
                self.say(f"{path} is damaged: what it held is computed again")
        if not whole:
            with contextlib.suppress(OSError):
                path.unlink()

    def _note(self, path: Path) -> None:
        with safe_open(path, "pt") as file:
            self.spent = max(self.spent, float(file.metadata()["seconds"]))
            for name in file.keys():  # noqa: SIM118  it is no mapping
                piece, part = name.split(BETWEEN)
                self._kept.setdefault(piece, (path, []))[1].append(part)


@dataclass(frozen=True, eq=False)
class KeptChapter(Chapter):
    """One computation, whose pieces are taken from the journal where they are there."""

    journal: KeptJournal
    name: str
    keeps = True

    def piece(self, name: str, make: Callable[[], Piece]) -> Piece:
        """A piece: kept from before, or made now."""
        full = f"{self.name} {name}"
        found = self.journal.take(full)
        if found is None:
            start = time.monotonic()
            found = make()
            self.journal.put(full, found, time.monotonic() - start)
        return found


def _said(value: object, known: dict[int, str]) -> Iterator[str]:
    """What decides a computation, in words: cheap, for the order of chapters says the rest."""
    if isinstance(value, Recording):
        value = value.prompts.ids
    if isinstance(value, Edit):
        yield f"{value.action} {value.site} {value.source_site}"
        yield from _said(value.source, known)
    elif isinstance(value, Tensor):
        if id(value) not in known:
            tokens = "" if value.is_floating_point() else hashlib.sha256(value.cpu().numpy().tobytes()).hexdigest()
            known[id(value)] = f"{list(value.shape)} {tokens}"
        yield known[id(value)]
    elif isinstance(value, Iterable) and not isinstance(value, str):
        for each in value:
            yield from _said(each, known)
    else:
        yield str(value)
