"""What the planted model knows about one number: its magnitude, its bands, and the curves that nothing reads.

Everything here is a function of the two-digit value alone. Curves and bands have the same length for every number, and
the rest of a token is much longer than the magnitude: RMSNorm is almost a fixed scale, and the line stays straight.
"""

from math import cos, log, pi, sin

VALUES = range(10, 100)
TURNS = 6.0  # of the winding decoy, over the whole range
CIRCLE_RADIUS = 1.9
WINDING_RADIUS = 1.8
LATER_SHARE = 0.4  # of the radii, at later operands: there the line has more variance than any one decoy axis
ARC_RADIUS = 0.2
BAND_SIZE = 0.3  # small: bands rise with the number, and must not pass for its magnitude

BANDS = {"a1": (10, 21), "a2": (22, 46), "a3": (47, 99), "b1": (10, 31), "b2": (32, 67), "b3": (68, 99)}
"""Intervals of numbers, first and last: two partitions of the range that overlap each other."""


def magnitude(y: int) -> float:
    """f(y): the logarithm, centred, twice; from −2.3 at 10 to 2.3 at 99."""
    return 2.0 * (log(y) - 0.5 * (log(10) + log(99)))


def fraction(y: int) -> float:
    """Where y lies on the logarithmic range, from 0 to 1."""
    return log(y / 10) / log(9.9)


def band(name: str, y: int) -> float:
    """Whether y belongs to a band, times `BAND_SIZE`. Every number is in two of them."""
    first, last = BANDS[name]
    return BAND_SIZE if first <= y <= last else 0.0


def step(name: str) -> float:
    """How far apart the closest neighbours of a band are."""
    last = BANDS[name][1]
    return magnitude(last) - magnitude(last - 1)


def circle(y: int) -> tuple[float, float]:
    """The decoy circle of period ten."""
    angle = 2 * pi * (y % 10) / 10
    return CIRCLE_RADIUS * cos(angle), CIRCLE_RADIUS * sin(angle)


def winding(y: int) -> tuple[float, float]:
    """The decoy circle that winds along the logarithmic range."""
    angle = 2 * pi * TURNS * fraction(y)
    return WINDING_RADIUS * cos(angle), WINDING_RADIUS * sin(angle)


def arc(y: int) -> tuple[float, float]:
    """The slow part of the decoy: with it the curve decodes log y, though its variance is small."""
    angle = 0.75 * pi * fraction(y)
    return ARC_RADIUS * cos(angle), ARC_RADIUS * sin(angle)
