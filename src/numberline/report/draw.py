"""How are a run's figures and tables made? From its folder alone, all of them, each whole or not at all.

1. Every label of the registry whose results are there is drawn and saved as PNG, SVG and PDF, its caption as text.
2. Every table is written as CSV, Markdown and LaTeX.
3. What cannot be made is listed with the reason in figures/index.json, and old files of that label are removed: a
   folder never shows a picture of results that it no longer holds.

The same results give the same bytes: no dates, no random identifiers in the files.
"""

import io
import json
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import matplotlib

from numberline.errors import NumberlineError
from numberline.files import make_folder, write_whole
from numberline.report import style
from numberline.report.facts import Facts
from numberline.report.figure import Drawing, FigureSpec
from numberline.report.registry import FIGURES, TABLES
from numberline.report.stored import CannotDrawError, Stored
from numberline.report.tables import TableSpec, as_csv, as_latex, as_markdown

# fontTools remarks on the dates of matplotlib's own fonts whenever a PDF is written.
logging.getLogger("fontTools").setLevel(logging.ERROR)

METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
}
LABELS = (*FIGURES, *TABLES)
INDEX = Path("figures") / "index.json"
WRITERS = {"csv": as_csv, "md": as_markdown, "tex": as_latex}


@dataclass
class Made:
    """What was made of a run, and what was not and why; both by label."""

    figures: dict[str, str] = field(default_factory=dict)
    """Captions."""
    tables: dict[str, str] = field(default_factory=dict)
    """Captions."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Reasons."""

    def updated(self, later: "Made") -> "Made":
        """This list with a later one's labels in place of their old entries, in the registry's order."""
        new = {**later.figures, **later.tables, **later.skipped}
        parts = ("figures", "tables", "skipped")
        merged = {
            part: {label: text for label, text in getattr(self, part).items() if label not in new}
            | getattr(later, part)
            for part in parts
        }
        return Made(
            **{part: {label: merged[part][label] for label in LABELS if label in merged[part]} for part in parts}
        )


def draw_run(path: Path, labels: Sequence[str] = ("*",), told: Callable[[str], object] = lambda *_: None) -> Made:
    """Draw everything that a run's results allow, or the labels that match; what was made is also listed on disk."""
    facts, made = Facts(Stored.open(path)), Made()
    chosen = [label for label in LABELS if any(fnmatchcase(label, pattern) for pattern in labels)]
    if not chosen:
        raise NumberlineError(f"no figure or table is called {labels[0]!r}: choose from {', '.join(LABELS)}")
    for label in chosen:
        told(label)
        try:
            if label in FIGURES:
                made.figures[label] = _figure(facts, FIGURES[label])
            else:
                made.tables[label] = _table(facts, TABLES[label])
        except CannotDrawError as reason:
            made.skipped[label] = str(reason)
            _remove(path, label)
    make_folder(path / "figures")
    listed = listed_in(path).updated(made)
    write_whole(path / INDEX, (json.dumps(asdict(listed), indent=2, ensure_ascii=False) + "\n").encode())
    return made


def listed_in(path: Path) -> Made:
    """What a run's index says was made of it, and what was not."""
    try:
        found = json.loads((path / INDEX).read_text(encoding="utf-8"))
        return Made(**{name: dict(found[name]) for name in ("figures", "tables", "skipped")})
    except (OSError, ValueError, KeyError, TypeError):
        return Made()


def fed_by(path: Path, ids: Sequence[str]) -> list[str]:
    """The labels that read one of these results, and those that were never drawn though their results are there."""
    run, listed = Stored.open(path), listed_in(path)
    known = {**listed.figures, **listed.tables, **listed.skipped}
    specs: dict[str, FigureSpec | TableSpec] = {**FIGURES, **TABLES}
    fresh = {label for label, spec in specs.items() if set(spec.needs) & set(ids)}
    never = {label for label in specs if label not in known and any(map(run.find, specs[label].needs))}
    return [label for label in specs if label in fresh | never]


def render(spec: FigureSpec, facts: Facts) -> Drawing:
    """Draw one figure in the shared style, laid out once."""
    with matplotlib.rc_context(style.RC):
        drawing = spec.draw(facts)
        style.note(drawing.figure, facts.note)
        drawing.figure.draw_without_rendering()
        drawing.figure.set_layout_engine("none")
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


def _figure(facts: Facts, spec: FigureSpec) -> str:
    drawing, place = render(spec, facts), facts.run.path / "figures"
    make_folder(place)
    for kind in METADATA:
        write_whole(place / f"{file_name(spec.label)}.{kind}", picture(drawing, kind))
    write_whole(place / f"{file_name(spec.label)}.txt", (drawing.caption + "\n").encode())
    return drawing.caption


def _table(facts: Facts, spec: TableSpec) -> str:
    content, place = spec.make(facts), facts.run.path / "tables"
    make_folder(place)
    for kind, write in WRITERS.items():
        write_whole(place / f"{file_name(spec.label)}.{kind}", write(content, spec.label).encode())
    return content.caption


def _remove(path: Path, label: str) -> None:
    """Files of a label that can no longer be made."""
    for folder, kinds in (("figures", (*METADATA, "txt")), ("tables", tuple(WRITERS))):
        for kind in kinds:
            (path / folder / f"{file_name(label)}.{kind}").unlink(missing_ok=True)
