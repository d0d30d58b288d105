"""The named axes of the planted residual stream, and the sizes at which things are written on them."""

from collections.abc import Sequence
from math import cos, pi, sin

from numberline.models.planted import number
from numberline.models.planted.language import ONE

OPERANDS = (1, 2, 3)
EARLIER = (1, 2)  # operands that a later one is compared with

DIGITS = tuple(f"digit{d}" for d in range(10))  # the token's own digit
TENS = tuple(f"tens{d}" for d in range(10))  # the previous token's digit
SAY = tuple(f"say{d}" for d in range(10))  # the digit to be said next
VALUE_TENS = tuple(f"value_tens{d}" for d in range(10))  # digits decoded from the magnitude (variant "by-value")
VALUE_ONES = tuple(f"value_ones{d}" for d in range(10))
TYPES = {"ĠThe": "the", "Answer": "answer", "Ġis": "is", ",": "separator", "Ġand": "separator", "Ġ": "space"}
FIRSTS = tuple(f"first{t}" for t in OPERANDS)  # this token is the first digit of operand t of the question
LASTS = tuple(f"last{t}" for t in OPERANDS)  # … the last digit
BANDS = tuple(f"band_{name}" for name in number.BANDS)
CURVE = ("circle_cos", "circle_sin", "winding_cos", "winding_sin", "arc_cos", "arc_sin")
SPIRAL = ("spiral_cos", "spiral_sin")  # the magnitude times the unit vector of the circle (variants "helix", …)
JUNK = (
    "shadow_cos", "shadow_sin", "junk_y1_cos", "junk_y1_sin", "junk_y2_cos", "junk_y2_sin",
    "junk_last_cos", "junk_last_sin", "junk_neurons",
)  # fmt: skip

COMMON = (
    ONE,
    *DIGITS,
    *dict.fromkeys(TYPES.values()),
    *TENS,
    "statements", "question", "separators", "after_is",
    *FIRSTS, *LASTS,
    "ask_first", "ask_last", "ask_stop",
    "own", *BANDS, *CURVE,
    "from_y1", "from_y2",
    *JUNK,
    "flag",
    "code_x", "code_y",
    *SAY,
)  # fmt: skip

CODE_RADIUS = 3.0
# How long one unit is (see `circuit.sizes`).
ANSWER_SIZE = 5.0
ROLE_SIZE = 24.0
WINS_SIZE = 1.0
FLAG_SIZE = 2.5
CARRIED_SIZE = 0.15
TENS_SIZE = 0.3  # small: tens digits rise with the number, and must not pass for its magnitude
SMALL = 0.3  # the size of raw counts: small, so that they do not change a number token's norm


def total(axes: Sequence[str]) -> dict[str, float]:
    """The form that adds axes."""
    return dict.fromkeys(axes, 1.0)


def code(t: int) -> tuple[float, float]:
    """The position code of operand t: a corner of a triangle."""
    angle = 2 * pi * t / 3
    return CODE_RADIUS * cos(angle), CODE_RADIUS * sin(angle)
