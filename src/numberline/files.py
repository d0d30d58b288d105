"""How is a file written so that nobody ever sees half of it? Under a temporary name, then renamed.

The temporary name says which process of which machine writes it. What a killed process left is removed by the next one;
what a living one is writing is let alone.
"""

import contextlib
import os
import platform
import shutil
from pathlib import Path

import psutil

from numberline.errors import NumberlineError

PARTIAL = ".partial"


def partial_name(path: Path) -> Path:
    """The name of a file or folder while this process writes it."""
    return path.with_name(f".{path.name}.{platform.node()}.{os.getpid()}{PARTIAL}")


def remove_leftovers(folder: Path, name: str = "*") -> None:
    """Remove what processes of this machine began to write in a folder and, killed, did not finish."""
    for partial in folder.glob(f".{name}.{platform.node()}.*{PARTIAL}"):
        process = partial.suffixes[-2][1:]
        if process.isdigit() and not psutil.pid_exists(int(process)):
            if partial.is_dir():
                shutil.rmtree(partial, ignore_errors=True)
            else:
                partial.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; what stood there before stays until the new file is complete."""
    partial = partial_name(path)
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        _sync_folder(path.parent)
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


def check_links(folder: Path) -> None:
    """Refuse a folder in which another one is only linked: what is written or removed there would be so elsewhere."""
    for place, folders, _ in os.walk(folder):
        for name in folders:
            if (link := Path(place, name)).is_symlink():
                raise NumberlineError(f"{link} is a link to {link.readlink()}: have the folder itself there, or none")


def _sync_folder(folder: Path) -> None:
    """Have the new name on disk too, where the system can: a power cut may come at once."""
    with contextlib.suppress(OSError):
        entry = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(entry)
        finally:
            os.close(entry)
