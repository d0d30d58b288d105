"""Real processes that are killed within an experiment end with the same bits; `make kills` kills a hundred."""

import re
import subprocess
import sys
from pathlib import Path

KILLS = Path(__file__).parents[1] / "scripts/kills.py"


def test_a_run_that_is_killed_ends_with_the_same_numbers():
    command = [sys.executable, str(KILLS), "--kills", "2", "--share", "0.9", "--only", "k2.trace"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    kills, runs = map(int, re.match(r"(\d+) kills in (\d+) runs", done.stdout).groups())
    assert kills >= 2
    assert f"{runs} of {runs} identical" in done.stdout
