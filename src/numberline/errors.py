"""What a user sees when something fails: a sentence that says what was wrong, with what value, and what to do."""

from collections.abc import Iterable
from difflib import get_close_matches


class NumberlineError(Exception):
    """Bad input or an impossible request. The command line prints it without a traceback and exits with code 2."""


class TooFewError(NumberlineError):
    """A concept has too few values for what was asked: an experiment that meets it cannot be done on this task."""


class LayoutError(NumberlineError):
    """A tokenizer splits prompts unevenly: an experiment that meets it cannot be done on this model."""


def nearest(name: str, names: Iterable[str]) -> str:
    """What to do about a name that there is not: the names that look like it, or else all."""
    known = list(names)
    alike = get_close_matches(name, known, n=3)
    return f"did you mean {' or '.join(alike)}?" if alike else f"choose from {', '.join(known)}"
