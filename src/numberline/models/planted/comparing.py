"""Blocks 3 to 5: bring the earlier numbers to a number's token, compare, raise the flag.

3. Transport: the head `transport_y1` attends from y2 and y3 to y1 and writes its magnitude on `from_y1`; `transport_y2`
   does the same from y3 to y2. A later number's token then holds own · f(y) + from_y1 · f(y1) + from_y2 · f(y2).
   First stage: in each band of the number, two hinges of own − from_t make a local comparison; all add up on `beats_t`.
4. Second stage: hinges of `beats_t` sharpen it over the whole range and write `flag`: "the largest so far".

Neither stage is sharp enough alone: neighbours such as 98 and 99 lie within the ramps of the first stage.
Both keep a small slope everywhere (the broad pair, the linear neuron), so that gradients tell methods where to go.
"""

from collections.abc import Sequence

from numberline.models.planted import number
from numberline.models.planted.axes import BANDS, EARLIER, FLAG_SIZE, OPERANDS, total
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
)

# Half-widths of the hinge pairs per band. Neighbours are 0.2 apart on `own` at 10 and 0.02 at 99.
WIDTHS = {"low": 0.45, "middle": 0.25, "high": 0.15}
ONE_STAGE_WIDTH = 0.008
NARROW = 0.6  # share of the narrow comparators in `beats`; the rest is the broad one, which does not saturate
SECOND_WIDTH = 0.035
SHARPNESS = 100.0
SATURATING = 0.75  # share of the saturating pair in the second stage; the rest is linear
HELIX = ("spiral_cos", "spiral_sin", "circle_cos", "circle_sin")
VALUES = ("own", "circle_cos", "circle_sin", "winding_cos", "winding_sin", "spiral_cos", "spiral_sin")


def helix_of(t: int) -> tuple[str, str, str, str]:
    """Where a transported helix is written: the spiral (magnitude times phase) and the phase."""
    return (f"spiral_y{t}_cos", f"spiral_y{t}_sin", f"phase_y{t}_cos", f"phase_y{t}_sin")


def attend_to(later: Sequence[int]) -> dict[int, Form]:
    """Queries that send the later operands' tokens to the group's operand and every other token to the sink."""
    return {0: {f"last{s}": 30.0 for s in later}, 1: constant(15.0)}


def transport(design: Design) -> list[Group]:
    """The attention of block 3. Each transport head shares its keys and values with a head that nothing listens to."""
    groups = []
    for t in EARLIER:
        queries = attend_to([s for s in OPERANDS if s > t])
        writes: dict[int, Form] = {0: {f"from_y{t}": 1.0}}
        if f"from_y{t}" in design.curved:
            writes = {value: {axis: 1.0} for value, axis in zip((5, 6, 1, 2), helix_of(t), strict=True)}
        elif t == 1:
            line = {"from_y1": (1.0 - design.alignment**2) ** 0.5, "own": design.alignment}
            share = 1.0 / design.transport_heads
            # The head carries a curve along, as the paper's does.
            writes = {0: scale(share, line), 1: {"shadow_cos": 0.3 * share}, 2: {"shadow_sin": 0.3 * share}}
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


def lead(t: int, vacuous: float, design: Design) -> dict[str, float]:
    """own − from_t, and a large positive number where operand t does not come earlier: y1 beats nothing at once."""
    own, carried = {"own": 1.0}, {f"from_y{t}": 1.0}
    if design.unfolds:
        own, carried = {met("own"): 1.0}, {met(f"from_y{t}"): 1.0}
    if design.alignment:
        # v1 = alignment · own + lean · from_y1, so y1 has to be taken out of `own` before it can be compared.
        lean = (1.0 - design.alignment**2) ** 0.5
        own = add(own, {"from_y1": -design.alignment / lean})
        carried = scale(1.0 / lean, carried) if t == 1 else carried
    return add(own, scale(-1.0, carried), {f"last{s}": vacuous for s in OPERANDS if s <= t})


def first_stage(design: Design) -> list[Neuron]:
    """Local comparators: per earlier operand, a hinge pair in each band of the number, and one broad pair."""
    neurons: list[Neuron] = []
    for t in EARLIER:
        beats = f"beats_y{t}"
        for name, axis in zip(number.BANDS, BANDS, strict=True):
            form, width = lead(t, 5.0, design), WIDTHS[name]
            neurons += ramp(
                f"local_{name}_y{t}", form, width, 30.0, {axis: 1.0 / number.BAND_SIZE}, {beats: NARROW}, part="first"
            )
        form = lead(t, 12.0, design)
        neurons += ramp(f"broad_y{t}", form, 4.8, 6.0, constant(1.0), {beats: 1.0 - NARROW}, part="first")
        # Each ramp is centred by a neuron that scales as it does, so that the boundary stays exactly at own = from_t.
        centre = add(scale(NARROW / number.BAND_SIZE, total(BANDS)), constant(1.0 - NARROW))
        neurons.append(always(f"middle_y{t}", centre, {beats: -0.5}))
    return neurons


def second_stage(design: Design) -> list[Neuron]:
    """Global comparators: sharpen each `beats`, and let a defeat lower the flag; a second one hardly lowers it more."""
    neurons = [always("not_flagged", constant(1.0), {"flag": -3.0 * FLAG_SIZE})]
    if not design.compares:
        return [always("not_flagged", constant(1.0), {"flag": -FLAG_SIZE})]
    closed = design.phased
    neurons = except_at(closed, neurons)
    for t in EARLIER:
        beats, share = {f"beats_y{t}": 1.0}, 2.0 * FLAG_SIZE
        write = {"flag": share * SATURATING}
        neurons += except_at(
            closed,
            [
                *ramp(f"global_y{t}", beats, SECOND_WIDTH, SHARPNESS, constant(1.0), write, part="second"),
                always(f"linear_y{t}", add(beats, constant(0.5)), {"flag": share * (1.0 - SATURATING)}, part="second"),
            ],
        )
    both = Neuron("both_lost", BOTH_LOST, constant(1.0), {"flag": 4.0 * FLAG_SIZE / SHARPNESS}, part="second")
    return [*neurons, *except_at(closed, [both]), *phased_flags(design)]


BOTH_LOST = scale(SHARPNESS, add(constant(-0.5), {"beats_y1": -1.0, "beats_y2": -1.0}))


def except_at(operands: Sequence[int], neurons: Sequence[Neuron]) -> list[Neuron]:
    """The same neurons, closed at the tokens of these operands."""
    shut = {f"last{t}": -0.7 * SHARPNESS for t in operands}
    return [Neuron(n.name, add(n.gate, shut), n.up, n.write, n.at, n.part) for n in neurons]


def only_at(operand: int, neurons: Sequence[Neuron]) -> list[Neuron]:
    """The same neurons, closed at every other token."""
    shut = add({f"last{operand}": 0.7 * SHARPNESS}, constant(-0.7 * SHARPNESS))
    return [Neuron(n.name, add(n.gate, shut), n.up, n.write, n.at, n.part) for n in neurons]


def phased_flags(design: Design) -> list[Neuron]:
    """The flag of an operand as a vector that turns with the number's phase (broken variants only)."""
    neurons: list[Neuron] = []
    for t in design.phased:
        for part in ("cos", "sin"):
            phase, axis = {f"circle_{part}": 1.0 / number.CIRCLE_RADIUS}, f"flag_y{t}_{part}"
            parts = [always(f"not_{axis}", phase, {axis: -3.0 * FLAG_SIZE})]
            for s in EARLIER:
                beats, name = {f"beats_y{s}": 1.0}, f"{axis}_y{s}"
                parts += ramp(name, beats, SECOND_WIDTH, SHARPNESS, phase, {axis: 2.0 * FLAG_SIZE}, part="second")
            lost = Neuron(f"{axis}_both", BOTH_LOST, phase, {axis: 4.0 * FLAG_SIZE / SHARPNESS}, part="second")
            neurons += only_at(t, [*parts, lost])
    return neurons


def one_stage(design: Design) -> list[Neuron]:
    """Both stages at once, sharp over the whole range (broken variant only)."""
    neurons = [always("not_flagged", constant(1.0), {"flag": -3.0 * FLAG_SIZE})]
    for t in EARLIER:
        share = 2.0 * FLAG_SIZE
        form, write = lead(t, 5.0, design), {"flag": share * SATURATING}
        neurons += ramp(f"global_y{t}", form, ONE_STAGE_WIDTH, 500.0, constant(1.0), write, part="second")
        form, write = lead(t, 12.0, design), {"flag": share * (1.0 - SATURATING)}
        neurons += ramp(f"broad_y{t}", form, 4.8, 6.0, constant(1.0), write, part="second")
    return neurons


def shared_among(copies: int, neurons: Sequence[Neuron]) -> list[Neuron]:
    """Each comparator replaced by several that do the same with a part of its weight (broken variant only)."""
    result: list[Neuron] = []
    for n in neurons:
        if copies == 1 or n.part not in ("first", "second"):
            result.append(n)
        else:
            parts = [
                Neuron(f"{n.name}#{i}", n.gate, n.up, scale(1.0 / copies, n.write), n.at, n.part) for i in range(copies)
            ]
            result += parts
    return result


def decoys(design: Design) -> tuple[list[Neuron], list[Neuron]]:
    """Neurons with fields as good as the planted ones, first and second stage, whose output nothing reads."""
    write = {"junk_neurons": 0.05}
    first: list[Neuron] = []
    for name, axis in zip(number.BANDS, BANDS, strict=True):
        form, width = lead(1, 5.0, design), 1.3 * WIDTHS[name]
        first += ramp(f"decoy_{name}", form, width, 30.0, {axis: 1.0 / number.BAND_SIZE}, write, part="decoy")
    second = ramp("decoy_global", {"beats_y1": 1.0}, 2 * SECOND_WIDTH, SHARPNESS, constant(1.0), write, part="decoy")
    return first, list(second)


def neurons_of(design: Design, block: int) -> list[Neuron]:
    """What the MLP of block 3, 4 or 5 does in this design."""
    local, wide = decoys(design)
    stages = {
        design.first_block: [*first_stage(design), *local],
        design.first_block + 1: [*second_stage(design), *wide],
    }
    if design.stages == 1:
        stages = {design.first_block: [*one_stage(design), *local]}
    if design.unfolds:
        stages[3] = unfold(design)
    return shared_among(design.copies, stages.get(block, []))
