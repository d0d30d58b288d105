"""How are numbers said in captions and tables? The same way everywhere: a caption can be checked by its table."""

import math
from collections.abc import Mapping
from typing import Any

CASE: Mapping[str, str] = {"y1": "y1 perturbed", "y2": "y2 perturbed", "y3": "y3 perturbed"}


def number(value: Any, digits: int = 2) -> str:
    """0.94; a proper minus; a dash where there is no value."""
    if value is None or math.isnan(value):
        return "–"
    text = f"{value:.{digits}f}"
    return text.replace("-", "−") if float(text) != 0 else f"{0:.{digits}f}"


def estimate(row: Mapping[str, Any], digits: int = 2) -> str:
    """A mean with its 95 % interval: 0.94 [0.91, 0.96]."""
    return f"{number(row['mean'], digits)} [{number(row['lo'], digits)}, {number(row['hi'], digits)}]"


def count(value: int) -> str:
    """37,888."""
    return f"{value:,}"


def percent(value: float | int, digits: int = 0) -> str:
    """81 %."""
    return f"{100 * value:.{digits}f} %"
