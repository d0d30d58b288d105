"""How are numbers said, in claims, captions, tables and on the screen? The same way everywhere."""

import math
from collections.abc import Mapping
from typing import Any


def number(value: Any, digits: int = 2) -> str:
    """0.94; a proper minus; a dash where there is no value."""
    if value is None or math.isnan(value):
        return "–"
    text = f"{value:.{digits}f}"
    return text.replace("-", "−") if float(text) != 0 else f"{0:.{digits}f}"


def short(value: float | int, digits: int = 2) -> str:
    """Whole numbers as such, others with some digits."""
    return str(int(value)) if float(value).is_integer() and abs(value) > 1 else number(value, digits)


def estimate(row: Mapping[str, Any], digits: int = 2) -> str:
    """A score with its 95 % interval: 0.94 [0.91, 0.96]."""
    return number(row["mean"], digits) + interval(row["lo"], row["hi"], digits)


def with_interval(value: Any, lo: Any, hi: Any) -> str:
    """The same; the value alone where it has no interval, such as a cosine."""
    return number(value) if lo is None or lo == hi else number(value) + interval(lo, hi)


def interval(lo: Any, hi: Any, digits: int = 2) -> str:
    """What follows a value: [0.91, 0.96]."""
    return f" [{number(lo, digits)}, {number(hi, digits)}]"


def count(value: int) -> str:
    """37,888."""
    return f"{value:,}"


def percent(value: float | int | None, digits: int = 0) -> str:
    """81 %; a dash where there is no value."""
    return "–" if value is None else f"{100 * value:.{digits}f} %"


def duration(seconds: float | int) -> str:
    """0.4 s; 45 s; 12 min; 3 h 20 min; 2 days 5 h."""
    if seconds < 90:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{hours // 24} days {hours % 24} h"


def size(number: float | int) -> str:
    """15.2 GB; 80 MB."""
    return f"{number / 1e9:.1f} GB" if number >= 1e9 else f"{number / 1e6:.0f} MB"
