"""What is said of a run where nobody looks at a terminal: in a file, or in a job's log.

A line when an experiment begins, one when it ends, and one every thirty seconds between: how far it is, the time that
is left of it and of the whole run, and the roles that were found so far. Every line is there at once.
"""

import threading
import time
from typing import TYPE_CHECKING

from rich.progress import Progress

from numberline.cli.forecast import Forecast, spoken
from numberline.cli.screen import Watcher

if TYPE_CHECKING:
    from numberline.experiments.common.experiment import Experiment
    from numberline.results.language import Language

EVERY = 30.0


class LogWatcher(Watcher):
    """Writes lines. Its clock is a thread: what takes long may say nothing for long."""

    def __init__(
        self,
        progress: Progress,
        language: "Language | None" = None,
        forecast: Forecast | None = None,
        every: float = EVERY,
    ) -> None:
        super().__init__(progress, language, forecast)
        self._stopped = threading.Event()
        self._clock = threading.Thread(target=self._tick, args=(every,), daemon=True)
        self._clock.start()

    def started(self, experiment: "Experiment") -> None:
        """A line."""
        number = self.count + 1
        self._write(f"{experiment.id} begins ({number} of {max(self.forecast.count, number)})")
        super().started(experiment)

    def stop(self) -> None:
        """No more lines."""
        self._stopped.set()
        self._clock.join()

    def _tick(self, every: float) -> None:
        while not self._stopped.wait(every):
            if self.under_way:
                self._write(self._line())

    def _line(self) -> str:
        elapsed = time.monotonic() - self.since
        rest = elapsed * (1 - self.fraction) / self.fraction if self.fraction else None
        roles = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in self.found.items())
        return (
            f"{self.under_way} {100 * self.fraction:.0f} % after {spoken(elapsed)}, {spoken(rest)} left of it and "
            f"{spoken(self.left)} of all; found so far: {roles or 'no role'}"
        )

    def _write(self, line: str) -> None:
        self.bar.console.print(line, markup=False, soft_wrap=True)
        self.bar.console.file.flush()
