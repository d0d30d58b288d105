"""The planted algorithm, block by block (two or three operands of two digits, "maximum").

0. Each token fetches the previous token's digit; counting "The" tells the question from the exemplar.   (reading.py)
1. Counting separators tells which operand a digit belongs to, and what is to be said next.
2. Two digits become a magnitude f(y) on the axis `own`: the number layer.
3. Transport heads bring earlier magnitudes to a later number's token: v1 f(y1) + v2 f(y2).            (comparing.py)
   First-stage neurons compare locally.
4. Second-stage neurons compare globally and write the flag "the largest so far": higher where the lead is larger, and
   higher at y3 than at y2.
5. Idle, except in some broken variants.
6. The last token attends to the latest flagged operand and takes its position code: the read-out.       (naming.py)
7. The digit that is due, of the operand with that code, is copied.
"""

from numberline.models.planted.axes import (
    ANSWER_SIZE,
    CARRIED_SIZE,
    COMMON,
    FIRSTS,
    FLAG_SIZE,
    LASTS,
    ROLE_SIZE,
    SPIRAL,
    VALUE_ONES,
    VALUE_TENS,
    WINS_SIZE,
)
from numberline.models.planted.broken import FROM_Y1, FROM_Y2, OWN, Design
from numberline.models.planted.comparing import clear, helix_of, met, neurons_of, transport, units, wins
from numberline.models.planted.language import Block, Circuit, Group
from numberline.models.planted.naming import decode_digits, name_it, phases, read_out, unembedding
from numberline.models.planted.reading import embedding, numbers, previous_digit_and_statement, roles

NUMBER_LAYER = 2
READOUT_LAYER = 6


def axes(design: Design) -> list[str]:
    """The named axes of a design: the common ones, and those of a broken variant."""
    names = [*COMMON, *(wins(*unit) for unit in units(design))]
    if design.unfolds:
        names += [*SPIRAL, *(met(name) for name in (OWN, FROM_Y1, FROM_Y2))]
    for t in (1, 2):
        names += helix_of(t) if f"from_y{t}" in design.curved else ()
    for t in design.phased:
        names += [f"{kind}_y{t}_{part}" for kind in ("flag", "asked") for part in ("cos", "sin")]
    if design.by_value:
        names += [*VALUE_TENS, *VALUE_ONES]
    return names


def sizes(design: Design) -> dict[str, float]:
    """Roles are long, so that they are read with small weights: what is patched into a number's token must not be able
    to pass for another role. Transported magnitudes are short and read with large ones: what is patched along them
    hardly touches anything else.
    """
    found = dict.fromkeys((wins(*unit) for unit in units(design)), WINS_SIZE) | {"flag": FLAG_SIZE}
    carried = {} if design.alignment else dict.fromkeys(("from_y1", "from_y2"), CARRIED_SIZE)
    return dict.fromkeys((*FIRSTS, *LASTS), ROLE_SIZE) | {"answer": ANSWER_SIZE} | found | carried


def circuit(design: Design) -> Circuit:
    """The whole model."""

    def wiped(block: int) -> list[Group]:
        return [clear("flag")] if block == design.flag_block else []

    fifth = neurons_of(design, 5) + (decode_digits() if design.by_value else [])
    blocks = [
        previous_digit_and_statement(),
        roles(),
        numbers(design),
        Block([*transport(design), *wiped(3)], neurons_of(design, 3)),
        Block(wiped(4), neurons_of(design, 4)),
        Block([*phases(design), *wiped(5)], fifth),
        read_out(design),
        name_it(design),
    ]
    return Circuit(axes(design), sizes(design), embedding(), blocks, unembedding(design))
