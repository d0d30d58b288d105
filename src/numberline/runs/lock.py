"""Who works on a run's folder? One process at a time.

1. A process locks the folder before it writes there. The system gives the lock back when its holder ends, however that
   happens, so that nothing has to be cleared away after a crash.
2. Beside the lock stands who holds it: process, machine, since when. That is for the words alone.
3. The second process says so and stops, or waits until the folder is free.

A process that holds a folder already may take it again.
"""

import contextlib
import json
import os
import platform
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from numberline.errors import NumberlineError
from numberline.files import make_folder, write_whole

LOCK, HOLDER = ".lock", ".held_by.json"


@contextlib.contextmanager
def held(folder: Path, wait: bool = False, say: Callable[[str], object] = lambda _: None) -> Iterator[None]:
    """Hold a folder; it is made unless it exists, and then goes again if nothing was put there."""
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    make_folder(folder)
    lock = FileLock((folder / LOCK).absolute(), is_singleton=True)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        who = f"{folder} is in use by {_holder(folder)}"
        if not wait:
            raise NumberlineError(
                f"{who}: let it finish (--wait waits for that), or choose another folder with --out"
            ) from None
        say(f"{who}: waiting until it is free")
        while not lock.is_locked:
            make_folder(folder)  # an empty one goes with who held it
            with contextlib.suppress(Timeout, FileNotFoundError):
                lock.acquire(timeout=1, poll_interval=0.2)
    except (OSError, NotImplementedError) as error:
        raise NumberlineError(f"{folder} cannot be locked ({error}): choose another folder") from error
    try:
        if lock.lock_counter == 1:
            write_whole(folder / HOLDER, json.dumps(_me()).encode())
        yield
    finally:
        if lock.lock_counter == 1:
            (folder / HOLDER).unlink(missing_ok=True)
        lock.release()
        with contextlib.suppress(OSError):
            if made and [path.name for path in folder.iterdir()] == [LOCK]:
                (folder / LOCK).unlink()
            for place in made:
                place.rmdir()


def nothing_else(folder: Path) -> bool:
    """Whether a folder holds nothing but what locks it."""
    return all(path.name.lstrip(".").startswith((LOCK[1:], HOLDER[1:])) for path in folder.iterdir())


def _me() -> dict[str, str | int]:
    since = datetime.now(UTC).isoformat(sep=" ", timespec="seconds")
    return {"process": os.getpid(), "machine": platform.node(), "since": since}


def _holder(folder: Path) -> str:
    try:
        who = json.loads((folder / HOLDER).read_bytes())
        return f"process {who['process']} on {who['machine']}, since {who['since']}"
    except (OSError, ValueError, KeyError, TypeError):  # it has only just begun, or is just going
        return "another process"
