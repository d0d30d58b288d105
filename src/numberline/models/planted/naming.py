"""Blocks 5 to 7: from flags to the answer's position, from the position to its digits.

6. Read-out: the last token attends to the operand that is flagged, the later the better, and takes its position code, a
   corner of a triangle in a plane: the answer subspace. The token of the first generated digit does the same.
7. The head `name` attends to the digit that is due (first or last) of the operand with that code, and copies it.
"""

from numberline.models.planted import number
from numberline.models.planted.axes import (
    CODE_RADIUS,
    DIGITS,
    FIRSTS,
    LASTS,
    OPERANDS,
    SAY,
    TENS,
    TENS_SIZE,
    VALUE_ONES,
    VALUE_TENS,
    code,
    total,
)
from numberline.models.planted.broken import Design
from numberline.models.planted.language import Block, Form, Group, Head, Neuron, add, always, constant, ramp, scale

# These four are small so that no answer is certain: a loss that is nearly zero has no gradient left to learn from.
FLAG_SCORE = 0.45  # logits that a unit of the flag is worth in the read-out
MATCH = 3.0  # logits of a position code with itself
DUE = 9.0  # logits of being a first digit when a first digit is due; not more: norms differ a little between tokens
LOGIT = 2.0  # what the digit to be said scores
SURE = 6.0  # times that, where the model is certain
LOUD = 4.0  # of the curve that a decoy head brings to the last token, where it outweighs the position


def unembedding(design: Design) -> dict[str, Form]:
    """What each token's logit reads."""
    logit = LOGIT * (SURE if design.certain else 1.0)
    digits: dict[str, Form] = {str(d): {SAY[d]: logit} for d in range(10)}
    return digits | {".": {"ask_stop": logit}}


def asking(size: float) -> dict[str, float]:
    """A form that is `size` at the tokens after which a digit is due."""
    return {"ask_first": size, "ask_last": size}


def find_flag(design: Design, at: dict[str, float]) -> tuple[list[Form], dict[int, Form]]:
    """Keys and queries that score the tokens by flag."""
    keys: list[Form] = [{"flag": 1.0}]
    queries: dict[int, Form] = {0: scale(FLAG_SCORE, at)}
    for t in design.phased:
        for part in ("cos", "sin"):
            # The query holds the phase of operand t, the key its turned flag: their product is the flag.
            queries[len(keys)] = {f"asked_y{t}_{part}": FLAG_SCORE}
            keys.append({f"flag_y{t}_{part}": 1.0})
    return keys, queries


def phases(design: Design) -> list[Group]:
    """Block 5: the asking token learns the phase of each operand whose flag turns (broken variants only)."""
    groups = []
    for t in design.phased:
        queries: dict[int, Form] = {0: asking(30.0), 1: constant(15.0)}
        size = 1.0 / number.CIRCLE_RADIUS
        writes: dict[int, Form] = {0: {f"asked_y{t}_cos": size}, 1: {f"asked_y{t}_sin": size}}
        head = Head(f"phase_y{t}", queries, writes, at="last")
        keys: list[Form] = [{f"last{t}": 1.0}, {"answer": 1.0}]
        groups.append(Group(keys, [{"circle_cos": 1.0}, {"circle_sin": 1.0}], [head], at="y2"))
    return groups


def decode_digits() -> list[Neuron]:
    """Block 5: both digits again, from the magnitude: a staircase with a step between any two neighbours (by-value)."""
    number_token = total(LASTS)
    neurons = [always("value:10", number_token, {VALUE_TENS[1]: 1.0, VALUE_ONES[0]: 1.0})]
    for y in list(number.VALUES)[1:]:
        below, above = number.magnitude(y - 1), number.magnitude(y)
        write = add({VALUE_ONES[y % 10]: 1.0}, {VALUE_ONES[(y - 1) % 10]: -1.0})
        if y % 10 == 0:
            write = add(write, {VALUE_TENS[y // 10]: 1.0}, {VALUE_TENS[y // 10 - 1]: -1.0})
        form = {"own": 1.0, "1": -(above + below) / 2}
        width = (above - below) / 4
        neurons += ramp(f"value:{y}", form, width, 5.0 / width, number_token, write)
    return neurons


def read_out(design: Design) -> Block:
    """Block 6."""
    size = LOUD if design.loud else 0.3
    decoy = Head(
        "decoy_last",
        {0: asking(30.0), 1: constant(15.0)},
        {0: {"junk_last_cos": size}, 1: {"junk_last_sin": size}},
        at="last",
    )
    listening = Group([{"last1": 1.0}, {"answer": 1.0}], [{"winding_cos": 1.0}, {"winding_sin": 1.0}], [decoy])
    if not design.code:
        return Block([*copy_flagged(design), listening])
    keys, queries = find_flag(design, asking(1.0))
    codes: list[Form] = [{axis: code(t)[i] for t, axis in zip(OPERANDS, LASTS, strict=True)} for i in (0, 1)]
    head = Head("read_out", queries, {0: {"code_x": 1.0}, 1: {"code_y": 1.0}}, at="last")
    return Block([Group(keys, codes, [head], at="y2"), listening])


def copy_flagged(design: Design) -> list[Group]:
    """Copy a digit straight from the flagged operand's last token, which knows both (variant without a code)."""
    groups = []
    for name, ask, digits, size in (
        ("read_out", "ask_first", TENS, 1.0 / TENS_SIZE),
        ("read_out_last", "ask_last", DIGITS, 1.0),
    ):
        keys, queries = find_flag(design, {ask: 1.0})
        head = Head(name, queries, {d: {SAY[d]: size} for d in range(10)}, at="last")
        groups.append(Group(keys, [{axis: 1.0} for axis in digits], [head], at="y2"))
    return groups


def name_it(design: Design) -> Block:
    """Block 7."""
    if not design.code:
        return Block()
    match = MATCH / CODE_RADIUS**2
    places = [*zip(FIRSTS, OPERANDS, strict=True), *zip(LASTS, OPERANDS, strict=True)]
    keys: list[Form] = [{axis: code(t)[i] for axis, t in places} for i in (0, 1)]
    keys += [total(FIRSTS), total(LASTS)]
    queries: dict[int, Form] = {0: {"code_x": match}, 1: {"code_y": match}}
    say: dict[int, Form] = {d: {SAY[d]: 1.0} for d in range(10)}
    if design.by_value:
        groups = []
        for name, ask, digits in (("name", "ask_first", VALUE_TENS), ("name_last", "ask_last", VALUE_ONES)):
            head = Head(name, queries | {3: {ask: DUE}}, say, at="last")
            groups.append(Group(keys, [{axis: 1.0} for axis in digits], [head], at="y2"))
        return Block(groups)
    head = Head("name", queries | {2: {"ask_first": DUE}, 3: {"ask_last": DUE}}, say, at="last")
    return Block([Group(keys, [{axis: 1.0} for axis in DIGITS], [head], at="digit")])
