"""Which rooms has the package, and what is the one way through them? usage: python scripts/draw_house.py

1. The rooms, and what each may import, are the table `ROOMS` of tests/test_layers.py, which holds for the code.
2. They stand as the floors of a house: what a room knows is below it, or in the wing of results, which has no torch.
3. A line leads through the rooms as the data goes: prompts, recordings, scores, results, verdicts, figures.

Writes docs/house.svg; a test draws it again and compares.
"""

import importlib.util
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs/house.svg"
FLOOR, WIDTH, HEIGHT = 62, 900, 576
LEFT, RIGHT, HALL, TOP = 20, 880, 500, 112
INK, PALE, WAY = "#222", "#666", "#c4561a"
PAPER, GLASS, ROOF = "#eef2f7", "#f3f0e6", "#f7e9e2"


@dataclass(frozen=True)
class Room:
    """A room's place in the house, and what is in it; floors count from the ground, a wing is left, right or both."""

    wing: str
    floor: float
    holds: str
    floors: float = 1

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, width and height."""
        left, right = {"left": (LEFT, HALL), "right": (HALL, RIGHT), "both": (LEFT, RIGHT)}[self.wing]
        return left, TOP + FLOOR * (7 - self.floor - self.floors), right - left, FLOOR * self.floors


PLAN: Mapping[str, Room] = {
    "cli": Room("both", 7, "the commands, one thin module for each kind"),
    "verify": Room("both", 6, "the planted truth beside a blind run"),
    "runs": Room("left", 5, "what to run, digests, going on after a stop"),
    "experiments": Room("left", 4, "the paper, one file for each question"),
    "tasks": Room("left", 3, "concepts and their language, sampling"),
    "methods": Room("left", 2, "scores, DAS, PCA, probes, attribution"),
    "engine": Room("left", 1, "prompts, recordings, edits, the suffix re-run"),
    "models": Room("left", 0, "architectures, loading, the built-in models"),
    "report": Room("right", 4, "figures, tables, the page", 2),
    "claims": Room("right", 2, "the ledger, each claim declared once", 2),
    "results": Room("right", 0, "tables, tensors, the run folder", 2),
}
WAY_THROUGH: Mapping[str, tuple[str, int, int]] = {
    "tasks": ("prompts", 396, -1),
    "engine": ("recordings", 396, -1),
    "methods": ("scores", 440, 1),
    "experiments": ("results", 440, -1),
    "results": ("files", 770, -1),
    "claims": ("verdicts", 812, 1),
    "report": ("figures", 812, 1),
}
"""The rooms in the order in which data passes them: what each hands on, where its stop is, the side of the word."""


def rooms() -> dict[str, frozenset[str]]:
    """Each room, and the rooms that it may import, from the test that holds the code to it."""
    spec = importlib.util.spec_from_file_location("test_layers", ROOT / "tests/test_layers.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return dict(module.ROOMS)


def picture(knows: Mapping[str, frozenset[str]]) -> str:
    """The house as SVG."""
    if knows.keys() != PLAN.keys():
        raise ValueError(f"the plan of the house and ROOMS differ by {sorted(knows.keys() ^ PLAN.keys())}")
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
            f'font-family="sans-serif" font-size="12" fill="{INK}">',
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" markerHeight="5" '
            f'orient="auto"><path d="M0 0L8 4L0 8z" fill="{WAY}"/></marker></defs>',
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
            *_roof(),
            *(line for name, room in PLAN.items() for line in _room(name, room, knows[name])),
            *_way(),
            *_legend(),
            "</svg>",
            "",
        ]
    )


def _roof() -> Iterator[str]:
    middle, eaves = WIDTH / 2, TOP - FLOOR
    yield f'<path d="M{LEFT - 10} {eaves}L{middle} 8L{RIGHT + 10} {eaves}z" fill="{ROOF}" stroke="{INK}"/>'
    yield f'<text x="{middle}" y="{eaves - 12}" text-anchor="middle">numberline</text>'


def _room(name: str, room: Room, knows: frozenset[str]) -> Iterator[str]:
    """A room's walls, its name, what it holds and what it knows."""
    x, y, width, height = room.box
    fill = {"left": PAPER, "right": GLASS, "both": ROOF}[room.wing]
    yield f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{fill}" stroke="{INK}"/>'
    yield f'<text x="{x + 12:g}" y="{y + 20:g}" font-size="14" font-weight="bold">{name}</text>'
    yield f'<text x="{x + 12:g}" y="{y + 37:g}">{escape(room.holds)}</text>'
    known = ", ".join(other for other in PLAN if other in knows) or "no other room"
    yield f'<text x="{x + 12:g}" y="{y + 53:g}" font-size="10.5" fill="{PALE}">knows {known}</text>'


def _way() -> Iterator[str]:
    """The one way of the data, a numbered stop in every room that it passes."""
    stops = [(x, PLAN[name].box[1] + PLAN[name].box[3] / 2) for name, (_, x, _) in WAY_THROUGH.items()]
    for (x, y), (to_x, to_y) in pairwise(stops):
        path = f"M{x} {y:g}H{to_x}V{to_y + (14 if to_y < y else -14):g}"
        yield f'<path d="{path}" fill="none" stroke="{WAY}" stroke-width="2.5" marker-end="url(#tip)"/>'
    for number, ((x, y), (what, _, side)) in enumerate(zip(stops, WAY_THROUGH.values(), strict=True), 1):
        anchor = "start" if side > 0 else "end"
        yield f'<circle cx="{x}" cy="{y:g}" r="10" fill="{WAY}"/>'
        yield f'<text x="{x}" y="{y + 4:g}" text-anchor="middle" fill="#fff" font-weight="bold">{number}</text>'
        yield f'<text x="{x + 14 * side}" y="{y + 4:g}" text-anchor="{anchor}" fill="{WAY}">{what}</text>'


def _legend() -> Iterator[str]:
    y = TOP + 7 * FLOOR + 18
    yield f'<text x="{LEFT}" y="{y}" fill="{PALE}">works with a model</text>'
    yield f'<text x="{HALL}" y="{y}" fill="{PALE}">reads what was stored, without torch</text>'
    yield f'<text x="{RIGHT}" y="{y}" text-anchor="end" fill="{WAY}">the way of the data</text>'


if __name__ == "__main__":
    PICTURE.write_text(picture(rooms()), encoding="utf-8")
    print(PICTURE)
