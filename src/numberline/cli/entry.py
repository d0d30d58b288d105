"""The entry point: it sets the process up, runs a command, and turns every failure into one sentence.

What the user can put right is exit code 2, an error inside numberline 1 (its traceback is in a file), Ctrl-C 130.
"""

import os
import sys
from typing import NoReturn

import typer

from numberline.cli.base import StoppedError, app, traceback_file
from numberline.errors import NumberlineError


def _stop(sentence: str, code: int) -> NoReturn:
    print(f"numberline: {' '.join(sentence.split())}", file=sys.stderr)
    raise SystemExit(code)


def main() -> None:
    """The entry point: every failure becomes one sentence."""
    # Threads that wait busily make a run ten times slower when a neighbour takes a core; threads that sleep at once, a
    # quarter slower between small operations. So they spin for a tenth of a millisecond. OpenMP reads this once.
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ["OMP_WAIT_POLICY"] = "passive"
        os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    os.environ.setdefault("HF_HUB_VERBOSITY", "error")
    try:
        code = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except NumberlineError as error:
        _stop(str(error), 2)
    except StoppedError as error:
        _stop(str(error), 130)
    except (KeyboardInterrupt, typer.Abort):
        _stop("stopped", 130)
    except BrokenPipeError:
        # The reader of our output went away (head): nothing more to say, not even while closing.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except Exception as error:
        usage = getattr(error, "format_message", None)  # typer's own refusals of options and commands
        if usage is not None:
            _stop(f"{usage()} (numberline --help lists what there is)", 2)
        if os.environ.get("NUMBERLINE_TRACEBACK"):
            raise
        _stop(
            f"an error inside numberline, {type(error).__name__}: {error}; please report it together with the file "
            f"{traceback_file()}, which holds the command, the versions and the traceback",
            1,
        )
    raise SystemExit(code or 0)
