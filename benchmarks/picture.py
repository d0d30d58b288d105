"""Draws the engine's law for docs/engine.md: python benchmarks/picture.py > docs/engine-law.svg

A grid of layers × tokens of one prompt on a 24-layer model, for one edit: the residual leaving block 12, at y1's last
token. Colours say how often each cell is computed.
"""

from itertools import groupby
from xml.sax.saxutils import escape

LAYERS, PREFIX = 24, 28
QUESTION = ("6", "0", "and", "␣", "1", "0", "is", "␣")
EDIT_LAYER, EDIT_TOKEN = 12, 29
CELL, LEFT, TOP = 15, 92, 64
COLOURS = {
    "shared": "#e3e3e3",
    "recorded": "#b9cfe8",
    "edited": "#c0392b",
    "again": "#f0a04b",
    "keys": "#fbe3c4",
}
WORDS = {
    "shared": "run once, for all prompts",
    "recorded": "run once for each prompt, and recorded",
    "edited": "the edit",
    "again": "run again for this edit",
    "keys": "keys and values only",
}


def state(layer: int, token: int) -> str:
    """How often a cell is computed when the residual leaving EDIT_LAYER is edited at EDIT_TOKEN."""
    if token < PREFIX:
        return "shared"
    if (layer, token) == (EDIT_LAYER, EDIT_TOKEN):
        return "edited"
    if layer <= EDIT_LAYER or token < EDIT_TOKEN:
        return "recorded"
    last = PREFIX + len(QUESTION) - 1
    return "keys" if layer == LAYERS - 1 and token < last else "again"


def svg() -> str:
    """The picture."""
    tokens = PREFIX + len(QUESTION)
    width, height = LEFT + tokens * CELL + 20, TOP + LAYERS * CELL + 122
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="12" fill="#222">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for layer in range(LAYERS):
        y, start = TOP + (LAYERS - 1 - layer) * CELL, 0
        for key, run in groupby(state(layer, token) for token in range(tokens)):
            length = len(list(run))
            parts.append(box(LEFT + start * CELL, y, length * CELL, CELL, key))
            start += length
        if layer in (0, EDIT_LAYER, LAYERS - 1):
            parts.append(text(LEFT - 8, y + CELL - 4, f"block {layer}", "end"))
    grid = [f"M{LEFT + column * CELL} {TOP}v{LAYERS * CELL}" for column in range(tokens + 1)]
    grid += [f"M{LEFT} {TOP + row * CELL}h{tokens * CELL}" for row in range(LAYERS + 1)]
    parts.append(f'<path d="{"".join(grid)}" stroke="#fff"/>')
    bottom = TOP + LAYERS * CELL
    parts.append(text(LEFT + PREFIX * CELL / 2, bottom + 16, f"{PREFIX} tokens that every prompt shares", "middle"))
    for column, word in enumerate(QUESTION):
        parts.append(text(LEFT + (PREFIX + column + 0.5) * CELL - 0.5, bottom + 14, word, "middle", 10))
    question = LEFT + (PREFIX + len(QUESTION) / 2) * CELL
    parts.append(text(question, bottom + 30, "the question", "middle"))
    last = LEFT + (tokens - 0.5) * CELL
    parts.append(text(last + 8, TOP - 26, "two rows of the unembedding", "end"))
    parts.append(f'<path d="M{last:g} {TOP - 4}V{TOP - 20}" stroke="#222" marker-end="url(#tip)"/>')
    parts.insert(
        1,
        '<defs><marker id="tip" viewBox="0 0 6 6" refX="3" refY="3" markerWidth="6" markerHeight="6" orient="auto">'
        '<path d="M0 0L6 3L0 6z"/></marker></defs>',
    )
    parts.append(text(LEFT - 8, 20, "An edit of the residual leaving block 12, at the last digit of y1", "start", 14))
    for place, (key, words) in enumerate(WORDS.items()):
        x, y = LEFT + (place // 3) * 270, bottom + 48 + (place % 3) * 22
        parts.append(box(x, y, CELL, CELL, key))
        parts.append(text(x + CELL + 4, y + CELL - 4, words, "start"))
    return "\n".join([*parts, "</svg>"]) + "\n"


def box(x: int, y: int, width: int, height: int, key: str) -> str:
    """A filled rectangle."""
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{COLOURS[key]}"/>'


def text(x: float, y: float, words: str, anchor: str, size: int = 12) -> str:
    """A piece of text."""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}">{escape(words)}</text>'


if __name__ == "__main__":
    print(svg(), end="")
