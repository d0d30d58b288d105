"""How are a run's figures and tables made? From its folder alone, all of them, each whole or not at all.

1. Every label of the registry whose results are there is drawn and saved as PNG, SVG and PDF, its caption as text.
2. Every table is written as CSV, Markdown and LaTeX.
3. What cannot be made is listed with the reason in figures/index.json, and old files of that label are removed: a
   folder never shows a picture of results that it no longer holds.

The same results give the same bytes: no dates, no random identifiers in the files. Drawing takes seconds of processor
time for each figure, so that it may be shared among processes; where no process can be started, this one draws all.
"""

import io
import json
import logging
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import repeat
from pathlib import Path
from typing import Any

import matplotlib

from numberline.errors import NumberlineError, nearest
from numberline.files import make_folder, write_whole
from numberline.report import style
from numberline.report.figure import Drawing, FigureSpec
from numberline.report.recovery import Recovery
from numberline.report.registry import EXHIBITS, FIGURES, TABLES
from numberline.report.tables import TableSpec, as_csv, as_latex, as_markdown
from numberline.report.view import RunView
from numberline.results.folder import RunFolder
from numberline.results.table import NotMeasuredError

# fontTools remarks on the dates of matplotlib's own fonts whenever a PDF is written.
logging.getLogger("fontTools").setLevel(logging.ERROR)

METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
}
LABELS = tuple(EXHIBITS)
INDEX = Path("figures") / "index.json"
WRITERS = {"csv": as_csv, "md": as_markdown, "tex": as_latex}


@dataclass
class Inventory:
    """What was made of a run, and what was not and why; both by label."""

    figures: dict[str, str] = field(default_factory=dict)
    """Captions."""
    tables: dict[str, str] = field(default_factory=dict)
    """Captions."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Reasons."""

    def updated(self, later: "Inventory") -> "Inventory":
        """This list with a later one's labels in place of their old entries, in the registry's order."""
        new = {**later.figures, **later.tables, **later.skipped}
        parts = ("figures", "tables", "skipped")
        merged = {
            part: {label: text for label, text in getattr(self, part).items() if label not in new}
            | getattr(later, part)
            for part in parts
        }
        return Inventory(
            **{part: {label: merged[part][label] for label in LABELS if label in merged[part]} for part in parts}
        )


def draw_run(
    path: str | Path,
    labels: Sequence[str] = ("*",),
    told: Callable[[str], object] = lambda *_: None,
    processes: int = 1,
    recovery: Recovery = Recovery.POOLED,
) -> Inventory:
    """Draw everything that a run's results allow, or the labels that match; what was made is also listed on disk.

    More than one process needs a main module that can be imported again, as every command's can.
    """
    made, path = Inventory(), Path(path)
    _view.cache_clear()
    _view(path, recovery)
    chosen = [label for label in LABELS if any(fnmatchcase(label, pattern) for pattern in labels)]
    if not chosen:
        raise NumberlineError(f"no figure or table is called {labels[0]!r}: {nearest(labels[0], LABELS)}")
    for label, caption, reason in _all_made(path, chosen, recovery, min(processes, len(chosen) // 4)):
        told(label)
        if reason:
            made.skipped[label] = reason
        else:
            (made.figures if label in FIGURES else made.tables)[label] = caption
    make_folder(path / "figures")
    listed = listed_in(path).updated(made)
    write_whole(path / INDEX, (json.dumps(asdict(listed), indent=2, ensure_ascii=False) + "\n").encode())
    return made


def usable_processes() -> int:
    """How many processes may draw at once: one for each core that this one may use, and few."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, 8)


def _all_made(path: Path, labels: Sequence[str], recovery: Recovery, processes: int) -> Iterator[tuple[str, str, str]]:
    """Each label as it is made, in order, with its caption or the reason why there is none."""
    done = 0
    if processes > 1:
        try:
            with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
                for found in pool.map(_make, repeat(path), labels, repeat(recovery)):
                    done += 1
                    yield found
        except (BrokenProcessPool, OSError) as error:
            logging.getLogger(__name__).warning("the rest is drawn by one process (%s)", error)
    for label in labels[done:]:
        yield _make(path, label, recovery)


def _make(path: Path, label: str, recovery: Recovery) -> tuple[str, str, str]:
    """One figure or table, whole or not at all."""
    view = _view(path, recovery)
    try:
        return label, _figure(view, FIGURES[label]) if label in FIGURES else _table(view, TABLES[label]), ""
    except NotMeasuredError as missing:
        reason = str(missing)
    _remove(path, label)
    return label, "", reason


@lru_cache(maxsize=1)
def _view(path: Path, recovery: Recovery) -> RunView:
    """A run as a report sees it, read once by each process."""
    return RunView(RunFolder.open(path), recovery)


def listed_in(path: str | Path) -> Inventory:
    """What a run's index says was made of it, and what was not."""
    try:
        found = json.loads((Path(path) / INDEX).read_text(encoding="utf-8"))
        return Inventory(**{name: dict(found[name]) for name in ("figures", "tables", "skipped")})
    except (OSError, ValueError, KeyError, TypeError):
        return Inventory()


def fed_by(path: str | Path, ids: Sequence[str]) -> list[str]:
    """The labels that read one of these results, and those that were never drawn though their results are there."""
    run, listed = RunFolder.open(path), listed_in(path)
    known = {**listed.figures, **listed.tables, **listed.skipped}
    fresh = {label for label, spec in EXHIBITS.items() if set(spec.needs) & set(ids)}
    never = {label for label, spec in EXHIBITS.items() if label not in known and any(map(run.find, spec.needs))}
    return [label for label in LABELS if label in fresh | never]


def render(spec: FigureSpec, view: RunView) -> Drawing:
    """Draw one figure in the shared style, laid out once."""
    with matplotlib.rc_context(style.RC):
        drawing = spec.make(view)
        style.note(drawing.figure, view.note)
        engine = drawing.figure.get_layout_engine()
        if engine is not None:
            engine.execute(drawing.figure)
        # With no engine at all ("none" would leave one that does nothing) a format is written in one drawing, not two.
        drawing.figure.set_layout_engine(None)
    return drawing


def picture(drawing: Drawing, kind: str) -> bytes:
    """A drawn figure as the bytes of a PNG, SVG or PDF file."""
    buffer = io.BytesIO()
    with matplotlib.rc_context(style.RC):
        drawing.figure.savefig(buffer, format=kind, dpi=style.DPI, metadata=METADATA[kind])
    return buffer.getvalue()


def file_name(label: str) -> str:
    """A label as the name of a file: itself. Windows forbids the colon, so that there it becomes a hyphen."""
    return label.replace(":", "-") if os.name == "nt" else label


def _figure(view: RunView, spec: FigureSpec) -> str:
    drawing, place = render(spec, view), view.run.path / "figures"
    make_folder(place)
    for kind in METADATA:
        write_whole(place / f"{file_name(spec.label)}.{kind}", picture(drawing, kind))
    write_whole(place / f"{file_name(spec.label)}.txt", (drawing.caption + "\n").encode())
    return drawing.caption


def _table(view: RunView, spec: TableSpec) -> str:
    content, place = spec.make(view), view.run.path / "tables"
    make_folder(place)
    for kind, write in WRITERS.items():
        write_whole(place / f"{file_name(spec.label)}.{kind}", write(content, spec.label).encode())
    return content.caption


def _remove(path: Path, label: str) -> None:
    """Files of a label that can no longer be made."""
    for folder, kinds in (("figures", (*METADATA, "txt")), ("tables", tuple(WRITERS))):
        for kind in kinds:
            (path / folder / f"{file_name(label)}.{kind}").unlink(missing_ok=True)
