"""What the planted model knows about one number: its magnitude, its bands, and the curves that nothing reads.

Everything here is a function of the two-digit value alone. The squared norm of the whole representation is the same for
every number (the ballast sees to it), so that RMSNorm is a fixed scale at a number's token and the line stays straight.
"""

from math import cos, log, pi, sin, sqrt

VALUES = range(10, 100)
TURNS = 3.0  # of the winding decoy, over the whole range
CIRCLE_RADIUS = 1.9
WINDING_RADIUS = 1.8
ARC_RADIUS = 0.4
BAND_SIZE = 0.3  # small: bands rise with the number, and must not pass for its magnitude
BALLAST = 6.0  # more than the largest squared magnitude and one band

BANDS = ("low", "middle", "high")
_CORNERS = {"low": (0, 0, 18, 28), "middle": (18, 28, 45, 60), "high": (45, 60, 200, 201)}


def magnitude(y: int) -> float:
    """f(y): the logarithm, centred, twice; from −2.3 at 10 to 2.3 at 99."""
    return 2.0 * (log(y) - 0.5 * (log(10) + log(99)))


def fraction(y: int) -> float:
    """Where y lies on the logarithmic range, from 0 to 1."""
    return log(y / 10) / log(9.9)


def band(name: str, y: int) -> float:
    """How much y belongs to a band: trapezoids that overlap and sum to `BAND_SIZE`."""
    return BAND_SIZE * _trapezoid(name, y)


def _trapezoid(name: str, y: int) -> float:
    start, full, end, gone = _CORNERS[name]
    if full <= y <= end:
        return 1.0
    if start < y < full:
        return (y - start) / (full - start)
    return (gone - y) / (gone - end) if end < y < gone else 0.0


def ballast(y: int, magnitudes: int = 1) -> float:
    """What must be added, along an axis of its own, for the norm not to depend on y (held `magnitudes` times).

    Its sign alternates, so that it does not rise or fall with the number.
    """
    held = magnitudes * magnitude(y) ** 2 + sum(band(name, y) ** 2 for name in BANDS)
    return (-1.0 if y % 2 else 1.0) * sqrt(magnitudes * BALLAST - held)


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
