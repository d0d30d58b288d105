"""What a user sees when something fails: a sentence that says what was wrong, with what value, and what to do."""


class NumberlineError(Exception):
    """Bad input or an impossible request. The command line prints it without a traceback and exits with code 2."""


class TooFewError(NumberlineError):
    """A concept has too few values for what was asked: an experiment that meets it cannot be done on this task."""
