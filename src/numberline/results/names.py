"""What may things be called? Names become names of files, so that only letters, digits and _ are allowed."""

import re

NAME = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*")
"""What a table, a tensor or a subspace may be called."""
ID = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)*")
"""What an experiment may be called."""
