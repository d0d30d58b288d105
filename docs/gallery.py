"""The gallery of the documentation: a small picture of every figure of a real run, with its caption.

    make run && make gallery        or        python docs/gallery.py runs/tiny

Writes docs/gallery.md and docs/pictures/LABEL.png from the run's folder alone; pictures of labels that are no longer
drawn go. The pictures are made small on purpose (a few colours, one width): the run's own files are the real ones.
"""

import sys
from pathlib import Path

from PIL import Image

from numberline.claims import ledger_of
from numberline.report.draw import file_name, listed_in
from numberline.report.page import about_model, command
from numberline.report.registry import FIGURES, SECTIONS
from numberline.report.summary import verdict
from numberline.report.tables import markdown
from numberline.report.view import RunView
from numberline.results.folder import RunFolder

WIDTH, COLOURS = 880, 64


def make_gallery(run: Path, docs: Path) -> Path:
    """Write the gallery of a run into a folder of documentation."""
    captions, view = listed_in(run).figures, RunView(RunFolder.open(run))
    pictures = docs / "pictures"
    pictures.mkdir(parents=True, exist_ok=True)
    for label in captions:
        _shrink(run / "figures" / f"{file_name(label)}.png", pictures / f"{file_name(label)}.png")
    for old in pictures.glob("*.png"):
        if old.stem not in map(file_name, captions):
            old.unlink()
    page = docs / "gallery.md"
    page.write_text("\n".join(_lines(view, captions, verdict(ledger_of(run), view))) + "\n", encoding="utf-8")
    return page


def _lines(view: RunView, captions: dict[str, str], said: str) -> list[str]:
    lines = [
        f"# Gallery: a run on {markdown(view.model)}",
        "",
        f"Every figure of `{command(view)}`, drawn from its folder; `make gallery` makes this page again. The report "
        "of a run has the same figures, larger, with tables, and plots to point at and rotate.",
        "",
        f"{markdown(about_model(view))} {markdown(said)}",
    ]
    for title, labels in SECTIONS.items():
        drawn = [label for label in labels if label in captions]
        if drawn:
            lines += ["", f"## {view.language.say(title)}"]
        for label in drawn:
            heading = view.language.say(FIGURES[label].heading)
            lines += ["", f"### {heading}", "", f"![{label}](pictures/{file_name(label)}.png)"]
            lines += ["", f"*{label}.* {markdown(captions[label])}"]
    return lines


def _shrink(source: Path, target: Path) -> None:
    """A picture with one width and few colours."""
    with Image.open(source) as picture:
        width = min(WIDTH, picture.width)
        small = picture.convert("RGB").resize(
            (width, round(picture.height * width / picture.width)), Image.Resampling.LANCZOS
        )
        few = small.quantize(COLOURS, dither=Image.Dither.NONE)
        few.save(target, optimize=True)


if __name__ == "__main__":
    print(make_gallery(Path(sys.argv[1]), Path(__file__).parent))
