"""Whole numbers of one, three and four digits: the paper's question, asked as it is of two digits.

A number of one digit is its own leading digit, so that any two may be compared.
"""

from dataclasses import replace

from numberline.tasks.concepts.whole_numbers import whole_numbers

MAX_1, MIN_1 = (replace(whole_numbers(name, 1), name=f"{name}-1", gap=0) for name in ("max", "min"))
MAX_3, MAX_4, MIN_3, MIN_4 = (
    replace(whole_numbers(name, digits), name=f"{name}-{digits}") for name in ("max", "min") for digits in (3, 4)
)
