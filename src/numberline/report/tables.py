"""How is a table written? As CSV for programs, Markdown for reading, LaTeX for papers; all from one TableContent.

CSV keeps full precision and, where the printed cell is "0.940 [0.915, 0.960]", columns of its own for every number.
Everything that comes from a model, a path or a prompt is escaped for the format that it is written in.
"""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from numberline.report.exhibit import Exhibit

Rows = Sequence[Sequence[Any]]

# The names of directions, operands and patches, as the paper sets them.
TEX_NAMES: Mapping[str, str] = {
    "u": r"$\mathbf{u}$",
    "v1": r"$\mathbf{v}_1$",
    "v2": r"$\mathbf{v}_2$",
    "v2⊥": r"$\mathbf{v}_2^{\perp}$",
    "y1": r"$y_1$",
    "y2": r"$y_2$",
    "y3": r"$y_3$",
}
TEX_NAME = re.compile(rf"(?<![\w#.])({'|'.join(sorted(TEX_NAMES, key=len, reverse=True))})(?![\w⊥])")
TEX_SPECIAL: Mapping[str, str] = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "−": "$-$",
    "–": "--",
    "—": "---",
    "×": r"$\times$",
    "±": r"$\pm$",
    "∪": r"$\cup$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "…": r"\dots{}",
    "→": r"$\to$",
    "↵": r"$\hookleftarrow$",
    "·": r"$\cdot$",
    "²": r"$^2$",
    "\n": " ",
    "\r": " ",
}


@dataclass(frozen=True)
class TableContent:
    """A table, as printed and as data. `rules` are the numbers of rows before which a line is drawn."""

    caption: str
    columns: Sequence[str]
    rows: Rows
    rules: Sequence[int] = ()
    spans: Sequence[tuple[str, int]] = ()
    """A row of headings above the columns' names, each over some columns."""
    data_columns: Sequence[str] = field(default=())
    data_rows: Rows = field(default=())
    """What CSV holds, where it is more than what is printed."""


class TableSpec(Exhibit[TableContent]):
    """A table as it is declared."""


table = TableSpec.declare


def as_csv(content: TableContent, label: str) -> str:  # noqa: ARG001
    """The data as CSV with a header; numbers at full precision."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(content.data_columns or content.columns)
    writer.writerows(content.data_rows or content.rows)
    return file.getvalue()


def as_markdown(content: TableContent, label: str) -> str:
    """The caption and a pipe table."""
    heads = [markdown(name) for name in plain_heads(content)]
    lines = [f"**{markdown(label)}.** {markdown(content.caption)}", ""]
    lines += ["| " + " | ".join(heads) + " |", "|" + "|".join(["---"] * len(heads)) + "|"]
    lines += ["| " + " | ".join(markdown(cell) for cell in row) + " |" for row in content.rows]
    return "\n".join(lines) + "\n"


def plain_heads(content: TableContent) -> list[str]:
    """The columns' names with the headings above them written in front."""
    above = [text for text, width in content.spans for _ in range(width)] or [""] * len(content.columns)
    return [f"{top}: {name}" if top else name for top, name in zip(above, content.columns, strict=True)]


def as_latex(content: TableContent, label: str) -> str:
    """A table environment with booktabs lines, caption and label."""
    widths = "l" * len(content.columns)
    lines = [r"\begin{table}[!ht]", r"  \centering", r"  \small", f"  \\caption{{{latex(content.caption)}}}"]
    lines += [f"  \\label{{{label if ':' in label else 'tab:' + label}}}", f"  \\begin{{tabular}}{{{widths}}}"]
    lines += [r"    \toprule"]
    if content.spans:
        cells = [rf"\multicolumn{{{width}}}{{c}}{{{latex(text)}}}" if width > 1 else latex(text)
                 for text, width in content.spans]  # fmt: skip
        lines += [f"    {' & '.join(cells)} \\\\", *_rules_under(content.spans)]
    lines += [f"    {' & '.join(latex(name) for name in content.columns)} \\\\", r"    \midrule"]
    for number, row in enumerate(content.rows):
        if number in content.rules and number:
            lines.append(r"    \midrule")
        lines.append(f"    {' & '.join(latex(cell) for cell in row)} \\\\")
    return "\n".join([*lines, r"    \bottomrule", r"  \end{tabular}", r"\end{table}"]) + "\n"


def _rules_under(spans: Sequence[tuple[str, int]]) -> list[str]:
    found, start = [], 1
    for _, width in spans:
        if width > 1:
            found.append(rf"    \cmidrule(lr){{{start}-{start + width - 1}}}")
        start += width
    return found


def markdown(cell: Any) -> str:
    """Text that Markdown and the HTML made from it show as it is."""
    text = str(cell).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"([\\`*_\[\]|~#$])", r"\\\1", text)
    return re.sub(r"\s*[\r\n]+\s*", " ", text)


def latex(cell: Any) -> str:
    """Text that LaTeX shows as it is, with the paper's names for directions and operands."""
    parts = TEX_NAME.split(str(cell))
    # Every second part is a name that the pattern found.
    return "".join(TEX_NAMES[part] if odd % 2 else _escaped(part) for odd, part in enumerate(parts))


def _escaped(text: str) -> str:
    return "".join(TEX_SPECIAL.get(character, character) for character in text)
