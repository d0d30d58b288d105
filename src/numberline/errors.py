"""The one exception a user is meant to see: a sentence that says what was wrong, with what value, and what to do."""


class NumberlineError(Exception):
    """Bad input or an impossible request. The command line prints it without a traceback and exits with code 2."""
