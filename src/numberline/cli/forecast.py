"""How long will the rest of a run take? What was done so far, and each experiment's usual share of a run, say so.

An experiment's share is what a plan says (`plan.py`). Where there is none, it is what the experiment took on `tiny` at
the size quick, in seconds: other models and sizes take longer, but in about the same proportions. One that has no entry
counts as the median of those that have.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

SHARES = {
    "behaviour.pairs": 2.0, "behaviour.operands": 1.4, "behaviour.outcomes": 0.4, "behaviour.solved": 0.5,
    "k2.trace": 1.1, "k2.probes": 0.6, "k2.number": 15.0, "k2.three_digit": 13.0, "k2.heads": 0.3, "k2.layers": 7.4,
    "k2.shortcut": 4.4, "k2.transport": 4.2, "k2.dose": 0.4, "k2.freeze": 0.8, "k2.shared": 1.3, "k2.neurons": 1.6,
    "k2.connectivity": 1.2, "k2.fields": 0.2, "k2.flag": 6.6, "k2.whole": 1.0,
    "k3.trace": 5.7, "k3.heads": 1.0, "k3.readout": 3.0, "k3.directions": 42.0, "k3.ablation": 5.5, "k3.neurons": 3.3,
    "k3.flags": 14.0, "k3.fields": 0.3, "k3.flags_beyond": 28.0,
}  # fmt: skip


@dataclass
class Forecast:
    """The shares of what is still to be done, and the time that those took that are done."""

    count: int
    waiting: dict[str, float]
    done: float = 0.0
    seconds: float = 0.0
    planned: bool = False
    """Whether the shares are seconds on this machine."""

    @classmethod
    def of(cls, ids: Sequence[str], kept: Container[str] = (), plan: Mapping[str, float] | None = None) -> "Forecast":
        """Before these experiments, but for what is kept from before; `plan`: the seconds of each, if planned."""
        shares = plan or SHARES
        usual = median(shares.values())
        waiting = {id: shares.get(id, usual) for id in ids if id not in kept}
        return cls(len(ids), waiting, planned=bool(plan))

    def finish(self, id: str, seconds: float | None) -> None:
        """An experiment is done, in this time; None where it was kept from before."""
        share = self.waiting.pop(id, 0.0)
        if seconds is not None:
            self.done, self.seconds = self.done + share, self.seconds + seconds

    def left(self, id: str, fraction: float, elapsed: float) -> float | None:
        """Seconds until all is done, when this part of an experiment took so long; None while nothing is known."""
        begun = self.waiting.get(id, 0.0) * fraction
        if self.done + begun <= 0:
            return sum(self.waiting.values()) if self.planned else None
        return (sum(self.waiting.values()) - begun) * (self.seconds + elapsed) / (self.done + begun)


def spoken(seconds: float | None) -> str:
    """A duration: 4 s, 3 min, 2 h 05 min; ? while it is not known."""
    if seconds is None:
        return "?"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"
