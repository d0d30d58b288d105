"""The page of a run: one self-contained HTML file with everything that was drawn, the answer first.

1. Top: the model, what was asked, the verdict, the algorithm with the roles of this run, the ledger of claims.
2. The paper's sections in order: each figure with its caption, plots to look closer, the paper's numbers beside it.
3. Setup, provenance, timing, and the command that makes the run again.

Figures are inlined as SVG images and plotly's script once, so that the file opens from disk, without a network, and can
be mailed. Every string that comes from a model, a path or a prompt is escaped (jinja2's autoescape); beside that, the
page's own policy lets a browser run no script but those of this package, and load nothing from anywhere.
It is made from the folder alone.
"""

import base64
import hashlib
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from numberline.claims.paper_values import paper_values
from numberline.files import write_whole
from numberline.report.choices import KINDS, choices
from numberline.report.draw import Inventory, draw_run, file_name, listed_in
from numberline.report.recovery import Recovery
from numberline.report.registry import EXHIBITS, PLOTS, SECTIONS, TABLES
from numberline.report.tables import plain_heads
from numberline.report.view import RunView
from numberline.results.folder import RunFolder
from numberline.results.formatting import count, interval, number, short
from numberline.results.language import PAPER
from numberline.results.table import NotMeasuredError
from numberline.seed import SEED
from numberline.templates import fill, own

if TYPE_CHECKING:
    from numberline.claims import Finding, Found
    from numberline.claims.paper_comparison import Comparison

PAGE, ROOM = "report.html", "numberline.report"
DIAGRAM = "fig1toy"
"""The figure at the top."""
FIRST_SCRIPT = (
    'document.documentElement.classList.add("js");'
    'try{const t=localStorage.getItem("numberline-theme");if(t)document.documentElement.dataset.theme=t}catch{}'
)
"""Runs before anything is shown, so that nothing moves or flashes later."""
SVG_SIZE = re.compile(rb'viewBox="0 0 ([\d.]+) ([\d.]+)"')


def make_report(
    path: str | Path,
    labels: Sequence[str] = ("*",),
    told: Callable[[str], object] = lambda *_: None,
    processes: int = 1,
    recovery: Recovery = Recovery.POOLED,
) -> Inventory:
    """Draw what a run's results allow, or the labels that match, and write the page of all that there is."""
    made = draw_run(path, labels, told, processes, recovery)
    write_page(path, recovery)
    return made


def write_page(path: str | Path, recovery: Recovery = Recovery.POOLED) -> Path:
    """Test the claims anew and write report.html from what was drawn."""
    # Imported here because it takes seconds, which a process that only draws need not wait.
    from numberline.claims import questions_of, write_claims
    from numberline.claims.paper_comparison import beside_the_paper

    run = RunFolder.open(path)
    numbers = beside_the_paper(run.results, run.about.language)
    text = html(RunView(run, recovery), listed_in(path), write_claims(path), numbers, questions_of(path))
    write_whole(run.path / PAGE, text.encode())
    return run.path / PAGE


def html(
    view: RunView,
    made: Inventory,
    findings: Sequence["Finding"] = (),
    numbers: Sequence["Comparison"] = (),
    questions: Sequence["Found"] = (),
) -> str:
    """The page's text: of what was drawn, the claims as tested, the paper's numbers, questions beyond the paper."""
    sections = [_section(view, made, title, labels) for title, labels in SECTIONS.items()]
    sections = [section for section in sections if section["entries"]]
    for entry in (entry for section in sections for entry in section["entries"]):
        keys = EXHIBITS[entry["label"]].paper
        entry["paper"] = [_beside(row) for row in numbers if row.key in keys and row.found]
    plotted = any(entry["plots"] for section in sections for entry in section["entries"])
    last = [_plotly(), own(ROOM, "page.js")] if plotted else [own(ROOM, "page.js")]
    text = fill(
        ROOM,
        "page.html.j2",
        view=view,
        about_model=about_model(view),
        solved=solved(view),
        **_ledger(view, findings),
        questions=[found for found in questions if found.tested],
        diagram=_entry(view, made, DIAGRAM),
        roles=_roles(view),
        sections=sections,
        paper_model=paper_values().model,
        choices=[(heading, [each for each in choices() if each.kind == kind]) for kind, heading in KINDS.items()],
        labels=set(EXHIBITS),
        provenance=_provenance(view),
        seconds=_seconds(view),
        total=_total(view),
        command=command(view),
        redraw=f"numberline report {shlex.quote(str(view.run.path))}",
        style=Markup(own(ROOM, "page.css")),
        scripts={"first": Markup(FIRST_SCRIPT), "last": [Markup(script) for script in last]},
        policy=_policy(FIRST_SCRIPT, *last),
    )
    return text.lstrip()


def _ledger(view: RunView, findings: Sequence["Finding"]) -> dict[str, Any]:
    """The verdict and the ledger, with links to those figures that have a place in the page."""
    if not findings:
        return {"headline": "", "verdict": "", "ledger": []}
    from numberline.report.summary import counted, ledger_rows, told

    rows = [{**row, "figures": [(label, label in EXHIBITS) for label in row["figures"]]}
            for row in ledger_rows(findings)]  # fmt: skip
    return {"headline": counted(findings, view), "verdict": " ".join(told(findings, view)), "ledger": rows}


def _beside(row: "Comparison") -> dict[str, str]:
    """A number of the paper beside the run's."""
    assert row.found is not None
    found = row.found
    return {
        "name": row.name,
        "here": short(found.value) + ("" if found.lo == found.hi else interval(found.lo, found.hi)),
        "paper": short(row.paper),
        "inside": {None: "", True: "in the interval", False: "outside the interval"}[row.inside],
        "section": row.section,
    }


def _plotly() -> str:
    """Plotly's script. A browser reads no carriage return, and would find another checksum than ours with one."""
    from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

    script: str = get_plotlyjs()
    return script.replace("\r", "")


def _policy(*scripts: str) -> str:
    """What a browser may do with the page: run these scripts, show what is in the file, and nothing else."""
    sums = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{sum}'" for sum in sums)
    return f"default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; script-src {allowed}"


def _section(view: RunView, made: Inventory, title: str, labels: Sequence[str]) -> dict[str, Any]:
    title = view.language.say(title)
    slug = re.sub(r"\W+", "-", title.lower()).strip("-")
    entries = [_entry(view, made, label) for label in labels if label != DIAGRAM]
    return {"title": title, "id": f"section-{slug}", "entries": entries}


def _entry(view: RunView, made: Inventory, label: str) -> dict[str, Any]:
    """A figure, a table, or why there is none."""
    spec, say = EXHIBITS[label], view.language.say
    entry: dict[str, Any] = {"label": label, "heading": say(spec.heading), "question": say(spec.question)}
    entry |= {"kind": "missing", "plots": []}
    entry |= {"paper": [], "reason": made.skipped.get(label, "it was not drawn yet")}
    picture = view.run.path / "figures" / f"{file_name(label)}.svg"
    if label in made.figures and picture.is_file():
        entry |= {"kind": "figure", "caption": made.figures[label], **_image(picture.read_bytes())}
        entry["plots"] = _plots(view, label)
    elif label in made.tables:
        try:
            content = TABLES[label].make(view)
        except NotMeasuredError as reason:
            return entry | {"reason": str(reason)}
        entry |= {"kind": "table", "caption": content.caption, "columns": plain_heads(content), "rows": content.rows}
    return entry


def _image(picture: bytes) -> dict[str, Any]:
    """An SVG file as the source of an image, and its size in pixels, so that its place is kept."""
    found = SVG_SIZE.search(picture)
    width, height = (round(float(size) * 4 / 3) for size in (found.groups() if found else (504, 300)))
    coded = base64.b64encode(picture).decode()
    return {"source": f"data:image/svg+xml;base64,{coded}", "width": width, "height": height}


def _plots(view: RunView, label: str) -> list[dict[str, Any]]:
    """The plots that stand under a figure, as far as their results are there."""
    found = []
    for place, spec in enumerate(PLOTS.get(label, ())):
        try:
            plot = spec.make(view)
        except NotMeasuredError:
            continue
        own = {name: getattr(plot, name) for name in ("says", "height", "views", "content")}
        found.append({"id": f"plot-{label}-{place + 1}", **own})
    return found


def about_model(view: RunView) -> str:
    """The model in a sentence: its architecture and its size."""
    shape = view.shape
    return (
        f"{shape.architecture[0].upper()}{shape.architecture[1:]} architecture: {shape.layers} layers, {shape.heads} "
        f"heads, width {shape.width}, {count(shape.parameters)} parameters."
    )


def solved(view: RunView) -> str:
    """How many of the examples the model solves, and whether the others were used, in a sentence."""
    try:
        (row,) = view.run.result("behaviour.solved").table("solved")
    except NotMeasuredError:
        return ""
    return solved_words(row, view.language.nouns)


def solved_words(row: Mapping[str, Any], nouns: str) -> str:
    """The same of a row of behaviour.solved."""
    found = f"Of {count(row['n'])} examples of two {nouns} the model solves {count(row['solved'])}"
    return f"{found}; {count(row['used'])} of these were used, and no others." if row["filtered"] else f"{found}."


def _roles(view: RunView) -> list[dict[str, str]]:
    return [
        {
            "name": view.role(name).removeprefix("set of "),
            "value": view.spelled(name),
            "score": number(role.score),
            "margin": f"{number(role.margin)} (noise {number(role.noise)})",
            "source": role.source + (f" ({role.chosen_on} examples)" if role.chosen_on else ""),
            "why": role.why,
        }
        for name, role in view.roles.items()
    ]


def _provenance(view: RunView) -> list[tuple[str, str]]:
    """Name and value of everything that the numbers rest on."""
    about = view.run.about
    model = [(name, getattr(view.shape, name)) for name in ("fingerprint", "dtype", "device")]
    chosen = [(name, getattr(about.configuration, name)) for name in ("size", "seed", "task", "prompt")]
    parts = [("model", view.model), *model, *chosen, *about.versions.items(), *about.hardware.model_dump().items()]
    parts += [("created", about.created), ("updated", about.updated)]
    spelled = [(name.replace("_", " "), ", ".join(map(str, value)) if isinstance(value, tuple) else str(value))
               for name, value in parts if value is not None]  # fmt: skip
    return [(name, value or "none") for name, value in spelled]


def _seconds(view: RunView) -> list[tuple[str, str, str]]:
    return [(id, count(entry.n), f"{entry.seconds:.1f}") for id, entry in view.run.about.experiments.items()]


def _total(view: RunView) -> str:
    experiments = view.run.about.experiments
    seconds = sum(entry.seconds for entry in experiments.values())
    return f"{len(experiments)} experiments, {seconds:.0f} seconds in all."


def command(view: RunView) -> str:
    """The command that makes this run again."""
    chosen = view.run.about.configuration
    options = [f"--size {chosen.size}"] if chosen.size != "paper" else []
    options += [f"--task {shlex.quote(chosen.task)}"] if chosen.task != PAPER.name else []
    options += [f"--seed {chosen.seed}"] if chosen.seed != SEED else []
    for name, value in chosen.roles.items():
        options.append(f"--role {name}={('.' if '_head' in name else ',').join(map(str, value))}")
    options += [f"--examples {shlex.quote(chosen.examples)}"] if chosen.examples else []
    options += [f"--prompt {chosen.prompt}"] if chosen.prompt != "paper" else []
    options += ["--solved"] if chosen.solved else []
    options += [f"--dtype {chosen.dtype}"] if chosen.dtype != "float32" else []
    options += [f"--device {chosen.device}"] if chosen.device != "cpu" else []
    options += [f"--revision {shlex.quote(chosen.revision)}"] if chosen.revision else []
    return " ".join(["numberline run", shlex.quote(chosen.model), *options])
