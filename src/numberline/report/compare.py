"""How do models differ? Runs side by side: roles as a fraction of depth, claims, key scores, the paper's numbers.

Everything comes from the run folders. `beside` is one run beside the paper, for the terminal; `side_by_side` several
runs, for the terminal and as one self-contained page, in which every string is escaped.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numberline.claims import Finding, ledger
from numberline.claims.paper_comparison import Comparison, beside_the_paper
from numberline.claims.paper_values import paper_values
from numberline.errors import NumberlineError
from numberline.files import write_whole
from numberline.report.summary import SYMBOLS, counted
from numberline.report.view import RunView, spelled, words
from numberline.results import paper_roles
from numberline.results.folder import RunFolder
from numberline.results.formatting import number, short, with_interval
from numberline.results.language import PAPER
from numberline.results.table import NotMeasuredError
from numberline.templates import fill

PAGE = "compare.html"
PAPERS = f"paper, {paper_roles.LAYERS} layers"
DEPTH = "Layers as a fraction of depth, 0 the first and 1 the last; in brackets the site itself."
BESIDE = ("measured", "paper", "this run", "difference", "paper's in the interval")


@dataclass(frozen=True)
class ComparedRun:
    """One run of a comparison."""

    view: RunView
    findings: tuple[Finding, ...]
    numbers: tuple[Comparison, ...]

    @classmethod
    def open(cls, path: str | Path) -> "ComparedRun":
        """Read a run folder."""
        run = RunFolder.open(path)
        language = run.about.language
        return cls(RunView(run), ledger(run.results, language), tuple(beside_the_paper(run.results, language)))

    @property
    def name(self) -> str:
        """The model, and what is not the default about the run."""
        task = [self.view.language.name] if self.view.language != PAPER else []
        said = ", ".join([*task, *([self.view.size] if self.view.size != "paper" else [])])
        return f"{self.view.model} ({said})" if said else self.view.model

    def role(self, name: str) -> str:
        """A role's layers as fractions of depth, and its value."""
        try:
            return placed(name, self.view.value(name), self.view.shape.layers)
        except NotMeasuredError as reason:
            return "not found" if name in self.view.roles else str(reason)


def placed(name: str, value: tuple[int, ...], layers: int) -> str:
    """A role's layers as fractions of a model's depth (the first layer 0, the last 1), and the site itself."""
    own = value[:1] if "_head" in name else value
    fractions = ", ".join(number(layer / (layers - 1)) if layers > 1 else "–" for layer in own)
    return f"{fractions} ({spelled(name, value)})"


@dataclass(frozen=True)
class Section:
    """A table of the comparison: a row for each thing, a cell for each run."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def beside(path: str | Path) -> Section:
    """One run beside the paper."""
    run = ComparedRun.open(path)
    rows = tuple(
        (row.name, short(row.paper, 3), _measured(row), _signed(row.difference), _yes(row.inside))
        for row in run.numbers
    )
    return Section(f"{run.name} beside {paper_values().model}", BESIDE, rows, counted(run.findings, run.view))


def roles_beside(path: str | Path) -> Section:
    """One run's roles beside the paper's."""
    run = ComparedRun.open(path)
    names = dict.fromkeys((*paper_roles.SITES, *run.view.roles))
    rows = tuple((_role_name(name), _papers(name), run.role(name), _source(run, name)) for name in names)
    return Section(f"Roles of {run.name} beside the paper's", ("role", PAPERS, "this run", "chosen by"), rows, DEPTH)


def _role_name(name: str) -> str:
    return words(name).removeprefix("set of ")


def _papers(name: str) -> str:
    """The paper's site of a role."""
    value = paper_roles.SITES.get(name)
    return "–" if value is None else placed(name, value, paper_roles.LAYERS)


def _source(run: ComparedRun, name: str) -> str:
    return run.view.roles[name].source if run.view.has(name) else "–"


def side_by_side(paths: Sequence[str | Path]) -> list[Section]:
    """Several runs: the tables of the page."""
    runs = [ComparedRun.open(path) for path in paths]
    names = tuple(run.name for run in runs)

    def table(
        title: str, heads: Iterable[tuple[str, Any]], cell: Callable[[ComparedRun, Any], str], note: str
    ) -> Section:
        rows = tuple((head, *(cell(run, key) for run in runs)) for head, key in heads)
        return Section(title, ("", *names), rows, note)

    found = dict.fromkeys(name for run in runs for name in run.view.roles)
    scores = [
        (f"{finding.id}: {measurement.name}", (i, j))
        for i, finding in enumerate(runs[0].findings)
        for j, measurement in enumerate(finding.measurements)
    ]
    return [
        table(
            "Models",
            [(name, name) for name in ("layers", "heads", "width")],
            lambda run, name: str(getattr(run.view.shape, name)),
            "",
        ),
        Section(
            "Roles",
            ("", PAPERS, *names),
            tuple((_role_name(name), _papers(name), *(run.role(name) for run in runs)) for name in found),
            DEPTH,
        ),
        table(
            "Claims of the paper",
            [(finding.claim.sentence, i) for i, finding in enumerate(runs[0].findings)],
            lambda run, i: f"{SYMBOLS[run.findings[i].verdict]} {run.findings[i].verdict}",
            " ".join(counted(run.findings, run.view) for run in runs),
        ),
        table(
            "Key scores",
            scores,
            lambda run, place: str(run.findings[place[0]].measurements[place[1]]),
            "Each with its 95 % interval; a dash where it was not measured.",
        ),
        table(
            f"Beside {paper_values().model}",
            [(f"{row.name} (paper: {short(row.paper, 3)})", i) for i, row in enumerate(runs[0].numbers)],
            lambda run, i: _measured(run.numbers[i]),
            "",
        ),
    ]


def write_comparison(paths: Sequence[str | Path], place: str | Path) -> list[Section]:
    """Write the page of several runs."""
    place = Path(place)
    if not place.parent.is_dir():
        raise NumberlineError(f"{place.parent} is not a folder: choose another place for the page")
    sections = side_by_side(paths)
    text = fill("numberline.report", "compare.html.j2", sections=sections, names=sections[0].columns[1:])
    write_whole(place, text.encode())
    return sections


def _measured(row: Comparison) -> str:
    if row.found is None:
        return "–"
    found = row.found
    return short(found.value, 3) if found.lo == found.hi else with_interval(found.value, found.lo, found.hi)


def _signed(difference: float | None) -> str:
    if difference is None:
        return "–"
    return f"+{short(difference, 3)}" if difference > 0 else short(difference, 3)


def _yes(inside: bool | None) -> str:
    return "–" if inside is None else "yes" if inside else "no"
