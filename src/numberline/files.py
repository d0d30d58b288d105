"""How is a file written so that nobody ever sees half of it? Under a temporary name, then renamed."""

import contextlib
import os
from pathlib import Path

from numberline.errors import NumberlineError


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; what stood there before stays until the new file is complete."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        raise NumberlineError(
            f"{path} cannot be written ({error.strerror}): choose a place that exists and may be written to"
        ) from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, unless it exists."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NumberlineError(
            f"the folder {path} cannot be made ({error.strerror}): choose a place that may be written to"
        ) from error
