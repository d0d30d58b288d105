"""Blocks 3 to 5: bring the earlier numbers to a number's token, compare, raise the flag.

3. Transport: the head `transport_y1` attends from y2 and y3 to y1 and writes its magnitude on `from_y1`; `transport_y2`
   does the same from y3 to y2. A later number's token then holds own · f(y) + from_y1 · f(y1) + from_y2 · f(y2).
   First stage: in each band of the number, two hinges of own − from_t make a local comparison.
4. Second stage: hinges of their sums compare over the whole range. With a broad pair of own − from_t they write `flag`:
   "the largest so far".

What makes the planted directions the only ones that methods can find (docs/ground-truth.md):
- The broad pair gives the flag a small slope almost everywhere, so that gradients tell where to go.
- The flag is written from the local comparisons and from own − from_t: no one direction before it holds all of it.
- The heads `clear` wipe an axis just before it is written: what is patched there earlier is not read.
- Hinges are steep and far from their corners: a change of a band or of a role does not pass for a comparison.
"""

from collections.abc import Sequence

from numberline.models.planted import number
from numberline.models.planted.axes import EARLIER, LASTS, OPERANDS, total
from numberline.models.planted.broken import OWN, Design
from numberline.models.planted.language import (
    Form,
    Group,
    Head,
    Neuron,
    add,
    always,
    constant,
    product,
    ramp,
    scale,
    switch,
)

STEEP = 4.0  # a ramp's sharpness times its half-width
SECOND_STEEP = 10.0  # steeper: silu overshoots, and a flag must not change with what is far from the boundary
BROAD = 2.6  # half-width of the pair that saturates last
SHARP_WIDTH = 0.02
SECOND_WIDTHS = (0.1, 0.15, 0.2)
# The flag of y2, in units: LOST + JUMP where it wins, and a part SLOPE that rises with the lead. A defeat costs more
# than y3 has over y2, and that is more than flags of winners differ: the latest flag wins. y1, always flagged, is at 0.
LOST = -3.3
JUMP = 3.0
SLOPE = 1.75
LATER = 1.83
VACUOUS = -9.0
TILT = 0.1  # what a flag rises with the local comparisons beyond the jump: attribution is blind where nothing rises
NO_NUMBER = 5.0  # how far below any number other tokens are
SHUT = 200.0  # more than any gate
SHADOW = 0.1  # of a circle that a transport head carries along: about as long as the magnitude that it carries
HELIX = ("spiral_cos", "spiral_sin", "circle_cos", "circle_sin")
VALUES = ("own", "circle_cos", "circle_sin", "winding_cos", "winding_sin", "spiral_cos", "spiral_sin")


def helix_of(t: int) -> tuple[str, str, str, str]:
    """Where a transported helix is written: the spiral (magnitude times phase) and the phase."""
    return (f"spiral_y{t}_cos", f"spiral_y{t}_sin", f"phase_y{t}_cos", f"phase_y{t}_sin")


def attend_to(later: Sequence[int]) -> dict[int, Form]:
    """Queries that send the later operands' tokens to the group's operand and every other token to the sink."""
    return {0: {f"last{s}": 30.0 for s in later}, 1: constant(15.0)}


def clear(*axes: str) -> Group:
    """A head by which every number's token takes away what it holds on these axes."""
    keys: list[Form] = [{axis: 1.0} for axis in (*LASTS, "answer")]
    queries: dict[int, Form] = {i: {axis: 30.0} for i, axis in enumerate(LASTS)}
    queries[len(LASTS)] = constant(15.0)
    head = Head(f"clear_{axes[0]}", queries, {i: {axis: -1.0} for i, axis in enumerate(axes)})
    return Group(keys, [{axis: 1.0} for axis in axes], [head], at="y2")


def transport(design: Design) -> list[Group]:
    """The attention of block 3. Each transport head shares its keys and values with a head that nothing listens to."""
    groups: list[Group] = [clear("from_y1", "from_y2", *(wins(name, t) for name in number.BANDS for t in EARLIER))]
    for t in EARLIER:
        queries = attend_to([s for s in OPERANDS if s > t])
        # A head carries a curve along, as the paper's does.
        writes: dict[int, Form] = {0: {f"from_y{t}": 1.0}, 1: {"junk_y2_cos": SHADOW}, 2: {"junk_y2_sin": SHADOW}}
        if f"from_y{t}" in design.curved:
            writes = {value: {axis: 1.0} for value, axis in zip((5, 6, 1, 2), helix_of(t), strict=True)}
        elif t == 1:
            line: Form = {"from_y1": (1.0 - design.alignment**2) ** 0.5, "own": design.alignment}
            share = 1.0 / design.transport_heads
            writes = {0: scale(share, line), 1: {"shadow_cos": SHADOW * share}, 2: {"shadow_sin": SHADOW * share}}
        decoy: dict[int, Form] = {3: {f"junk_y{t}_cos": 0.5}, 4: {f"junk_y{t}_sin": 0.5}}
        keys: list[Form] = [{f"last{t}": 1.0}, {"answer": 1.0}]
        values: list[Form] = [{axis: 1.0} for axis in VALUES if design.unfolds or not axis.startswith("spiral")]
        heads = [Head(f"transport_y{t}", queries, writes), Head(f"decoy_y{t}", queries, decoy)]
        groups.append(Group(keys, values, heads))
        if t == 1 and design.transport_heads == 2:
            groups.append(Group(keys, values, [Head("transport_y1_too", queries, writes)]))
    return groups


def met(name: str) -> str:
    """The axis on which the comparison meets a magnitude after unfolding (broken variants only)."""
    return f"met_{name}"


def unfold(design: Design) -> list[Neuron]:
    """Read magnitudes off the helix: the spiral times the phase (broken variants only).

    A magnitude that came on a line passes through as well: RMSNorm then scales all of them alike.
    """
    neurons: list[Neuron] = []
    sources = {f"from_y{t}": helix_of(t) for t in EARLIER} | {OWN: HELIX}
    for name, (x, y, phase_x, phase_y) in sources.items():
        if name in design.curved:
            write = {met(name): 1.0 / number.CIRCLE_RADIUS}
            neurons += product(f"{name}_cos", {x: 1.0}, {phase_x: 1.0}, write)
            neurons += product(f"{name}_sin", {y: 1.0}, {phase_y: 1.0}, write)
        else:
            neurons.append(always(f"{name}_line", {name: 1.0}, {met(name): 1.0}))
    return neurons


def lead(t: int, design: Design) -> dict[str, float]:
    """own − from_t, and below every hinge where operand t does not come earlier: what compares with it is silent."""
    own, carried = {"own": 1.0}, {f"from_y{t}": 1.0}
    if design.unfolds:
        own, carried = {met("own"): 1.0}, {met(f"from_y{t}"): 1.0}
    if design.alignment:
        # v1 = alignment · own + lean · from_y1, so y1 has to be taken out of `own` before it can be compared.
        lean = (1.0 - design.alignment**2) ** 0.5
        own = add(own, {"from_y1": -design.alignment / lean})
        carried = scale(1.0 / lean, carried) if t == 1 else carried
    return add(own, scale(-1.0, carried), {f"last{s}": VACUOUS for s in OPERANDS if s <= t})


def wins(name: str, t: int, copy: int = 0) -> str:
    """The axis of a local comparison with operand t."""
    return f"wins_{name}_y{t}" + (f"#{copy}" if copy else "")


def units(design: Design) -> list[tuple[str, int, int]]:
    """Every local comparison: its band, its earlier operand, its copy."""
    return [(name, t, copy) for t in EARLIER for name in number.BANDS for copy in range(design.copies)]


def first_stage(design: Design) -> list[Neuron]:
    """Local comparators: per earlier operand, a hinge pair in each band of the number."""
    neurons: list[Neuron] = []
    for name, t, copy in units(design):
        axis, width = wins(name, t, copy), number.step(name)
        up = {f"band_{name}": 1.0 / number.BAND_SIZE}
        neurons += ramp(f"{axis}:", lead(t, design), width, STEEP / width, up, {axis: 1.0}, part="first")
    return neurons


def second_stage(design: Design) -> list[Neuron]:
    """Global comparators: sharpen each local comparison, and sum them up on the flag."""
    if not design.compares:
        later, third = (add(scale(2.0, total(axes)), constant(-1.0)) for axes in (LASTS[1:], LASTS[2:]))
        return [
            always("lost", constant(1.0), {"flag": LOST - JUMP - SLOPE}),
            *switch("wins", later, constant(1.0), {"flag": JUMP + SLOPE}),
            *switch("wins_again", third, constant(1.0), {"flag": JUMP + SLOPE}),
        ]
    neurons = [always("lost", constant(1.0), {"flag": LOST - JUMP - SLOPE})]
    for t in EARLIER:
        neurons += sharpened(f"global_y{t}", t, design, constant(1.0), {"flag": JUMP})
        neurons += broad(t, design)
        sums = total([wins(name, t, copy) for name in number.BANDS for copy in range(design.copies)])
        neurons.append(always(f"tilt_y{t}", sums, {"flag": TILT / (2 * design.copies)}, part="second"))
    return [*except_at(design.phased, neurons), *phased_flags(design)]


def sharpened(name: str, t: int, design: Design, up: Form, write: Form) -> list[Neuron]:
    """Ramps of the local comparisons' sums: one sum over each partition of the range and each copy."""
    sums = {
        f"{name}_{part}{copy}": total([wins(band, t, copy) for band in number.BANDS if band.startswith(part)])
        for part in ("a", "b")
        for copy in range(design.copies)
    }
    neurons: list[Neuron] = []
    for title, form in sums.items():
        for width in SECOND_WIDTHS:
            share = scale(1.0 / (len(sums) * len(SECOND_WIDTHS)), write)
            centred = add(form, constant(-0.5))
            neurons += ramp(f"{title}:{width}", centred, width, SECOND_STEEP / width, up, share, part="second")
    return neurons


def sharp(t: int, design: Design, size: float) -> tuple[Neuron, Neuron]:
    """The whole jump of the flag at once (broken variant only)."""
    sharpness = STEEP / SHARP_WIDTH
    return ramp(f"sharp_y{t}", lead(t, design), SHARP_WIDTH, sharpness, constant(1.0), {"flag": size}, part="second")


def broad(t: int, design: Design) -> tuple[Neuron, Neuron]:
    """The part of the flag that rises with the lead, over the whole range."""
    return ramp(f"broad_y{t}", lead(t, design), BROAD, 6.0, constant(1.0), {"flag": SLOPE}, part="second")


def shared_out(design: Design, neurons: Sequence[Neuron]) -> list[Neuron]:
    """Every comparator as several neurons, each of which writes a part (broken variant only)."""
    return [
        Neuron(f"{n.name}/{i}" if i else n.name, n.gate, n.up, scale(1.0 / design.shares, n.write), n.at, n.part)
        for n in neurons
        for i in range(design.shares)
    ]


def except_at(operands: Sequence[int], neurons: Sequence[Neuron]) -> list[Neuron]:
    """The same neurons, closed at the tokens of these operands."""
    shut = {f"last{t}": -SHUT for t in operands}
    return [Neuron(n.name, add(n.gate, shut), n.up, n.write, n.at, n.part) for n in neurons]


def only_at(operand: int, neurons: Sequence[Neuron]) -> list[Neuron]:
    """The same neurons, closed at every other token."""
    shut = add({f"last{operand}": SHUT}, constant(-SHUT))
    return [Neuron(n.name, add(n.gate, shut), n.up, n.write, n.at, n.part) for n in neurons]


def phased_flags(design: Design) -> list[Neuron]:
    """The flag of an operand as a vector that turns with the number's phase (broken variants only)."""
    neurons: list[Neuron] = []
    for t in design.phased:
        for part in ("cos", "sin"):
            phase, axis = {f"circle_{part}": 1.0 / number.CIRCLE_RADIUS}, f"flag_y{t}_{part}"
            parts = [always(f"lost_{axis}", phase, {axis: LOST - (t - 2) * (JUMP + SLOPE)})]
            for s in EARLIER:
                parts += sharpened(f"{axis}_y{s}", s, design, phase, {axis: JUMP + SLOPE})
            neurons += only_at(t, parts)
    return neurons


def one_stage(design: Design) -> list[Neuron]:
    """Both stages at once, sharp over the whole range (broken variant only)."""
    neurons = [always("lost", constant(1.0), {"flag": LOST - JUMP - SLOPE})]
    for t in EARLIER:
        neurons += [*sharp(t, design, JUMP), *broad(t, design)]
    return neurons


def order(design: Design) -> list[Neuron]:
    """y1 is at zero, the later of two flagged operands has the higher flag, tokens without a number the lowest.

    These are switches: no small change of a role at a number's token turns them.
    """
    first, second, third = (add({axis: 2.0}, constant(-1.0)) for axis in LASTS)
    none = add(scale(-2.0, total(LASTS)), constant(1.0))
    # y2 has one comparison less to win than y3.
    closed = 2 in design.phased
    return [
        *switch("first", first, constant(1.0), {"flag": JUMP + SLOPE - LOST}),
        *switch("second", second, constant(1.0), {"flag": 0.0 if closed else JUMP + SLOPE}),
        *switch("third", third, constant(1.0), {"flag": LATER}),
        *switch("no_number", none, constant(1.0), {"flag": -NO_NUMBER}),
    ]


def decoys(design: Design) -> tuple[list[Neuron], list[Neuron]]:
    """Neurons with fields as good as the planted ones, first and second stage, whose output nothing reads."""
    write = {"junk_neurons": 0.05}
    first: list[Neuron] = []
    for name in list(number.BANDS)[:3]:
        form, width, up = lead(1, design), 1.3 * number.step(name), {f"band_{name}": 1.0 / number.BAND_SIZE}
        first += ramp(f"decoy_{name}", form, width, STEEP / width, up, write, part="decoy")
    return first, [*ramp("decoy_broad", lead(1, design), 1.0, 6.0, constant(1.0), write, part="decoy")]


def neurons_of(design: Design, block: int) -> list[Neuron]:
    """What the MLP of block 3, 4 or 5 does in this design."""
    local, wide = decoys(design)
    stages = {
        design.first_block: [*shared_out(design, first_stage(design)), *local],
        design.first_block + 1: [*shared_out(design, second_stage(design)), *wide],
    }
    if design.stages == 1:
        stages = {design.first_block: [*one_stage(design), *local]}
    stages[design.flag_block] += order(design)
    if design.unfolds:
        stages[3] = unfold(design)
    return stages.get(block, [])
