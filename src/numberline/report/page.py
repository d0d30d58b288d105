"""The page of a run: one self-contained HTML file with everything that was drawn, in words first.

Figures are inlined as SVG images, so that the file opens from disk, without a network, and can be mailed. Every string
that comes from a model, a path or a prompt is escaped (jinja2's autoescape). It is made from the folder alone.
"""

import base64
import shlex
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined, select_autoescape

from numberline.files import write_whole
from numberline.report.draw import Made, draw_run, file_name, listed_in
from numberline.report.facts import Facts, words
from numberline.report.registry import FIGURES, SECTIONS, TABLES
from numberline.report.stored import CannotDrawError, Stored
from numberline.report.tables import plain_heads
from numberline.report.words import number

PAGE = "report.html"


def make_report(path: Path, labels: Sequence[str] = ("*",), told: Callable[[str], object] = lambda *_: None) -> Made:
    """Draw what a run's results allow, or the labels that match, and write the page of all that there is."""
    made = draw_run(path, labels, told)
    write_page(path)
    return made


def write_page(path: Path) -> Path:
    """Write report.html from what was drawn."""
    write_whole(path / PAGE, html(Facts(Stored.open(path)), listed_in(path)).encode())
    return path / PAGE


def html(facts: Facts, made: Made) -> str:
    """The page's text."""
    environment = Environment(autoescape=select_autoescape(default=True), undefined=StrictUndefined, trim_blocks=True)
    template = environment.from_string(files("numberline.report").joinpath("page.html.j2").read_text(encoding="utf-8"))
    return template.render(
        facts=facts,
        about=facts.run.about,
        roles=_roles(facts),
        sections=[
            (title, [_entry(facts, made, label) for label in labels if label in FIGURES or label in TABLES])
            for title, labels in SECTIONS.items()
        ],
        seconds=_seconds(facts),
        command=command(facts),
    )


def _entry(facts: Facts, made: Made, label: str) -> dict[str, Any]:
    """A figure, a table, or why there is none."""
    heading = FIGURES[label].heading if label in FIGURES else TABLES[label].heading
    entry: dict[str, Any] = {"label": label, "heading": heading, "kind": "missing"}
    entry["reason"] = made.skipped.get(label, "it was not drawn yet")
    picture = facts.run.path / "figures" / f"{file_name(label)}.svg"
    if label in made.figures and picture.is_file():
        coded = base64.b64encode(picture.read_bytes()).decode()
        entry |= {"kind": "figure", "caption": made.figures[label], "source": f"data:image/svg+xml;base64,{coded}"}
    elif label in made.tables:
        try:
            content = TABLES[label].make(facts)
        except CannotDrawError as reason:
            return entry | {"reason": str(reason)}
        entry |= {"kind": "table", "caption": content.caption, "columns": plain_heads(content), "rows": content.rows}
    return entry


def _roles(facts: Facts) -> list[dict[str, str]]:
    return [
        {
            "name": words(name).removeprefix("set of "),
            "value": facts.spelled(name),
            "score": number(row["score"]),
            "margin": f"{number(row['margin'])} (noise {number(row['noise'])})",
            "source": str(row["source"]),
            "why": str(row["why"]),
        }
        for name, row in facts.roles.items()
    ]


def _seconds(facts: Facts) -> list[tuple[str, int, str]]:
    experiments = facts.run.about.get("experiments", {})
    return [(id, entry["n"], f"{entry['seconds']:.1f}") for id, entry in experiments.items()]


def command(facts: Facts) -> str:
    """The command that makes this run again."""
    chosen = facts.run.about.get("configuration", {})
    options = [f"--size {chosen['size']}"] if chosen.get("size") not in (None, "paper") else []
    options += [f"--task {chosen['task']}"] if chosen.get("task") not in (None, "max") else []
    options += [f"--seed {chosen['seed']}"] if chosen.get("seed") not in (None, 52) else []
    for name, value in chosen.get("roles", {}).items():
        options.append(f"--role {name}={('.' if '_head' in name else ',').join(map(str, value))}")
    return " ".join(["numberline run", shlex.quote(str(chosen.get("model", "MODEL"))), *options])
