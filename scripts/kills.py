"""Does a run that is killed end with the same numbers? usage: python scripts/kills.py [--kills 100] [--only PATTERN …]

1. A run of some experiments on `tiny`, in a process of its own, undisturbed: what it leaves is the standard.
2. The same run in another folder, in a process that is killed (SIGKILL) after a random time of work; again, and again,
   each going on from what the one before left, until one comes to its end. Then that folder must be the standard's, bit
   for bit (scripts/compare_runs.py), with nothing left over.
3. The next folder, until there were so many kills.

Pieces of work are written every few hundredths of a second here, so that most kills fall between two of them or into
the writing itself. All processes are forks of one that has the model in memory, so that a kill costs no loading.
"""

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

import psutil
import torch

from compare_runs import differences
from numberline.engine.lab import Lab
from numberline.engine.loading import load
from numberline.results.folder import RunFolder
from numberline.runs.run import Run, Settings
from numberline.verify.processes import SilentWatcher

ONLY = ("k2.trace", "k2.probes", "k2.number", "k2.heads", "k2.neurons")
"""Sweeps, probes, fits and attribution, with what they need: half a minute of work."""
EVERY = "0.03"


class Strict(SilentWatcher):
    """A kill damages nothing: a warning is a failure."""

    def warned(self, sentence: str) -> None:
        """Nothing may be wrong."""
        raise AssertionError(sentence)


def begin(lab: Lab, path: Path, only: list[str], size: str) -> int:
    """Start the run in a process of its own."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            Run(lab, RunFolder(path), Settings(size)).execute(only, Strict())
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return process


def ended(process: int, patience: float) -> bool:
    """Whether a process comes to its end before it has worked for so many seconds, and is killed."""
    worked = psutil.Process(process)
    while sum(worked.cpu_times()[:2]) < patience:
        if waited(process, os.WNOHANG):
            return True
        time.sleep(0.002)
    os.kill(process, signal.SIGKILL)
    return waited(process)


def waited(process: int, how: int = 0) -> bool:
    """Whether a process has come to its end; refuses any other end than that, or ours."""
    found, status = os.waitpid(process, how)
    if found and status and not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL):
        sys.exit(f"the run failed (status {status}): see above")
    return bool(found) and not status


def moment(path: Path) -> str:
    """Where a kill fell."""
    if any(path.glob("work/*/*.safetensors")):
        return "within an experiment of which a part was kept"
    return "between experiments, or early in one"


def all_work() -> float:
    """Seconds that all processes worked so far."""
    return sum(os.times()[2:4])


def leftovers(path: Path, standard: Path) -> set[str]:
    """Files that one folder has and the other has not, and halves of files."""
    names = [{str(file.relative_to(run)) for file in run.rglob("*") if file.is_file()} for run in (path, standard)]
    return names[0] ^ names[1]


def main() -> None:
    """Kill, compare, and say how it went."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--only", action="append", help="an experiment's id, or a pattern; repeatable")
    parser.add_argument("--size", default="quick")
    parser.add_argument("--share", type=float, default=0.25, help="of a run, that a process may do before it is killed")
    parser.add_argument("--seed", type=int, default=52)
    asked = parser.parse_args()
    torch.set_num_threads(1)  # threads do not survive a fork
    os.environ["NUMBERLINE_KEEP_EVERY"] = EVERY
    lab, only, chance = load("tiny", "cpu"), asked.only or list(ONLY), random.Random(asked.seed)
    with tempfile.TemporaryDirectory() as place:
        Run(lab, RunFolder(place), Settings(asked.size)).digests()  # every source file is parsed once, here
        standard = Path(place) / "standard"
        assert waited(begin(lab, standard, only, asked.size))
        alone = all_work()
        kills, runs, where = 0, 0, Counter[str]()
        while kills < asked.kills:
            path, patience = Path(place) / f"run{runs}", asked.share * alone
            while not ended(begin(lab, path, only, asked.size), chance.uniform(0, patience)):
                kills += 1
                where[moment(path)] += 1
                patience *= 1.05  # whatever the longest piece of work takes, it is done in the end
            found = [f"{each.place}: {each.what}" for each in differences(standard, path)]
            found += [f"{name}: only in one of the folders" for name in leftovers(path, standard)]
            if found:
                sys.exit("\n".join([*found, f"after {kills} kills a run was not the standard's"]))
            runs += 1
            shutil.rmtree(path)
        spent = all_work() - alone
    print(f"{kills} kills in {runs} runs of {', '.join(only)}; {runs} of {runs} identical to one that was not killed")
    print("; ".join(f"{count} {what}" for what, count in where.most_common()))
    print(f"{alone:.1f} s of work undisturbed; {(spent - runs * alone) / kills:.2f} s more for each kill")


if __name__ == "__main__":
    main()
