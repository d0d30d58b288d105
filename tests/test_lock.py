"""Two processes on one folder: the second says who holds it, or waits; what is killed holds nothing."""

import os
import platform
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from numberline.errors import NumberlineError
from numberline.files import partial_name, remove_leftovers, write_whole
from numberline.results.folder import RunFolder
from numberline.runs.lock import held, nothing_else

HOLDING = """
import sys, pathlib
from numberline.runs.lock import held
with held(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def other(tmp_path):
    """Another process that holds tmp_path/run until it is told."""
    command = [sys.executable, "-c", HOLDING, str(tmp_path / "run")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_the_second_says_who_holds_it(other, tmp_path, call):
    who = rf"process {other.pid} on {re.escape(platform.node())}, since \d+-\d+-\d+ \d+:\d+:\d+"
    said = rf"run is in use by {who}\S*: let it finish \(--wait waits for that\), or choose another folder with --out"
    with pytest.raises(NumberlineError, match=said), held(tmp_path / "run"):
        pass
    code, _, complaint = call("run", "--only", "behaviour.operands", "--size", "quick", "--out", "run")
    assert code == 2
    assert re.search(said, complaint)
    assert nothing_else(tmp_path / "run")


def test_the_second_waits(other, tmp_path):
    said = []

    def tell(sentence: str) -> None:
        said.append(sentence)
        other.stdin.write("\n")
        other.stdin.flush()

    with held(tmp_path / "run", wait=True, say=tell), held(tmp_path / "run"):  # and may take it twice
        assert [sentence.endswith("waiting until it is free") for sentence in said] == [True]
        assert other.wait(10) == 0


def test_a_process_that_was_killed_holds_nothing(other, tmp_path):
    other.send_signal(signal.SIGKILL)
    other.wait()
    with held(tmp_path / "run"):
        assert nothing_else(tmp_path / "run")
    with held(tmp_path / "not/yet/there"):
        assert nothing_else(tmp_path / "not/yet/there")
    assert not (tmp_path / "not").exists(), "nothing was put there"


def test_what_a_living_process_writes_is_let_alone(tmp_path):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    path = tmp_path / "run.json"
    half = [partial_name(path)]
    half += [path.with_name(half[0].name.replace(str(os.getpid()), str(pid))) for pid in (dead.pid, os.getppid())]
    for each in half:
        each.write_text("{")
    elsewhere = path.with_name(half[1].name.replace(platform.node(), "another-machine"))
    elsewhere.write_text("{")
    remove_leftovers(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([half[0], half[2], elsewhere])
    write_whole(path, b"{}")
    assert path.read_bytes() == b"{}"
    assert RunFolder(Path("nowhere")).configurations == []
