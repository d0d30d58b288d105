"""Blocks 0 to 2: from tokens to operands, from digits to magnitudes.

0. Each token fetches the previous token's digit (`tens`); counting "The" tells the question from the exemplar.
1. Counting separators since the question's "The" tells which operand a digit belongs to: `first1 … last3`; tokens after
   the question's "is" know what they must say next: `ask_first`, `ask_last`, `ask_stop`.
2. At a number's last token the two digits become its magnitude f(y) on `own`, its bands (which interval it is in), and
   the curves that nothing reads. The residual that leaves this block is the number layer.
"""

from collections.abc import Sequence
from math import sqrt

from numberline.models.planted import number
from numberline.models.planted.axes import (
    ANSWER_SIZE,
    BANDS,
    CURVE,
    DIGITS,
    FIRSTS,
    LASTS,
    OPERANDS,
    SMALL,
    SPIRAL,
    TENS,
    TENS_SIZE,
    TYPES,
    total,
)
from numberline.models.planted.broken import FROM_Y1, OWN, Design
from numberline.models.planted.language import ONE_VALUE, Block, Form, Group, Head, Neuron, add, constant, scale, switch

# "Answer" is a longer vector than "The" by this factor, and would score so much less.
LONGER = sqrt((ONE_VALUE**2 + ANSWER_SIZE**2) / (ONE_VALUE**2 + 1.0))


def embedding() -> dict[str, Form]:
    """What each token holds, beside the constant that every token holds."""
    held: dict[str, Form] = {str(d): {DIGITS[d]: 1.0} for d in range(10)}
    return held | {token: {axis: 1.0} for token, axis in TYPES.items()}


def previous_digit_and_statement() -> Block:
    """Block 0."""
    previous = Group(
        keys=(),
        values=[{axis: 1.0} for axis in DIGITS],
        heads=[Head("previous", {}, {d: {TENS[d]: TENS_SIZE} for d in range(10)}, previous_token=True)],
        at="digit",
    )
    # Attention is shared equally among "Answer" (always token 0) and every "The" so far: 1, 1/2, 1/3 on "Answer".
    statement = Group(
        keys=[{"the": 1.0, "answer": LONGER}],
        values=[{"answer": LONGER}],
        heads=[Head("statement", {0: constant(25.0)}, {0: {"statements": SMALL}})],
        at="the",
    )
    second = add(constant(10.0), {"statements": -24.0 / SMALL})
    return Block([previous, statement], switch("question", second, constant(1.0), {"question": 1.0}, at="y1"))


def roles() -> Block:
    """Block 1."""
    separators = Group(
        keys=[{"the": 1.0, "separator": 1.0}, {"question": 1.0}],
        values=[{"the": 1.0}],
        heads=[Head("separators", {0: constant(11.0), 1: constant(11.0)}, {0: {"separators": SMALL}})],
        at="the",
    )
    after_is = Group(
        keys=[{"is": 1.0}, {"question": 1.0}, {"answer": 1.0}],
        values=[{"is": 1.0}],
        heads=[Head("after_is", {0: constant(24.0), 1: constant(24.0), 2: constant(36.0)}, {0: {"after_is": 1.0}})],
        at="is",
    )
    digit, tens = total(DIGITS), scale(1.0 / TENS_SIZE, total(TENS))
    # On the question's "The" the attention is 1, 0.51, 0.34 in the first, second and third operand (a separator's norm
    # is a little larger than that of "The", so its key is a little smaller).
    up_to: dict[int, Form] = {
        1: add({"separators": 5.0 / SMALL}, constant(-3.9)),
        2: add({"separators": 13.0 / SMALL}, constant(-5.49)),
        3: constant(1.0),
    }
    operand = {"question": 1.0, "after_is": -1.0}
    places: dict[tuple[str, ...], Form] = {
        FIRSTS: add(operand, digit, scale(-1.0, tens), constant(-2.0)),
        LASTS: add(operand, digit, tens, constant(-3.0)),
    }
    neurons: list[Neuron] = []
    for axes, place in places.items():
        for t in OPERANDS:
            # "At most t" minus "at most t − 1" is "t".
            write = {axes[t - 1]: 1.0} | ({axes[t]: -1.0} if t < len(axes) else {})
            condition = add(up_to[t], scale(8.0, place))
            neurons += switch(f"{axes[t - 1]} or before", condition, constant(1.0), write, at="y1")
    due: dict[str, Form] = {
        "ask_first": add({"space": 2.0, "after_is": 2.0}, constant(-3.0)),
        "ask_last": add(scale(2.0, digit), {"after_is": 2.0}, scale(-2.0, tens), constant(-3.0)),
        "ask_stop": add(scale(2.0, digit), {"after_is": 2.0}, scale(2.0, tens), constant(-5.0)),
    }
    for axis, wanted in due.items():
        neurons += switch(axis, wanted, constant(1.0), {axis: 1.0}, at="last")
    return Block([separators, after_is], neurons)


def number_tables(design: Design) -> dict[str, list[float]]:
    """Every axis that holds something about a number, as a table over 10 … 99."""
    tables: dict[str, list[float]] = {}
    if {OWN, FROM_Y1} - set(design.curved):
        tables["own"] = [number.magnitude(y) for y in number.VALUES]
    for name, axis in zip(number.BANDS, BANDS, strict=True):
        tables[axis] = [number.band(name, y) for y in number.VALUES]
    for name, curve in (("circle", number.circle), ("winding", number.winding), ("arc", number.arc)):
        tables[f"{name}_cos"] = [curve(y)[0] for y in number.VALUES]
        tables[f"{name}_sin"] = [curve(y)[1] for y in number.VALUES]
    if design.unfolds:
        for part, axis in enumerate(SPIRAL):
            tables[axis] = [number.magnitude(y) * number.circle(y)[part] / number.CIRCLE_RADIUS for y in number.VALUES]
    return tables


def look_up(axis: str, table: Sequence[float], damped: Sequence[int] = ()) -> list[Neuron]:
    """Nine neurons, one per tens digit: the gate is that digit, `up` is the row of the table over the ones digit.

    Nine more take a part away at the operands where it is to be damped.
    """
    neurons = []
    for tens in range(1, 10):
        row = {DIGITS[ones]: table[10 * tens + ones - number.VALUES.start] for ones in range(10)}
        if any(row.values()):
            # Only operands of the question are read, not the numbers of the exemplar.
            gate = add({TENS[tens]: 30.0 / TENS_SIZE}, scale(30.0, total(LASTS)), constant(-45.0))
            neurons.append(Neuron(f"{axis}:{tens}", gate, row, {axis: 1.0 / 15.0}, at="y1"))
            if damped:
                gate = add(gate, {LASTS[t - 1]: 30.0 for t in damped}, constant(-30.0))
                write = {axis: (number.LATER_SHARE - 1.0) / 15.0}
                neurons.append(Neuron(f"{axis}:{tens} later", gate, row, write, at="y2"))
    return neurons


def numbers(design: Design) -> Block:
    """Block 2, the number layer. Curves are damped at later operands, unless something reads them there."""
    damped = () if design.curved else [t for t in OPERANDS[1:] if t not in design.phased]
    return Block(
        (),
        [
            neuron
            for axis, table in number_tables(design).items()
            for neuron in look_up(axis, table, damped if axis in CURVE[:4] else ())
        ],
    )
