"""The small language in which a compiled transformer is written down: axes, linear forms, heads, neurons, blocks.

1. The residual stream is a list of named axes. A `Form` is a linear form on them, written as a dictionary:
   `{"own": 1, "from_y1": -1}` reads y2's magnitude minus y1's; the key `"1"` is a constant.
2. A `Group` is one key/value head with the query heads that share it (grouped-query attention). Each of its keys and
   values is a form of the attended token. A `Head` has a form of the attending token for each key it uses (the score is
   the sum of the products, in logits), and says along which axes each value is written.
3. A `Neuron` is one SwiGLU unit: it adds `silu(gate) · up` along `write`.
4. Forms are in the residual's own units. RMSNorm divides by the norm of the token, so each part says `at` which token
   of the reference prompt it does its work; the compiler measures the norm there and divides it out.
5. An axis may have a size: one unit of it is that long in the residual stream. What is large is read with small
   weights, so a change of a given length matters less along it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import exp

Form = Mapping[str, float]

CONSTANT = "1"  # in a form: the number one
ONE = "one"  # the axis on which every token holds the same large value, so that its norm hardly varies
ONE_VALUE = 20.0


@dataclass(frozen=True)
class Head:
    """One query head: what it looks for with each key of its group, and where it writes each value of its group."""

    name: str
    queries: Mapping[int, Form]
    writes: Mapping[int, Form]
    at: str = "y2"
    previous_token: bool = False


@dataclass(frozen=True)
class Group:
    """One key/value head and the query heads that share it."""

    keys: Sequence[Form]
    values: Sequence[Form]
    heads: Sequence[Head]
    at: str = "y1"


@dataclass(frozen=True)
class Neuron:
    """One SwiGLU unit; `part` says what it is for ("first", "second" stage, "decoy", or plumbing)."""

    name: str
    gate: Form
    up: Form
    write: Form
    at: str = "y2"
    part: str = "plumbing"


@dataclass(frozen=True)
class Block:
    """One decoder block."""

    groups: Sequence[Group] = ()
    neurons: Sequence[Neuron] = ()


@dataclass(frozen=True)
class Circuit:
    """A whole model: what tokens hold, what blocks do, what the unembedding reads."""

    axes: Sequence[str]
    sizes: Mapping[str, float]  # how long one unit of an axis is in the residual stream, where it is not 1
    embedding: Mapping[str, Form]
    blocks: Sequence[Block]
    unembedding: Mapping[str, Form] = field(default_factory=dict)


def add(*forms: Form) -> dict[str, float]:
    """The sum of forms."""
    total: dict[str, float] = {}
    for form in forms:
        for axis, weight in form.items():
            total[axis] = total.get(axis, 0.0) + weight
    return total


def scale(factor: float, form: Form) -> dict[str, float]:
    """A multiple of a form."""
    return {axis: factor * weight for axis, weight in form.items()}


def constant(value: float) -> dict[str, float]:
    """The form that is `value` at every token."""
    return {CONSTANT: value}


def silu(x: float) -> float:
    """x · sigmoid(x)."""
    return x / (1.0 + exp(-x))


def ramp(
    name: str, form: Form, width: float, sharpness: float, up: Form, write: Form, at: str = "y2", part: str = "plumbing"
) -> tuple[Neuron, Neuron]:
    """Two neurons that together write `up` times a ramp: 0 where form < −width, ½ at 0 (exactly), 1 where form > width.

    Each is a hinge; the difference of the two saturates. At zero silu(z) − silu(−z) = z makes the middle exact.
    """
    gain = 1.0 / (2.0 * width * sharpness)
    rise = Neuron(name + "+", scale(sharpness, add(form, constant(width))), up, scale(gain, write), at=at, part=part)
    stop = Neuron(name + "-", scale(sharpness, add(form, constant(-width))), up, scale(-gain, write), at=at, part=part)
    return rise, stop


def switch(
    name: str, form: Form, up: Form, write: Form, at: str = "y2", part: str = "plumbing"
) -> tuple[Neuron, Neuron]:
    """A ramp used as a logical gate: `form` is at least 1 when on and at most −1 when off."""
    return ramp(name, form, 0.5, 20.0, up, write, at, part)


def always(name: str, up: Form, write: Form, at: str = "y2", part: str = "plumbing") -> Neuron:
    """A neuron whose gate is open at every token: a linear map."""
    return Neuron(name, constant(10.0), up, scale(1.0 / silu(10.0), write), at=at, part=part)


def product(
    name: str, left: Form, right: Form, write: Form, at: str = "y2", part: str = "plumbing"
) -> tuple[Neuron, Neuron]:
    """Two neurons that write left · right, exactly: (silu(z) − silu(−z)) · w = z · w."""
    return (
        Neuron(name + "+", left, right, write, at=at, part=part),
        Neuron(name + "-", scale(-1.0, left), scale(-1.0, right), write, at=at, part=part),
    )
