"""Which cases are there? A case is the operand that a counterfactual changes; tables have a column of that name."""

CASES = ("y1", "y2")
"""With two operands."""
CASES_OF_THREE = ("y1", "y2", "y3")
"""With three."""
