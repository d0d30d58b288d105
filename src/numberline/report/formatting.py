"""How are numbers said in captions and tables? The same way everywhere: a caption can be checked by its table."""

from collections.abc import Mapping

from numberline.results.formatting import count, estimate, number, percent

__all__ = ["CASE", "count", "estimate", "number", "percent"]

CASE: Mapping[str, str] = {"y1": "y1 perturbed", "y2": "y2 perturbed", "y3": "y3 perturbed"}
