"""What is said of a run without a terminal: lines, at once; on a terminal, the time that is left of all."""

import io
import time

import pytest
from rich.console import Console
from rich.progress import Progress

from numberline.cli.forecast import Forecast, spoken
from numberline.cli.log import LogWatcher
from numberline.cli.screen import Watcher
from numberline.experiments.common.experiment import Experiment, Result
from numberline.results.folder import RunFolder
from numberline.runs.run import Run
from runs_bench import Bench, small_lab


class Flushed(io.StringIO):
    """Text that counts what was written but not flushed."""

    waiting = 0

    def write(self, text: str) -> int:
        self.waiting += len(text)
        return super().write(text)

    def flush(self) -> None:
        self.waiting = 0


def test_a_log_has_a_line_at_the_start_and_one_every_while(tmp_path):
    text, bench, lab = Flushed(), Bench(), small_lab()
    progress = Progress(console=Console(file=text, width=200), disable=True)
    seen = []

    def wait() -> None:
        until = time.monotonic() + 10
        # The first experiment may have said what it found as well: the second is waited for.
        while "demo.second 0 %" not in text.getvalue() and time.monotonic() < until:
            time.sleep(0.01)
        seen.append((text.getvalue(), text.waiting))

    bench.stop = wait
    with LogWatcher(progress, forecast=Forecast.of(["demo.first", "demo.second"]), every=0.05) as watcher:
        Run(lab, RunFolder(tmp_path), experiments=bench.experiments).execute(["*"], watcher)
    ((said, waiting),) = seen
    lines = said.splitlines()
    assert lines[0] == "demo.first begins (1 of 2)"
    assert "demo.second begins (2 of 2)" in lines
    assert lines[-1].startswith("demo.second 0 % after 0 s, ? left of it and ")
    assert lines[-1].endswith("of all; found so far: number layer 0")
    assert waiting == 0, "it is flushed"
    length = len(text.getvalue())
    time.sleep(0.15)
    assert len(text.getvalue()) == length, "it has stopped"


def test_a_terminal_is_told_the_time_that_is_left_of_all():
    text = io.StringIO()
    progress = Progress(console=Console(file=text), disable=True)
    watcher = Watcher(progress, forecast=Forecast(2, {"a": 1.0, "b": 3.0}))
    watcher.started(Experiment("a", lambda *_: Result({}, 0)))
    watcher.since -= 30
    watcher.progress(1, 2)
    assert watcher.bar.tasks[0].fields["rest"] == "all in 4 min"


def test_a_forecast():
    forecast = Forecast.of(["k2.trace", "k2.probes", "mine", "k2.number"], kept=("k2.number",))
    assert forecast.count == 4
    assert forecast.left("k2.trace", 0.0, 5.0) is None
    whole = sum(forecast.waiting.values())
    assert forecast.left("k2.trace", 0.5, 1.1) == pytest.approx(2 * whole - 1.1)
    forecast.finish("k2.trace", 2.2)
    forecast.finish("k2.probes", None)  # kept: it tells nothing of the speed
    assert forecast.left("mine", 0.0, 0.0) == pytest.approx(2 * forecast.waiting["mine"])
    forecast.finish("mine", 1.0)
    assert forecast.left("", 0.0, 0.0) == 0
    planned = Forecast.of(["k2.trace", "k2.number"], kept=("k2.trace",), plan={"k2.trace": 600.0, "k2.number": 60.0})
    assert planned.left("k2.number", 0.0, 0.0) == 60, "known before anything was done"
    assert planned.left("k2.number", 0.5, 60.0) == pytest.approx(60), "and put right by what was"
    assert [spoken(each) for each in (None, 4.4, 170.0, 7500.0)] == ["?", "4 s", "3 min", "2 h 05 min"]
